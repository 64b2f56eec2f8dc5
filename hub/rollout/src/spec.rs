//! What the user asked for, as values: parsed once from the object's spec by [`crate::parse_spec`].

use std::fmt;

use drydock_api::IntOrPercent;
use drydock_api::mcu::UpgradeVia;
use jiff::SignedDuration;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{PlacementKey, Selector};

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

impl Strategy {
    /// How many of `selected` clusters may be in flight: never less than 1.
    pub fn slots(&self, selected: usize) -> usize {
        self.max_concurrency.of(selected).max(1)
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

/// An action before or after the upgrade. The manifests themselves stay in the object; here is what decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// How long it may take.
    pub timeout: SignedDuration,
}

/// How the fleet is walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Which clusters go first, if any do.
    pub canaries: Option<Selector>,
    /// How many may be in flight.
    pub max_concurrency: IntOrPercent,
    /// How long a cluster's upgrade may take.
    pub cluster_timeout: SignedDuration,
    /// How the upgrade reaches the clusters.
    pub via: UpgradeVia,
}

/// The whole of what the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Placements whose decisions are united.
    pub placements: Vec<PlacementKey>,
    /// Whether the hub keeps a Placement of its own for `clusterSelector`.
    pub has_selector: bool,
    /// The version to reach.
    pub target: Target,
    /// How the fleet is walked.
    pub strategy: Strategy,
    /// What runs on a cluster before.
    pub pre_action: Option<ActionSpec>,
    /// What runs on a cluster after.
    pub post_action: Option<ActionSpec>,
    /// Nothing new starts.
    pub paused: bool,
}
