//! ManifestWorks: what the hub writes for a cluster, and what it reads back (hub 4). Nothing here does I/O.

mod action;
mod build;
mod cluster_version;
mod feedback;
mod read;
mod upgrade_config;

pub use build::{BuildError, Template, build};
pub use read::{WorkDigest, digest};
