//! Tests of UpgradeJobs: tables against single observations, and histories against a small world.

mod end;
pub(super) mod fixture;
mod health;
mod hook_jobs;
mod hooks;
mod locking;
mod notification;
mod play;
mod pools;
mod progress;
mod properties;
mod recovery;
mod server;
mod simulation;
mod start;
pub(super) mod world;
