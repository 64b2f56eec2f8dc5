//! How far one work is: the Jobs of an action, or a cluster's way to the target.

use std::cmp::Ordering;
use std::sync::Arc;

use drydock_names::is_same_image;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::Present;
use crate::{
    ActionJobState, AgentFeedback, AgentPhase, Applied, ClusterState, Enforcement, FailureReason, Reason,
    Stage, Target, UpdateState, VersionFeedback, Work, WorkFeedback,
};

/// For how long a cluster must refuse the target before it fails by it: it may not have heard of the release yet.
const REFUSES: SignedDuration = SignedDuration::from_mins(10);

/// For how long the update that somebody else has asked for must be failing before the cluster is led elsewhere.
const FAILS: SignedDuration = SignedDuration::from_mins(30);

/// How far a work is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is under way, in this state.
    Going(ClusterState, Reason),
    /// What it reads says that the target is to be applied.
    Enforce,
    /// It has succeeded.
    Done,
    /// Nothing was asked of the cluster: it was at the target, or beyond it.
    WasThere,
    /// It has failed.
    Failed(FailureReason, String),
}

/// How far an action is, or the Job that approves the operators' upgrades. `Available` only says that the objects of a work exist, so
/// its Jobs must have succeeded, too.
pub(crate) fn action_progress(stage: Stage, work: &Work, deadline: Timestamp, present: &Present) -> Progress {
    let name = stage.label();
    if let Some(message) = &work.degraded {
        return Progress::Failed(stage.failed(), format!("the {name} is degraded: {message}"));
    }
    let reason = match &work.feedback {
        WorkFeedback::ActionJobs(runs) => {
            let find = |state| runs.iter().find(|run| run.state == state);
            if let Some(run) = find(ActionJobState::OtherAttempt) {
                return Progress::Failed(
                    stage.failed(),
                    format!(
                        "{} on the cluster is of another attempt: delete it there, then retry",
                        run.name
                    ),
                );
            }
            if let Some(run) = find(ActionJobState::Failed) {
                return Progress::Failed(stage.failed(), format!("{} of the {name} failed", run.name));
            }
            let succeeded = runs
                .iter()
                .filter(|run| run.state == ActionJobState::Succeeded)
                .count();
            if work.available && succeeded == runs.len() {
                return Progress::Done;
            }
            not_applied(work).unwrap_or(Reason::ActionRunning {
                succeeded,
                total: runs.len(),
            })
        }
        WorkFeedback::Unreadable(why) => Reason::Unreadable(Arc::clone(why)),
        WorkFeedback::ClusterVersion(_) | WorkFeedback::Agent(_) => {
            Reason::Unreadable("it is not the feedback of an action".into())
        }
    };
    if present.has_reached(deadline) {
        return Progress::Failed(stage.timed_out(), format!("the {name} took too long: {reason}"));
    }
    Progress::Going(stage.state(), reason)
}

/// How far a cluster's upgrade is.
pub(crate) fn upgrade_progress(
    work: &Work,
    target: &Target,
    deadline: Timestamp,
    present: &Present,
) -> Progress {
    let progress = match &work.feedback {
        WorkFeedback::ClusterVersion(feedback) if is_observed(work) => match observed(work, feedback, target)
        {
            // An UpgradeConfig takes the lock itself; who writes ClusterVersion itself waits until nobody has it.
            Progress::Enforce => match held_by(feedback, target, present) {
                Some(reason) => initialized(reason),
                None => Progress::Enforce,
            },
            progress => progress,
        },
        WorkFeedback::Agent(feedback) if is_observed(work) => match by_agent(work, feedback, target) {
            progress @ Progress::Going(..) if is_agent_at_work(work) => progress,
            // A work that was taken up again follows what was under way to its end.
            progress @ (Progress::Done | Progress::Failed(..)) if work.begun() > work.created => progress,
            _ => observed(work, &feedback.cluster, target),
        },
        WorkFeedback::ClusterVersion(feedback) => by_cluster_version(work, feedback, target, present),
        WorkFeedback::Agent(feedback) => by_agent(work, feedback, target),
        WorkFeedback::Unreadable(why) => initialized(Reason::Unreadable(Arc::clone(why))),
        WorkFeedback::ActionJobs(_) => {
            initialized(Reason::Unreadable("it is not the feedback of an upgrade".into()))
        }
    };
    match progress {
        Progress::Going(_, reason) if present.has_reached(deadline) => Progress::Failed(
            FailureReason::UpgradeTimedOut,
            format!("the upgrade to {target} took too long: {reason}"),
        ),
        progress => progress,
    }
}

/// What keeps a cluster from being asked for the target: somebody has its lock, or it is being updated, or was asked to be, whoever wants that:
/// it would be left between releases. One whose update fails, or that refuses it, may be led elsewhere.
fn held_by(feedback: &VersionFeedback, target: &Target, present: &Present) -> Option<Reason> {
    if let Some(holder) = &feedback.locked_by {
        return Some(Reason::LockHeld(Arc::clone(holder)));
    }
    // Operators are unavailable for a while in any update.
    let has_failed = feedback
        .failing_since
        .is_some_and(|since| present.has_reached(since.saturating_add(FAILS).unwrap_or(Timestamp::MAX)));
    let under_way = feedback.version.as_ref();
    let under_way = under_way.filter(|_| feedback.state == Some(UpdateState::Partial) && !has_failed);
    let release = under_way.map(Version::to_string).or_else(|| {
        // What the cluster refuses does not begin; what is under way goes on nevertheless.
        let is_refused = feedback.invalid.is_some() || feedback.blocked_by.is_some();
        asked_by_other(feedback, target).filter(|_| !is_refused)
    })?;
    Some(Reason::UpgradeInProgress(release.into()))
}

/// The release that somebody else asks for and that has not begun: a version, or an image alone.
fn asked_by_other(feedback: &VersionFeedback, target: &Target) -> Option<String> {
    if let Some(asked) = &feedback.asked {
        let is_new = feedback.version.as_ref() != Some(asked) && target.version.as_ref() != Some(asked);
        return is_new.then(|| asked.to_string());
    }
    let asked = feedback.asked_image.as_deref()?;
    let is_it = |image: &str| is_same_image(image, asked);
    let has_begun = feedback.image.as_deref().is_some_and(is_it);
    let is_ours = target.image.as_deref().is_some_and(is_it);
    (!has_begun && !is_ours).then(|| asked.to_owned())
}

/// What the agent says that is at the upgrade that a work asks for: it goes on to its end, whether somebody waits for it or not.
pub(crate) fn agent_at_work(work: &Work) -> Option<&AgentFeedback> {
    let WorkFeedback::Agent(feedback) = &work.feedback else {
        return None;
    };
    let target = work.revision.as_ref()?.goal.target.as_ref()?;
    let is_at_work = feedback.phase == Some(AgentPhase::Upgrading) && is_about(feedback, target);
    is_at_work.then_some(feedback)
}

/// Whether an agent is at the upgrade that a work asks for.
pub(crate) fn is_agent_at_work(work: &Work) -> bool {
    agent_at_work(work).is_some()
}

/// Whether the cluster is on its way to a target, as far as is known.
pub(crate) fn is_update_under_way(work: &Work, target: &Target) -> bool {
    let feedback = work.feedback.cluster_version();
    feedback.is_some_and(|feedback| {
        feedback.state == Some(UpdateState::Partial) && shows(feedback, target) == Shows::Target
    })
}

fn initialized(reason: Reason) -> Progress {
    Progress::Going(ClusterState::Initialized, reason)
}

fn is_observed(work: &Work) -> bool {
    work.revision
        .as_ref()
        .is_some_and(|revision| revision.enforcement == Enforcement::Observed)
}

/// A cluster whose version nobody claims is read first: one at the target or beyond it is never asked for anything.
fn observed(work: &Work, feedback: &VersionFeedback, target: &Target) -> Progress {
    if feedback.version.is_none() && feedback.image.is_none() {
        let unreadable = || feedback.blocked_by.clone().map(Reason::Unreadable);
        return initialized(
            not_applied(work)
                .or_else(unreadable)
                .unwrap_or(Reason::ReadingVersion),
        );
    }
    match shows(feedback, target) {
        Shows::Target | Shows::Newer if feedback.state == Some(UpdateState::Completed) => Progress::WasThere,
        Shows::Target => under_way(feedback),
        // Somebody else's, past the target: about the share that is done of it nobody has asked.
        Shows::Newer => feedback.version.as_ref().map_or_else(
            || under_way(feedback),
            |version| initialized(Reason::UpgradeInProgress(version.to_string().into())),
        ),
        Shows::WrongImage(_) | Shows::Other => Progress::Enforce,
    }
}

fn by_cluster_version(
    work: &Work,
    feedback: &VersionFeedback,
    target: &Target,
    present: &Present,
) -> Progress {
    if let Some(refused) = feedback.invalid.as_ref().filter(|_| !feedback.without_updates)
        && concerns(&refused.message, target)
    {
        let fails = refused.since.saturating_add(REFUSES).unwrap_or(Timestamp::MAX);
        if present.has_reached(fails) {
            return Progress::Failed(
                FailureReason::InvalidTarget,
                format!("the cluster refuses the target {target}: {}", refused.message),
            );
        }
        let reason = Reason::WaitingForTarget(Some(Arc::clone(&refused.message)));
        return Progress::Going(ClusterState::Initialized, reason);
    }
    match shows(feedback, target) {
        Shows::Target | Shows::Newer if feedback.state == Some(UpdateState::Completed) => Progress::Done,
        Shows::Target => under_way(feedback),
        Shows::WrongImage(version) => Progress::Failed(
            FailureReason::InvalidTarget,
            format!("the image is version {version}, not {target}: correct spec.clusterVersion"),
        ),
        Shows::Newer | Shows::Other => initialized(not_taken_up(work, feedback)),
    }
}

fn under_way(feedback: &VersionFeedback) -> Progress {
    let goes_on = || {
        let slow = feedback.slow.as_deref().map(str::to_owned);
        Reason::Progressing(joined(feedback.percent.map(share).into_iter().chain(slow)))
    };
    let reason = feedback.blocked_by.clone().map_or_else(goes_on, Reason::Blocked);
    Progress::Going(ClusterState::PartialUpgrade, reason)
}

fn share(percent: u8) -> String {
    format!("about {percent} % done")
}

/// All that is said, with semicolons between; nothing if nothing is.
fn joined(said: impl Iterator<Item = String>) -> Option<Arc<str>> {
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join("; ").into())
}

/// The agent and ClusterVersion must both say that the upgrade is done. What the agent says of another version, or of an
/// upgrade before this one, is no answer.
fn by_agent(work: &Work, feedback: &AgentFeedback, target: &Target) -> Progress {
    let cluster = &feedback.cluster;
    let shown = shows(cluster, target);
    let at_target =
        matches!(shown, Shows::Target | Shows::Newer) && cluster.state == Some(UpdateState::Completed);
    let ours = is_about(feedback, target);
    if let Shows::WrongImage(version) = &shown {
        return Progress::Failed(
            FailureReason::InvalidTarget,
            format!("the image is version {version}, not {target}: correct spec.clusterVersion"),
        );
    }
    match feedback.phase {
        // An UpgradeConfig that somebody deleted is created again, when the cluster is there already.
        Some(AgentPhase::Upgraded | AgentPhase::NotNeeded) if ours && at_target => Progress::Done,
        Some(AgentPhase::Upgraded) if ours => Progress::Going(
            ClusterState::PartialUpgrade,
            not_applied(work).unwrap_or(Reason::WaitingForClusterVersion),
        ),
        Some(AgentPhase::Failed) if ours => {
            let why = feedback.blocked_by.as_deref().unwrap_or("it does not say why");
            Progress::Failed(
                FailureReason::AgentFailed,
                format!("the agent could not upgrade to {target}: {why}"),
            )
        }
        Some(AgentPhase::Upgrading) if ours => {
            let is_under_way = shown == Shows::Target && cluster.state == Some(UpdateState::Partial);
            // A step is named as what it comes to: alone it reads as if that were done.
            let step = feedback.step.as_deref().map(|step| format!("waits for {step}"));
            let share = cluster.percent.filter(|_| is_under_way).map(share);
            let goes_on = || Reason::Progressing(joined(step.into_iter().chain(share)));
            let waits = if feedback.is_held {
                Reason::HeldByAgent
            } else {
                Reason::Blocked
            };
            let reason = feedback.blocked_by.clone().map_or_else(goes_on, waits);
            Progress::Going(ClusterState::PartialUpgrade, reason)
        }
        // A newer version that somebody else has brought before the agent began: it has nothing to do.
        _ if at_target && shown == Shows::Newer => Progress::Done,
        _ => initialized(not_applied(work).unwrap_or_else(|| {
            Reason::WaitingForTarget(feedback.blocked_by.clone().or_else(|| cluster.blocked_by.clone()))
        })),
    }
}

/// Whether the newest entry of the agent's history is about this target.
fn is_about(feedback: &AgentFeedback, target: &Target) -> bool {
    match (&target.image, &target.version) {
        (Some(image), _) => {
            feedback.desired_image.as_deref() == Some(image.as_str())
                && feedback.version.is_some()
                && feedback.version == feedback.desired_version
        }
        (None, version) => feedback.version.is_some() && feedback.version == *version,
    }
}

fn not_taken_up(work: &Work, feedback: &VersionFeedback) -> Reason {
    not_applied(work).unwrap_or_else(|| {
        let invalid = feedback.invalid.as_ref().map(|refused| &refused.message);
        Reason::WaitingForTarget(invalid.or(feedback.blocked_by.as_ref()).cloned())
    })
}

fn not_applied(work: &Work) -> Option<Reason> {
    if work.deleting {
        return Some(Reason::WorkBeingDeleted);
    }
    match &work.applied {
        Applied::Yes => None,
        Applied::Unknown => Some(Reason::WaitingForApply(None)),
        Applied::No(why) => Some(Reason::WaitingForApply(Some(Arc::clone(why)))),
    }
}

/// What ClusterVersion shows beside a target.
#[derive(Debug, PartialEq, Eq)]
enum Shows {
    Target,
    Newer,
    WrongImage(String),
    Other,
}

fn shows(feedback: &VersionFeedback, target: &Target) -> Shows {
    let image = target
        .image
        .as_ref()
        // It may have been mirrored: the digest says which release it is (hub.md, section 7).
        .map(|wanted| {
            feedback
                .image
                .as_deref()
                .is_some_and(|shown| is_same_image(shown, wanted))
        });
    let versions = target.version.as_ref().zip(feedback.version.as_ref());
    // Metadata of the build makes a version neither newer nor another one.
    let order = versions.map(|(wanted, shown)| shown.cmp_precedence(wanted));
    match (order, image) {
        (Some(Ordering::Less | Ordering::Greater), Some(true)) => {
            let shown = feedback.version.as_ref();
            Shows::WrongImage(shown.map(ToString::to_string).unwrap_or_default())
        }
        (Some(Ordering::Equal), None | Some(true)) => Shows::Target,
        (_, Some(true)) if target.version.is_none() => Shows::Target,
        (Some(Ordering::Greater), _) => Shows::Newer,
        _ => Shows::Other,
    }
}

/// Whether a message about `Invalid` is about this target: the cluster may have refused something earlier. Versions are
/// compared whole: a message about 4.12.10 says nothing about 4.12.1.
fn concerns(message: &str, target: &Target) -> bool {
    let names_image = target
        .image
        .as_ref()
        .is_some_and(|image| message.contains(image.as_str()));
    let mut words = message.split(|letter: char| !(letter.is_ascii_alphanumeric() || ".-+".contains(letter)));
    let names_version = target.version.as_ref().is_some_and(|version| {
        words.any(|word| Version::parse(word.trim_end_matches('.')).is_ok_and(|named| named == *version))
    });
    names_image || names_version
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_of_the_build_is_no_other_version() {
        let version = |text: &str| Version::parse(text).unwrap();
        let shown = |text: &str, target: &str| {
            let target = Target {
                version: Some(version(target)),
                ..Target::default()
            };
            let feedback = VersionFeedback {
                version: Some(version(text)),
                ..VersionFeedback::default()
            };
            shows(&feedback, &target)
        };
        assert_eq!(shown("4.14.12+build", "4.14.12"), Shows::Target);
        assert_eq!(shown("4.14.12", "4.14.12+build"), Shows::Target);
        assert_eq!(shown("4.14.13", "4.14.12+build"), Shows::Newer);
        assert_eq!(shown("4.14.12-rc.1", "4.14.12"), Shows::Other);
    }

    #[test]
    fn an_image_is_the_same_under_the_name_of_a_mirror() {
        let shown = |image: &str| {
            let target = Target {
                image: Some("mirror.example.com/ocp/release@sha256:12".to_owned()),
                ..Target::default()
            };
            let feedback = VersionFeedback {
                image: Some(image.into()),
                ..VersionFeedback::default()
            };
            shows(&feedback, &target)
        };
        assert_eq!(shown("quay.io/openshift/release@sha256:12"), Shows::Target);
        assert_eq!(shown("mirror.example.com/ocp/release@sha256:13"), Shows::Other);
    }

    /// Somebody else's update is waited for from when it is asked for, unless the cluster refuses it or it fails for long.
    #[test]
    fn what_somebody_else_has_asked_for_is_waited_for() {
        let version = |text: &str| Some(Version::parse(text).unwrap());
        let now: Timestamp = "2026-01-05T10:00:00Z".parse().unwrap();
        let ago = |minutes: i64| now - SignedDuration::from_mins(minutes);
        let target = Target {
            version: version("4.14.12"),
            ..Target::default()
        };
        let idle = VersionFeedback {
            version: version("4.14.9"),
            state: Some(UpdateState::Completed),
            ..VersionFeedback::default()
        };
        let asked = VersionFeedback {
            asked: version("4.14.10"),
            ..idle.clone()
        };
        let under_way = VersionFeedback {
            version: version("4.14.10"),
            state: Some(UpdateState::Partial),
            ..asked.clone()
        };
        let failing = |since: Option<Timestamp>| VersionFeedback {
            blocked_by: Some("dns is degraded".into()),
            failing_since: since,
            ..under_way.clone()
        };
        let refused = VersionFeedback {
            blocked_by: Some("not verified".into()),
            ..asked.clone()
        };
        // What is under way goes on, whatever is asked for since.
        let refused_later = VersionFeedback {
            blocked_by: Some("not verified".into()),
            asked: version("4.14.11"),
            ..under_way.clone()
        };
        let before = VersionFeedback {
            asked: version("4.14.9"),
            ..idle.clone()
        };
        let ours = VersionFeedback {
            asked: version("4.14.12"),
            ..idle.clone()
        };
        let by_image = |asked: &str| VersionFeedback {
            image: Some("quay.io/r@sha256:09".into()),
            asked_image: Some(asked.into()),
            ..idle.clone()
        };
        for (feedback, held_by_other) in [
            (idle.clone(), false),
            (before, false),
            (ours, false),
            (by_image("mirror.example/r@sha256:09"), false),
            (by_image("quay.io/r@sha256:4.14.10"), true),
            (asked, true),
            (under_way.clone(), true),
            (failing(Some(ago(29))), true),
            (failing(Some(ago(30))), false),
            (failing(None), true),
            (refused, false),
            (refused_later, true),
        ] {
            let present = Present::new(now);
            let reason = held_by(&feedback, &target, &present);
            assert_eq!(reason.is_some(), held_by_other, "{feedback:?}");
            assert!(reason.is_none_or(|reason| reason.to_string().contains("4.14.10")));
        }
    }

    #[test]
    fn whole_versions_are_compared() {
        let target = Target {
            version: Some(Version::new(4, 12, 1)),
            ..Target::default()
        };
        for (message, is_ours) in [
            (
                "spec.desiredUpdate.version: Invalid value: \"4.12.1\": when image is empty",
                true,
            ),
            ("it is 4.12.1.", true),
            ("Invalid value: \"4.12.10\"", false),
            ("Invalid value: \"14.12.1\"", false),
            ("Invalid value: \"4.12.1-rc.1\"", false),
            ("", false),
        ] {
            assert_eq!(concerns(message, &target), is_ours, "{message}");
        }
    }
}
