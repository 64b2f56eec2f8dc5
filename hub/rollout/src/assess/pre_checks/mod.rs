//! What a cluster is asked before it starts, and whether its answer lets it start.

mod accepted;
mod answer;
mod question;
mod standing;

use jiff::SignedDuration;

use super::{Assessment, ClusterView, Step};
use crate::{
    AnswerSource, ClusterState, PreCheckQuestion, PreCheckWork, PreChecksMode, PreChecksPolicy, Reason, Uid,
    WorkKind,
};
pub(super) use accepted::AcceptedRisks;
pub use answer::ClusterPreChecks;
pub(super) use standing::Standing;

/// The shortest time between two questions, where an answer is too old.
const SHORTEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// How long an agent is left to one question before it is asked another about the same target: informers have two minutes.
const TURN: SignedDuration = SignedDuration::from_mins(3);

/// What is to be written about the work by which a cluster is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PreCheckStep {
    /// It is asked, or asked again.
    Ask,
    /// Another upgrade has its agent asked since: what this one asks is left, and read, until it is its turn.
    Yield,
    /// The work has served.
    Delete(Uid),
}

impl ClusterView<'_> {
    /// Asks a cluster that may start, lets it wait if its answer is required, and deletes the work of one that has ended.
    pub(super) fn check_before_start(&self, assessment: &mut Assessment) {
        // What is asked waits, too, from here on.
        assessment.is_unasked = self.is_unasked(assessment);
        match self.policy_for(assessment) {
            Some(policy) => self.ask(policy, assessment),
            None if self.may_wait_at_its_gate(assessment) => self.pass_on_acceptances(assessment),
            None if self.has_answered_and_waits(assessment) => self.pass_on_acceptances(assessment),
            None if self.is_served(assessment) => {
                let work = self.row.pre_checks.as_ref().filter(|work| !work.deleting);
                assessment.pre_checks = work
                    .filter(|_| self.may_write_pre_checks())
                    .map(|work| PreCheckStep::Delete(work.uid.clone()));
            }
            None => {}
        }
        if let Some(of_another) = self
            .asked_before_it_joined()
            .filter(|_| self.may_write_pre_checks())
        {
            assessment.pre_checks = Some(PreCheckStep::Delete(of_another.uid.clone()));
        }
        if assessment.pre_checks.is_none() && self.yields() {
            assessment.pre_checks = Some(PreCheckStep::Yield);
        }
    }

    /// Whether another upgrade has asked the agent after this one, whose work would ask for this one again each time that it is applied.
    fn yields(&self) -> bool {
        let target = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let is_later = |work: &PreCheckWork| {
            let asked = work.question.as_ref().zip(target);
            let asks = asked.is_some_and(|(asked, target)| {
                asked.asks_agent && !asked.yields && *asked.target == *target.to_string()
            });
            asks && work.is_asked_later
        };
        self.own_pre_checks().is_some_and(is_later) && self.may_write_pre_checks()
    }

    /// Whether the cluster's answer is required before it starts, and something else keeps it from being asked: nobody knows what it will say.
    fn is_unasked(&self, assessment: &Assessment) -> bool {
        let policy = self.pre_checks_policy();
        let is_required = policy.is_some_and(|policy| policy.mode == PreChecksMode::Require);
        let status = assessment.status.as_ref();
        let waits = status.is_some_and(|status| status.state == ClusterState::NotStarted);
        let target = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let is_answered = || {
            let work = target.and_then(|target| self.answered(&self.question(target)));
            work.is_some_and(|work| work.answer.current().is_some())
        };
        is_required
            && waits
            && self.is_platform_ahead()
            && self.policy_for(assessment).is_none()
            && !is_answered()
    }

    /// Whether the cluster is in flight, and its platform not yet at the target: its agent may let it wait for findings that nobody has
    /// accepted. Where it does, and since, the hub asks for them whatever its own policy is: only so they are shown, and accepted there.
    fn may_wait_at_its_gate(&self, assessment: &Assessment) -> bool {
        let status = assessment.status.as_ref();
        let is_in_flight = status.is_some_and(|status| status.state.in_flight());
        let is_asked = || is_held_by_agent(assessment) || self.own_pre_checks().is_some();
        is_in_flight && self.is_platform_ahead() && (self.pre_checks_policy().is_some() || is_asked())
    }

    /// Whether the cluster was asked, and something else keeps it from starting now: a pause, or what is left of an upgrade before. What is
    /// accepted meanwhile is to be seen to count. Where the agent is asked for another upgrade, that is left to it.
    fn has_answered_and_waits(&self, assessment: &Assessment) -> bool {
        let status = assessment.status.as_ref();
        let waits = status.is_some_and(|status| status.state == ClusterState::NotStarted);
        let is_asked = || {
            let work = self.own_pre_checks();
            work.is_some_and(|work| work.question.is_some() && !work.is_taken)
        };
        waits
            && !self.may_begin_by_itself()
            && self.is_platform_ahead()
            && self.pre_checks_policy().is_some()
            && is_asked()
    }

    /// What keeps a cluster in flight from being asked for the target, and its question, if that is due. It had nothing to answer
    /// if it was at the target when it started, or on its way there, and somebody may have sent it back since. What has begun its pre-upgrade
    /// action goes on.
    pub(super) fn held_before_target(&self) -> (Standing, Option<PreCheckStep>) {
        let policy = self.pre_checks_policy();
        let policy =
            policy.filter(|policy| policy.mode == PreChecksMode::Require && self.is_platform_ahead());
        let target = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let has_begun = self.of_newest_attempt(WorkKind::Pre).is_some();
        let Some((policy, target)) = policy.zip(target).filter(|_| !has_begun) else {
            return (Standing::Clear, None);
        };
        let question = self.question(target);
        let answered = self.answered(&question);
        let answer = answered.and_then(|work| work.answer.current());
        let is_at_target = answer.is_some_and(|answer| answer.source == AnswerSource::AtTarget);
        // Of an image alone the cluster claims nothing by which it could be known to have it still.
        let is_by_image = is_at_target && target.version.is_none();
        let (standing, is_old) = match is_at_target {
            true if is_by_image && self.is_asked_in_attempt(answered) => (Standing::Clear, false),
            true => (Standing::AWAITED, true),
            false => self.standing(policy, target, answered),
        };
        let is_due = answered.is_none_or(|work| {
            let is_again = is_old && (is_by_image || self.may_ask_anew(policy, work));
            // No other upgrade starts here meanwhile, so that none is in need of the agent.
            is_again || work.is_asked_later || work.has_yielded_to_nobody()
        });
        let asks = is_due && self.may_ask() && self.has_turn(&question);
        (standing, asks.then_some(PreCheckStep::Ask))
    }

    /// Whether a work has asked the cluster since its attempt began.
    fn is_asked_in_attempt(&self, work: Option<&PreCheckWork>) -> bool {
        let asked = work.and_then(|work| Some(work.question.as_ref()?.asked_at));
        // Questions have whole seconds.
        let began = self.lead().map(|(_, work)| work.attempt_since().as_second());
        asked.is_some_and(|asked| Some(asked.as_second()) >= began)
    }

    /// What is accepted while a cluster is in flight goes to its plan, and what is accepted no more is taken off it.
    fn pass_on_acceptances(&self, assessment: &mut Assessment) {
        let Some(target) = self.spec().and_then(|spec| spec.goal.target.as_ref()) else {
            return;
        };
        let question = self.question(target);
        let work = self.own_pre_checks();
        let is_needed = !question.accepted.is_empty() || is_held_by_agent(assessment);
        let is_due = match work.and_then(|work| Some((work, work.question.as_ref()?))) {
            // What has started keeps its target, and its plan.
            Some((work, asked)) => {
                let is_lost = work.is_asked_later && is_needed;
                let is_other = asked.accepted != question.accepted || is_lost || work.has_yielded_to_nobody();
                asked.target == question.target && is_other && !work.has_nothing_to_answer()
            }
            None => is_needed,
        };
        if question.asks_agent && is_due && self.may_ask() && self.has_turn(&question) {
            assessment.pre_checks = Some(PreCheckStep::Ask);
        }
    }

    /// The work that has asked this question.
    fn answered(&self, question: &PreCheckQuestion) -> Option<&PreCheckWork> {
        let asks = |work: &&PreCheckWork| {
            work.question
                .as_ref()
                .is_some_and(|asked| asked.is_same(question))
        };
        self.own_pre_checks().filter(asks)
    }

    /// The policy, if the cluster may start and there is something to ask, also where it starts over. One whose platform is at the target has
    /// nothing to fear from its upgrade. One that keeps a slot because its first write was refused has not begun.
    fn policy_for(&self, assessment: &Assessment) -> Option<&PreChecksPolicy> {
        let policy = self.pre_checks_policy()?;
        let may_start = matches!(assessment.step, Step::Start(_));
        (may_start && self.is_platform_ahead()).then_some(policy)
    }

    /// The policy, where it applies to this goal at all.
    pub(super) fn pre_checks_policy(&self) -> Option<&PreChecksPolicy> {
        let spec = self.spec()?;
        let is_on = spec.pre_checks.mode != PreChecksMode::Off && spec.goal.target.is_some();
        is_on.then_some(&spec.pre_checks)
    }

    fn is_platform_ahead(&self) -> bool {
        self.spec()
            .is_some_and(|spec| !spec.goal.platform_reached(self.known_version()))
    }

    /// Whether nobody needs the answer any more: the cluster takes no part, has ended, or nothing is to be asked.
    fn is_served(&self, assessment: &Assessment) -> bool {
        let Some(status) = &assessment.status else {
            return true;
        };
        // What an invalid spec says of pre-checks is not known.
        let is_off = self.spec().is_some() && self.pre_checks_policy().is_none();
        status.state.finished() || is_off
    }

    fn ask(&self, policy: &PreChecksPolicy, assessment: &mut Assessment) {
        let Some(target) = self.spec().and_then(|spec| spec.goal.target.as_ref()) else {
            return;
        };
        let question = self.question(target);
        let answered = self.answered(&question);
        let (standing, is_old) = self.standing(policy, target, answered);
        let is_requiring = policy.mode == PreChecksMode::Require;
        let asked = answered.filter(|work| !work.has_nothing_to_answer());
        let is_taken = asked
            .is_some_and(|work| self.is_taken_for_long(policy, work) && !self.keeps_answer(policy, work));
        let is_again = is_old && asked.is_some_and(|work| self.may_ask_anew(policy, work));
        let is_alone = asked.is_some_and(PreCheckWork::has_yielded_to_nobody);
        let is_due = answered.is_none() || is_alone || (is_requiring && (is_again || is_taken));
        if is_due && self.may_ask() && self.has_turn(&question) {
            assessment.pre_checks = Some(PreCheckStep::Ask);
        }
        let reason = match standing {
            Standing::Clear => return,
            Standing::Awaited(reason) => reason,
            Standing::Held { reason, blocks_again } => {
                (assessment.has_findings, assessment.blocks_again) = (true, blocks_again);
                reason
            }
        };
        if is_requiring {
            assessment.step = Step::WAIT;
            if let Some(status) = &mut assessment.status {
                status.state = ClusterState::NotStarted;
                status.reason = reason;
            }
        }
    }

    /// Whether a cluster may be asked anew whose answer is too old: one whose clock is wrong answers with such ones each time.
    fn may_ask_anew(&self, policy: &PreChecksPolicy, work: &PreCheckWork) -> bool {
        let pause = policy.timeout.min(policy.max_age).max(SHORTEST_PAUSE);
        let asked = work.question.as_ref();
        let again = asked.and_then(|asked| asked.asked_at.checked_add(pause).ok());
        again.is_some_and(|again| self.present.has_reached(again))
    }

    /// Whether the agent has been asked for another upgrade, and this one has waited for its turn.
    fn is_taken_for_long(&self, policy: &PreChecksPolicy, work: &PreCheckWork) -> bool {
        let asked = work.question.as_ref().filter(|_| work.is_taken);
        let pause = policy.timeout.max(TURN);
        let again = asked.and_then(|asked| asked.asked_at.checked_add(pause).ok());
        again.is_some_and(|again| self.present.has_reached(again))
    }

    /// Whether no other upgrade has just asked the same: its agent would not come to answer either of them.
    fn has_turn(&self, question: &PreCheckQuestion) -> bool {
        let others = self.row.other_questions.iter();
        let mut others = others.filter(|other| question.asks_agent && other.target == question.target);
        others.all(|other| {
            let over = other.asked_at.saturating_add(TURN);
            over.is_ok_and(|over| self.present.has_reached(over))
        })
    }

    /// This upgrade's work, if it is not being deleted, and has asked this cluster.
    fn own_pre_checks(&self) -> Option<&PreCheckWork> {
        let work = self.present_pre_checks()?;
        let is_of_another = self.asked_before_it_joined().is_some();
        (work.owner.uid == self.context.upgrade.uid && !is_of_another).then_some(work)
    }

    /// A work that has asked the cluster that had the name before this one joined: what it says is about that one, also when it asks anew.
    fn asked_before_it_joined(&self) -> Option<&PreCheckWork> {
        let joined = self.row.facts.as_ref().and_then(|facts| facts.created)?;
        let work = self.present_pre_checks()?;
        let asked = work.question.as_ref();
        asked.is_some_and(|asked| asked.asked_at < joined).then_some(work)
    }

    fn present_pre_checks(&self) -> Option<&PreCheckWork> {
        self.row.pre_checks.as_deref().filter(|work| !work.deleting)
    }

    /// Whether the cluster may be asked now: not while the work by which it was asked before is being deleted, or is to be.
    fn may_ask(&self) -> bool {
        let is_leaving = self.row.pre_checks.as_ref().is_some_and(|work| work.deleting);
        !is_leaving && self.asked_before_it_joined().is_none() && self.may_write_pre_checks()
    }

    /// Whether the work may be written now: not while an earlier write has not come back.
    fn may_write_pre_checks(&self) -> bool {
        let write = self.row.pre_check_write.as_ref();
        write.is_none_or(|write| self.present.has_reached(write.until))
    }
}

/// Whether the cluster's agent has begun, and waits for findings that nobody has accepted.
fn is_held_by_agent(assessment: &Assessment) -> bool {
    let status = assessment.status.as_ref();
    status.is_some_and(|status| matches!(status.reason, Reason::HeldByAgent(_)))
}
