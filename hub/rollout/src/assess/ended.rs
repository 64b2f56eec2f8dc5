//! Clusters that have ended: by the outcome that is committed on a work, or by the one that stands on a page of records.

use std::cmp::Ordering;
use std::sync::Arc;

use drydock_names::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{Assessment, ClusterView, Ending, IS_FINAL, NextWrite, Step, Unrecorded};
use crate::{
    ALREADY_AT_TARGET, Afterwards, ClusterState, Enforcement, Entry, FailureReason, Reason, RecordedEntry,
    RecordedOutcome, RetryToken, Stage, UPDATED_OTHERWISE, Work,
};

/// The time between two writes about a cluster that shows ever other versions after its end.
const DRIFT_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// How a cluster has ended.
pub(super) struct Ended<'a> {
    pub state: EndState,
    pub reason: Arc<str>,
    pub message: Arc<str>,
    pub at: Option<Timestamp>,
    pub retry: RetryToken,
    /// It was for the goal of the present spec.
    pub is_current: bool,
    /// When the attempt began.
    pub started: Option<Timestamp>,
    /// The work of that attempt on which outcomes are committed, if it is there.
    pub work: Option<(WorkKind, &'a Work)>,
    /// The outcome is committed on it.
    pub is_committed: bool,
    /// The outcome stands on a page of records.
    pub is_recorded: bool,
    /// The version at which it was found, if no work was made for it.
    pub found_at: Option<Version>,
}

impl<'a> ClusterView<'a> {
    /// This upgrade's entries about the cluster, the oldest first.
    pub fn own_entries(&self) -> impl DoubleEndedIterator<Item = &'a RecordedEntry> {
        self.row
            .entries
            .iter()
            .map(|entry| &**entry)
            .filter(|recorded| !recorded.page.closed && self.context.upgrade.owns(&recorded.page.owner))
    }

    /// This upgrade's entries that say how the cluster ended, the newest first.
    fn own_outcomes(&self) -> impl Iterator<Item = &'a RecordedEntry> {
        self.own_entries().rev().filter(|recorded| {
            matches!(
                recorded.entry.outcome,
                RecordedOutcome::Complete | RecordedOutcome::Failed
            )
        })
    }

    /// This upgrade's newest attempt that was complete, by the records.
    fn complete_attempt(&self) -> Option<&'a RecordedEntry> {
        self.own_outcomes().find(|recorded| {
            recorded.entry.outcome == RecordedOutcome::Complete && recorded.entry.started.is_some()
        })
    }

    /// When the newest attempt of this upgrade ended, however it did, or was asked to be made once more.
    pub(super) fn last_end(&self) -> Option<Timestamp> {
        let newest = self.own_outcomes().next();
        let by_record = newest.map(|recorded| recorded.entry.completed);
        let outcome = self.lead().and_then(|(_, work)| work.outcome.as_ref());
        let ended = outcome.and_then(|outcome| outcome.at).max(by_record)?;
        let asked = self.retry().asked_at().filter(|at| self.present.has_reached(*at));
        Some(asked.map_or(ended, |asked| asked.max(ended)))
    }

    /// When the newest attempt of this upgrade was complete, for whatever goal. That a later one needed nothing changes nothing about it.
    pub(super) fn upgraded_at(&self) -> Option<Timestamp> {
        let by_record = self.complete_attempt().map(|recorded| recorded.entry.completed);
        let outcome = self.lead().and_then(|(_, work)| work.outcome.as_ref());
        let by_work = outcome.filter(|outcome| outcome.state == EndState::Complete);
        by_work.and_then(|outcome| outcome.at).max(by_record)
    }

    /// The same, if that attempt came to the present target: what somebody else has upgraded since has not shown itself by it.
    pub(super) fn reached_at(&self) -> Option<Timestamp> {
        let goal = &self.spec()?.goal;
        let attempt = self.complete_attempt();
        let to = attempt.and_then(|recorded| Version::parse(&recorded.entry.to).ok());
        self.upgraded_at()
            .filter(|_| to.is_none_or(|to| goal.platform_reached(Some(&to))))
    }

    /// How the cluster has ended, if it has and nothing was begun since.
    pub(super) fn ended(&self) -> Option<Ended<'a>> {
        if let Some(recorded) = self.needed_nothing() {
            // A work of an earlier attempt that has ended has nothing to do with it.
            let uncommitted = self.lead().filter(|(_, work)| work.outcome.is_none());
            return Some(self.by_record(recorded, uncommitted));
        }
        let mut outcomes = self.own_outcomes();
        let Some((kind, work)) = self.lead() else {
            return outcomes.next().map(|recorded| self.by_record(recorded, None));
        };
        let of_attempt = outcomes.find(|recorded| work.is_recorded_by(&recorded.entry));
        match (&work.outcome, of_attempt) {
            (Some(outcome), _) => Some(Ended {
                state: outcome.state,
                reason: Arc::clone(&outcome.reason),
                message: Arc::clone(&outcome.message),
                at: outcome.at,
                retry: outcome.retry.clone(),
                is_current: self.spec().is_none_or(|spec| work.is_for(&spec.goal)),
                started: Some(work.attempt_since()),
                work: Some((kind, work)),
                is_committed: true,
                is_recorded: of_attempt.is_some(),
                found_at: None,
            }),
            (None, Some(recorded)) => Some(self.by_record(recorded, Some((kind, work)))),
            (None, None) => None,
        }
    }

    /// The record of a cluster that needed nothing, unless an attempt began since.
    fn needed_nothing(&self) -> Option<&'a RecordedEntry> {
        let newest = self.own_outcomes().next()?;
        let found = newest.entry.completed;
        let is_newest = self.lead().is_none_or(|(_, work)| {
            let ended = work.outcome.as_ref().and_then(|outcome| outcome.at);
            // An attempt may have begun and ended in the moment in which nothing more was needed.
            let began = work.attempt_since();
            began < found || (began == found && ended.is_some_and(|ended| ended <= found))
        });
        (newest.entry.is_without_work() && is_newest).then_some(newest)
    }

    fn by_record(&self, recorded: &'a RecordedEntry, work: Option<(WorkKind, &'a Work)>) -> Ended<'a> {
        let entry = &recorded.entry;
        Ended {
            state: match entry.outcome {
                RecordedOutcome::Complete => EndState::Complete,
                _ => EndState::Failed,
            },
            reason: Arc::clone(&entry.reason),
            message: Arc::clone(&entry.message),
            at: Some(entry.completed),
            retry: entry.retry.clone(),
            is_current: self
                .context
                .goal
                .as_ref()
                .is_none_or(|goal| recorded.page.goal == *goal),
            started: entry.started,
            work,
            is_committed: false,
            is_recorded: true,
            found_at: entry.is_without_work().then(|| entry.to.parse().ok()).flatten(),
        }
    }

    pub(super) fn finished(&self, ended: &Ended<'a>) -> Assessment {
        let is_retried = ended.state == EndState::Failed
            && self.row.selection.is_some()
            && self.retry().is_new_since(&ended.retry);
        let is_outdated = !ended.is_current && ended.state == EndState::Complete;
        let mut assessment = if is_retried {
            self.retried(ended)
        } else if is_outdated {
            self.not_started(None)
        } else if !ended.is_current && self.row.selection.is_none() {
            self.takes_no_part()
        } else {
            self.rests(ended)
        };
        if !ended.is_recorded && ended.is_committed {
            assessment.unrecorded = Some(Box::new(Unrecorded::Committed));
        }
        assessment
    }

    /// A cluster that stays as it has ended.
    fn rests(&self, ended: &Ended<'a>) -> Assessment {
        let failed = FailureReason::parse(&ended.reason);
        let message = Arc::clone(&ended.message);
        let (state, reason) = match ended.state {
            EndState::Complete if *ended.reason == *ALREADY_AT_TARGET => {
                (ClusterState::Complete, Reason::AlreadyAtTarget(message))
            }
            EndState::Complete => (ClusterState::Complete, Reason::Upgraded(message)),
            EndState::Failed => (
                ClusterState::Failed,
                Reason::Failed {
                    reason: failed,
                    message,
                },
            ),
        };
        let mut status = self.status(state, reason, IS_FINAL);
        status.started = ended.started;
        status.since = ended.at;
        // One that needed nothing was done before: how long that is ago says nothing.
        status.finished = ended.at.filter(|_| ended.started.is_some());
        if ended.found_at.is_some() {
            status.initialized = false;
            status.applied = false;
        }
        let failed_stage = failed.map(FailureReason::stage);
        // Its works may be gone, and the outcome stays.
        status.initialized |= ended.state == EndState::Complete && ended.started.is_some()
            || failed_stage.is_some_and(|stage| stage > crate::Stage::PreAction);
        status.afterwards = self.afterwards(ended);
        let mut assessment = self.member(status, Step::WAIT);
        assessment.upgraded_at = match ended.state {
            EndState::Complete if ended.found_at.is_some() => self.reached_at().or(ended.at),
            EndState::Complete => self.upgraded_at(),
            EndState::Failed => None,
        };
        assessment.failed_stage = failed_stage;
        assessment.for_goal = ended.is_current;
        assessment.left_to = match ended.state {
            EndState::Failed => self
                .later_claim()
                .map(|claim| self.named(claim.owner, claim.is_over)),
            EndState::Complete => None,
        };
        let (next, channel_pending) = self.remaining_writes(ended);
        assessment.step = Step::Continue(next);
        assessment.channel_pending = channel_pending;
        if ended.is_recorded {
            assessment.unrecorded = self.drift().map(Box::new);
            // That of a pre-action that failed stays with its Job, for who wants to know why.
            let actions = self.own_works().filter(|(kind, work)| match kind {
                WorkKind::Pre => !work.deleting && work.outcome.is_none(),
                WorkKind::Post => !work.deleting,
                WorkKind::Cluster | WorkKind::Operators => false,
            });
            let kinds = actions.map(|(kind, _)| kind);
            assessment.disposable = kinds.filter(|kind| self.may_delete(*kind)).collect();
            let may_begin = ended.state == EndState::Failed && self.is_left_at_gate();
            assessment.takes_back = may_begin && self.may_delete(WorkKind::Cluster);
        }
        assessment
    }

    /// What has become of a cluster since it ended.
    fn afterwards(&self, ended: &Ended<'a>) -> Option<Afterwards> {
        let spec = self.spec()?;
        if ended.state == EndState::Complete {
            let left_at = ended.found_at.as_ref().or(spec.goal.version())?;
            let runs = self.known_version()?;
            let is_other = match runs.cmp_precedence(left_at) {
                Ordering::Equal => false,
                Ordering::Greater => true,
                Ordering::Less => {
                    let attempt = self.own_outcomes().next();
                    let lags = attempt.is_some_and(|attempt| self.lags(runs, &attempt.entry));
                    self.fed_back_version().is_some() || !lags
                }
            };
            return is_other.then(|| Afterwards::Drifted {
                by: self.brought_by(runs, ended.at),
            });
        }
        if let Some(claim) = self.later_claim() {
            return Some(Afterwards::LeftTo {
                upgrade: self.named(claim.owner, claim.is_over).into(),
                is_at_work: self
                    .other_at_work()
                    .is_some_and(|owner| owner.is_same(claim.owner)),
            });
        }
        if let Some(goes_on) = self.goes_on() {
            return Some(goes_on);
        }
        let is_of_platform =
            FailureReason::parse(&ended.reason).map(FailureReason::stage) == Some(Stage::Platform);
        let has_arrived =
            is_of_platform && ended.is_current && spec.goal.platform_reached(self.known_version());
        has_arrived.then_some(Afterwards::Arrived)
    }

    /// Whether a claimed version may be that of before an attempt, with which it has not caught up: that of a cluster that has joined again has.
    fn lags(&self, version: &Version, attempt: &Entry) -> bool {
        let facts = self.row.facts.as_deref();
        let created = facts.and_then(|facts| facts.created);
        let has_joined_since = created.is_some_and(|created| created > attempt.completed);
        attempt.from.as_deref() == Some(version.to_string().as_str()) && !has_joined_since
    }

    /// The other upgrade that has brought the cluster to a version since then, by the records.
    fn brought_by(&self, version: &Version, since: Option<Timestamp>) -> Option<Arc<str>> {
        let version = version.to_string();
        let is_it = |recorded: &&Arc<RecordedEntry>| {
            let entry = &recorded.entry;
            let is_other = recorded.page.closed || !self.context.upgrade.owns(&recorded.page.owner);
            let is_attempt = entry.outcome == RecordedOutcome::Complete && entry.started.is_some();
            is_other
                && is_attempt
                && *entry.to == *version
                && since.is_none_or(|since| entry.completed >= since)
        };
        let found = self.row.entries.iter().rev().find(is_it)?;
        Some(self.named(&found.page.owner, found.page.closed).into())
    }

    /// What is still to be written on the work of a cluster that has ended: the outcome, if it could not be, and another channel.
    fn remaining_writes(&self, ended: &Ended<'a>) -> (Vec<NextWrite>, bool) {
        let Some((kind, work)) = ended.work.filter(|(_, work)| !work.deleting) else {
            return (Vec::new(), false);
        };
        if !self.may_change(kind) {
            return (Vec::new(), applies_channel(work));
        }
        if !ended.is_committed {
            let known = FailureReason::parse(&ended.reason);
            let ending = Ending {
                outcome: ended.state,
                reason: match known {
                    Some(known) => known.as_str(),
                    None if ended.found_at.is_some() => ALREADY_AT_TARGET,
                    None if *ended.reason == *UPDATED_OTHERWISE => UPDATED_OTHERWISE,
                    None => "Upgraded",
                },
                message: Arc::clone(&ended.message),
                unverified: false,
            };
            return (vec![NextWrite::Finish(kind, ending)], false);
        }
        let next = self.channel_write(ended, work);
        let is_pending = next.is_some() || applies_channel(work);
        (next.into_iter().collect(), is_pending)
    }

    /// The channel alone may be edited: a completed cluster gets it, and nothing else.
    fn channel_write(&self, ended: &Ended<'a>, work: &Work) -> Option<NextWrite> {
        if ended.state != EndState::Complete || !ended.is_current {
            return None;
        }
        let revision = work.revision.as_ref()?;
        let shown = work.feedback.cluster_version()?.channel.as_deref();
        let wanted = self.spec()?.goal.channel()?;
        let written = revision.goal.channel();
        match (applies_channel(work), written == Some(wanted)) {
            (true, true) if shown == Some(wanted) => Some(NextWrite::SetChannel(None)),
            (_, true) => None,
            (_, false) => Some(NextWrite::SetChannel(Some(wanted.to_owned()))),
        }
    }

    /// A version that something else has brought since this upgrade's newest entry. A claim may lag behind, so what it says
    /// counts only if it is neither the version before nor the one after; that of a cluster that has joined again does not.
    fn drift(&self) -> Option<Unrecorded> {
        let newest = self.row.entries.last()?;
        if newest.page.closed || !self.context.upgrade.owns(&newest.page.owner) {
            return None;
        }
        let known = newest.entry.outcome;
        if !matches!(known, RecordedOutcome::Complete | RecordedOutcome::Drifted) {
            return None;
        }
        let is_quiet = self
            .row
            .works
            .iter()
            .all(|(_, work)| self.is_own(work) && !work.deleting);
        let recorded: semver::Version = newest.entry.to.parse().ok()?;
        let is_other = |version: &Version| version.cmp_precedence(&recorded).is_ne();
        let fed_back = self.fed_back_version().filter(|version| is_other(version));
        let facts = self.row.facts.as_deref();
        let claimed = facts.and_then(|facts| facts.version.as_ref());
        let claimed = claimed
            .filter(|version| is_other(version) && !self.lags(version, &newest.entry))
            .filter(|_| self.fed_back_version().is_none());
        let seen = fed_back.or(claimed).filter(|_| is_quiet)?;
        let to = seen.to_string().into();
        if known == RecordedOutcome::Complete {
            return Some(Unrecorded::Drift {
                from: recorded.to_string().into(),
                to,
                replaces: None,
            });
        }
        // The reported version may change without end: one entry is kept of it, and is rewritten at intervals.
        let written = newest.entry.completed;
        let due = written.saturating_add(DRIFT_INTERVAL).unwrap_or(Timestamp::MAX);
        self.present.has_reached(due).then(|| Unrecorded::Drift {
            from: newest
                .entry
                .from
                .clone()
                .unwrap_or_else(|| newest.entry.to.clone()),
            to,
            replaces: Some(newest.place.clone()),
        })
    }
}

fn applies_channel(work: &Work) -> bool {
    work.revision
        .as_ref()
        .is_some_and(|revision| revision.enforcement == Enforcement::ChannelOnly)
}
