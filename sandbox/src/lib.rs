//! An in-memory Kubernetes API server, stand-ins for Open Cluster Management, and simulated OpenShift clusters.
//! Binds to loopback only; every run is deterministic from its seed.

pub mod access;
mod alarm;
pub mod apply;
pub mod bed;
pub mod cluster;
mod fingerprint;
pub mod http;
pub mod monitoring;
pub mod ocm;
pub mod olm;
pub mod openapi;
pub mod pace;
pub mod schema;
pub mod server;
pub mod store;
pub mod table;
pub mod update_service;
