//! ClusterVersion: the release that a cluster runs and the one it should run.

use serde::{Deserialize, Serialize};

use crate::{Fields, List, Nullable, conditions::ForeignCondition, foreign::foreign_kind};

foreign_kind!(
    /// The release of a cluster; there is one, named `version`.
    ClusterVersion, "config.openshift.io", "v1", "clusterversions", ClusterResourceScope,
    spec: ClusterVersionSpec, status: ClusterVersionStatus
);

/// The release that a cluster should run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterVersionSpec {
    /// Who the cluster is, to the update service.
    #[serde(rename = "clusterID", skip_serializing_if = "Option::is_none")]
    pub cluster_id: Option<String>,
    /// The stream of updates that the cluster follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The update service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The release to update to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_update: Option<DesiredUpdate>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The release to update to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DesiredUpdate {
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Are verification and preconditions overridden?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// The release that a cluster runs, and where it may go.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterVersionStatus {
    /// The release that is being reconciled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired: Option<Release>,
    /// What the cluster has run, newest first.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub history: List<UpdateHistory>,
    /// The `metadata.generation` that the status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Available`, `Progressing`, `Failing`, `Upgradeable`, `ReleaseAccepted`, …
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// Releases that are recommended.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub available_updates: List<Release>,
    /// Releases that are recommended unless a risk applies.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditional_updates: List<ConditionalUpdate>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Release {
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Where to read about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The channels that have it.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub channels: List<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// A release that the cluster runs, has run, or has tried to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct UpdateHistory {
    /// `Partial` or `Completed`.
    pub state: String,
    /// When it began (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_time: Option<String>,
    /// When it ended (RFC 3339); `null` until then.
    #[serde(skip_serializing_if = "Nullable::is_absent")]
    pub completion_time: Nullable<String>,
    /// The release's version; may be empty while an image is being read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The release's image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Was its signature verified?
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<bool>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

impl UpdateHistory {
    /// Has the whole cluster reached the release?
    pub fn is_completed(&self) -> bool {
        self.state == "Completed"
    }
}

/// A release that is recommended unless a risk applies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConditionalUpdate {
    /// The release.
    pub release: Release,
    /// `Recommended`: does a risk apply?
    #[serde(skip_serializing_if = "List::is_absent")]
    pub conditions: List<ForeignCondition>,
    /// What may apply to the cluster.
    #[serde(skip_serializing_if = "List::is_absent")]
    pub risks: List<ConditionalUpdateRisk>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// What may apply to a cluster and then speaks against a release.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ConditionalUpdateRisk {
    /// Its name.
    pub name: String,
    /// What it is, for people.
    pub message: String,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
