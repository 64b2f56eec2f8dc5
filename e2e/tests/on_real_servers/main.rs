//! What needs real programs: kube-apiserver, etcd, kubectl, Prometheus, Alertmanager (`make e2e`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends by panicking, and some report to a person"
)]

mod agent_alerts;
mod agent_monitoring;
mod agent_proxy;
mod control_plane_launcher;
mod dashboard;
mod docs;
mod drains;
mod executors;
mod fuzz;
mod kubectl;
mod leader_election;
mod main_job;
mod manifests;
mod risk_acceptance;
mod schedule;
mod upgrade_lock;
