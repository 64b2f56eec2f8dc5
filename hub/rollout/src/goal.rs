//! What a cluster shall come to: a release of the platform, newer operators, or both.

use std::fmt;

use semver::Version;
use serde::{Deserialize, Serialize};

/// The version that clusters shall run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The channel to set, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub channel: Option<String>,
    /// The version; with an image, the version that the image must be.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<Version>,
    /// A release image by digest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub image: Option<String>,
    /// The update service to ask, if not the default one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub upstream: Option<String>,
    /// Whether the cluster shall skip its own checks.
    #[serde(default)]
    pub force: bool,
}

impl Target {
    /// Whether an UpgradeConfig can say all of this: it knows neither `force` nor `upstream`, and wants a channel with a
    /// version (agent 1).
    pub fn fits_agent(&self) -> bool {
        !self.force && self.upstream.is_none() && (self.image.is_some() || self.channel.is_some())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.version, &self.image) {
            (Some(version), _) => write!(f, "{version}"),
            (None, Some(image)) => f.write_str(image),
            (None, None) => f.write_str("no version"),
        }
    }
}

/// The Subscription of an operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OperatorKey {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
}

/// Whose upgrades are approved (hub 1, `ocpOperators`). Without any there is nothing to do, so that is not said here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operators {
    /// These; absent means all.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub include: Option<Vec<OperatorKey>>,
    /// Never these.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub exclude: Vec<OperatorKey>,
}

/// What a cluster shall come to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// The release, unless only operators are upgraded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub target: Option<Target>,
    /// The operators, once the platform is there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub operators: Option<Operators>,
}

impl Goal {
    /// A release of the platform alone.
    pub fn platform(target: Target) -> Self {
        Self {
            target: Some(target),
            operators: None,
        }
    }

    /// Whether a cluster of this version has the platform already: one beyond it needs nothing, since asking for an older
    /// version would be a roll back. An image is only known by what the cluster feeds back.
    pub fn platform_reached(&self, version: Option<&Version>) -> bool {
        match &self.target {
            None => true,
            Some(target) => match (&target.version, version) {
                (Some(target), Some(version)) => version >= target,
                _ => false,
            },
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.target, &self.operators) {
            (Some(target), None) => write!(f, "{target}"),
            (Some(target), Some(_)) => write!(f, "{target} with operators"),
            (None, _) => f.write_str("newer operators"),
        }
    }
}
