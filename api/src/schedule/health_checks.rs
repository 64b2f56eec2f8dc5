//! What must be healthy before an upgrade, and after it.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::one_hour;

/// What must be healthy, and how long it may take until it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!(has(self.skipDegradedOperatorsCheck) && self.skipDegradedOperatorsCheck && has(self.checkDegradedOperators) && self.checkDegradedOperators)")
        .message("skipDegradedOperatorsCheck and checkDegradedOperators contradict each other: remove one of them")
)]
pub struct HealthChecks {
    /// How long the cluster may be unhealthy. After that the UpgradeJob has failed.
    #[serde(default = "one_hour")]
    #[schemars(extend("format" = "duration"))]
    pub timeout: String,
    /// If true, degraded cluster operators are not looked for. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_degraded_operators_check: Option<bool>,
    /// If true, the cluster is unhealthy while a cluster operator is degraded. Default true, unless skipDegradedOperatorsCheck is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_degraded_operators: Option<bool>,
    /// If true, the cluster is unhealthy while an alert of severity critical fires. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_critical_alerts: Option<bool>,
    /// If true, nothing is asked of the cluster before its UpdatePlan of the version says that the update may start: until every finding that
    /// gates is accepted or gone. Only before an upgrade. Default false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_update_plan: Option<bool>,
    /// Alerts that are passed over, by their labels, such as `alertname: KubePodCrashLooping`. Of an entry all labels must match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclude_alerts: Option<Vec<BTreeMap<String, String>>>,
    /// Namespaces whose alerts are passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclude_namespaces: Option<Vec<String>>,
    /// Cluster operators that may be degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub exclude_operators: Option<Vec<String>>,
}

impl Default for HealthChecks {
    fn default() -> Self {
        Self {
            timeout: one_hour(),
            skip_degraded_operators_check: None,
            check_degraded_operators: None,
            check_critical_alerts: None,
            check_update_plan: None,
            exclude_alerts: None,
            exclude_namespaces: None,
            exclude_operators: None,
        }
    }
}

impl HealthChecks {
    /// Are degraded cluster operators looked for?
    pub fn checks_degraded_operators(&self) -> bool {
        let skip = self.skip_degraded_operators_check.unwrap_or(false);
        self.check_degraded_operators.unwrap_or(!skip)
    }
}
