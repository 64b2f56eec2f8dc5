//! What to do about a cluster that failed.

use drydock_rollout::FailureReason;

/// The namespace of a kubeconfig that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// How a command of the plugin names an upgrade: with its namespace, unless that is the one that the reader's kubeconfig `begins_with`.
pub fn named(namespace: &str, upgrade: &str, begins_with: &str) -> String {
    if namespace.is_empty() || namespace == begins_with {
        upgrade.to_owned()
    } else {
        format!("{upgrade} -n {namespace}")
    }
}

/// What a person does next, about a cluster of an upgrade that is named as [`named`] does.
pub fn for_reason(reason: &str, upgrade: &str, cluster: &str) -> String {
    let again = format!("kubectl drydock retry {upgrade} --cluster {cluster}");
    let first = match FailureReason::parse(reason) {
        Some(FailureReason::PreActionFailed | FailureReason::PostActionFailed) => {
            "read the logs of the action's Job on the cluster, fix what it found"
        }
        Some(FailureReason::PreActionTimedOut | FailureReason::PostActionTimedOut) => {
            "see what the action's Job waits for on the cluster, or give the action a longer timeout"
        }
        Some(FailureReason::InvalidTarget) => {
            "check that the cluster's channel offers the release (oc adm upgrade), or correct spec.clusterVersion"
        }
        Some(FailureReason::AgentFailed) => {
            "read the conditions of the UpgradeConfig on the cluster, fix what they name"
        }
        Some(FailureReason::UpgradeTimedOut) => {
            "see what the cluster waits for (oc adm upgrade, oc get clusteroperators), or raise clusterUpgradeTimeout"
        }
        Some(FailureReason::OperatorsFailed) => {
            "read the logs of Job installplan-approver on the cluster, and the operator's ClusterServiceVersion"
        }
        Some(FailureReason::OperatorsTimedOut) => {
            "see which InstallPlan or ClusterServiceVersion is pending on the cluster, or raise operatorsUpgradeTimeout"
        }
        Some(
            FailureReason::PreActionRefused
            | FailureReason::UpgradeRefused
            | FailureReason::OperatorsRefused
            | FailureReason::PostActionRefused,
        ) => {
            "see what refuses ManifestWorks in the cluster's namespace on the hub (a webhook, a quota, the hub's rights)"
        }
        None => "see the message",
    };
    format!("{first}; then: {again}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_namespace_that_the_kubeconfig_does_not() {
        for (namespace, begins_with, expected) in [
            ("default", DEFAULT_NAMESPACE, "spring"),
            ("upgrades", DEFAULT_NAMESPACE, "spring -n upgrades"),
            ("upgrades", "upgrades", "spring"),
            ("default", "upgrades", "spring -n default"),
            ("", "upgrades", "spring"),
        ] {
            assert_eq!(named(namespace, "spring", begins_with), expected);
        }
    }
}
