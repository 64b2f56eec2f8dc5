//! The simulated OpenShift cluster: a pure model of its operators, and the actor that plays it on an API server.

mod actor;
pub mod fault;
pub mod kinds;
pub mod model;
mod program;

pub use actor::{ClusterSimulator, Outage, RunningCluster, install};
pub use fault::{Fault, UnknownFault};
pub use model::Shape;
pub use program::{Program, ProgramContext, Programs};
