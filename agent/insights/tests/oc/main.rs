//! What is printed of the objects of real clusters is what `oc` prints of them, to the byte.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod arbitrary;
mod essence;
mod fixtures;
mod recommend;
mod status;
