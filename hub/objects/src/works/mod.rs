//! ManifestWorks: what the hub writes for a cluster, and what it reads back. Nothing here does I/O.

mod action;
mod build;
mod change;
mod cluster_version;
mod feedback;
mod operators;
mod partial;
pub mod pre_checks;
mod read;
mod read_only;
mod upgrade_config;

pub(crate) use action::template as action_template;
pub use build::{WorkTemplate, build};
pub use change::{CommittedOutcome, channel, enforcement, labels, outcome, outcome_of_edited, reopening};
pub use operators::default_agent_image;
pub use partial::PartialManifestWork;
pub use read::{WorkDigest, digest};
