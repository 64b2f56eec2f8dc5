//! What to do about a cluster that failed, or that waits for somebody.

use drydock_api::insights::NOT_ACCEPTED;
use drydock_rollout::{Afterwards, ClusterState, FailureReason};

use crate::ClusterDetails;

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

/// What a person does about a cluster of an upgrade that is named as [`named`] does; nothing, where it goes on by itself.
pub fn about(details: &ClusterDetails, upgrade: &str) -> Option<String> {
    if details.state == ClusterState::Failed {
        return Some(after_failure(details, upgrade));
    }
    let by_reason = while_waiting(&details.reason, upgrade, &details.name);
    let blocked = || details.is_blocked.then(|| BLOCKED.to_owned());
    let is_drifted = matches!(details.afterwards, Some(Afterwards::Drifted { by: None }));
    by_reason
        .or_else(blocked)
        .or_else(|| is_drifted.then(|| DRIFTED.to_owned()))
}

/// What a person does about a cluster that has failed, by what has become of it since.
fn after_failure(details: &ClusterDetails, upgrade: &str) -> String {
    let again = format!("kubectl drydock retry {upgrade} --cluster {}", details.name);
    match &details.afterwards {
        Some(Afterwards::GoesOn(_)) => format!(
            "correct what its message names, and see how its update goes on there (kubectl drydock cluster status, oc get \
             clusteroperators,machineconfigpools,nodes); when it has come to its end, or to wait for it anew: {again}"
        ),
        Some(Afterwards::Arrived) => format!("let the upgrade find it there: {again}"),
        Some(Afterwards::LeftTo {
            upgrade: other,
            is_at_work: true,
        }) => format!(
            "nothing here: upgrade {other} goes on with it; to bring it back to this one when that has ended there: {again}"
        ),
        Some(Afterwards::LeftTo { upgrade: other, .. }) => {
            format!("nothing here: upgrade {other} has had it since; to bring it back to this one: {again}")
        }
        Some(Afterwards::Drifted { .. } | Afterwards::NotRequested(_)) | None => {
            let what = for_reason(&details.reason, &again);
            if !details.message.contains(NOT_ACCEPTED) {
                return what;
            }
            // It begins anew, and its findings are those of then.
            let name = &details.name;
            format!(
                "{what}; accept its findings once it waits again: kubectl drydock pre-checks {upgrade} \
                 --cluster {name}"
            )
        }
    }
}

fn for_reason(reason: &str, again: &str) -> String {
    let first = match FailureReason::parse(reason) {
        Some(FailureReason::PreActionFailed | FailureReason::PostActionFailed) => {
            "read the logs of the action's Job on the cluster, fix what it found"
        }
        Some(FailureReason::PreActionTimedOut | FailureReason::PostActionTimedOut) => {
            "see what the action's Job waits for on the cluster, or give the action a longer timeout"
        }
        Some(FailureReason::InvalidTarget) => {
            "check that the cluster's channel offers the release (oc adm upgrade), or correct spec.clusterVersion; a release that is not \
             recommended needs its image, or the agent; where preChecks.mode is Require, another target, or its image, takes the place of what was refused"
        }
        Some(FailureReason::AgentFailed) => {
            "fix what the conditions of the UpgradeConfig on the cluster name (oc get upgradeconfigs.upgrade.managed.openshift.io -A -o yaml)"
        }
        Some(FailureReason::UpgradeTimedOut) => {
            "correct what its message names, or see on the cluster what it waits for (oc adm upgrade, kubectl drydock cluster status, oc get \
             clusteroperators,machineconfigpools,nodes): a target that is not offered or not accepted, a node that is not ready, the lock of an upgrade that is gone; or raise \
             clusterUpgradeTimeout"
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

/// What a person does about a cluster that waits, by its reason.
const WHILE_WAITING: [(&str, &str); 25] = [
    ("Paused", "resume the upgrade: kubectl drydock resume {upgrade}"),
    ("CanaryFailed", LOOK_AND_RETRY),
    ("FailureBudgetSpent", LOOK_AND_RETRY),
    (
        "NoCanaryMatched",
        "correct canaryClusters: no selected cluster is a canary",
    ),
    (
        "FreezeCalendarUnreadable",
        "correct the calendar of freezes that the message names",
    ),
    ("InvalidSpec", "correct the spec of the upgrade"),
    ("SpecInvalid", "correct the spec of the upgrade"),
    (
        "NeverFits",
        "lengthen a start window, or take startOnlyIfItFits off",
    ),
    (
        "RisksNotAccepted",
        "correct the findings, or accept them: kubectl drydock pre-checks {upgrade} --cluster {cluster}",
    ),
    (
        "PreChecksUnanswered",
        "see whether the work agent and drydock-agent of the cluster run",
    ),
    (
        "ClusterUnknown",
        "correct what decides the Placement, unless the cluster was just deleted",
    ),
    ("NotOpenShift", "leave the cluster out of the selection"),
    (
        "NotAccepted",
        "accept the cluster: clusteradm accept --clusters {cluster}; if spec.hubAcceptsClient is true already, see whether OCM's registration controller runs on the hub",
    ),
    ("NotJoined", "look at the klusterlet of the cluster"),
    ("NotAvailable", "look at the cluster and at its klusterlet"),
    (
        "Tainted",
        "remove the taint, or add a toleration to the Placement",
    ),
    (
        "OwnedByAnotherUpgrade",
        "wait until the other upgrade has ended there, or leave the cluster out of one of them",
    ),
    (
        "AgentNotAvailable",
        "install the add-on drydock-agent, or let upgradeVia be Auto",
    ),
    (
        "LockHeld",
        "nothing while that upgrade is there; if it is gone, release its lock on the cluster: oc annotate clusterversion version managedupgrade.appuio.io/upgrade-job-",
    ),
    ("NamespaceMissing", "see what refuses the write"),
    ("WriteRefused", "see what refuses the write"),
    ("AwaitingRecord", "see what refuses the write"),
    (
        "ReplacingOldWork",
        "see on the cluster what keeps the upgrade that its agent is at (kubectl drydock cluster status), and whether its work agent runs",
    ),
    (
        "WorkBeingDeleted",
        "see who deletes the work, and whether the work agent of the cluster runs",
    ),
    ("Unreadable", "delete the work: the cluster starts over"),
];
const LOOK_AND_RETRY: &str = "look at the clusters that have failed; then: kubectl drydock retry {upgrade}";

/// What a person does about a cluster in flight whose message says what it waits for.
const BLOCKED: &str = "see to what its message names, unless that ends by itself";

/// What a person does about a complete cluster that runs another version by now.
const DRIFTED: &str = "see who has upgraded it since, unless that was meant";

/// What a person does about a cluster that no upgrade has, and that one has left on its way.
pub const LEFT: &str =
    "see where the cluster is (oc adm upgrade on it); to bring it to its end, let a new upgrade select it";

/// What a person does about a cluster that waits, by its reason; nothing, where it goes on by itself. The upgrade is named as [`named`] does.
fn while_waiting(reason: &str, upgrade: &str, cluster: &str) -> Option<String> {
    let (_, what) = WHILE_WAITING.iter().find(|(of, _)| *of == reason)?;
    Some(what.replace("{upgrade}", upgrade).replace("{cluster}", cluster))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_person_says_so_and_nobody_else() {
        let said = |reason| while_waiting(reason, "spring -n upgrades", "dev1");
        let accept = "accept the cluster: clusteradm accept --clusters dev1; ";
        assert!(said("NotAccepted").unwrap().starts_with(accept));
        let risks = said("RisksNotAccepted").unwrap();
        assert!(risks.ends_with("kubectl drydock pre-checks spring -n upgrades --cluster dev1"));
        let lock = said("LockHeld").unwrap();
        assert!(
            lock.contains(drydock_api::names::UPGRADE_LOCK_ANNOTATION),
            "{lock}"
        );
        for reason in [
            "WaitingForSlot",
            "WaitingForCanaries",
            "WaitingForQuestions",
            "Frozen",
            "Progressing",
            "Upgraded",
            "",
        ] {
            assert_eq!(said(reason), None, "{reason}");
        }
        // A word that is no reason would say nothing, for ever.
        let explained = include_str!("../../../docs/reasons.md");
        for (reason, _) in WHILE_WAITING {
            assert!(explained.contains(&format!("\n### {reason}\n")), "{reason}");
        }
    }

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
