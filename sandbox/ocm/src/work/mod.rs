//! The work agent, one a spoke: applies the works of its namespace on the hub, and reports.

pub mod agent;
pub mod apply;
pub mod cleanup;
pub mod feedback;
pub mod manifest;
pub mod merge;
pub mod pace;
pub mod rules;
pub mod status;
mod sync;
pub mod wire;
