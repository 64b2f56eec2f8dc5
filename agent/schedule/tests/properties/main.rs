//! What holds for every schedule, and for every course of events.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod calendar;
mod decisions;
#[path = "../shared/mod.rs"]
mod shared;
