//! The rules for an upgrade's status at any time, and when its rollout has come to its end.

use drydock_api::conditions;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus, condition};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use super::Rules;

/// How long after the longest of its timeouts a stage may last: the hub may be cut off, and be killed again and again.
const GRACE: SignedDuration = SignedDuration::from_hours(9);
/// The longest timeout that is drawn.
const LONGEST: SignedDuration = SignedDuration::from_hours(4);
/// States of a cluster in flight.
const IN_FLIGHT: [&str; 5] = [
    "PreAction",
    "Initialized",
    "PartialUpgrade",
    "Operators",
    "PostAction",
];
/// Reasons for which a cluster waits only while something is under way.
const PASSING: [&str; 16] = [
    "ReadyToStart",
    "Starting",
    "WaitingForSlot",
    "WaitingForCanaries",
    "WaitingForQuestions",
    "OwnedByAnotherUpgrade",
    "ReplacingOldWork",
    "WorkBeingDeleted",
    "AwaitingRecord",
    "ConfirmingWork",
    "NoLongerMatches",
    "AwaitingStartWindow",
    "Frozen",
    "DoesNotFit",
    "CanarySoaking",
    "WriteRefused",
];
/// Reasons for which an upgrade starts nothing until a user does something.
const HALTED: [&str; 12] = [
    "Paused",
    "CanaryFailed",
    "FailureBudgetSpent",
    "NoCanaryMatched",
    "NoClusters",
    "ClusterFailed",
    "Complete",
    "PlacementNotFound",
    "PlacementForbidden",
    "PlacementUnsatisfied",
    "InvalidSpec",
    "NotStarted",
];

impl Rules {
    /// What a status must never say.
    pub fn breaks_by_status(&self, upgrade: &ManagedClustersUpgrade, now: Timestamp) -> Option<String> {
        let status = upgrade.status.as_ref()?;
        let name = format!(
            "{}/{}",
            upgrade.namespace().unwrap_or_default(),
            upgrade.name_any()
        );
        let size = serde_json::to_vec(status).map_or(0, |text| text.len());
        if size > 64 * 1024 {
            return Some(format!("the status of {name} has {size} bytes"));
        }
        let clusters = status.clusters.iter().flatten();
        let mut silent = clusters.filter(|cluster| {
            let is_silent = |text: &Option<String>| text.as_deref().unwrap_or_default().is_empty();
            is_silent(&cluster.reason) || is_silent(&cluster.message)
        });
        if let Some(cluster) = silent.next() {
            return Some(format!(
                "{name} does not say why {} is {}",
                cluster.name, cluster.state
            ));
        }
        self.overdue(status, now)
            .map(|overdue| format!("{name}: {overdue}"))
    }

    /// A cluster that is in flight for longer than any deadline.
    fn overdue(&self, status: &ManagedClustersUpgradeStatus, now: Timestamp) -> Option<String> {
        let seen = self.state();
        if seen.cut.is_some() {
            return None;
        }
        let clusters = status.clusters.iter().flatten();
        let mut in_flight = clusters.filter(|cluster| IN_FLIGHT.contains(&cluster.state.as_str()));
        in_flight.find_map(|cluster| {
            let attempts = seen.attempts.get(&cluster.name)?;
            let last = attempts
                .iter()
                .rev()
                .find(|attempt| seen.is_in_flight(&cluster.name, attempt))?;
            let is_overdue = now.duration_since(last.newest) > LONGEST + GRACE;
            let waits = matches!(
                cluster.reason.as_deref(),
                Some("SpecInvalid" | "AwaitingStartWindow" | "Frozen" | "WaitingForSlot")
            );
            (is_overdue && !waits).then(|| {
                format!(
                    "{} is {} since {}: {}",
                    cluster.name,
                    cluster.state,
                    last.newest,
                    cluster.message.as_deref().unwrap_or_default()
                )
            })
        })
    }

    /// Why a rollout has not come to its end yet, if it has not.
    pub fn waits_for_work(&self, upgrade: &ManagedClustersUpgrade, now: Timestamp) -> Option<String> {
        if upgrade.metadata.deletion_timestamp.is_some() {
            return Some("it is being deleted".to_owned());
        }
        let Some(status) = &upgrade.status else {
            return Some("it has no status".to_owned());
        };
        if status.observed_generation != upgrade.metadata.generation {
            return Some("its newest spec is not observed".to_owned());
        }
        let key = format!(
            "{}/{}",
            upgrade.namespace().unwrap_or_default(),
            upgrade.name_any()
        );
        let running = self.state().in_flight(&key);
        let says = status
            .clusters
            .iter()
            .flatten()
            .find(|cluster| IN_FLIGHT.contains(&cluster.state.as_str()));
        if let Some(cluster) = says.filter(|cluster| cluster.reason.as_deref() != Some("SpecInvalid")) {
            return Some(format!("{} is {}", cluster.name, cluster.state));
        }
        if running > 0 && says.is_none() {
            return Some(format!(
                "{running} clusters are in flight, and it does not say so"
            ));
        }
        let found = conditions::find(
            status.conditions.as_deref().unwrap_or_default(),
            condition::IN_PROGRESS,
        );
        let Some(found) = found else {
            return Some("it does not say whether it is in progress".to_owned());
        };
        if HALTED.contains(&found.reason.as_str()) {
            return None;
        }
        let mut waiting = status
            .clusters
            .iter()
            .flatten()
            .filter(|cluster| cluster.state == "NotStarted");
        // The agent of a simulated cluster may never be done with an upgrade that hangs, and keeps its work.
        let is_real = self.state().spokes.is_none();
        let passing = waiting.find(|cluster| {
            let reason = cluster.reason.as_deref().unwrap_or_default();
            PASSING.contains(&reason) && !(is_real && reason == "ReplacingOldWork")
                || reason == "RisksNotAccepted" && self.is_held_for_nothing(&key, &cluster.name, now)
        });
        passing.map(|cluster| {
            format!(
                "{} waits: {} {}",
                cluster.name,
                cluster.reason.as_deref().unwrap_or_default(),
                cluster.message.as_deref().unwrap_or_default()
            )
        })
    }

    /// What has ended and is on no record.
    pub fn lost(&self) -> Option<String> {
        let seen = self.state();
        let attempts = seen
            .attempts
            .iter()
            .flat_map(|(cluster, attempts)| attempts.iter().map(move |attempt| (cluster, attempt)));
        let mut ended = attempts.filter(|(_, attempt)| attempt.outcome.is_some() && !attempt.exempt);
        let lost = ended.find(|(cluster, attempt)| !seen.is_recorded(cluster, attempt));
        lost.map(|(cluster, attempt)| {
            format!(
                "{cluster}: how the attempt of {} ended that began at {} is on no record",
                attempt.key, attempt.started
            )
        })
    }
}
