//! What clusters answer when they are asked, and what is accepted.

use std::sync::Arc;

use drydock_rollout::{
    AcceptedFinding, AnswerSource, Applied, ClusterName, ClusterPreChecks, EndedOn, Finding,
    FindingAcceptance, FindingLevel, KnownAnswer, OtherQuestion, PreCheckAnswer, PreCheckWork, PreCheckWrite,
    PreChecksMode, PreChecksPolicy, RiskAcceptance, Target, UpdateState, UpgradeKey, VersionFeedback,
    WorkFeedback, WorkKind,
};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::super::event::Event;
use super::{World, name};

const FINDING: &str = "0123456789abcdef0123456789abcdef";

impl World {
    /// The cluster answers what it was last asked.
    pub fn answer(&mut self, number: usize, finds: bool, by_agent: bool) {
        let now = self.now;
        let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) else {
            return;
        };
        let answer = if by_agent {
            answer_by_agent(now, finds)
        } else {
            PreCheckAnswer {
                source: AnswerSource::ClusterVersion,
                findings: finds.then(finding).into_iter().collect(),
            }
        };
        Arc::make_mut(work).answer = KnownAnswer::Current(answer);
    }

    /// What is shown of a cluster.
    pub fn pre_checks(&mut self, number: usize) -> Option<ClusterPreChecks> {
        self.update_decider();
        self.plan();
        self.decider.pre_checks_of(&name(number), self.now)
    }

    /// What the acceptance of its first finding comes to.
    pub fn acceptance(&mut self, number: usize) -> Option<FindingAcceptance> {
        Some(self.pre_checks(number)?.answer?.findings.first()?.acceptance)
    }

    /// Whether the cluster takes the release by its image alone, as its ClusterVersion shows.
    pub fn requires_image(&mut self, number: usize, requires: bool) {
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            Arc::make_mut(work).without_image = requires.then(image_required);
        }
    }

    /// The clock of the cluster was so many minutes ahead when its agent answered.
    pub fn answered_ahead(&mut self, number: usize, minutes: i64) {
        let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) else {
            return;
        };
        let answer = &mut Arc::make_mut(work).answer;
        if let KnownAnswer::Current(PreCheckAnswer {
            source: AnswerSource::Agent { collected_at, .. },
            ..
        }) = answer
        {
            *collected_at += SignedDuration::from_mins(minutes);
        }
        self.update_decider();
    }

    /// Somebody brings a cluster back to an earlier release, as its claim and its work say.
    pub fn is_sent_back(&mut self, number: usize) {
        let earlier = Version::new(4, 14, 0);
        if let Some(work) = self
            .row(number)
            .and_then(|row| row.works.get(WorkKind::Cluster).cloned())
        {
            let mut work = (*work).clone();
            work.applied = Applied::Yes;
            work.feedback = WorkFeedback::ClusterVersion(VersionFeedback {
                version: Some(earlier.clone()),
                state: Some(UpdateState::Completed),
                ..VersionFeedback::default()
            });
            let row = self.row(number);
            row.map(|row| row.works.insert(WorkKind::Cluster, Arc::new(work)));
        }
        self.happen(&Event::Claims(number, 0));
    }

    /// The update of an attempt comes to its end, whoever waits for it.
    pub fn arrives(&mut self, number: usize) {
        let row = self.row(number);
        let work = row.and_then(|row| row.works.get(WorkKind::Cluster).cloned());
        if let Some(work) = work {
            let mut work = (*work).clone();
            let goal = work.revision.as_ref().map(|revision| Arc::clone(&revision.goal));
            let target = goal.and_then(|goal| goal.target.clone()).unwrap_or_default();
            if let WorkFeedback::ClusterVersion(feedback) = &mut work.feedback {
                super::works::advance(feedback, &target);
            }
            let row = self.row(number);
            row.map(|row| row.works.insert(WorkKind::Cluster, Arc::new(work)));
        }
        self.update_decider();
    }

    /// What the cluster has answered: that it has the target, or is on its way to it.
    pub fn has_nothing_to_answer(&mut self, number: usize) {
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            Arc::make_mut(work).answer = KnownAnswer::Current(PreCheckAnswer {
                source: AnswerSource::AtTarget,
                findings: Arc::default(),
            });
        }
        self.update_decider();
    }

    /// Somebody deletes the work that asks a cluster, and something keeps it.
    pub fn question_leaves(&mut self, number: usize) {
        self.edit_pre_checks(number, |work| work.deleting = true);
    }

    /// Somebody accepts the finding until a moment.
    pub fn accept_for(&mut self, minutes: i64) {
        self.happen(&Event::AcceptsRisk(true));
        let until = self.now + SignedDuration::from_mins(minutes);
        let accepted = self.observed.rollout.acceptances.iter().cloned();
        self.observed.rollout.acceptances = accepted
            .map(|risk| RiskAcceptance {
                until: Some(until),
                ..risk
            })
            .map(|risk| risk.named(&upgrade_key()))
            .collect();
    }

    /// Somebody accepts the finding as less bad than it is.
    pub fn accept_as_warning(&mut self) {
        self.happen(&Event::AcceptsRisk(true));
        let accepted = self.observed.rollout.acceptances.iter().cloned();
        self.observed.rollout.acceptances = accepted
            .map(|risk| RiskAcceptance {
                level: FindingLevel::Warning,
                ..risk
            })
            .map(|risk| risk.named(&upgrade_key()))
            .collect();
    }

    /// Another upgrade asks the agent of the cluster the same.
    pub(super) fn other_asks(&mut self, number: usize) {
        let spec = self.observed.rollout.spec.as_ref().ok();
        let Some(target) = spec.and_then(|spec| spec.goal.target.clone()) else {
            return;
        };
        let asked_at = self.now;
        if let Some(row) = self.row(number) {
            let target = target.to_string().into();
            row.other_questions = vec![OtherQuestion { target, asked_at }];
        }
    }

    /// What is accepted has ended on the cluster.
    pub(super) fn end_risks(&mut self, cluster: &ClusterName) {
        let accepted = self.observed.rollout.acceptances.iter().cloned();
        self.observed.rollout.acceptances = accepted
            .map(|risk| RiskAcceptance {
                ended: risk.ended.clone().and(cluster, 2),
                ..risk
            })
            .collect();
    }

    /// The agent of the cluster is uninstalled.
    pub fn remove_agent(&mut self, number: usize) {
        if let Some(row) = self.row(number) {
            (row.agent, row.agent_installed) = (false, false);
        }
    }

    /// A write of the work that asks the cluster is under way, or is refused.
    pub fn write_pre_checks(&mut self, number: usize, write: Option<PreCheckWrite>) {
        if let Some(row) = self.row(number) {
            row.pre_check_write = write;
        }
        self.update_decider();
    }

    /// Another upgrade asks the agent of the cluster, and what it finds is accepted for that one, or is no longer; something else holds that one.
    pub fn taken_with(&mut self, number: usize, acceptance: FindingAcceptance) {
        self.taken(number, true);
        let work = self.row(number).and_then(|row| row.pre_checks.as_mut());
        if let Some(KnownAnswer::OfAnother(found)) = work.map(|work| &mut Arc::make_mut(work).answer) {
            let accepted = Finding {
                acceptance,
                ..finding()
            };
            let other = Finding {
                uuid: Some("other".into()),
                uid: Some("other".into()),
                ..finding()
            };
            found.findings = [accepted, other].into();
        }
    }

    /// How many clusters are held by what somebody had accepted.
    pub fn blocks_again(&mut self) -> usize {
        self.plan().report.pre_checks.blocked_again
    }

    /// What the agent has answered before it was asked what it is asked now: one finding, and what its acceptance came to then.
    pub fn answered_before(&mut self, number: usize, acceptance: FindingAcceptance) {
        let stops = !acceptance.is_accepted();
        let mut answer = answer_by_agent(self.now, stops);
        let said = Finding {
            acceptance,
            ..finding()
        };
        answer.findings = [said].into();
        self.edit_pre_checks(number, |work| work.answer = KnownAnswer::Earlier(answer));
    }

    /// Who looks was not there when the cluster answered, as a hub that starts again.
    pub fn forget_answer(&mut self, number: usize) {
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            Arc::make_mut(work).answer = KnownAnswer::None;
        }
    }

    /// Another upgrade asks the agent of the cluster, which finds something for that one, or does not.
    pub fn taken(&mut self, number: usize, finds: bool) {
        let found = finds.then(|| answer_by_agent(self.now, true));
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            let work = Arc::make_mut(work);
            work.answer = match (&work.answer, found) {
                (KnownAnswer::Current(earlier) | KnownAnswer::Earlier(earlier), _) => {
                    KnownAnswer::Earlier(earlier.clone())
                }
                (_, Some(found)) => KnownAnswer::OfAnother(found),
                (_, None) => KnownAnswer::None,
            };
            (work.is_taken, work.is_asked_later) = (true, true);
        }
        self.update_decider();
    }

    /// What is read of the plan is of before this one was asked again.
    pub fn is_still_read_as_taken(&mut self, number: usize) {
        self.edit_pre_checks(number, |work| work.is_taken = true);
    }

    /// An update to the target has begun there, and another upgrade has the agent asked or does not any more.
    pub fn has_begun(&mut self, number: usize, is_asked_later: bool) {
        self.has_nothing_to_answer(number);
        self.edit_pre_checks(number, |work| {
            (work.is_taken, work.is_asked_later) = (is_asked_later, is_asked_later);
        });
    }

    /// The other upgrade does not have the agent asked any more.
    pub fn left(&mut self, number: usize) {
        self.edit_pre_checks(number, |work| {
            (work.is_taken, work.is_asked_later) = (false, false);
            work.answer = KnownAnswer::None;
        });
    }

    fn edit_pre_checks(&mut self, number: usize, edit: impl FnOnce(&mut PreCheckWork)) {
        if let Some(work) = self.row(number).and_then(|row| row.pre_checks.as_mut()) {
            edit(Arc::make_mut(work));
        }
        self.update_decider();
    }
}

fn answer_by_agent(collected_at: Timestamp, finds: bool) -> PreCheckAnswer {
    PreCheckAnswer {
        source: AnswerSource::Agent {
            collected_at,
            stops: finds,
            unaccepted: usize::from(finds),
        },
        findings: finds.then(finding).into_iter().collect(),
    }
}

pub fn policy(mode: PreChecksMode) -> PreChecksPolicy {
    PreChecksPolicy {
        mode,
        max_age: SignedDuration::from_hours(1),
        timeout: SignedDuration::from_mins(10),
    }
}

pub(super) fn finding() -> Finding {
    Finding {
        uuid: Some(FINDING.into()),
        informer: "mco".into(),
        uid: Some("pool-paused".into()),
        level: FindingLevel::Error,
        summary: "the pool is paused".into(),
        impact: "Update Stalled".into(),
        remedy: "unpause it".into(),
        acceptance: FindingAcceptance::None,
        accepted_by: None,
    }
}

fn image_required() -> Finding {
    Finding {
        uuid: Some("fedcba9876543210fedcba9876543210".into()),
        informer: "drydock.cluster-version".into(),
        uid: Some("image-required".into()),
        ..finding()
    }
}

fn upgrade_key() -> UpgradeKey {
    UpgradeKey::new("hub", "spring")
}

pub(super) fn accepted_risk(target: &Target) -> RiskAcceptance {
    RiskAcceptance {
        target: target.to_string().into(),
        id: Arc::default(),
        ended: EndedOn::default(),
        finding: AcceptedFinding::Uuid(FINDING.into()),
        clusters: None,
        selector: None,
        level: FindingLevel::Error,
        accepted_by: "ann".into(),
        reason: "known".into(),
        accepted_at: None,
        until: None,
    }
    .named(&upgrade_key())
}
