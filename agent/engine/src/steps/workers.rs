//! AllWorkersUpgraded: every machine of the pool `worker` has been updated.

use drydock_api::upgradeconfig::UnreadyNode;

use super::{StepContext, StepOutcome};
use crate::drains::{self, Drain};
use crate::facts::{Facts, PausedBy, Unread, Workers, Write};

/// The workers, if some are not updated yet.
///
/// # Errors
/// What a step says that does not know.
pub(super) fn left(facts: &Facts) -> Result<Option<&Workers>, StepOutcome> {
    match &facts.workers {
        Ok(workers) => Ok(workers.as_ref().filter(|workers| !workers.are_updated())),
        Err(unread) => Err(StepOutcome::Waiting(Some(format!(
            "the MachineConfigPool worker cannot be read: {unread}"
        )))),
    }
}

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let workers = match left(facts) {
        Err(verdict) => return verdict,
        Ok(None) => return StepOutcome::Done,
        Ok(Some(workers)) => workers,
    };
    if let Some(by) = &workers.paused {
        let by = match by {
            PausedBy::UpgradeJob(job) => format!(" by UpgradeJob {job}"),
            PausedBy::SomebodyElse => String::new(),
        };
        return StepOutcome::Waiting(Some(format!(
            "the MachineConfigPool worker is paused{by}: its nodes are updated when spec.paused is false"
        )));
    }
    let problem = workers.degraded.as_ref();
    StepOutcome::Waiting(
        problem
            .map(|why| format!("the workers do not make progress: {why}"))
            .or_else(|| unaided(facts))
            .or_else(|| facts.unready.as_ref().map(unready_for_long))
            .or_else(|| drains::longest(facts).map(drained_for_long)),
    )
}

fn unready_for_long(unready: &UnreadyNode) -> String {
    format!(
        "node {} is not ready since {}, longer than a reboot takes: look at its console and its kubelet, or delete its Machine to replace it",
        unready.node, unready.start_time.0
    )
}

/// Which pods are left, and which budgets keep them, changes from minute to minute: that is in UpdateStatus.
fn drained_for_long(drain: &Drain) -> String {
    format!(
        "node {} is being drained since {}, longer than its pods should take: kubectl get updatestatus cluster -o yaml says what it waits for",
        drain.node, drain.since
    )
}

/// Why drains that last too long are not helped.
fn unaided(facts: &Facts) -> Option<String> {
    let seen = &facts.seen;
    let failed = |what: &str, unread: Option<&Unread>| match unread {
        Some(Unread::Failed(why)) => Some(format!(
            "blocked drains cannot be resolved: {what} cannot be read: {why}"
        )),
        _ => None,
    };
    failed("nodes", seen.nodes.as_ref().err())
        .or_else(|| failed("pods", seen.pods.as_ref().err()))
        .or_else(|| failed("PodDisruptionBudgets", seen.budgets.as_ref().err()))
        .or_else(|| {
            let refusal = facts.refusals.get(&Write::Pod)?;
            Some(format!("blocked drains cannot be resolved: {refusal}"))
        })
}
