//! What a Drydock process needs, one file a part. Depends on `drydock-api` only.

pub mod admin;
pub mod backoff;
pub mod client;
pub mod clock;
pub mod digest_index;
pub mod events;
pub mod leader;
pub mod pages;
pub mod panics;
pub mod patience;
pub mod shutdown;
pub mod tasks;
pub mod telemetry;

pub use clock::Clock;
