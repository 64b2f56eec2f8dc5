//! What the suites of this folder share: a real control plane, the programs as processes, and scenarios that run
//! unchanged on the sandbox and on real API servers; and the simulation.

pub mod conformance;
pub mod control_plane;
pub mod delayed_watch;
pub mod differential;
pub mod fleet;
pub mod forecast;
pub mod hub_fleet;
pub mod hub_page;
pub mod local_fleet;
pub mod manifests;
pub mod monitoring;
pub mod process;
pub mod program;
pub mod real;
pub mod scraped;
pub mod simulation;
pub mod spoke;
pub mod static_cluster;
