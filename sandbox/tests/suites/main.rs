//! The sandbox beside what it stands in for.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod definitions;
mod failure_modes;
mod lifecycle_manager;
mod machines;
mod measured;
mod monitoring;
mod server;
mod shapes;
mod test_env;
mod transcripts;
