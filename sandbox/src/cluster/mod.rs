//! The simulated OpenShift cluster: a pure model of its operators, and the actor that plays it on an API server.

mod actor;
pub mod fault;
pub mod kinds;
pub mod model;

pub use actor::{Cluster, Outage, install};
pub use fault::{Fault, UnknownFault};
pub use model::Shape;
