//! Simulated OpenShift clusters: the model of a cluster and the task that plays it on an API server, with its operator lifecycle
//! manager, its monitoring and the update graph.

pub mod cluster;
pub mod crds;
pub mod monitoring;
pub mod olm;
pub mod update_service;
