//! UpdateStatus: what is known about the update that is under way (insights.md, section 1.5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Insight, PoolReference};

/// Nothing: an UpdateStatus is only written by the agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "config.openshift.io",
    version = "v1beta1",
    kind = "UpdateStatus",
    plural = "updatestatuses",
    singular = "updatestatus",
    shortname = "us",
    status = "UpdateStatusStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpdateStatus is what all informers know about the update of the cluster that is under way.",
    validation = Rule::new("self.metadata.name == 'cluster'").message("there is one UpdateStatus, and its name is cluster"),
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".status.update.target"}"#,
    printcolumn = r#"{"name": "Percent", "type": "integer", "jsonPath": ".status.controlPlane.completionPercent"}"#,
    printcolumn = r#"{"name": "Pending", "type": "string", "jsonPath": ".status.controlPlane.conditions[?(@.type==\"UpdatePending\")].status"}"#,
    printcolumn = r#"{"name": "Active", "type": "string", "jsonPath": ".status.controlPlane.conditions[?(@.type==\"UpdateActive\")].status"}"#,
    printcolumn = r#"{"name": "Reason", "type": "string", "jsonPath": ".status.controlPlane.conditions[?(@.type==\"UpdateActive\")].reason"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(from = "Option<SpecOnTheWire>")]
#[schemars(!from)]
pub struct UpdateStatusSpec {}

/// A spec as it is read: an UpdateStatus may have none.
#[derive(Deserialize)]
struct SpecOnTheWire {}

impl From<Option<SpecOnTheWire>> for UpdateStatusSpec {
    fn from(_spec: Option<SpecOnTheWire>) -> Self {
        Self {}
    }
}

/// What is known about the update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateStatusStatus {
    /// The update, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<OngoingUpdate>,
    /// How each informer answered last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub informers: Vec<InformerSummary>,
    /// The control plane.
    #[serde(default)]
    pub control_plane: ControlPlaneStatus,
    /// The pools of workers, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub worker_pools: Vec<WorkerPoolStatus>,
    /// Complete: is everything here that the informers have reported?
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::deserialize"
    )]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// The update that is under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OngoingUpdate {
    /// The version before; absent for an installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub from: Option<String>,
    /// The version that it leads to.
    #[schemars(length(max = 256))]
    pub target: String,
    /// When it began. Another target begins anew.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub started_at: Option<Time>,
    /// When the last of the findings with an estimate is likely to be over.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub estimated_finish: Option<Time>,
}

/// How an informer answered last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InformerSummary {
    /// The informer.
    #[schemars(length(max = 63))]
    pub name: String,
    /// How it answered. Unless this is Success, its findings may be out of date.
    pub state: InformerState,
    /// Why, where it is not Success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// When all of its findings were last confirmed.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_success: Option<Time>,
    /// How many of its findings do not fit in here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<i64>,
}

/// How an informer answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum InformerState {
    /// It has not been asked yet.
    #[default]
    Pending,
    /// It is still looking, and is asked again.
    Waiting,
    /// It has reported everything that it knows.
    Success,
    /// It says that it cannot tell.
    Failure,
    /// It does not answer, or cannot be understood.
    Unavailable,
    /// An administrator has switched it off.
    Disabled,
    /// It does not have this hook.
    NotImplemented,
}

impl InformerState {
    /// The state's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Waiting => "Waiting",
            Self::Success => "Success",
            Self::Failure => "Failure",
            Self::Unavailable => "Unavailable",
            Self::Disabled => "Disabled",
            Self::NotImplemented => "NotImplemented",
        }
    }
}

/// The findings of an informer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct InformerInsights {
    /// The informer.
    #[schemars(length(max = 63))]
    pub name: String,
    /// What it has found, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub insights: Vec<Insight>,
}

/// What is known about the control plane.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ControlPlaneStatus {
    /// Findings, by informer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub update_informers: Vec<InformerInsights>,
    /// How many percent of its operators have the version of the update. It never falls while that update lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub completion_percent: Option<i64>,
    /// UpdatePending, UpdateActive, ScopeUnresolved.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::deserialize"
    )]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What is known about a pool of workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkerPoolStatus {
    /// Its group and version.
    #[schemars(length(max = 317))]
    pub api_version: String,
    /// Which pool.
    #[serde(flatten)]
    pub pool: PoolReference,
    /// Its uid.
    #[schemars(length(max = 64))]
    pub uid: String,
    /// Findings, by informer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub update_informers: Vec<InformerInsights>,
    /// How many percent of its nodes match the release of the update. It never falls while that update lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub completion_percent: Option<i64>,
    /// UpdatePending, UpdateActive.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::conditions::deserialize"
    )]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}
