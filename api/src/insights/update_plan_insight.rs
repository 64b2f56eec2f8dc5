//! UpdatePlanInsight: what one informer says about a planned update, and what of it is accepted (insights.md, section 1.7).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AcceptanceState, AcceptedInsight, InformerState, Insight};

/// One informer's part of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, CustomResource, KubeSchema)]
#[kube(
    group = "config.openshift.io",
    version = "v1beta1",
    kind = "UpdatePlanInsight",
    plural = "updateplaninsights",
    singular = "updateplaninsight",
    shortname = "upi",
    status = "UpdatePlanInsightStatus",
    derive = "PartialEq",
    derive = "Default",
    doc = "UpdatePlanInsight is what one informer says about a planned update, and what of it is accepted.",
    validation = Rule::new("self.metadata.name == 'update-plan-' + self.spec.targetRelease.lowerAscii().replace('+', '.') + '.' + self.spec.updateInformer")
        .message("the name must be that of the plan, a dot and the name of the informer"),
    printcolumn = r#"{"name": "Target", "type": "string", "jsonPath": ".spec.targetRelease"}"#,
    printcolumn = r#"{"name": "Informer", "type": "string", "jsonPath": ".spec.updateInformer"}"#,
    printcolumn = r#"{"name": "State", "type": "string", "jsonPath": ".status.state"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePlanInsightSpec {
    /// The target of the plan.
    #[schemars(length(min = 1, max = 200))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("targetRelease cannot be changed"))]
    pub target_release: String,
    /// The informer.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = Rule::new("self == oldSelf").message("updateInformer cannot be changed"))]
    pub update_informer: String,
    /// What somebody has accepted. It counts for this target alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["uuid".into()]))]
    pub accepted_insights: Vec<AcceptedInsight>,
}

/// What an informer says about a planned update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdatePlanInsightStatus {
    /// The uid of the plan for which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub plan_uid: Option<String>,
    /// The `metadata.generation` of the plan for which it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_generation: Option<i64>,
    /// The uid and the `metadata.generation` of the UpdateInformer as it was asked, with a slash between: what it has answered counts no more
    /// when it is another, or is edited. None of the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128))]
    pub informer_edition: Option<String>,
    /// How it answered. Unless this is Success, the findings may be out of date.
    #[serde(default)]
    pub state: InformerState,
    /// Why, where it is not Success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub message: Option<String>,
    /// When it was asked last.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub last_attempt: Option<Time>,
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
    /// What it has found, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub insights: Vec<PlanInsight>,
}

/// A finding about a planned update.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlanInsight {
    /// The finding.
    #[serde(flatten)]
    pub insight: Insight,
    /// What its acceptance comes to; absent if nobody has accepted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<AcceptanceState>,
    /// When it last became worse than was accepted here. That counts no longer, also when it is better again.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::instant::deserialize_some"
    )]
    pub raised_at: Option<Time>,
    /// The ids of the risks accepted on the plan that have covered it until it became worse; the plan says so of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 128), inner(length(max = 16)))]
    pub ended_risks: Vec<String>,
    /// The id of its entry in `spec.acceptedInsights`, if that has ended since it became worse; the plan says so of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub ended_acceptance: Option<String>,
}
