//! Maintenance schedules decided. This crate cannot do I/O: it has neither a Kubernetes client nor an async runtime, and the present moment
//! is passed in.
//!
//! [`config`] decides what an UpgradeConfig does. [`calendar`] says when maintenances may start, and [`suspension`] when not; [`version`] to which
//! version they upgrade; [`overlays`] which spec OpenShift's ClusterVersion has; [`window`] what the status of a suspension window says. [`job`]
//! decides what an UpgradeJob does, from its hooks to its pools, and [`job::simulation`] says what one would do; [`force_drain`]
//! decides which pods of nodes are deleted that drain too long.
//! [`metrics`] says which series there are, and [`notification`] what receivers of notifications get.

pub mod calendar;
pub mod config;
pub mod force_drain;
mod instants;
pub mod job;
pub mod metrics;
pub mod notification;
pub mod overlays;
pub mod selector;
pub mod suspension;
pub mod version;
pub mod window;
