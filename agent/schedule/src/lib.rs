//! Maintenance schedules decided. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present moment
//! is passed in.
//!
//! [`config`] decides what an UpgradeConfig does. [`calendar`] says when maintenances may start, and [`suspension`] when not; [`version`] to which
//! version they upgrade; [`overlays`] which spec OpenShift's ClusterVersion has.

pub mod calendar;
pub mod config;
mod instants;
pub mod overlays;
pub mod selector;
pub mod suspension;
pub mod version;
