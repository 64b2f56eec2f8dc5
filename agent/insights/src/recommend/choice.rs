//! One of the releases, and whether it may be updated to.

use std::collections::BTreeSet;

use semver::Version;

use super::{RISK, Recommendation, TargetRelease};

/// Why a release is not among the updates.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotFound {
    /// There are no updates.
    #[error("no updates available, so cannot display context for the requested release {0}")]
    NoUpdates(Version),
    /// There are none to its major version.
    #[error("no updates to {major} available, so cannot display context for the requested release {version}", version = .0, major = .0.major)]
    NoMajor(Version),
    /// There are none to its minor version.
    #[error("no updates to {major}.{minor} available, so cannot display context for the requested release {version}", version = .0, major = .0.major, minor = .0.minor)]
    NoMinor(Version),
    /// There are others to its minor version.
    #[error("no update to {0} available, so cannot display context for the requested release")]
    NoRelease(Version),
}

/// A release, and what speaks against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice<'a> {
    /// The release.
    pub target: &'a TargetRelease,
    /// The names of what speaks against it.
    pub issues: BTreeSet<String>,
    /// Those of them that were not accepted.
    pub unaccepted: BTreeSet<String>,
}

/// Finds a release among the updates.
///
/// # Errors
/// If it is not among them.
pub fn choose<'a>(
    recommendation: &'a Recommendation,
    version: &Version,
    accepted: &BTreeSet<String>,
) -> Result<Choice<'a>, NotFound> {
    let groups = &recommendation.groups;
    if groups.is_empty() {
        return Err(NotFound::NoUpdates(version.clone()));
    }
    if !groups.iter().any(|group| group.major == version.major) {
        return Err(NotFound::NoMajor(version.clone()));
    }
    let group = groups
        .iter()
        .find(|group| (group.major, group.minor) == (version.major, version.minor))
        .ok_or_else(|| NotFound::NoMinor(version.clone()))?;
    let target = group
        .targets
        .iter()
        .find(|target| target.version == *version)
        .ok_or_else(|| NotFound::NoRelease(version.clone()))?;
    let mut issues = recommendation.issues.clone();
    issues.extend(target.not_recommended.as_ref().map(|_| RISK.to_owned()));
    Ok(Choice {
        target,
        unaccepted: issues.difference(accepted).cloned().collect(),
        issues,
    })
}
