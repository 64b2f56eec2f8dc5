//! One look at one upgrade: observe, decide, check, say, write.

use std::sync::Arc;
use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_rollout::{self as rollout, Plan, Violation, check, decide};
use drydock_runtime::panics::Panicked;
use jiff::Timestamp;
use kube::runtime::controller::Action;
use thiserror::Error;

use super::announce;
use super::obstruction::REMEMBERED;
use super::write::{WriteError, Writer};
use super::{CATCH_UP, Context};
use crate::view::{Circumstances, observe};

/// Why a reconcile did not do all that it should.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    /// A write failed.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The status could not be written.
    #[error("writing the status of the upgrade")]
    Status(#[source] Box<kube::Error>),
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
            Self::Write(WriteError::NameTaken { .. }) => "NameTaken",
            Self::Write(error) if error.is_conflict() => "Conflict",
            Self::Write(_) => "WriteFailed",
            Self::Status(_) => "StatusWriteFailed",
            Self::Invariant(_) => "InternalInvariantViolated",
            Self::Panicked(_) => "Panicked",
        }
    }
}

/// Looks at an upgrade once.
pub(super) async fn reconcile(
    upgrade: &Arc<ManagedClustersUpgrade>,
    context: &Context,
) -> Result<Action, ReconcileError> {
    if !context.view.synced() {
        return Ok(Action::requeue(CATCH_UP));
    }
    let upgrade = context.latest.of(upgrade);
    let circumstances = Circumstances {
        same_namespace_placements: context.same_namespace_placements,
        obstructed: context.obstructions.current(),
    };
    let observed = observe(&context.view, &upgrade, &circumstances);
    let now = context.clock.now();
    let plan = decide(&observed, now);
    let violations = check(&observed, &plan);
    if !violations.is_empty() {
        return Err(ReconcileError::Invariant(violations));
    }
    context.metrics.observed(&observed.upgrade, &plan.report);
    announce::write_status(context, &upgrade, &observed, &plan, now).await?;
    // The status that was just written is another version of the object.
    let upgrade = context.latest.of(&upgrade);
    let writer = Writer {
        client: &context.client,
        clock: &context.clock,
        view: &context.view,
        upgrade: &upgrade,
        grant_cluster_admin: context.grant_cluster_admin,
        agent_image: &context.agent_image,
    };
    let carried_out = |action: &rollout::Action| {
        context.metrics.carried_out(action);
        announce::carried_out(context, &upgrade, &observed, action);
    };
    let errors = writer.carry_out(&plan.actions, carried_out).await;
    settle(context, errors)?;
    let obstructed = !context.obstructions.current().is_empty();
    Ok(next_look(&plan, now, observed.caught_up, obstructed))
}

/// Notes what the errors teach, and gives the first one that matters.
fn settle(context: &Context, errors: Vec<WriteError>) -> Result<(), ReconcileError> {
    let mut first = None;
    for error in errors {
        if let WriteError::NameTaken { cluster, kind, .. } = &error {
            context.obstructions.found(cluster.clone(), *kind);
        }
        tracing::debug!(error = &error as &dyn std::error::Error, "a write failed");
        first.get_or_insert(error);
    }
    first.map_or(Ok(()), |error| Err(error.into()))
}

/// The next deadline, or sooner if there is something to wait for that brings no event.
fn next_look(plan: &Plan, now: Timestamp, caught_up: bool, obstructed: bool) -> Action {
    let deadline = plan.wake.map(|wake| {
        let left = wake.duration_since(now);
        Duration::try_from(left)
            .unwrap_or_default()
            .max(Duration::from_millis(1))
    });
    let soon = (!caught_up).then_some(CATCH_UP);
    let later = obstructed.then_some(REMEMBERED);
    [deadline, soon, later]
        .into_iter()
        .flatten()
        .min()
        .map_or_else(Action::await_change, Action::requeue)
}
