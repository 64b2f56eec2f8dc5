//! Whether an answer lets a cluster start, and whether it is of now.

use std::fmt::Write as _;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::assess::ClusterView;
use crate::{
    AnswerSource, Finding, FindingAcceptance, KnownAnswer, PreCheckAnswer, PreCheckAsk, PreCheckWork,
    PreChecksMode, PreChecksPolicy, Reason, Target, shortened,
};

/// The most findings that a reason names.
const NAMED_FINDINGS: usize = 3;
/// How much the clock of a cluster may be ahead.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);
/// For how long what an agent has found holds its cluster before it is asked again: it does not come back by itself to say that
/// something was corrected.
const HOLDS: SignedDuration = SignedDuration::from_mins(10);
/// Why a cluster cannot be asked whose last question is not gone yet: its work agent may be away.
const LEAVING: &str = "the work by which it was asked before is still being deleted";
/// The longest headline of a finding within a reason, in bytes.
const SUMMARY: usize = 80;

/// What the answer of a cluster comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::assess) enum Standing {
    /// Nothing keeps it.
    Clear,
    /// It has findings that nobody has accepted, or whose acceptance counts no more.
    Held { reason: Reason, blocks_again: bool },
    /// It has not answered, or its answer is too old.
    Awaited(Reason),
}

impl Standing {
    pub(super) const AWAITED: Self = Self::Awaited(Reason::AwaitingPreChecks);
}

impl ClusterView<'_> {
    /// What the answer comes to, and whether it is too old.
    pub(super) fn standing(
        &self,
        policy: &PreChecksPolicy,
        target: &Target,
        work: Option<&PreCheckWork>,
    ) -> (Standing, bool) {
        let write = self
            .row
            .pre_check_write
            .as_ref()
            .filter(|write| !write.keeps_question);
        let refused = write.and_then(|write| write.refused.clone());
        if let Some(words) = refused {
            return (Standing::Awaited(Reason::PreChecksNotAsked(words)), false);
        }
        if self.row.pre_checks.as_ref().is_some_and(|work| work.deleting) {
            return (
                Standing::Awaited(Reason::PreChecksNotAsked(LEAVING.into())),
                false,
            );
        }
        let still_held = || self.still_held(target);
        // A write that is under way replaces what was asked.
        let asked = work.and_then(|work| Some((work, work.question.as_ref()?)));
        let Some((work, asked)) = asked.filter(|_| write.is_none()) else {
            return (still_held().unwrap_or(Standing::AWAITED), false);
        };
        let Some(answer) = work.answer.current() else {
            if self.keeps_answer(policy, work) {
                return (Standing::Clear, false);
            }
            let late = asked.asked_at.saturating_add(policy.timeout);
            let is_late = late.is_ok_and(|late| self.present.has_reached(late));
            // An agent that is asked for another upgrade will say the same again.
            let held = still_held().filter(|_| work.is_taken || !is_late);
            // It has answered in its time, and was asked for another upgrade since; one that is paused does not ask before it is resumed.
            let is_paused = self.spec().is_some_and(|spec| spec.paused);
            let has_answered = work.is_taken && (is_paused || matches!(work.answer, KnownAnswer::Earlier(_)));
            let awaited = if is_late && !has_answered {
                Standing::Awaited(Reason::PreChecksUnanswered(work.trouble.clone()))
            } else {
                Standing::AWAITED
            };
            return (held.unwrap_or(awaited), false);
        };
        let (collected_at, is_over) = match answer.source {
            AnswerSource::AtTarget => return (Standing::Clear, false),
            AnswerSource::ClusterVersion => (asked.asked_at, false),
            AnswerSource::Agent {
                collected_at, stops, ..
            } => {
                let collected_at = self.by_own_clock(collected_at, asked.asked_at);
                (collected_at, !stops && self.has_ended_since(collected_at))
            }
        };
        let lasts = match answer.source {
            AnswerSource::Agent { stops: true, .. } => policy.max_age.min(HOLDS),
            _ => policy.max_age,
        };
        let old = collected_at.saturating_add(lasts);
        let is_old = old.is_ok_and(|old| self.present.has_reached(old));
        if (is_old || is_over) && policy.mode == PreChecksMode::Require {
            return (still_held().unwrap_or(Standing::AWAITED), true);
        }
        (self.said_by(work, answer), is_old)
    }

    /// Whether an answer stands while the agent is asked for another upgrade, for as long as this one is paused: nothing starts by it, and of two
    /// that wait for somebody neither takes the agent from the other. One that holds the cluster is asked for anew, for it may be over.
    pub(super) fn keeps_answer(&self, policy: &PreChecksPolicy, work: &PreCheckWork) -> bool {
        let is_paused = self.spec().is_some_and(|spec| spec.paused);
        let Some(asked) = work.question.as_ref().filter(|_| is_paused && work.is_taken) else {
            return false;
        };
        let collected_at = match &work.answer {
            KnownAnswer::Earlier(answer) => match answer.source {
                AnswerSource::Agent { collected_at, .. } if self.said_by(work, answer) == Standing::Clear => {
                    self.by_own_clock(collected_at, asked.asked_at)
                }
                _ => return false,
            },
            _ if self.has_passed_since(asked.asked_at) => asked.asked_at,
            _ => return false,
        };
        let old = collected_at.saturating_add(policy.max_age);
        let is_old = old.is_ok_and(|old| self.present.has_reached(old));
        !is_old && !self.has_ended_since(collected_at)
    }

    /// Whether the status says that every cluster passes, and has come to that after a cluster was asked: who was not there when it answered
    /// knows by that alone what it was.
    fn has_passed_since(&self, asked_at: Timestamp) -> bool {
        let passed = self.context.pre_checks_passed_since;
        passed.is_some_and(|passed| passed >= asked_at)
    }

    /// What held the cluster holds it while it is asked anew: nothing has happened that anybody must hear of.
    pub(super) fn still_held(&self, target: &Target) -> Option<Standing> {
        let work = self.own_pre_checks()?;
        let is_about_target = *work.question.as_ref()?.target == *target.to_string();
        let answer = work.answer.any().filter(|_| is_about_target)?;
        Some(self.said_by(work, answer)).filter(|said| matches!(said, Standing::Held { .. }))
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

    /// Whether the time of an acceptance is over that an answer may still have counted with: its agent may be silent since.
    fn has_ended_since(&self, collected_at: Timestamp) -> bool {
        let risks = self.accepted_risks().into_iter();
        let mut ends = risks.filter_map(|risk| risk.until);
        ends.any(|until| until > collected_at && self.present.has_reached(until))
    }

    /// What an answer comes to, however old it is.
    fn said_by(&self, work: &PreCheckWork, answer: &PreCheckAnswer) -> Standing {
        let answer = self.judged(work, answer);
        let left_out = self.accepted_risks_left_out();
        let findings = answer.findings.iter();
        let open: Vec<&Finding> = findings.filter(|found| !found.acceptance.is_accepted()).collect();
        match answer.source {
            AnswerSource::AtTarget => Standing::Clear,
            AnswerSource::ClusterVersion => held_unless(open.is_empty(), &open, open.len(), left_out),
            AnswerSource::Agent {
                stops, unaccepted, ..
            } => {
                let count = unaccepted.max(open.len());
                let is_confirmed = |found: &&Finding| found.acceptance != FindingAcceptance::Unconfirmed;
                let (open, unconfirmed): (Vec<_>, Vec<_>) = open.into_iter().partition(is_confirmed);
                // Somebody has accepted all of it: the agent is asked whether that counts.
                if stops && !unconfirmed.is_empty() && unconfirmed.len() == count {
                    return Standing::AWAITED;
                }
                held_unless(!stops, &open, count - unconfirmed.len(), left_out)
            }
        }
    }
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
            shortened(&found.summary, SUMMARY)
        );
        if let Some(why) = found.acceptance.why_ended() {
            let _ = write!(words, " ({why})");
        }
    }
    if open.is_empty() {
        words.push_str("no finding is named: see the UpdatePlan on the cluster");
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
