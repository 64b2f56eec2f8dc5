//! The upgrade of one cluster, decided: from what is observed to the status that there should be and the writes that lead
//! there. No I/O: the agent observes, writes and publishes.

pub mod capacity;
pub mod command;
pub mod condition;
pub mod configuration;
pub mod drains;
pub mod facts;
pub mod health;
pub mod metrics;
pub mod notification;
pub mod phase;
pub mod silences;
pub mod steps;
pub mod unready;
pub mod validation;
pub mod wanted;
