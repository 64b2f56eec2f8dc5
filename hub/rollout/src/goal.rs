//! What a cluster shall come to: a release of the platform, newer operators, or both.

use std::fmt;
use std::sync::Arc;

use semver::Version;
use serde::{Deserialize, Serialize};

/// The release that clusters shall run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Whether an UpgradeConfig can say all of this: it knows neither `force` nor `upstream`, and needs a channel with a
    /// version.
    pub fn fits_agent(&self) -> bool {
        !self.force && self.upstream.is_none() && (self.image.is_some() || self.channel.is_some())
    }

    /// Whether this asks for the same release; the channel and how it is asked for may differ.
    pub fn is_same_release(&self, other: &Self) -> bool {
        self.version == other.version && self.image == other.image
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

/// Whose upgrades are approved (`spec.ocpOperators`). Where none are, there is nothing to do, so that is not said here.
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

    /// Whether this is the same goal but for the channel and the way in which the release is asked for: a cluster that has
    /// reached the one has reached the other.
    pub fn is_same(&self, other: &Self) -> bool {
        let same_release = match (&self.target, &other.target) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => ours.is_same_release(theirs),
            _ => false,
        };
        same_release && self.operators == other.operators
    }

    /// What tells two goals apart, short and stable: equal where [`Goal::is_same`] holds.
    pub fn fingerprint(&self) -> Arc<str> {
        let release = self
            .target
            .as_ref()
            .map(|target| (&target.version, &target.image));
        // Plain data always becomes JSON.
        let text = serde_json::to_string(&(release, &self.operators)).unwrap_or_default();
        short_hash(&text).into()
    }

    /// The channel that clusters shall follow, if the goal says.
    pub fn channel(&self) -> Option<&str> {
        self.target.as_ref()?.channel.as_deref()
    }

    /// The version that clusters shall run, if the goal says.
    pub fn version(&self) -> Option<&Version> {
        self.target.as_ref()?.version.as_ref()
    }

    /// Whether a cluster of this version has the platform already: one beyond it needs nothing, since asking for an older
    /// version would be a downgrade. An image is known only by what the cluster feeds back.
    pub fn platform_reached(&self, version: Option<&Version>) -> bool {
        match (&self.target, version) {
            (None, _) => true,
            (Some(target), Some(version)) => {
                let target = target.version.as_ref();
                target.is_some_and(|target| version.cmp_precedence(target).is_ge())
            }
            (Some(_), None) => false,
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

/// Ten hexadecimal digits that are the same for the same text, in every version of the hub.
pub(crate) fn short_hash(text: &str) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(text.as_bytes());
    digest.iter().take(5).map(|byte| format!("{byte:02x}")).collect()
}
