//! What is reported to users: each becomes an Event, a metric and a log line with the same words.

use drydock_names::ClusterName;
use drydock_names::names::{EndState, WorkKind};

use crate::assess::is_agent_at_work;
use crate::deletion::first_names;
use crate::{Action, ClusterRow, NewWork, RecordedOutcome, Rollout};

/// Something that happened to an upgrade, or to one of its clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The cluster it happened to; none if to the upgrade as a whole.
    pub cluster: Option<ClusterName>,
    /// Whether somebody should look.
    pub warning: bool,
    /// What happened, in CamelCase.
    pub reason: &'static str,
    /// What happened, for people.
    pub message: String,
}

impl Transition {
    /// Something that happened to a cluster.
    pub fn of_cluster(cluster: &ClusterName, warning: bool, reason: &'static str, what: &str) -> Self {
        Self {
            cluster: Some(cluster.clone()),
            warning,
            reason,
            message: format!("{cluster}: {what}"),
        }
    }
}

/// What an action that was carried out means, if users want to know. `row` is that of its cluster as the action was decided.
pub fn of_action(row: Option<&ClusterRow>, rollout: &Rollout, action: &Action) -> Vec<Transition> {
    match action {
        Action::CreateWork(new) => vec![created(row, rollout, new)],
        Action::FinishWork(finish) => {
            let cluster = &finish.cluster;
            let (warning, reason) = match finish.outcome {
                EndState::Complete => (false, "ClusterCompleted"),
                EndState::Failed => (true, "ClusterFailed"),
            };
            let ended = Transition::of_cluster(cluster, warning, reason, &finish.message);
            let unverified = finish.unverified.then(|| {
                let what = "the signature of its release was not verified (verified: false)";
                Transition::of_cluster(cluster, true, "ReleaseNotVerified", what)
            });
            [ended].into_iter().chain(unverified).collect()
        }
        Action::ReopenWork { cluster, .. } => {
            let work = row.and_then(|row| row.works.get(WorkKind::Cluster));
            let what = if work.is_some_and(|work| is_agent_at_work(work)) {
                "is retried: the upgrade that its agent is at goes on"
            } else {
                "is retried with the stages after the platform upgrade"
            };
            vec![Transition::of_cluster(cluster, false, "ClusterRetried", what)]
        }
        Action::WritePage(write) => {
            let replaced = write.replaced.iter().map(|(_, entry)| entry);
            write
                .entries
                .iter()
                .chain(replaced)
                .filter_map(recorded)
                .collect()
        }
        Action::AddFinalizer
        | Action::RemoveFinalizer
        | Action::ApplyPlacement(_)
        | Action::DeletePlacement(_)
        | Action::EnforceWork { .. }
        | Action::SetChannel { .. }
        | Action::LabelWork { .. }
        | Action::ConfirmWork { .. }
        | Action::AskPreChecks(_)
        | Action::DeletePreChecks { .. }
        | Action::MarkPage { .. }
        | Action::DeleteWork { .. } => Vec::new(),
    }
}

/// What is on the records and was reported in no other way.
fn recorded(entry: &crate::Entry) -> Option<Transition> {
    let (warning, reason) = match entry.outcome {
        RecordedOutcome::Drifted => (false, "ClusterDrifted"),
        RecordedOutcome::Abandoned => (true, "ClusterAbandoned"),
        RecordedOutcome::Failed if entry.reason.ends_with("Refused") => (true, "ClusterFailed"),
        RecordedOutcome::Complete if entry.is_without_work() => (false, "ClusterCompleted"),
        RecordedOutcome::Complete | RecordedOutcome::Failed => return None,
    };
    Some(Transition::of_cluster(
        &entry.cluster,
        warning,
        reason,
        &entry.message,
    ))
}

fn created(row: Option<&ClusterRow>, rollout: &Rollout, new: &NewWork) -> Transition {
    let goal = &new.revision.goal;
    let mut works = row.into_iter().flat_map(|row| row.works.iter());
    let under_way = works.any(|(_, work)| rollout.upgrade.owns_work(work) && work.outcome.is_none());
    let (reason, what) = match (new.kind, under_way) {
        (WorkKind::Pre, _) => ("ClusterStarted", "the pre-upgrade action starts".to_owned()),
        (WorkKind::Cluster, false) => ("ClusterStarted", format!("the upgrade to {goal} starts")),
        (WorkKind::Cluster, true) => ("ClusterUpgrading", format!("the upgrade to {goal} starts")),
        (WorkKind::Operators, false) => ("ClusterStarted", "the upgrade of the operators starts".to_owned()),
        (WorkKind::Operators, true) => (
            "ClusterOperators",
            "the upgrade of the operators starts".to_owned(),
        ),
        (WorkKind::Post, _) => ("ClusterPostAction", "the post-upgrade action starts".to_owned()),
    };
    Transition::of_cluster(&new.cluster, false, reason, &what)
}

/// The upgrade is removed, and does not wait for the clusters: it says which of them still have works.
pub fn works_left(report: &crate::Report) -> Option<Transition> {
    let left = &report.deletion.as_ref()?.clusters_with_works;
    (!left.is_empty()).then(|| Transition {
        cluster: None,
        warning: false,
        reason: "WorksTerminating",
        message: format!(
            "the upgrade is removed; ManifestWorks of {} clusters are still being deleted, among them: {}",
            left.len(),
            first_names(left)
        ),
    })
}
