//! The page's server on a simulated hub, asked as a browser asks it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod access;
mod actions;
mod apply;
mod changes;
mod fixture;
mod plans;
mod reading;
mod users;
