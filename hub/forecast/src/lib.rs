//! What may come of a fleet upgrade, computed in milliseconds. This crate cannot do I/O, as [`drydock_rollout`] cannot, whose rules it
//! follows.
//!
//! [`Simulation`] runs a rollout once, from where it is, with [`StageSampler`] that say how long each stage of each cluster takes; a property
//! holds it to the decision itself. [`Model`] draws by what is on record of past upgrades. [`Forecast`] sums many runs up.

mod forecast;
mod model;
mod run;
mod stage_sample;
mod start_times;

pub use forecast::{ClusterForecast, EndedClusters, Forecast, Percentiles, SimulationSettings};
pub use model::{Basis, FailureRate, GroupBy, Model, PastFailure, PastUpgrade, RunDraws, Stream};
pub use run::{ClusterTimes, RunOutcome, Simulation, StopCause, Wait};
pub use stage_sample::{StageEnd, StageSample, StageSampler};
