//! What a Drydock process needs, one file a part. Depends on `drydock-api` only.

pub mod admin;
pub mod backoff;
pub mod client;
pub mod events;
pub mod exit;
pub mod follow;
pub mod leader;
pub mod metrics;
pub mod object_key;
pub mod pages;
pub mod panics;
pub mod server_time;
pub mod shutdown;
pub mod tasks;
pub mod telemetry;
pub mod watch_backoff;
pub mod watch_doubts;

pub use virtual_clock::Clock;
