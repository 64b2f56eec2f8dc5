//! What is known of one informer's findings after it has been asked once more (insights.md, sections 1.3 and 1.9).
//!
//! Only Success says what is no longer so; and an informer that has just restarted may say that with nothing in its hands, so that a finding
//! counts as resolved no earlier than a minute after it was first left out. Whatever else an informer answers, what it has found stays.

mod own;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use drydock_api::insights::{FailurePolicy, InformerState, Insight, MAX_INSIGHTS};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::built_in::{BuiltIn, is_of_release};
use crate::finding::{Finding, worst_first};
use crate::hooks::{Answer, MAX_SKEW_MINUTES};
use crate::informer_name::InformerName;
pub(crate) use own::{is_own, is_truncation, truncated};

/// How long a finding is kept that an informer no longer reports (insights.md, section 1.9, row 25).
pub const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// What is said of an informer that no longer has a hook by which it has found something.
const LOST_HOOK: &str =
    "it says that it does not have this hook any more, and not that what it has found is over";
/// The most characters of what is said about an informer.
const LONGEST_MESSAGE: usize = 1024;

/// What is known of one informer's findings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InformerRecord {
    /// How it answered last.
    pub state: InformerState,
    /// Why, where it is not Success.
    pub message: Option<String>,
    /// When it was asked last.
    pub last_attempt: Option<Timestamp>,
    /// When all findings were last confirmed.
    pub last_success: Option<Timestamp>,
    /// The findings, the worst first.
    pub insights: Vec<Insight>,
    /// How many findings did not fit in.
    pub dropped: usize,
}

impl InformerRecord {
    /// The same, where times are in the future because the clock has been set back since: an answer of now is newer than all of it.
    fn not_after(&self, now: Timestamp) -> Cow<'_, Self> {
        // An informer's clock may be that much ahead.
        let latest = now.saturating_add(SignedDuration::from_mins(MAX_SKEW_MINUTES));
        let latest = latest.unwrap_or(Timestamp::MAX);
        let is_missing_later =
            |insight: &Insight| insight.missing_since.as_ref().is_some_and(|at| at.0 > now);
        let is_later = |insight: &Insight| {
            insight.acquisition_time.0 > latest || insight.first_seen.0 > latest || is_missing_later(insight)
        };
        if !self.insights.iter().any(is_later) {
            return Cow::Borrowed(self);
        }
        let mut record = self.clone();
        for insight in record.insights.iter_mut().filter(|insight| is_later(insight)) {
            for time in [&mut insight.acquisition_time, &mut insight.first_seen] {
                time.0 = time.0.min(now);
            }
            if let Some(missing) = &mut insight.missing_since {
                missing.0 = missing.0.min(now);
            }
        }
        Cow::Owned(record)
    }
}

/// What came of asking.
#[derive(Clone, Debug, PartialEq)]
pub enum Attempt {
    /// It answered.
    Answered(Answer),
    /// It answered, and says of itself that it is degraded.
    Degraded {
        /// Why, in its words.
        why: String,
        /// Its answer.
        answer: Answer,
    },
    /// It did not, or cannot be understood, and why.
    Unavailable(String),
    /// It does not have the hook.
    NotImplemented,
    /// It is switched off.
    Disabled,
}

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// An update that is under way, or is planned.
    Open,
    /// The update is complete: what is not marked as unresolved is over.
    Complete,
}

/// What is known after an attempt.
pub fn merge(
    informer: &InformerName,
    previous: &InformerRecord,
    attempt: &Attempt,
    policy: FailurePolicy,
    stage: Stage,
    now: Timestamp,
) -> InformerRecord {
    let previous = &*previous.not_after(now);
    let known = Known {
        informer,
        previous,
        now,
    };
    let lost = known.lost_hook(attempt);
    let attempt = lost.as_ref().unwrap_or(attempt);
    let (state, message, mut insights) = match attempt {
        Attempt::Answered(answer) => known.answered(answer, policy),
        Attempt::Degraded { why, answer } => {
            let (state, message, mut insights) = known.answered(answer, policy);
            insights.push(known.own(&own::degraded(informer, why, policy, now)));
            (state, message, insights)
        }
        Attempt::Unavailable(why) => {
            let mut insights = known.kept_with(&[]);
            insights.push(known.own(&own::unavailable(informer, why, policy, now)));
            (InformerState::Unavailable, Some(why.clone()), insights)
        }
        Attempt::NotImplemented => (InformerState::NotImplemented, None, known.confirmed(&[])),
        Attempt::Disabled => (InformerState::Disabled, None, Vec::new()),
    };
    if stage == Stage::Complete {
        carry_over(&mut insights);
    }
    worst_first(&mut insights);
    // Of too many one fewer is kept: what says so needs a place, too.
    let most = if insights.len() > MAX_INSIGHTS {
        MAX_INSIGHTS - 1
    } else {
        MAX_INSIGHTS
    };
    let more = insights.len().saturating_sub(most);
    insights.truncate(most);
    let is_success = matches!(state, InformerState::Success | InformerState::NotImplemented);
    InformerRecord {
        state,
        message: message.map(|message| message.chars().take(LONGEST_MESSAGE).collect()),
        last_attempt: Some(now),
        last_success: if is_success {
            Some(now)
        } else {
            previous.last_success
        },
        insights,
        dropped: if is_success {
            more
        } else {
            more.max(previous.dropped)
        },
    }
}

/// When the informer should be asked again because it has left out a finding: until then it is not sure that it is resolved.
pub fn end_of_grace(record: &InformerRecord) -> Option<Timestamp> {
    let missing = record
        .insights
        .iter()
        .filter_map(|insight| insight.missing_since.as_ref());
    let ends = missing.filter_map(|since| since.0.checked_add(GRACE).ok());
    ends.min()
}

/// After the update stays what the informer has marked as unresolved (insights.md, section 1.9, row 19).
fn carry_over(insights: &mut Vec<Insight>) {
    let is_unresolved = |insight: &Insight| {
        let remedy = insight.remediation.as_ref();
        remedy.is_some_and(|remedy| remedy.resolved == Some(false))
    };
    insights.retain(is_unresolved);
    for insight in insights {
        insight.carried_over = Some(true);
    }
}

struct Known<'a> {
    informer: &'a InformerName,
    previous: &'a InformerRecord,
    now: Timestamp,
}

impl Known<'_> {
    /// What an informer has found before, by who it is; what the agent has said about it is not among it.
    fn before(&self) -> BTreeMap<String, Insight> {
        let insights = self.previous.insights.iter().filter(|insight| !is_own(insight));
        insights
            .map(|insight| (insight.uuid.clone(), insight.clone()))
            .collect()
    }

    /// What an answer comes to.
    fn answered(
        &self,
        answer: &Answer,
        policy: FailurePolicy,
    ) -> (InformerState, Option<String>, Vec<Insight>) {
        match answer {
            Answer::Success(findings) => (InformerState::Success, None, self.confirmed(findings)),
            Answer::Failure { message, findings } => {
                let mut insights = self.kept_with(findings);
                // What holds no update does not say why the informer cannot tell: what it would have reported may be anything.
                if !findings.iter().any(|finding| finding.impact.level.gates()) {
                    let failure = own::failure(self.informer, message, policy, self.now);
                    insights.push(self.own(&failure));
                }
                (InformerState::Failure, Some(message.clone()), insights)
            }
            Answer::Wait { message } => (InformerState::Waiting, Some(message.clone()), self.kept_with(&[])),
        }
    }

    /// Who had the hook when it found something, and no longer has it, has not said that it is over.
    fn lost_hook(&self, attempt: &Attempt) -> Option<Attempt> {
        let is_lost = matches!(attempt, Attempt::NotImplemented)
            && BuiltIn::of(self.informer).is_none()
            && !self.before().is_empty();
        is_lost.then(|| Attempt::Unavailable(LOST_HOOK.to_owned()))
    }

    /// What is reported, and for a while what no longer is.
    fn confirmed(&self, findings: &[Finding]) -> Vec<Insight> {
        let mut before = self.before();
        let reported: Vec<_> = findings
            .iter()
            .filter_map(|finding| {
                let known = before.remove(&finding.uuid(self.informer));
                let is_resolved = finding
                    .remediation
                    .as_ref()
                    .is_some_and(|remedy| remedy.resolved == Some(true));
                (!is_resolved).then(|| self.reported(finding, known))
            })
            .collect();
        let missing = before.into_values().filter_map(|insight| self.missing(insight));
        reported.into_iter().chain(missing).collect()
    }

    /// What was known, and what is reported besides.
    fn kept_with(&self, findings: &[Finding]) -> Vec<Insight> {
        let mut kept = self.before();
        // What did not fit in before is still not there.
        let notices = self
            .previous
            .insights
            .iter()
            .filter(|insight| is_truncation(insight));
        kept.extend(notices.map(|notice| (notice.uuid.clone(), notice.clone())));
        for finding in findings {
            let uuid = finding.uuid(self.informer);
            let known = kept.remove(&uuid);
            kept.insert(uuid, self.reported(finding, known));
        }
        kept.into_values().collect()
    }

    /// What was looked up earlier than what is known says nothing new; unless it is worse, for clocks go wrong.
    fn reported(&self, finding: &Finding, known: Option<Insight>) -> Insight {
        match known {
            Some(known)
                if finding.acquired < known.acquisition_time.0
                    && finding.impact.level <= known.impact.level =>
            {
                Insight {
                    missing_since: None,
                    ..known
                }
            }
            Some(known) => finding.insight(self.informer, known.first_seen.0),
            None => finding.insight(self.informer, self.now),
        }
    }

    fn missing(&self, mut insight: Insight) -> Option<Insight> {
        // The plan asks about another image by now: that says nothing of this one, and holds nobody for a minute.
        if BuiltIn::of(self.informer).is_some() && insight.scope.resources.iter().any(is_of_release) {
            return None;
        }
        let since = insight.missing_since.get_or_insert(Time(self.now)).0;
        (self.now.duration_since(since) < GRACE).then_some(insight)
    }

    /// What the agent itself says, since when it says so.
    fn own(&self, finding: &Finding) -> Insight {
        let insight = finding.insight(self.informer, self.now);
        let known = self
            .previous
            .insights
            .iter()
            .find(|known| known.uuid == insight.uuid);
        match known {
            Some(known) => Insight {
                first_seen: known.first_seen.clone(),
                ..insight
            },
            None => insight,
        }
    }
}
