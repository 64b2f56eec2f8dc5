//! ManifestWorkReplicaSets: one work for each cluster that Placements selected, group by group or so many at a time (fleet
//! reference 1.7 and 2). [`rollout::Rollout::next`] decides; [`controller::run`] observes and writes. Drydock does not use
//! them; they are here so that what was measured of them can be seen.

pub mod controller;
pub mod definition;
pub mod groups;
pub mod plan;
pub mod rollout;
pub mod standing;
pub mod status;
pub mod strategy;
#[cfg(test)]
mod tests;
