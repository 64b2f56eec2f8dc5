//! The simulated OpenShift cluster: a pure model of its operators, and the actor that plays it on an API server.

pub mod fault;
pub mod model;

pub use fault::{Fault, UnknownFault};
