//! UpgradeSuspensionWindow: a time without maintenances, such as holidays.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::absent_spec::default_if_absent;

/// A time in which no UpgradeJob is created, or starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "UpgradeSuspensionWindow",
    plural = "upgradesuspensionwindows",
    singular = "upgradesuspensionwindow",
    shortname = "usw",
    namespaced,
    status = "UpgradeSuspensionWindowStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeSuspensionWindow is a time in which UpgradeConfigs of its namespace create no UpgradeJobs, or UpgradeJobs do not start.",
    printcolumn = r#"{"name": "Start", "type": "string", "jsonPath": ".spec.start"}"#,
    printcolumn = r#"{"name": "End", "type": "string", "jsonPath": ".spec.end"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".spec.reason"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
#[x_kube(
    validation = Rule::new("self.start < self.end")
        .message("start must be before end")
)]
pub struct UpgradeSuspensionWindowSpec {
    /// When the window starts.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub start: Time,
    /// When it ends; this moment is part of it.
    #[serde(deserialize_with = "crate::instant::deserialize")]
    pub end: Time,
    /// Why there is no maintenance.
    pub reason: String,
    /// The UpgradeConfigs that create no UpgradeJobs, by their labels: an empty selector selects all of them, none if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub config_selector: Option<LabelSelector>,
    /// The UpgradeJobs that are skipped where they would start in the window, by their labels: an empty selector selects all of
    /// them, none if it is absent. UpgradeJobs that have started are not affected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub job_selector: Option<LabelSelector>,
}

default_if_absent!(UpgradeSuspensionWindowSpec {
    #[serde(deserialize_with = "crate::instant::deserialize")]
    start: Time,
    #[serde(deserialize_with = "crate::instant::deserialize")]
    end: Time,
    reason: String,
    config_selector: Option<LabelSelector>,
    job_selector: Option<LabelSelector>,
});

impl Default for UpgradeSuspensionWindowSpec {
    /// A window that was long ago, and selects nothing.
    fn default() -> Self {
        Self {
            start: Time(Timestamp::UNIX_EPOCH),
            end: Time(Timestamp::UNIX_EPOCH),
            reason: String::new(),
            config_selector: None,
            job_selector: None,
        }
    }
}

/// What a window affects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeSuspensionWindowStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The UpgradeConfigs that the window selects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching_configs: Option<Vec<MatchingObject>>,
    /// The UpgradeJobs that the window selects and that would start in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matching_jobs: Option<Vec<MatchingObject>>,
    /// Ready: can the selectors be used?
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
}

/// An object that a window selects.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MatchingObject {
    /// Its name.
    pub name: String,
}
