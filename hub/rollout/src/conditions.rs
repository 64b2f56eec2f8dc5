//! The conditions of an upgrade, as values: what is rendered from the report.

mod halts;
mod pre_checks;

use drydock_names::reasons as reason;

use crate::{Report, SelectionProblem, shortened};
use halts::halt_words;
use pre_checks::pre_checks;

/// How many names a message holds.
const NAMED: usize = 5;
/// The longest message of a condition, in bytes.
const MESSAGE: usize = 1024;
/// The longest message about one cluster within a condition's, in bytes.
pub(crate) const CLUSTER_MESSAGE: usize = 160;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not.
    False,
    /// It is not known whether it holds.
    Unknown,
}

use ConditionStatus::{False as FALSE, True as TRUE, Unknown as UNKNOWN};

/// The type of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionType {
    /// At least one cluster is selected.
    Selected,
    /// At least one work is applied.
    Applied,
    /// Clusters are being upgraded.
    InProgress,
    /// All selected clusters are upgraded.
    Complete,
    /// A cluster has failed, or the spec is invalid.
    Failed,
    /// Nothing that its pre-checks have found keeps a cluster from starting.
    PreChecksPassed,
    /// The upgrade is being deleted, and something keeps it.
    Deleting,
}

impl ConditionType {
    /// The type on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Selected => "Selected",
            Self::Applied => "Applied",
            Self::InProgress => "InProgress",
            Self::Complete => "Complete",
            Self::Failed => "Failed",
            Self::PreChecksPassed => "PreChecksPassed",
            Self::Deleting => "Deleting",
        }
    }
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeCondition {
    /// Which condition.
    pub type_: ConditionType,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// Why, in CamelCase.
    pub reason: &'static str,
    /// Why, in a sentence, and what to do.
    pub message: String,
}

struct ConditionValue {
    status: ConditionStatus,
    reason: &'static str,
    message: String,
}

fn value(status: ConditionStatus, reason: &'static str, message: impl Into<String>) -> ConditionValue {
    ConditionValue {
        status,
        reason,
        message: message.into(),
    }
}

/// What all conditions say.
pub fn upgrade_conditions(report: &Report) -> Vec<UpgradeCondition> {
    use ConditionType::{Applied, Complete, Deleting, Failed, InProgress, PreChecksPassed, Selected};
    if let Some(deleting) = deleting(report) {
        return vec![condition(Deleting, deleting)];
    }
    let in_progress = in_progress(report);
    let complete = complete(report, &in_progress);
    let mut conditions = vec![
        condition(Selected, selected(report)),
        condition(Applied, applied(report)),
        condition(InProgress, in_progress),
        condition(Complete, complete),
        condition(Failed, failed(report)),
    ];
    conditions.extend(pre_checks(report).map(|passed| condition(PreChecksPassed, passed)));
    conditions
}

fn condition(type_: ConditionType, mut value: ConditionValue) -> UpgradeCondition {
    value.message = shortened(&value.message, MESSAGE).into_owned();
    UpgradeCondition {
        type_,
        status: value.status,
        reason: value.reason,
        message: value.message,
    }
}

fn deleting(report: &Report) -> Option<ConditionValue> {
    let deletion = report.deletion.as_ref()?;
    let left = clusters(deletion.clusters_with_works.len());
    Some(match (&report.records_refused, &deletion.refused) {
        (Some(words), _) if deletion.unrecorded > 0 => value(
            TRUE,
            reason::RECORDS_REFUSED,
            format!(
                "the outcomes of {} cannot be recorded: {words}",
                clusters(deletion.unrecorded)
            ),
        ),
        (_, Some((cluster, words))) => value(
            TRUE,
            reason::DELETION_REFUSED,
            format!("the deletion of a work of {cluster} is refused: {words}; works of {left} are left"),
        ),
        _ => value(
            TRUE,
            reason::DELETING_WORKS,
            format!("works of {left} are being deleted"),
        ),
    })
}

fn selected(report: &Report) -> ConditionValue {
    let Some((placement, problem)) = &report.selection_problem else {
        return match report.selected {
            0 if report.invalid.is_some() => value(
                UNKNOWN,
                reason::NO_CLUSTERS,
                "which clusters are selected is not known while the spec is invalid",
            ),
            0 if !report.left_to.is_empty() => value(
                FALSE,
                reason::NO_CLUSTERS,
                format!("no cluster takes part{}", left_to_later(report)),
            ),
            0 => value(
                FALSE,
                reason::NO_CLUSTERS,
                "no cluster is selected: check the placements' predicates, the cluster sets bound to their namespaces, \
                 and the labels of the clusters",
            ),
            selected => value(TRUE, reason::SELECTED, format!("{} selected", clusters(selected))),
        };
    };
    let message = problem.about(placement);
    match problem {
        SelectionProblem::NotFound => value(FALSE, reason::PLACEMENT_NOT_FOUND, message),
        SelectionProblem::Forbidden => value(FALSE, reason::PLACEMENT_FORBIDDEN, message),
        SelectionProblem::Unsatisfied(_) => value(FALSE, reason::PLACEMENT_UNSATISFIED, message),
        SelectionProblem::Pending => value(UNKNOWN, reason::NO_CLUSTERS, message),
    }
}

fn applied(report: &Report) -> ConditionValue {
    match report.applied {
        0 => value(FALSE, reason::NOT_STARTED, "no work is applied yet"),
        applied => value(
            TRUE,
            reason::APPLIED,
            format!("works are applied on {}", clusters(applied)),
        ),
    }
}

fn in_progress(report: &Report) -> ConditionValue {
    let counts = &report.counts;
    let moving = counts.in_flight + report.starting;
    let halted = report.halt.as_ref().map(|halt| halt_words(halt, report));
    let so_far = format!(
        "{moving} in flight, {} of {} complete{}",
        counts.complete,
        counts.total,
        left_to_later(report)
    );
    match halted {
        // Running upgrades continue without a valid spec or a selection; otherwise the halt is what is new.
        Some((reason::NOT_STARTED, _)) | None if moving > 0 => {
            return value(TRUE, reason::IN_PROGRESS, so_far);
        }
        Some((reason, why)) if moving > 0 => return value(FALSE, reason, format!("{why}; {so_far}")),
        Some((reason, why)) => return value(FALSE, reason, format!("{why}{}", left_to_later(report))),
        None => {}
    }
    if report.complete() {
        return value(
            FALSE,
            reason::COMPLETE,
            format!("{}{}", completed(report), left_to_later(report)),
        );
    }
    if report.awaits_records > 0 && counts.complete == counts.total {
        let message = format!(
            "the outcomes of {} are being recorded",
            clusters(report.awaits_records)
        );
        return value(TRUE, reason::IN_PROGRESS, message);
    }
    if report.channels_pending > 0 && counts.complete == counts.total {
        let message = format!(
            "the channel is being set on {}",
            clusters(report.channels_pending)
        );
        return value(TRUE, reason::IN_PROGRESS, message);
    }
    if counts.total == 0 {
        let message = match left_to_later(report) {
            left if left.is_empty() => "no cluster is selected".to_owned(),
            left => format!("no cluster takes part{left}"),
        };
        return value(FALSE, reason::NOT_STARTED, message);
    }
    if counts.pending == 0 {
        let message = format!(
            "{} of {} complete, {} failed{}",
            counts.complete,
            counts.total,
            counts.failed,
            left_to_later(report)
        );
        return value(FALSE, reason::CLUSTER_FAILED, message);
    }
    let message = format!(
        "{} waiting{}{}",
        clusters(counts.pending),
        first_wait(report),
        left_to_later(report)
    );
    match report.rollout_since {
        None => value(FALSE, reason::NOT_STARTED, message),
        Some(_) => value(TRUE, reason::IN_PROGRESS, message),
    }
}

/// The first cluster that waits, and for what, to go on with; nothing if none stands out.
fn first_wait(report: &Report) -> String {
    let first = report.first_wait.as_ref();
    first
        .map(|(name, reason)| format!(": {name}: {}", shortened(&reason.to_string(), CLUSTER_MESSAGE)))
        .unwrap_or_default()
}

fn complete(report: &Report, in_progress: &ConditionValue) -> ConditionValue {
    let counts = &report.counts;
    if report.complete() {
        return value(
            TRUE,
            reason::COMPLETE,
            format!(
                "{} {}{}",
                every(counts.complete),
                completed(report),
                left_to_later(report)
            ),
        );
    }
    value(
        FALSE,
        in_progress.reason,
        format!(
            "{} of {} complete{}",
            counts.complete,
            counts.total,
            left_to_later(report)
        ),
    )
}

/// What comes before the number of clusters where none is left out: nobody says "all 1 cluster".
fn every(count: usize) -> &'static str {
    if count == 1 { "1 of" } else { "all" }
}

/// What all clusters have come to. Not all need have been upgraded.
fn completed(report: &Report) -> String {
    let all = clusters(report.counts.complete);
    let target = &report.target;
    let is_one = report.counts.complete == 1;
    let since = match report.drifted {
        0 => String::new(),
        1 if is_one => "; it runs another version since".to_owned(),
        1 => "; 1 of them runs another version since".to_owned(),
        drifted => format!("; {drifted} of them run another version since"),
    };
    let has = match report.drifted {
        0 if is_one => "runs",
        0 => "run",
        _ => "came to",
    };
    match report.needed_nothing {
        0 => format!("{all} upgraded to {target}{since}"),
        _ if is_one => format!("{all} {has} {target} or newer, and did before{since}"),
        already => format!("{all} {has} {target} or newer; {already} of them did before{since}"),
    }
}

/// How a text names the upgrade that clusters are left to: not everybody may know of that.
pub const LEFT_TO: &str = "left to the later upgrade ";

/// How a text names an upgrade from which clusters are taken: not everybody may know of that.
pub const EARLIER: &str = "the earlier upgrade ";

/// How many clusters are left to later upgrades, each after a semicolon; empty if none are.
pub fn left_to_later(report: &Report) -> String {
    let parts = report.left_to.iter().take(3);
    let parts = parts.map(|(upgrade, count)| format!("; {} {LEFT_TO}{upgrade}", clusters(*count)));
    parts.collect()
}

fn failed(report: &Report) -> ConditionValue {
    if let Some(invalid) = &report.invalid {
        return value(TRUE, reason::INVALID_SPEC, invalid.to_string());
    }
    if let Some(words) = &report.records_refused {
        let message = format!(
            "the outcomes of clusters cannot be recorded; ManifestWorks with an outcome are kept until they are: {words}"
        );
        return value(TRUE, reason::RECORDS_REFUSED, message);
    }
    let count = report.counts.failed;
    if count == 0 {
        return value(FALSE, "NoClusterFailed", "no cluster has failed");
    }
    let names = report
        .failed
        .iter()
        .map(|(name, reason)| format!("{name} ({})", shortened(&reason.to_string(), CLUSTER_MESSAGE)));
    value(
        TRUE,
        reason::CLUSTER_FAILED,
        format!("{} failed: {}", clusters(count), some_names(names, count)),
    )
}

fn clusters(count: usize) -> String {
    if count == 1 {
        "1 cluster".to_owned()
    } else {
        format!("{count} clusters")
    }
}

fn some_names(names: impl Iterator<Item = String>, all: usize) -> String {
    let mut text = names.take(NAMED).collect::<Vec<_>>().join(", ");
    if all > NAMED {
        text = format!("{text} and {} more", all - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use drydock_names::IntOrPercent;

    use super::*;
    use crate::Halt;

    #[test]
    fn the_number_of_failures_is_that_of_the_spec() {
        for (allowed, said) in [
            (IntOrPercent::Count(0), "maxFailures is 0:"),
            (IntOrPercent::Percent(10), "maxFailures is 10%:"),
        ] {
            let report = Report {
                halt: Some(Halt::FailureBudgetSpent { failed: 1, allowed }),
                ..Report::default()
            };
            let message = in_progress(&report).message;
            assert!(message.contains(said), "{message}");
        }
    }

    #[test]
    fn the_end_is_said_in_the_number_of_the_clusters() {
        let since = "1 of them runs another version since";
        for (clusters, needed_nothing, drifted, said) in [
            (1, 0, 0, "1 of 1 cluster upgraded to 4.14.12"),
            (2, 0, 0, "all 2 clusters upgraded to 4.14.12"),
            (1, 1, 0, "1 of 1 cluster runs 4.14.12 or newer, and did before"),
            (
                2,
                1,
                0,
                "all 2 clusters run 4.14.12 or newer; 1 of them did before",
            ),
            // What was left there is no more what runs there.
            (2, 0, 1, &format!("all 2 clusters upgraded to 4.14.12; {since}")),
            (
                2,
                1,
                1,
                &format!("all 2 clusters came to 4.14.12 or newer; 1 of them did before; {since}"),
            ),
        ] {
            let mut report = Report {
                target: "4.14.12".to_owned(),
                needed_nothing,
                drifted,
                ..Report::default()
            };
            (report.counts.total, report.counts.complete) = (clusters, clusters);
            let ended = complete(&report, &in_progress(&report));
            assert_eq!((ended.status, &*ended.message), (TRUE, said));
        }
    }
}
