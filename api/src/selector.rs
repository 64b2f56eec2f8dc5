//! Selecting clusters by their labels.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// One requirement on a label of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0")
        .message("In and NotIn need values; Exists and DoesNotExist take none")
)]
pub struct LabelRequirement {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label must relate to the values: `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"]))]
    pub operator: String,
    /// The values; at least one for `In` and `NotIn`, none for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub values: Option<Vec<String>>,
}

impl From<&LabelRequirement> for LabelSelectorRequirement {
    fn from(requirement: &LabelRequirement) -> Self {
        Self {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.clone(),
        }
    }
}

/// A selector over the labels of ManagedClusters: all requirements must match; an empty one selects every cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelMatch {
    /// Requirements on labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub match_expressions: Option<Vec<LabelRequirement>>,
    /// Labels that a cluster must have with exactly these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: Option<BTreeMap<String, String>>,
}

impl From<&LabelMatch> for LabelSelector {
    fn from(selector: &LabelMatch) -> Self {
        Self {
            match_expressions: selector
                .match_expressions
                .as_ref()
                .map(|requirements| requirements.iter().map(Into::into).collect()),
            match_labels: selector.match_labels.clone(),
        }
    }
}
