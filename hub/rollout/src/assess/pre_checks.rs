//! What a cluster is asked before it starts, and whether its answer lets it start.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Assessment, ClusterView, StartKind, Step};
use crate::observed::digest_of_accepted;
use crate::{
    AnswerSource, ClusterState, Finding, FindingAcceptance, PreCheckAnswer, PreCheckAsk, PreCheckQuestion,
    PreCheckWork, PreChecksMode, PreChecksPolicy, Reason, RiskAcceptance, Target, Uid, UpgradeKey, bounded,
};

/// The most findings that a reason names.
const NAMED_FINDINGS: usize = 3;
/// The shortest time between two questions, where an answer is too old.
const SHORTEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);
/// How much the clock of a cluster may be ahead.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// The longest headline of a finding within a reason, in bytes.
const SUMMARY: usize = 80;

/// What a cluster has answered, as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterPreChecks {
    /// It has been asked about the present target.
    pub asked: bool,
    /// The answer; which findings are accepted is as of now.
    pub answer: Option<PreCheckAnswer>,
    /// Why there is none, if that is said.
    pub trouble: Option<Arc<str>>,
}

impl ClusterPreChecks {
    /// How many findings nobody has accepted, those included that are not listed.
    pub fn unaccepted(&self) -> usize {
        let Some(answer) = &self.answer else { return 0 };
        let listed = answer
            .findings
            .iter()
            .filter(|found| !found.acceptance.is_accepted())
            .count();
        match answer.source {
            AnswerSource::Agent { unaccepted, .. } => unaccepted.max(listed),
            AnswerSource::ClusterVersion | AnswerSource::AtTarget => listed,
        }
    }

    /// How many findings that nobody has accepted are not listed: only the worst are.
    pub fn unlisted(&self) -> usize {
        let findings = self.answer.iter().flat_map(|answer| answer.findings.iter());
        let listed = findings.filter(|found| !found.acceptance.is_accepted()).count();
        self.unaccepted().saturating_sub(listed)
    }

    /// Whether the cluster does not start where an answer is required.
    pub fn holds(&self) -> bool {
        match self.answer.as_ref().map(|answer| &answer.source) {
            Some(AnswerSource::Agent { stops, .. }) => *stops,
            Some(AnswerSource::ClusterVersion | AnswerSource::AtTarget) => self.unaccepted() > 0,
            None => false,
        }
    }
}

/// What is to be written about the work by which a cluster is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PreCheckStep {
    /// It is asked, or asked again.
    Ask,
    /// The work has served.
    Delete(Uid),
}

/// What the answer of a cluster comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Nothing keeps it.
    Clear,
    /// It has findings that nobody has accepted, or whose acceptance counts no more.
    Held { reason: Reason, blocks_again: bool },
    /// It has not answered, or its answer is too old.
    Awaited(Reason),
}

impl ClusterView<'_> {
    /// Asks a cluster that may start, lets it wait if its answer is required, and deletes the work of one that has ended.
    pub(super) fn check_before_start(&self, assessment: &mut Assessment) {
        match self.policy_for(assessment) {
            Some(policy) => self.ask(policy, assessment),
            None if self.may_wait_at_its_gate(assessment) => self.pass_on_acceptances(assessment),
            None if self.is_served(assessment) => {
                let work = self.row.pre_checks.as_ref().filter(|work| !work.deleting);
                assessment.pre_checks = work
                    .filter(|_| self.may_write_pre_checks())
                    .map(|work| PreCheckStep::Delete(work.uid.clone()));
            }
            None => {}
        }
    }

    /// Whether the cluster is in flight, and its platform not yet at the target: its agent may let it wait for findings that nobody has
    /// accepted.
    fn may_wait_at_its_gate(&self, assessment: &Assessment) -> bool {
        let status = assessment.status.as_ref();
        let is_in_flight = status.is_some_and(|status| status.state.in_flight());
        is_in_flight && self.is_platform_ahead() && self.pre_checks_policy().is_some()
    }

    /// What is accepted while a cluster is in flight goes to its plan, and what is accepted no more is taken off it.
    fn pass_on_acceptances(&self, assessment: &mut Assessment) {
        let Some(target) = self.spec().and_then(|spec| spec.goal.target.as_ref()) else {
            return;
        };
        let question = self.question(target);
        let asked = self.own_pre_checks().and_then(|work| work.question.as_ref());
        let is_due = match asked {
            // What has started keeps its target, and its plan.
            Some(asked) => asked.target == question.target && asked.accepted != question.accepted,
            None => !question.accepted.is_empty(),
        };
        if question.asks_agent && is_due && self.may_ask() {
            assessment.pre_checks = Some(PreCheckStep::Ask);
        }
    }

    /// What the cluster has answered about the present target.
    pub(crate) fn pre_checks(&self) -> ClusterPreChecks {
        let target = self.spec().and_then(|spec| spec.goal.target.as_ref());
        let Some((work, target)) = self.own_pre_checks().zip(target) else {
            return ClusterPreChecks::default();
        };
        let name = target.to_string();
        if work.question.as_ref().is_none_or(|asked| *asked.target != *name) {
            return ClusterPreChecks::default();
        }
        let judged = |answer: &PreCheckAnswer| ClusterPreChecks {
            asked: true,
            answer: Some(self.judged(answer, target)),
            trouble: None,
        };
        let earlier = || work.earlier.as_ref().map(judged).filter(ClusterPreChecks::holds);
        let known = work.answer.as_ref().map(judged).or_else(earlier);
        ClusterPreChecks {
            asked: true,
            trouble: work.trouble.clone(),
            ..known.unwrap_or_default()
        }
    }

    /// An answer with what is accepted as of now. An agent judges that itself.
    fn judged(&self, answer: &PreCheckAnswer, target: &Target) -> PreCheckAnswer {
        let mut answer = answer.clone();
        if answer.source == AnswerSource::ClusterVersion {
            let risks = self.accepted_risks(target);
            let judged = answer.findings.iter().cloned().map(|found| Finding {
                acceptance: self.acceptance(&found, &risks),
                ..found
            });
            answer.findings = judged.collect();
        }
        answer
    }

    /// What these acceptances come to for a finding.
    fn acceptance(&self, finding: &Finding, risks: &[&RiskAcceptance]) -> FindingAcceptance {
        let mut about = risks.iter().filter(|risk| risk.is_about_finding(finding));
        if about.clone().any(|risk| risk.covers(finding) && self.lasts(risk)) {
            FindingAcceptance::Accepted
        } else if about.clone().any(|risk| self.lasts(risk)) {
            FindingAcceptance::LevelRaised
        } else if about.next().is_some() {
            FindingAcceptance::Expired
        } else {
            FindingAcceptance::None
        }
    }

    /// Whether the time of an acceptance is over that an answer may still have counted with: its agent may be silent since.
    fn has_ended_since(&self, target: &Target, collected_at: Timestamp) -> bool {
        let risks = self.accepted_risks(target).into_iter();
        let mut ends = risks.filter_map(|risk| risk.until);
        ends.any(|until| until > collected_at && self.present.has_reached(until))
    }

    fn lasts(&self, risk: &RiskAcceptance) -> bool {
        risk.until.is_none_or(|until| !self.present.has_reached(until))
    }

    /// The policy, if the cluster may start and there is something to ask. One whose platform is at the target has nothing to fear from
    /// its upgrade. One that keeps a slot because its first write was refused has not begun.
    fn policy_for(&self, assessment: &Assessment) -> Option<&PreChecksPolicy> {
        let policy = self.pre_checks_policy()?;
        let Step::Start(start) = &assessment.step else {
            return None;
        };
        let is_asked = start.kind == StartKind::New;
        (is_asked && self.is_platform_ahead()).then_some(policy)
    }

    /// The policy, where it applies to this goal at all.
    fn pre_checks_policy(&self) -> Option<&PreChecksPolicy> {
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
        let work = self.own_pre_checks();
        let answered = work.filter(|work| {
            work.question
                .as_ref()
                .is_some_and(|asked| asked.is_same(&question))
        });
        let (standing, is_old) = self.standing(policy, target, answered);
        let is_requiring = policy.mode == PreChecksMode::Require;
        let is_taken = answered.is_some_and(|work| self.is_taken_for_long(policy, work));
        let is_again = is_old && answered.is_some_and(|work| self.may_ask_anew(policy, work));
        let is_due = answered.is_none() || (is_requiring && (is_again || is_taken));
        if is_due && self.may_ask() {
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
        let again = asked.and_then(|asked| asked.asked_at.checked_add(policy.timeout).ok());
        again.is_some_and(|again| self.present.has_reached(again))
    }

    /// This upgrade's work, if it is not being deleted.
    fn own_pre_checks(&self) -> Option<&PreCheckWork> {
        let work = self.row.pre_checks.as_deref()?;
        (work.owner.uid == self.context.upgrade.uid && !work.deleting).then_some(work)
    }

    /// Whether the cluster may be asked now: not while the work by which it was asked is being deleted.
    fn may_ask(&self) -> bool {
        let is_leaving = self.row.pre_checks.as_ref().is_some_and(|work| work.deleting);
        !is_leaving && self.may_write_pre_checks()
    }

    /// Whether the work may be written now: not while an earlier write has not come back.
    fn may_write_pre_checks(&self) -> bool {
        let write = self.row.pre_check_write.as_ref();
        write.is_none_or(|write| self.present.has_reached(write.until))
    }

    /// The question that is to be asked, as of now.
    fn question(&self, target: &Target) -> PreCheckQuestion {
        let now = self.present.now();
        let accepted = digest_of_accepted(&self.accepted_risks(target));
        PreCheckQuestion {
            asked_for: asked_for(&self.context.upgrade.key, &accepted),
            target: target.to_string().into(),
            // An agent that is away for a while is installed, waited for, and keeps its plan. A release without a version has none.
            asks_agent: target.version.is_some() && (self.row.agent || self.row.agent_installed),
            accepted,
            image: target.image.as_deref().unwrap_or_default().into(),
            form: PreCheckQuestion::FORM,
            asked_at: Timestamp::from_second(now.as_second()).unwrap_or(now),
        }
    }

    /// The risks of this target that are accepted here. Those whose time is over are among them, the last: the agent says so.
    fn accepted_risks(&self, target: &Target) -> Vec<&RiskAcceptance> {
        let mut risks: Vec<&RiskAcceptance> = self.all_accepted_risks(target).collect();
        if risks.len() > PreCheckAsk::MOST_ACCEPTED {
            risks.sort_by_key(|risk| !self.lasts(risk));
            risks.truncate(PreCheckAsk::MOST_ACCEPTED);
        }
        risks
    }

    /// The same, also beyond what a cluster takes.
    fn all_accepted_risks(&self, target: &Target) -> impl Iterator<Item = &RiskAcceptance> {
        let target = target.to_string();
        let facts = self.row.facts.as_deref();
        let risks = self.context.acceptances.iter();
        risks.filter(move |risk| *risk.target == *target && risk.is_about(self.name, facts))
    }

    /// What the write of a question is.
    pub(crate) fn pre_check_ask(&self) -> Option<PreCheckAsk> {
        let target = self.spec()?.goal.target.as_ref()?;
        Some(PreCheckAsk {
            cluster: self.name.clone(),
            question: self.question(target),
            target: target.clone(),
            accepted: self.accepted_risks(target).into_iter().cloned().collect(),
        })
    }

    /// What the answer comes to, and whether it is too old.
    fn standing(
        &self,
        policy: &PreChecksPolicy,
        target: &Target,
        work: Option<&PreCheckWork>,
    ) -> (Standing, bool) {
        let write = self.row.pre_check_write.as_ref();
        let refused = write.and_then(|write| write.refused.clone());
        if let Some(words) = refused {
            return (Standing::Awaited(Reason::PreChecksNotAsked(words)), false);
        }
        let Some((work, asked)) = work.and_then(|work| Some((work, work.question.as_ref()?))) else {
            return (Standing::Awaited(Reason::AwaitingPreChecks), false);
        };
        let known = work.answer.as_ref().or(work.earlier.as_ref());
        // What held the cluster holds it while it is asked anew: nothing has happened that anybody must hear of.
        let still_held = || {
            let said = known.map(|answer| self.said_by(answer, target));
            said.filter(|said| matches!(said, Standing::Held { .. }))
                .unwrap_or(Standing::Awaited(Reason::AwaitingPreChecks))
        };
        // A write that is under way replaces what was asked.
        if write.is_some() {
            return (still_held(), false);
        }
        let Some(answer) = &work.answer else {
            let late = asked.asked_at.saturating_add(policy.timeout);
            let is_late = late.is_ok_and(|late| self.present.has_reached(late));
            let unanswered = || Standing::Awaited(Reason::PreChecksUnanswered(work.trouble.clone()));
            return (if is_late { unanswered() } else { still_held() }, false);
        };
        let (collected_at, is_over) = match answer.source {
            AnswerSource::AtTarget => return (Standing::Clear, false),
            AnswerSource::ClusterVersion => (asked.asked_at, false),
            AnswerSource::Agent {
                collected_at, stops, ..
            } => (
                self.by_own_clock(collected_at, asked.asked_at),
                !stops && self.has_ended_since(target, collected_at),
            ),
        };
        let old = collected_at.saturating_add(policy.max_age);
        let is_old = old.is_ok_and(|old| self.present.has_reached(old));
        if (is_old || is_over) && policy.mode == PreChecksMode::Require {
            return (still_held(), true);
        }
        (self.said_by(answer, target), is_old)
    }

    /// When an agent has collected its answer, as the hub's clock has it: not before it was asked, and not in the future.
    fn by_own_clock(&self, collected_at: Timestamp, asked_at: Timestamp) -> Timestamp {
        let earliest = collected_at.saturating_sub(CLOCK_SKEW).unwrap_or(Timestamp::MIN);
        if self.present.has_reached(earliest) {
            collected_at.max(asked_at)
        } else {
            asked_at
        }
    }

    /// What an answer comes to, however old it is.
    fn said_by(&self, answer: &PreCheckAnswer, target: &Target) -> Standing {
        let answer = self.judged(answer, target);
        let all = self.all_accepted_risks(target).count();
        let left_out = all.saturating_sub(PreCheckAsk::MOST_ACCEPTED);
        let findings = answer.findings.iter();
        let open: Vec<&Finding> = findings.filter(|found| !found.acceptance.is_accepted()).collect();
        match answer.source {
            AnswerSource::AtTarget => Standing::Clear,
            AnswerSource::ClusterVersion => held_unless(open.is_empty(), &open, open.len(), left_out),
            AnswerSource::Agent {
                stops, unaccepted, ..
            } => held_unless(!stops, &open, unaccepted.max(open.len()), left_out),
        }
    }
}

/// For which upgrade a cluster is asked, and with which acceptances.
fn asked_for(upgrade: &UpgradeKey, accepted: &str) -> Arc<str> {
    if accepted.is_empty() {
        return upgrade.to_string().into();
    }
    format!("{upgrade} {accepted}").into()
}

fn held_unless(is_clear: bool, open: &[&Finding], count: usize, left_out: usize) -> Standing {
    if is_clear {
        Standing::Clear
    } else {
        Standing::Held {
            reason: held_by(open, count, left_out),
            blocks_again: open.iter().any(|found| found.acceptance.why_ended().is_some()),
        }
    }
}

/// Findings that hold a cluster, in words: the first of them, how many there are, and how many acceptances are too many to count.
fn held_by(open: &[&Finding], count: usize, left_out: usize) -> Reason {
    let mut words = String::new();
    for found in open.iter().take(NAMED_FINDINGS) {
        let separator = if words.is_empty() { "" } else { "; " };
        let _ = write!(
            words,
            "{separator}{}: {}",
            found.level,
            bounded(&found.summary, SUMMARY)
        );
        if let Some(why) = found.acceptance.why_ended() {
            let _ = write!(words, " ({why})");
        }
    }
    if open.is_empty() {
        words.push_str("they are not named: see the UpdatePlan on the cluster");
    }
    if left_out > 0 {
        let most = PreCheckAsk::MOST_ACCEPTED;
        let _ = write!(
            words,
            "; acceptances left out: {left_out}, for {most} count on a cluster"
        );
    }
    Reason::RisksNotAccepted {
        count,
        findings: Arc::from(words),
    }
}
