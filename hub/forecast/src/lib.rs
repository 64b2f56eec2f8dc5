//! What may come of a fleet upgrade, computed in milliseconds. This crate cannot do I/O, as [`drydock_rollout`] cannot, whose rules it
//! follows.
//!
//! [`Simulation`] runs a rollout once, from where it is, with [`Draws`] that say how long each stage of each cluster takes.

mod draws;
mod run;
mod windows;

pub use draws::{Draw, Draws, StageEnd};
pub use run::{ClusterTimes, RunOutcome, Simulation, StopCause, Wait};
