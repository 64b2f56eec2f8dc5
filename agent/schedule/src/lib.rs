//! Maintenance schedules decided. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present moment
//! is passed in.
//!
//! [`calendar`] says when maintenances may start.

pub mod calendar;
mod instants;
