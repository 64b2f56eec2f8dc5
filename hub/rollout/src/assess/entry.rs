//! What is recorded about a cluster.

use std::sync::Arc;

use drydock_names::names::{EndState, WorkKind};
use jiff::{SignedDuration, Timestamp};

use super::{ClusterView, Ending};
use crate::{
    ABANDONED_BEFORE_UPGRADE, ALREADY_AT_TARGET, AttemptOutcome, ENTRY_MESSAGE, Enforcement, Entry,
    EntryPlace, Owner, RecordedOutcome, RetryToken, Revision, StageSeconds, Work, bounded,
};

/// What became of a cluster and stands on no page of records yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unrecorded {
    /// The outcome that is committed on its work.
    Committed,
    /// An outcome that cannot be committed on the work.
    Ending(Ending),
    /// An outcome without a work: it could not be created.
    NeverWritten(Ending),
    /// It needed nothing: it runs this version, which is the target or beyond it.
    AtTarget(Arc<str>),
    /// The upgrade abandoned it while in flight; why.
    Abandoned(Arc<str>),
    /// Its works went while it was in flight, and the hub had not deleted them.
    Lost,
    /// Something else changed its version from what the upgrade left it at. The entry about an earlier change is replaced.
    Drift {
        from: Arc<str>,
        to: Arc<str>,
        replaces: Option<EntryPlace>,
    },
    /// What an upgrade that does not exist any more has left, by the work that carries its outcome.
    Orphan(WorkKind),
}

/// An entry, and the page on which it belongs.
pub(crate) struct NewEntry {
    pub owner: Owner,
    pub rollout_since: Timestamp,
    pub goal: Arc<str>,
    pub target: Arc<str>,
    /// Who started it.
    pub started_by: Arc<str>,
    pub entry: Entry,
    /// The entry whose place it takes.
    pub replaces: Option<EntryPlace>,
}

impl ClusterView<'_> {
    /// The entry for what is not recorded yet. `since` is when the rollout began, or begins now.
    pub fn entry(&self, unrecorded: &Unrecorded, since: Timestamp) -> Option<NewEntry> {
        match unrecorded {
            Unrecorded::Committed => {
                let (_, lead) = self.lead()?;
                let outcome = lead.outcome.as_ref()?;
                Some(self.of_work(
                    lead,
                    self.context.upgrade.as_owner(),
                    &RecordedEnd::of(outcome, self.present.now()),
                ))
            }
            Unrecorded::Ending(ending) => {
                let (_, lead) = self.lead()?;
                let end = RecordedEnd::ending(ending, self.retry(), self.present.now());
                Some(self.of_work(lead, self.context.upgrade.as_owner(), &end))
            }
            Unrecorded::Abandoned(message) => {
                let (kind, lead) = self.lead()?;
                Some(self.of_work(
                    lead,
                    self.context.upgrade.as_owner(),
                    &RecordedEnd::abandoned(has_asked(kind, lead), message, self.present.now()),
                ))
            }
            Unrecorded::Lost => {
                let work = self.lost()?;
                let message = "its works were deleted while the cluster was in flight, not by the hub";
                let end = RecordedEnd::abandoned(true, message, self.present.now());
                Some(self.of_work(work, self.context.upgrade.as_owner(), &end))
            }
            Unrecorded::Orphan(kind) => {
                let work = self.row.works.get(*kind)?;
                let left = || {
                    let message = "its upgrade does not exist any more";
                    RecordedEnd::abandoned(has_asked(*kind, work), message, self.present.now())
                };
                let outcome = work.outcome.as_ref();
                let end = outcome.map_or_else(left, |outcome| RecordedEnd::of(outcome, self.present.now()));
                Some(self.of_work(work, work.owner.clone(), &end))
            }
            Unrecorded::NeverWritten(ending) => {
                let end = RecordedEnd::ending(ending, self.retry(), self.present.now());
                self.without_work(since, None, &end, None)
            }
            Unrecorded::AtTarget(version) => {
                let end = RecordedEnd {
                    outcome: RecordedOutcome::Complete,
                    reason: ALREADY_AT_TARGET.into(),
                    message: format!("already runs {version}").into(),
                    at: self.present.now(),
                    retry: self.retry(),
                };
                self.without_work(since, Some(version), &end, Some(version))
            }
            Unrecorded::Drift { from, to, replaces } => {
                let end = RecordedEnd::drifted(from, to, self.present.now());
                let entry = self.without_work(since, Some(from), &end, Some(to))?;
                Some(NewEntry {
                    replaces: replaces.clone(),
                    ..entry
                })
            }
        }
    }

    fn of_work(&self, work: &Work, owner: Owner, end: &RecordedEnd) -> NewEntry {
        let revision: Option<&Revision> = work.revision.as_deref();
        let goal = revision.map(|revision| &revision.goal);
        let target: Arc<str> = goal.map(ToString::to_string).unwrap_or_default().into();
        let to = goal.and_then(|goal| goal.target.as_ref());
        let to: Option<Arc<str>> = to.map(|target| target.to_string().into());
        let from = revision.and_then(|revision| revision.from.as_ref());
        let from: Option<Arc<str>> = from.map(|version| version.to_string().into());
        // What needed nothing has come from nowhere and has taken no time.
        let needed_nothing = &*end.reason == ALREADY_AT_TARGET;
        let ran = self.known_version().filter(|_| needed_nothing);
        let ran: Option<Arc<str>> = ran.map(|version| version.to_string().into());
        NewEntry {
            owner,
            rollout_since: revision.map_or(work.created, |revision| revision.rollout_since),
            goal: goal.map_or_else(|| "".into(), |goal| goal.fingerprint()),
            target: Arc::clone(&target),
            started_by: revision
                .map(|revision| Arc::clone(&revision.started_by))
                .filter(|by| !by.is_empty())
                .unwrap_or_else(|| Arc::clone(&self.context.upgrade.started_by)),
            entry: Entry {
                cluster: self.name.clone(),
                canary: self.is_canary(),
                outcome: end.outcome,
                reason: Arc::clone(&end.reason),
                message: bounded(&end.message, ENTRY_MESSAGE).into(),
                from: ran.clone().or(from),
                started: Some(work.attempt_since()),
                stages: match ran {
                    Some(_) => StageSeconds::default(),
                    None => self.stage_seconds(work, end.at),
                },
                to: ran.or(to).unwrap_or(target),
                completed: end.at,
                retry: end.retry.clone(),
            },
            replaces: None,
        }
    }

    fn without_work(
        &self,
        since: Timestamp,
        from: Option<&Arc<str>>,
        end: &RecordedEnd,
        to: Option<&Arc<str>>,
    ) -> Option<NewEntry> {
        let goal = &self.spec()?.goal;
        let target: Arc<str> = goal.to_string().into();
        let is_attempt = to.is_none();
        Some(NewEntry {
            owner: self.context.upgrade.as_owner(),
            rollout_since: since,
            goal: goal.fingerprint(),
            target: Arc::clone(&target),
            started_by: Arc::clone(&self.context.upgrade.started_by),
            entry: Entry {
                cluster: self.name.clone(),
                canary: self.is_canary(),
                outcome: end.outcome,
                reason: Arc::clone(&end.reason),
                message: bounded(&end.message, ENTRY_MESSAGE).into(),
                from: from
                    .cloned()
                    .or_else(|| self.known_version().map(|version| version.to_string().into())),
                to: to.cloned().unwrap_or(target),
                started: is_attempt.then_some(end.at),
                stages: StageSeconds::default(),
                completed: end.at,
                retry: end.retry.clone(),
            },
            replaces: None,
        })
    }

    /// From the creation of each stage's work to that of the next, and of the last to the end.
    fn stage_seconds(&self, lead: &Work, end: Timestamp) -> StageSeconds {
        let works: Vec<(WorkKind, Timestamp)> = self
            .row
            .works
            .iter()
            .filter(|(_, work)| {
                work.owner.uid == lead.owner.uid && work.attempt_since() == lead.attempt_since()
            })
            .map(|(kind, work)| (kind, work.begun()))
            .collect();
        let mut seconds = StageSeconds::default();
        for (index, (kind, began)) in works.iter().enumerate() {
            let ended = works.get(index + 1).map_or(end, |(_, next)| *next);
            let took = Some(ended.duration_since(*began).as_secs().max(0));
            match kind {
                WorkKind::Pre => seconds.pre_action = took.filter(|_| !self.was_held(*began, ended)),
                WorkKind::Cluster => seconds.upgrade = took,
                WorkKind::Operators => seconds.operators = took,
                WorkKind::Post => seconds.post_action = took,
            }
        }
        seconds
    }
}

impl ClusterView<'_> {
    /// Whether the upgrade followed on the action only when start times opened, as far as can be said: then how long the action took is
    /// not known. The action itself never lasts longer than its timeout.
    fn was_held(&self, began: Timestamp, ended: Timestamp) -> bool {
        let Some(spec) = self.spec() else { return false };
        let timeout = spec.pre_action.as_ref().map(|action| action.timeout);
        let is_too_long = timeout.is_some_and(|timeout| ended.duration_since(began) > timeout);
        let before = ended
            .saturating_sub(SignedDuration::from_mins(1))
            .unwrap_or(ended);
        let times = &spec.strategy.start_times;
        is_too_long || !times.is_always() && !times.opening(self.timetable().once_started(), before).is_open()
    }
}

/// How an entry says that it ended.
struct RecordedEnd {
    outcome: RecordedOutcome,
    reason: Arc<str>,
    message: Arc<str>,
    at: Timestamp,
    retry: RetryToken,
}

impl RecordedEnd {
    fn of(outcome: &AttemptOutcome, now: Timestamp) -> Self {
        Self {
            outcome: recorded(outcome.state),
            reason: Arc::clone(&outcome.reason),
            message: Arc::clone(&outcome.message),
            at: outcome.at.unwrap_or(now),
            retry: outcome.retry.clone(),
        }
    }

    fn ending(ending: &Ending, retry: RetryToken, now: Timestamp) -> Self {
        Self {
            outcome: recorded(ending.outcome),
            reason: ending.reason.into(),
            message: Arc::clone(&ending.message),
            at: now,
            retry,
        }
    }

    fn drifted(from: &str, to: &str, now: Timestamp) -> Self {
        let message = if from == to {
            format!("runs {to} again, after a version that this upgrade did not ask for")
        } else {
            format!("runs {to}, which this upgrade did not ask for; it had left it at {from}")
        };
        Self {
            outcome: RecordedOutcome::Drifted,
            reason: "Drifted".into(),
            message: message.into(),
            at: now,
            retry: RetryToken::default(),
        }
    }

    fn abandoned(has_asked: bool, message: &str, now: Timestamp) -> Self {
        let (reason, message) = if has_asked {
            ("Abandoned", message.into())
        } else {
            let message = format!("{message}; the cluster had not been asked for the target yet");
            (ABANDONED_BEFORE_UPGRADE, message.into())
        };
        Self {
            outcome: RecordedOutcome::Abandoned,
            reason: reason.into(),
            message,
            at: now,
            retry: RetryToken::default(),
        }
    }
}

/// Whether a work, or one before it, has asked the cluster for its target.
pub(super) fn has_asked(kind: WorkKind, work: &Work) -> bool {
    let only_reads = |revision: &Revision| revision.enforcement == Enforcement::Observed;
    match kind {
        WorkKind::Pre => false,
        WorkKind::Cluster => !work.revision.as_deref().is_some_and(only_reads),
        WorkKind::Operators | WorkKind::Post => true,
    }
}

fn recorded(state: EndState) -> RecordedOutcome {
    match state {
        EndState::Complete => RecordedOutcome::Complete,
        EndState::Failed => RecordedOutcome::Failed,
    }
}
