//! The placement controller: which clusters a Placement selects, in which groups and pages.
//! [`schedule::schedule`] decides; [`controller::run`] observes and writes.

pub mod controller;
pub mod filter;
pub mod groups;
pub mod observed;
pub mod schedule;
pub mod score;
#[cfg(test)]
mod tests;
