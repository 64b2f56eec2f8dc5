//! What runs in this process under paused time: the real hub and agent against the sandbox. One program, since linking one for
//! each suite takes longer than the suites and fills disks.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test ends by panicking, and some report to a person"
)]

mod agent;
mod hub;

mod api_server;
mod bad_input;
mod disturbances;
mod documented;
mod edits;
mod faults;
mod forecast_equality;
mod layers;
mod leader_election;
mod main_job;
mod operators;
mod pre_checks;
mod rights;
mod rollout_rules;
mod schedule;
mod sequence_of_operations;
mod simulation;
