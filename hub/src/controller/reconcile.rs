//! One look at one upgrade: decide, check, commit the status, write, say.

use std::time::Duration;

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_rollout::{Plan, UpgradeKey, Violation};
use drydock_runtime::panics::Panicked;
use jiff::Timestamp;
use kube::Api;
use kube::core::PartialObjectMeta;
use kube::runtime::controller::Action;
use thiserror::Error;
use tokio::time::Instant;

use super::acceptance::commit_endings;
use super::act::{Acted, DECISION_LASTS, Decision, act};
use super::announce::Committed;
use super::forecast::{self, Renewed};
use super::write::WriteError;
use super::{CATCH_UP, Context, announce};

/// Why a reconcile did not do all that it should.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    /// A write failed, and is to be tried again soon.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The status could not be written.
    #[error("writing the status of ManagedClustersUpgrade {upgrade}")]
    Status {
        /// Which one.
        upgrade: UpgradeKey,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// Whether somebody has edited it could not be read.
    #[error(
        "reading ManagedClustersUpgrade {upgrade} before something begins on a cluster: it is tried again"
    )]
    Read {
        /// Which one.
        upgrade: UpgradeKey,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// What it has read may be old.
    #[error(
        "the API server has not said within five seconds whether ManagedClustersUpgrade {0} was edited: nothing begins; it is tried again"
    )]
    ReadLate(UpgradeKey),
    /// Somebody has edited it, and no watch has said so yet.
    #[error(
        "ManagedClustersUpgrade {0} has been edited, and the watch is late: nothing begins before it shows that"
    )]
    Outdated(UpgradeKey),
    /// Where accepted risks have ended could not be written.
    #[error(
        "writing where risks have ended that were accepted for ManagedClustersUpgrade {upgrade}: it is tried again"
    )]
    Endings {
        /// Which one.
        upgrade: UpgradeKey,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// How good the forecast of a rollout was could not be put on record.
    #[error(
        "putting on record how good the forecast of ManagedClustersUpgrade {upgrade} was: it is tried again"
    )]
    ForecastRecord {
        /// Which one.
        upgrade: UpgradeKey,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// The plan would break a rule: nothing was done.
    #[error("the plan would break a rule, nothing was done; please report it: {0:?}")]
    Invariant(Vec<Violation>),
    /// The program is wrong.
    #[error(transparent)]
    Panicked(Panicked),
}

impl ReconcileError {
    /// One word for metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Write(error) if error.is_conflict() => "Conflict",
            Self::Write(_) => "WriteFailed",
            Self::Status { .. } => "StatusWriteFailed",
            Self::Read { .. } | Self::ReadLate(_) => "ReadFailed",
            Self::Outdated(_) => "Outdated",
            Self::Endings { .. } => "AcceptanceWriteFailed",
            Self::ForecastRecord { .. } => "ForecastRecordFailed",
            Self::Invariant(_) => "InternalInvariantViolated",
            Self::Panicked(_) => "Panicked",
        }
    }
}

/// Looks at an upgrade once.
pub(super) async fn reconcile(key: &UpgradeKey, context: &Context) -> Result<Action, ReconcileError> {
    if !context.readiness.is_ready() {
        return Ok(Action::requeue(CATCH_UP));
    }
    let ended = commit_endings(context, key).await;
    let now = context.clock.now();
    let Some(decision) = Decision::about(context, key) else {
        context.metrics.forget(key);
        return Ok(Action::await_change());
    };
    let decision = check(decision)?;
    let Renewed {
        forecast,
        wait: renewal,
    } = forecast::renew(context, &decision.planned, now).await;
    let Some((decision, status)) = Box::pin(committed(context, decision, forecast)).await? else {
        return Ok(Action::await_change());
    };
    let planned = &decision.planned;
    let Acted { error, wait } = act(context, &decision).await;
    if let Some(error) = error {
        return Err(error.into());
    }
    let recorded = forecast::put_on_record(context, planned, &status).await;
    recorded.map_err(|source| ReconcileError::ForecastRecord {
        upgrade: key.clone(),
        source: Box::new(source),
    })?;
    ended.map_err(|source| ReconcileError::Endings {
        upgrade: key.clone(),
        source: Box::new(source),
    })?;
    let unwritten = decision.awaits_status().then_some(Duration::ZERO);
    let wait = wait.into_iter().chain(renewal).chain(unwritten).min();
    Ok(next_look(&planned.plan, wait, context.clock.now()))
}

/// How often a decision is renewed because its status took long to be written.
const RENEWALS: usize = 2;

/// The decision whose status is written, and that status; `None` if the upgrade is gone. Where that has taken long, or somebody has edited the
/// upgrade meanwhile, it is decided again, and what begins by that was announced by a status: by that of the decision before, or, unless
/// statuses take long again and again, by one of its own. Nothing begins unless the API server has just said that the upgrade is the one that
/// was decided about: a watch may be late.
async fn committed(
    context: &Context,
    mut decision: Decision,
    forecast: Option<ForecastStatus>,
) -> Result<Option<(Decision, ManagedClustersUpgradeStatus)>, ReconcileError> {
    let mut renewals = 0;
    loop {
        let Committed { status, is_written } = commit(context, &decision, forecast.clone()).await?;
        decision.announce();
        let is_certain = is_written || !decision.begins();
        if is_certain && decision.holds(context) {
            return Ok(Some((decision, status)));
        }
        let asked = Instant::now();
        let stored = stored(context, &decision).await?;
        let is_announced = decision.holds(context) || {
            let Some(renewed) = decision.renewed(context) else {
                return Ok(None);
            };
            decision = check(renewed.known_since(asked))?;
            renewals == RENEWALS || decision.is_announced()
        };
        if is_announced && decision.begins() && !stored.is_some_and(|stored| decision.is_of(&stored)) {
            decision.abandon(context);
            return Err(ReconcileError::Outdated(decision.key().clone()));
        }
        if is_announced {
            return Ok(Some((decision, status)));
        }
        renewals += 1;
    }
}

/// Writes the status of a decision.
async fn commit(
    context: &Context,
    decision: &Decision,
    forecast: Option<ForecastStatus>,
) -> Result<Committed, ReconcileError> {
    let planned = &decision.planned;
    context.metrics.observed(planned, forecast.as_ref());
    let now = context.clock.now();
    announce::commit_status(context, planned, forecast, now)
        .await
        .map_err(|source| {
            decision.abandon(context);
            context.forecasts.forget(decision.key());
            ReconcileError::Status {
                upgrade: decision.key().clone(),
                source: Box::new(source),
            }
        })
}

/// What the API server has of an upgrade by whose decision something begins; of others nothing is read.
async fn stored(
    context: &Context,
    decision: &Decision,
) -> Result<Option<PartialObjectMeta<ManagedClustersUpgrade>>, ReconcileError> {
    if !decision.begins() {
        return Ok(None);
    }
    let key = decision.key();
    let api: Api<ManagedClustersUpgrade> = Api::namespaced(context.client.clone(), &key.namespace);
    let read = tokio::time::timeout(DECISION_LASTS, api.get_metadata_opt(&key.name)).await;
    let read = match read {
        Ok(Ok(stored)) => return Ok(stored),
        Ok(Err(source)) => ReconcileError::Read {
            upgrade: key.clone(),
            source: Box::new(source),
        },
        Err(_) => ReconcileError::ReadLate(key.clone()),
    };
    decision.abandon(context);
    Err(read)
}

/// The decision, if it breaks no rule.
fn check(decision: Decision) -> Result<Decision, ReconcileError> {
    if decision.planned.violations.is_empty() {
        return Ok(decision);
    }
    Err(ReconcileError::Invariant(decision.planned.violations))
}

/// The next deadline, or sooner if something waits for its turn to be written.
fn next_look(plan: &Plan, wait: Option<Duration>, now: Timestamp) -> Action {
    let deadline = plan.wake.map(|wake| {
        let left = wake.duration_since(now);
        Duration::try_from(left)
            .unwrap_or_default()
            .max(Duration::from_millis(1))
    });
    deadline
        .into_iter()
        .chain(wait)
        .min()
        .map_or_else(Action::await_change, Action::requeue)
}
