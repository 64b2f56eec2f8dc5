//! What a Drydock process needs, one file a part. Depends on `drydock-api` only.

pub mod clock;

pub use clock::Clock;
