//! What becomes of works.

use drydock_rollout::{
    ActionJob, ActionJobState, AgentFeedback, AgentPhase, Applied, Enforcement, RejectedTarget, Target,
    UpdateState, VersionFeedback, Work, WorkFeedback,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::super::event::Event;
use super::World;

impl World {
    pub(super) fn happens_to_works(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Lost(number) => {
                if let Some(row) = self.row(*number) {
                    row.works = drydock_rollout::Works::default();
                }
            }
            Event::Unlabelled(number) => {
                if let Some((_, work)) = self.newest(*number) {
                    work.labelled = false;
                }
            }
            Event::Vanished(number) => {
                if let Some((kind, _)) = self.newest(*number) {
                    let due = now + SignedDuration::from_mins(1);
                    self.row(*number).unwrap().unconfirmed.insert(kind, due);
                }
            }
            Event::Progress(number) => {
                let target = self.newest_target(*number);
                if let Some((_, work)) = self.newest(*number) {
                    progress(work, &target);
                }
            }
            Event::Failure(number) => {
                let target = self.newest_target(*number);
                if let Some((_, work)) = self.newest(*number) {
                    fail(work, &target, now - SignedDuration::from_mins(11));
                }
            }
            Event::AtGate(number) => {
                let target = self.newest_target(*number);
                if let Some((_, work)) = self.newest(*number)
                    && let WorkFeedback::Agent(feedback) = &mut work.feedback
                {
                    **feedback = at_gate(&target);
                    work.applied = Applied::Yes;
                }
            }
            Event::Locked(number, locked) => {
                if let Some((_, work)) = self.newest(*number)
                    && let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback
                {
                    feedback.locked_by = locked.then(|| "UpgradeJob a/b".into());
                }
            }
            Event::UpdatedByOthers(number, fails) => {
                let long_ago = self.now - SignedDuration::from_hours(1);
                if let Some((_, work)) = self.newest(*number)
                    && let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback
                    && feedback.state != Some(UpdateState::Partial)
                {
                    feedback.version = Some(Version::new(4, 14, 10));
                    feedback.state = Some(UpdateState::Partial);
                    feedback.blocked_by = fails.then(|| "the cluster is failing".into());
                    feedback.failing_since = fails.then_some(long_ago);
                }
            }
            Event::Refused(number, cause) => self.refuse(*number, *cause),
            Event::Accepted(number) => {
                if let Some(row) = self.row(*number) {
                    row.refusals.clear();
                }
            }
            Event::Theirs(number, theirs, later) => self.another_upgrade(*number, *theirs, *later),
            Event::Answers(number, finds, by_agent) => self.answer(*number, *finds, *by_agent),
            Event::RequiresImage(number, requires) => self.requires_image(*number, *requires),
            _ => {}
        }
    }
}

pub(super) fn progress(work: &mut Work, target: &Target) {
    if work.applied != Applied::Yes {
        work.applied = Applied::Yes;
        work.available = true;
    }
    match &mut work.feedback {
        WorkFeedback::ActionJobs(runs) => runs
            .iter_mut()
            .for_each(|run| run.state = ActionJobState::Succeeded),
        WorkFeedback::ClusterVersion(feedback) => {
            let observed = work
                .revision
                .as_ref()
                .is_some_and(|revision| revision.enforcement == Enforcement::Observed);
            if observed && feedback.version.is_none() {
                feedback.version = Some(Version::new(4, 14, 9));
                feedback.state = Some(UpdateState::Completed);
            } else {
                advance(feedback, target);
            }
        }
        WorkFeedback::Agent(feedback) => {
            advance(&mut feedback.cluster, target);
            **feedback = AgentFeedback {
                phase: Some(match feedback.cluster.state {
                    Some(UpdateState::Completed) => AgentPhase::Upgraded,
                    _ => AgentPhase::Upgrading,
                }),
                version: feedback.cluster.version.clone(),
                desired_version: feedback.cluster.version.clone(),
                desired_image: target.image.as_deref().map(Into::into),
                blocked_by: None,
                is_held: false,
                ..(**feedback).clone()
            };
        }
        WorkFeedback::Unreadable(_) => {}
    }
}

/// What an agent says that has begun and has requested nothing yet.
fn at_gate(target: &Target) -> AgentFeedback {
    AgentFeedback {
        version: target.version.clone(),
        phase: Some(AgentPhase::Upgrading),
        desired_version: target.version.clone(),
        desired_image: target.image.as_deref().map(Into::into),
        step: Some("ClusterHealthyBeforeUpgrade".into()),
        blocked_by: Some("findings that nobody has accepted: 1".into()),
        is_held: true,
        fails_at: None,
        cluster: VersionFeedback {
            version: Some(Version::new(4, 14, 0)),
            state: Some(UpdateState::Completed),
            ..VersionFeedback::default()
        },
    }
}

pub(super) fn advance(feedback: &mut VersionFeedback, target: &Target) {
    let version = target.version.clone().unwrap_or(Version::new(4, 14, 13));
    let under_way =
        feedback.version.as_ref() == Some(&version) && feedback.state == Some(UpdateState::Partial);
    feedback.version = Some(version);
    feedback.image = target.image.as_deref().map(Into::into);
    feedback.channel = target.channel.as_deref().map(Into::into);
    feedback.state = Some(if under_way {
        UpdateState::Completed
    } else {
        UpdateState::Partial
    });
}

pub(super) fn fail(work: &mut Work, target: &Target, since: Timestamp) {
    match &mut work.feedback {
        WorkFeedback::ActionJobs(runs) => {
            *runs = vec![ActionJob {
                name: "Job a/b".into(),
                state: ActionJobState::Failed,
            }];
        }
        WorkFeedback::ClusterVersion(feedback) => {
            feedback.invalid = Some(Box::new(RejectedTarget {
                message: format!("{target} is unknown").into(),
                since,
            }));
        }
        WorkFeedback::Agent(feedback) => {
            feedback.version.clone_from(&target.version);
            feedback.phase = Some(AgentPhase::Failed);
        }
        WorkFeedback::Unreadable(_) => {}
    }
}
