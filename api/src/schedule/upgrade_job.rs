//! UpgradeJob: one maintenance of a cluster.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::insights::PlannedUpdate;
use crate::openshift::ClusterVersion;

use super::{UpgradeJobConfig, absent_spec::default_if_absent};
pub use crate::upgradeconfig::UpgradeNotification as UpgradeNotificationStatus;

/// When a maintenance starts, to which version it upgrades, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "UpgradeJob",
    plural = "upgradejobs",
    singular = "upgradejob",
    shortname = "uj",
    namespaced,
    status = "UpgradeJobStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeJob is one maintenance of the cluster: it upgrades the cluster to a version, or only runs hooks.",
    printcolumn = r#"{"name": "Version", "type": "string", "jsonPath": ".spec.desiredVersion.version"}"#,
    printcolumn = r#"{"name": "Start", "type": "string", "jsonPath": ".spec.startAfter"}"#,
    printcolumn = r#"{"name": "Started", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Started\")].status"}"#,
    printcolumn = r#"{"name": "Succeeded", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Succeeded\")].reason"}"#,
    printcolumn = r#"{"name": "Failed", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Failed\")].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct UpgradeJobSpec {
    /// When the upgrade starts.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub start_after: Time,
    /// Until when the upgrade may still start. After that the UpgradeJob has failed.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub start_before: Time,
    /// The release to upgrade to. If absent, nothing is upgraded and only hooks run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_version: Option<DesiredVersion>,
    /// If true, the UpgradeJob fails where the release is no longer available at the start. If false, nobody looks. Default true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired_version_check_availability: Option<bool>,
    /// How the cluster is upgraded.
    pub config: UpgradeJobConfig,
}

default_if_absent!(UpgradeJobSpec {
    #[serde(deserialize_with = "crate::instant::deserialize")]
    start_after: Time,
    #[serde(deserialize_with = "crate::instant::deserialize")]
    start_before: Time,
    desired_version: Option<DesiredVersion>,
    desired_version_check_availability: Option<bool>,
    config: UpgradeJobConfig,
});

impl Default for UpgradeJobSpec {
    /// An UpgradeJob that was to start long ago.
    fn default() -> Self {
        Self {
            start_after: Time(Timestamp::UNIX_EPOCH),
            start_before: Time(Timestamp::UNIX_EPOCH),
            desired_version: None,
            desired_version_check_availability: None,
            config: UpgradeJobConfig::default(),
        }
    }
}

/// A release, as OpenShift's ClusterVersion takes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("has(self.architecture) && has(self.image) ? (self.architecture == '' || self.image == '') : true")
        .message("architecture and image cannot be set both: remove one of them"),
    validation = Rule::new("has(self.architecture) && self.architecture != '' ? has(self.version) && self.version != '' : true")
        .message("version must be set if architecture is")
)]
pub struct DesiredVersion {
    /// `Multi` to change to the release for several architectures. Default the architecture of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Multi", ""]))]
    pub architecture: Option<String>,
    /// Overrides the cluster's own verification and preconditions. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// The release's image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The release's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl DesiredVersion {
    /// What its UpdatePlan has to be about, on this cluster; a release without a version has none.
    pub fn planned(&self, cluster: &ClusterVersion) -> Option<PlannedUpdate> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let version = given(&self.version)?;
        let status = cluster.status.as_ref();
        let available = status.iter().flat_map(|status| &status.available_updates);
        let conditional = status.iter().flat_map(|status| &status.conditional_updates);
        let mut offered = available.chain(conditional.map(|update| &update.release));
        let offered = offered.find(|release| release.version.as_ref() == Some(&version));
        let update = PlannedUpdate {
            image: given(&self.image),
            architecture: given(&self.architecture),
            offered: offered.and_then(|release| release.image.clone()),
            version,
            of_upgrade: None,
        };
        // Jobs of a schedule name the image that is offered, and the hub seldom does: of both the plan asks by the version.
        let image = update.other_image(update.image.as_deref()).map(str::to_owned);
        Some(PlannedUpdate { image, ..update })
    }
}

/// How far a maintenance is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeJobStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Started, PreHealthCheckDone, UpgradeCompleted, MachineConfigPoolsPaused, Paused, PostHealthCheckDone, Succeeded, Failed. Waiting: for
    /// whom it waits, or what cannot be read or used.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    pub conditions: Option<Vec<Condition>>,
    /// The release that the cluster has been asked for. An edit of `spec.desiredVersion` does not change it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_version: Option<DesiredVersion>,
    /// The hooks that have run, or run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_tracker: Option<Vec<HookStatus>>,
    /// The notifications that have been sent, or are to be sent, each once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Vec<UpgradeNotificationStatus>>,
}

/// How far a hook is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// The event for which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_event: Option<String>,
    /// Why it is where it is, human-readable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `active`, `complete` or `failed`; absent until its Job has been seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Tells events apart that happen several times, such as the pool that is unpaused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracking_key: Option<String>,
    /// The name of the UpgradeJobHook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrade_job_hook: Option<String>,
}
