//! Carrying out a plan, some writes at once: it is safe whichever of them succeed. The outcome of each is reported to the
//! cache and to the users.

use std::collections::HashSet;
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::{Planned, RefusedAction};
use drydock_rollout::{Action, ClusterName, RefusalCause, Transition, UpgradeKey, transition};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use tokio::time::Instant;

use super::answer::WriteOutcome;
use super::write::{WriteError, Writer};
use super::{Context, announce};

/// Writes under way at once for one upgrade.
const WRITES_AT_ONCE: usize = 16;
/// So long a decision holds: meanwhile windows close, and selections, answers and acceptances change.
pub(super) const DECISION_LASTS: Duration = Duration::from_secs(5);
/// Clocks that differ by more than this since a decision do not run alike: one of them was set, or stood still.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_secs(2);
/// Records of an upgrade are written at most once in this time.
const RECORDS: Duration = Duration::from_secs(1);

/// What became of a plan.
#[derive(Debug, Default)]
pub(super) struct Acted {
    /// The first failure that is to be tried again soon.
    pub error: Option<WriteError>,
    /// How long something was deferred: not at all, if the rest of the plan is to be decided again.
    pub wait: Option<Duration>,
}

/// What begins on which cluster by an action.
type Beginning = (std::mem::Discriminant<Action>, ClusterName);

/// A plan, and when it was decided.
pub(super) struct Decision {
    pub planned: Planned,
    /// Since when it holds.
    at: Instant,
    /// When it was decided, by our clock and by the API server's.
    decided: (Instant, Timestamp),
    /// What may begin by it; anything, if that is not said.
    announced: Option<HashSet<Beginning>>,
}

impl Decision {
    /// What is decided about an upgrade; `None` if it is gone.
    pub fn about(context: &Context, key: &UpgradeKey) -> Option<Self> {
        let (at, now) = (Instant::now(), context.clock.now());
        let planned = context.cache.fleet().plan(key, now)?;
        Some(Self {
            planned,
            at,
            decided: (at, now),
            announced: None,
        })
    }

    /// Whether it may still be carried out: it was decided just now, by the time that still counts, and nobody has edited, paused or deleted the
    /// upgrade since.
    pub fn holds(&self, context: &Context) -> bool {
        self.at.elapsed() < DECISION_LASTS
            && self.is_in_time(context.clock.now())
            && context.cache.fleet().is_current(&self.planned)
    }

    /// Whether the API server's clock has gone on as ours has. Where the machine was suspended, it is an answer after the decision that shows it.
    fn is_in_time(&self, now: Timestamp) -> bool {
        let (at, moment) = self.decided;
        let passed = SignedDuration::try_from(at.elapsed()).unwrap_or(SignedDuration::MAX);
        (now.duration_since(moment) - passed).abs() < CLOCKS_DIFFER
    }

    /// What is decided now. Nothing of the earlier decision is carried out; of what begins by the new one, that which the status of the earlier
    /// one has announced.
    pub fn renewed(self, context: &Context) -> Option<Self> {
        self.abandon(context);
        let mut renewed = Self::about(context, &self.planned.rollout.upgrade.key)?;
        let upgrade = |decision: &Self| {
            let upgrade = &decision.planned.rollout.upgrade;
            (upgrade.uid.clone(), upgrade.generation)
        };
        renewed.announced = Some(if upgrade(&renewed) == upgrade(&self) {
            self.beginnings().collect()
        } else {
            HashSet::new()
        });
        Some(renewed)
    }

    /// The same, from what the API server was asked for at this moment: it holds since then.
    pub fn known_since(self, asked: Instant) -> Self {
        Self {
            at: self.at.min(asked),
            ..self
        }
    }

    /// Whether all that begins by it is announced.
    pub fn is_announced(&self) -> bool {
        self.beginnings().all(|beginning| self.may_begin(&beginning))
    }

    /// None of it is carried out.
    pub fn abandon(&self, context: &Context) {
        abandon(context, &self.planned, self.planned.plan.actions.iter());
    }

    /// The upgrade that it is about.
    pub fn key(&self) -> &UpgradeKey {
        &self.planned.rollout.upgrade.key
    }

    /// Whether it is carried out by the status of the decision before, and its own is not written.
    pub fn awaits_status(&self) -> bool {
        self.announced.is_some()
    }

    /// Its status has been written: it announces all that begins.
    pub fn announce(&mut self) {
        self.announced = None;
    }

    /// Whether something begins by it that may begin.
    pub fn begins(&self) -> bool {
        self.beginnings().any(|beginning| self.may_begin(&beginning))
    }

    /// Whether it is about an upgrade as the API server has it.
    pub fn is_of(&self, stored: &PartialObjectMeta<ManagedClustersUpgrade>) -> bool {
        let upgrade = &self.planned.rollout.upgrade;
        stored.uid().as_deref() == Some(upgrade.uid.as_str())
            && stored.metadata.generation == Some(upgrade.generation)
            && stored.metadata.deletion_timestamp.is_some() == upgrade.deleting
    }

    fn beginnings(&self) -> impl Iterator<Item = Beginning> {
        self.planned.plan.actions.iter().filter_map(beginning)
    }

    fn may_begin(&self, beginning: &Beginning) -> bool {
        self.announced
            .as_ref()
            .is_none_or(|announced| announced.contains(beginning))
    }

    fn allows(&self, context: &Context, action: &Action) -> bool {
        self.holds(context) && beginning(action).is_none_or(|beginning| self.may_begin(&beginning))
    }
}

fn beginning(action: &Action) -> Option<Beginning> {
    let cluster = action.cluster().filter(|_| action.begins())?;
    Some((std::mem::discriminant(action), cluster.clone()))
}

/// Carries out a decision, for as long as it is what would be decided; what is left is decided again.
pub(super) async fn act(context: &Context, decision: &Decision) -> Acted {
    let planned = &decision.planned;
    let wait = records_wait(context, planned);
    let writer = Writer { context, planned };
    let all = planned.plan.actions.iter().zip(&planned.transitions);
    let mut waiting = all.filter(|(action, _)| wait.is_none() || !is_record(action));
    let mut under_way = FuturesUnordered::new();
    let mut acted = Acted { error: None, wait };
    loop {
        while under_way.len() < WRITES_AT_ONCE
            && let Some((action, transitions)) = waiting.next()
        {
            if decision.allows(context, action) {
                under_way.push(attempt(&writer, action, transitions));
            } else {
                abandon(context, planned, std::iter::once(action));
                acted.wait = Some(Duration::ZERO);
            }
        }
        let Some((action, transitions, outcome)) = under_way.next().await else {
            return acted;
        };
        if let Some(error) = settle(context, planned, action, transitions, outcome) {
            tracing::debug!(error = &error as &dyn std::error::Error, "a write failed");
            acted.error.get_or_insert(error);
        }
    }
}

/// These actions are not carried out: what was reserved for them is free again.
fn abandon<'a>(context: &Context, planned: &Planned, actions: impl Iterator<Item = &'a Action>) {
    let key = &planned.rollout.upgrade.key;
    for action in actions {
        context.cache.change(|fleet| {
            let undone = fleet.pre_checks_undone(key, action, false);
            undone.unwrap_or_else(|| fleet.abandoned(action))
        });
    }
}

async fn attempt<'a>(
    writer: &Writer<'_>,
    action: &'a Action,
    transitions: &'a [Transition],
) -> (&'a Action, &'a [Transition], WriteOutcome) {
    (action, transitions, writer.write(action).await)
}

fn is_record(action: &Action) -> bool {
    matches!(action, Action::WritePage(_))
}

fn is_about_records(action: &Action) -> bool {
    matches!(action, Action::WritePage(_) | Action::MarkPage { .. })
}

/// How long records have to wait, if they do; else they are written now.
fn records_wait(context: &Context, planned: &Planned) -> Option<Duration> {
    if !planned.plan.actions.iter().any(is_record) {
        return None;
    }
    let key = &planned.rollout.upgrade.key;
    let mut written = context
        .records_written
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let now = Instant::now();
    written.retain(|_, at| now.duration_since(*at) < RECORDS);
    if let Some(at) = written.get(key) {
        return Some(RECORDS.saturating_sub(now.duration_since(*at)));
    }
    written.insert(key.clone(), now);
    None
}

/// Updates the cache with the outcome of an action, and reports it to users.
fn settle(
    context: &Context,
    planned: &Planned,
    action: &Action,
    transitions: &[Transition],
    outcome: WriteOutcome,
) -> Option<WriteError> {
    let now = context.clock.now();
    let cache = &context.cache;
    if matches!(action, Action::AskPreChecks(_) | Action::DeletePreChecks { .. }) {
        return settle_pre_checks(context, planned, action, outcome);
    }
    match outcome {
        WriteOutcome::Written { uid, version } => {
            cache.change(|fleet| fleet.written(action, uid, version, now));
            done(context, planned, action, transitions);
            None
        }
        WriteOutcome::Gone => {
            cache.change(|fleet| fleet.written(action, None, None, now));
            done(context, planned, action, transitions);
            None
        }
        WriteOutcome::AlreadyCached => None,
        WriteOutcome::Refused { cause, words } => {
            refused(context, planned, action, cause, &words);
            // What is about a cluster or its records is decided again when it is due.
            let is_remembered = action.cluster().is_some() || is_about_records(action);
            (!is_remembered).then(|| WriteError::refused(action, words))
        }
        WriteOutcome::Unknown(source) => {
            cache.change(|fleet| fleet.unknown(action, now));
            Some(WriteError::of(action, source))
        }
        WriteOutcome::Conflict(source) | WriteOutcome::HeldBack(source) => {
            cache.change(|fleet| fleet.abandoned(action));
            Some(WriteError::of(action, source))
        }
    }
}

/// Updates the cache with the outcome of a write of a work by which a cluster is asked: one that was not made is made again later.
fn settle_pre_checks(
    context: &Context,
    planned: &Planned,
    action: &Action,
    outcome: WriteOutcome,
) -> Option<WriteError> {
    let now = context.clock.now();
    let key = &planned.rollout.upgrade.key;
    let noted = |version, refused: Option<&str>| {
        context.cache.change(|fleet| {
            let noted = fleet.pre_checks_written(key, action, version, refused, now);
            noted.unwrap_or_default()
        });
    };
    let undone = |is_gone| {
        context
            .cache
            .change(|fleet| fleet.pre_checks_undone(key, action, is_gone).unwrap_or_default());
    };
    match outcome {
        WriteOutcome::Written { version, .. } => {
            noted(version, None);
            context.metrics.carried_out(action);
            None
        }
        WriteOutcome::Gone => {
            undone(true);
            None
        }
        WriteOutcome::AlreadyCached => {
            undone(false);
            None
        }
        WriteOutcome::Refused { cause, words } => {
            noted(None, Some(&words));
            context.metrics.refused(action, cause);
            tracing::debug!(words, "asking a cluster, or no longer asking it, was refused");
            None
        }
        WriteOutcome::Unknown(source) => {
            noted(None, None);
            Some(WriteError::of(action, source))
        }
        // Whoever says so may say so again: the cluster is asked later, and the others do not wait for it.
        WriteOutcome::Conflict(source) if matches!(action, Action::AskPreChecks(_)) => {
            noted(None, None);
            Some(WriteError::of(action, source))
        }
        WriteOutcome::Conflict(source) | WriteOutcome::HeldBack(source) => {
            undone(false);
            Some(WriteError::of(action, source))
        }
    }
}

fn done(context: &Context, planned: &Planned, action: &Action, transitions: &[Transition]) {
    context.metrics.carried_out(action);
    for transition in transitions {
        announce::publish(context, &planned.object, transition);
    }
    let key = &planned.rollout.upgrade.key;
    context.cache.change(|fleet| fleet.forget_refusal(key, action));
    if matches!(action, Action::RemoveFinalizer)
        && let Some(left) = transition::works_left(&planned.plan.report)
    {
        announce::publish(context, &planned.object, &left);
    }
}

fn refused(context: &Context, planned: &Planned, action: &Action, cause: RefusalCause, words: &str) {
    let now = context.clock.now();
    let refused = RefusedAction {
        upgrade: &planned.rollout.upgrade.key,
        action,
        cause,
        words,
    };
    let mut is_new = false;
    context.cache.change(|fleet| {
        let (change, new) = fleet.refused(&refused, now);
        is_new = new;
        change
    });
    context.metrics.refused(action, cause);
    tracing::debug!(words, action = ?std::mem::discriminant(action), "a write was refused");
    if is_new {
        announce::publish(context, &planned.object, &refusal(action, words));
    }
}

/// What is reported to users about a refused write.
fn refusal(action: &Action, words: &str) -> Transition {
    let what = super::write::describe(action);
    match action.cluster() {
        Some(cluster) => Transition::of_cluster(
            cluster,
            true,
            "WriteRefused",
            &format!("{what} is refused: {words}"),
        ),
        None => Transition {
            cluster: None,
            warning: true,
            reason: "WriteRefused",
            message: format!("{what} is refused: {words}"),
        },
    }
}
