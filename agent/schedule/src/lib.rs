//! Maintenance schedules decided. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present moment
//! is passed in.
//!
//! [`calendar`] says when maintenances may start, [`overlays`] which spec OpenShift's ClusterVersion has.

pub mod calendar;
mod instants;
pub mod overlays;
