//! How far one work is: an action's Jobs, or a cluster's way to the target.

use drydock_api::names::WorkKind;
use jiff::Timestamp;

use crate::{
    ClusterFeedback, ClusterState, ConditionStatus, FailureReason, Reason, RunState, Target, Work,
    WorkFeedback,
};

/// How far a work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It goes on, in this state.
    Going(ClusterState, Reason),
    /// It has succeeded.
    Done,
    /// It has failed.
    Failed(FailureReason, String),
}

/// How far a pre- or post-upgrade action is, or the Job that approves the operators' upgrades. `Available` only says that its objects exist, so its Jobs must have
/// succeeded, too (fleet reference 0.4).
pub(crate) fn action_progress(work: &Work, kind: WorkKind, deadline: Timestamp, now: Timestamp) -> Progress {
    let (state, failed, timed_out, name) = match kind {
        WorkKind::Pre => (
            ClusterState::PreAction,
            FailureReason::PreActionFailed,
            FailureReason::PreActionTimedOut,
            "pre-upgrade action",
        ),
        WorkKind::Operators => (
            ClusterState::Operators,
            FailureReason::OperatorsFailed,
            FailureReason::OperatorsTimedOut,
            "upgrade of the operators",
        ),
        WorkKind::Post | WorkKind::Cluster => (
            ClusterState::PostAction,
            FailureReason::PostActionFailed,
            FailureReason::PostActionTimedOut,
            "post-upgrade action",
        ),
    };
    if let Some(message) = &work.degraded {
        return Progress::Failed(failed, format!("the {name} is degraded: {message}"));
    }
    let reason = match &work.feedback {
        WorkFeedback::Action(runs) => {
            if let Some((run, _)) = runs.iter().find(|(_, run)| **run == RunState::Failed) {
                return Progress::Failed(failed, format!("{run} of the {name} failed"));
            }
            let succeeded = runs.values().filter(|run| **run == RunState::Succeeded).count();
            if work.available == ConditionStatus::True && succeeded == runs.len() {
                return Progress::Done;
            }
            waiting_for_apply(work).unwrap_or(Reason::ActionRunning {
                succeeded,
                total: runs.len(),
            })
        }
        WorkFeedback::Unreadable(why) => Reason::Unreadable(why.clone()),
        WorkFeedback::ClusterVersion(_) | WorkFeedback::Agent(_) => {
            Reason::Unreadable("it is not the feedback of an action".to_owned())
        }
    };
    if now >= deadline {
        return Progress::Failed(timed_out, format!("the {name} took too long: {reason}"));
    }
    Progress::Going(state, reason)
}

/// How far a cluster's upgrade is.
pub(crate) fn upgrade_progress(
    work: &Work,
    target: &Target,
    deadline: Timestamp,
    now: Timestamp,
) -> Progress {
    let progress = match &work.feedback {
        WorkFeedback::ClusterVersion(feedback) => by_cluster_version(work, feedback, target),
        WorkFeedback::Agent(feedback) => by_agent(work, feedback, target),
        WorkFeedback::Unreadable(why) => {
            Progress::Going(ClusterState::Initialized, Reason::Unreadable(why.clone()))
        }
        WorkFeedback::Action(_) => Progress::Going(
            ClusterState::Initialized,
            Reason::Unreadable("it is not the feedback of an upgrade".to_owned()),
        ),
    };
    match progress {
        Progress::Going(_, reason) if now >= deadline => Progress::Failed(
            FailureReason::UpgradeTimedOut,
            format!("the upgrade to {target} took too long: {reason}"),
        ),
        progress => progress,
    }
}

fn by_cluster_version(work: &Work, feedback: &ClusterFeedback, target: &Target) -> Progress {
    if let Some(message) = &feedback.invalid
        && concerns(message, target)
    {
        return Progress::Failed(
            FailureReason::InvalidTarget,
            format!("the cluster refuses the target {target}: {message}"),
        );
    }
    let completed = feedback.state.as_deref() == Some("Completed");
    match shows(feedback, target) {
        Shows::Target | Shows::Beyond if completed => Progress::Done,
        Shows::Target => Progress::Going(
            ClusterState::PartialUpgrade,
            Reason::Progressing(feedback.hindrance.clone().or_else(|| feedback.progress.clone())),
        ),
        Shows::WrongImage(version) => Progress::Failed(
            FailureReason::InvalidTarget,
            format!("the image is version {version}, not {target}: correct spec.clusterVersion"),
        ),
        Shows::Beyond | Shows::Other => {
            Progress::Going(ClusterState::Initialized, not_taken_up(work, feedback))
        }
    }
}

fn by_agent(work: &Work, feedback: &ClusterFeedback, target: &Target) -> Progress {
    // The agent keeps a history by version: an entry about another version is not about us. An image has no version there.
    let ours = target.image.is_some() || feedback.version.is_none() || feedback.version == target.version;
    match feedback.state.as_deref() {
        Some("Upgraded") if ours => Progress::Done,
        Some("Failed") if ours => {
            let why = feedback
                .hindrance
                .clone()
                .unwrap_or_else(|| "it does not say why".to_owned());
            Progress::Failed(
                FailureReason::AgentFailed,
                format!("the agent could not upgrade to {target}: {why}"),
            )
        }
        Some("Upgrading") if ours => Progress::Going(
            ClusterState::PartialUpgrade,
            Reason::Progressing(feedback.hindrance.clone().or_else(|| feedback.progress.clone())),
        ),
        _ => Progress::Going(ClusterState::Initialized, not_taken_up(work, feedback)),
    }
}

fn not_taken_up(work: &Work, feedback: &ClusterFeedback) -> Reason {
    waiting_for_apply(work).unwrap_or_else(|| {
        let why = feedback.invalid.as_ref().or(feedback.hindrance.as_ref());
        Reason::WaitingForTarget(why.cloned())
    })
}

fn waiting_for_apply(work: &Work) -> Option<Reason> {
    match &work.applied {
        ConditionStatus::True => None,
        ConditionStatus::Absent => Some(Reason::WaitingForApply(String::new())),
        ConditionStatus::NotTrue(message) => Some(Reason::WaitingForApply(message.clone())),
    }
}

enum Shows {
    Target,
    Beyond,
    WrongImage(String),
    Other,
}

fn shows(feedback: &ClusterFeedback, target: &Target) -> Shows {
    let image = match (&target.image, &feedback.image) {
        (None, _) => None,
        (Some(wanted), shown) => Some(shown.as_deref() == Some(wanted.as_str())),
    };
    match (&target.version, &feedback.version, image) {
        (Some(wanted), Some(shown), Some(true)) if wanted != shown => Shows::WrongImage(shown.to_string()),
        (Some(wanted), Some(shown), None | Some(true)) if wanted == shown => Shows::Target,
        (None, _, Some(true)) => Shows::Target,
        (Some(wanted), Some(shown), _) if shown > wanted => Shows::Beyond,
        _ => Shows::Other,
    }
}

/// Whether a message about `Invalid` speaks of our target: the cluster may have refused something earlier.
fn concerns(message: &str, target: &Target) -> bool {
    target
        .version
        .as_ref()
        .is_some_and(|version| message.contains(&version.to_string()))
        || target
            .image
            .as_ref()
            .is_some_and(|image| message.contains(image.as_str()))
}
