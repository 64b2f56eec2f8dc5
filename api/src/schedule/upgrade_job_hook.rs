//! UpgradeJobHook: a Job that runs at a step of a maintenance.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobTemplate, absent_spec::default_if_absent};

/// A Job that runs at some steps of maintenances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "managedupgrade.appuio.io",
    version = "v1beta1",
    kind = "UpgradeJobHook",
    plural = "upgradejobhooks",
    singular = "upgradejobhook",
    shortname = "ujh",
    namespaced,
    status = "UpgradeJobHookStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpgradeJobHook is a Job that runs at some steps of the UpgradeJobs of its namespace.",
    printcolumn = r#"{"name": "Events", "type": "string", "jsonPath": ".spec.events"}"#,
    printcolumn = r#"{"name": "Run", "type": "string", "jsonPath": ".spec.run"}"#,
    printcolumn = r#"{"name": "Failure policy", "type": "string", "jsonPath": ".spec.failurePolicy"}"#,
    printcolumn = r#"{"name": "Claimed by", "type": "string", "jsonPath": ".status.claimedBy.name"}"#,
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase", from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct UpgradeJobHookSpec {
    /// The events for which the Job runs. What runs for Create, Start, UpgradeComplete and MachineConfigPoolUnpause can make the
    /// UpgradeJob fail; what runs for Success, Failure and Finish cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<HookEvent>>,
    /// Whether it runs for all UpgradeJobs, or only for the next one. Default All.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<HookRun>,
    /// Whether the UpgradeJob fails if the Job does. Default Ignore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<HookFailurePolicy>,
    /// Says that the Job may disrupt workloads. For information: in metrics, and in the environment of all hooks. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruptive: Option<bool>,
    /// The UpgradeJobs for which it runs, by their labels: an empty selector selects all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
    /// The Job: metadata and spec, as in a CronJob's jobTemplate. The server checks it in full when the Job is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<JobTemplate>,
}

default_if_absent!(UpgradeJobHookSpec {
    events: Option<Vec<HookEvent>>,
    run: Option<HookRun>,
    failure_policy: Option<HookFailurePolicy>,
    disruptive: Option<bool>,
    selector: Option<LabelSelector>,
    template: Option<JobTemplate>,
});

/// A step of a maintenance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum HookEvent {
    /// The UpgradeJob has been created: its version is pinned.
    Create,
    /// It has started.
    Start,
    /// The cluster has been upgraded and is healthy; paused pools may be behind.
    UpgradeComplete,
    /// A pool is about to be unpaused.
    MachineConfigPoolUnpause,
    /// It has ended, however.
    Finish,
    /// It has succeeded.
    Success,
    /// It has failed.
    Failure,
}

impl HookEvent {
    /// The event's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Start => "Start",
            Self::UpgradeComplete => "UpgradeComplete",
            Self::MachineConfigPoolUnpause => "MachineConfigPoolUnpause",
            Self::Finish => "Finish",
            Self::Success => "Success",
            Self::Failure => "Failure",
        }
    }
}

/// For which UpgradeJobs a hook runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HookRun {
    /// For the first that matches.
    Next,
    /// For all that match.
    #[default]
    All,
}

/// What the failure of a hook's Job means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HookFailurePolicy {
    /// The UpgradeJob fails.
    Abort,
    /// Nothing.
    #[default]
    Ignore,
}

/// Which UpgradeJob the hook belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeJobHookStatus {
    /// The `metadata.generation` that the status is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The UpgradeJob that claimed the hook, where it runs only for the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub claimed_by: Option<HookClaim>,
    /// Ready: can the hook be used?
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::conditions::deserialize_some"
    )]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,
}

/// An UpgradeJob that claimed a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookClaim {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}
