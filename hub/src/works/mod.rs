//! ManifestWorks: what the hub writes for a cluster, and what it reads back (hub 4). Nothing here does I/O.

mod action;
mod build;
mod cluster_version;
mod feedback;
mod operators;
mod read;
mod release;
mod seen;
mod upgrade_config;

pub use build::{BuildError, Template, build};
pub(crate) use operators::default_agent_image;
pub use read::{WorkDigest, digest};
pub(crate) use release::released;
