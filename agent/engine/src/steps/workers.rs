//! AllWorkersUpgraded: every machine of the pool `worker` has been updated.

use super::{Situation, Verdict};
use crate::facts::{Facts, Unread, Workers, Write};

/// The workers, if some are not updated yet.
///
/// # Errors
/// What a step says that does not know.
pub(super) fn left(facts: &Facts) -> Result<Option<&Workers>, Verdict> {
    match &facts.workers {
        Ok(workers) => Ok(workers.as_ref().filter(|workers| !workers.are_updated())),
        Err(unread) => Err(Verdict::Waiting(Some(format!(
            "the MachineConfigPool worker cannot be read: {unread}"
        )))),
    }
}

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let workers = match left(facts) {
        Err(verdict) => return verdict,
        Ok(None) => return Verdict::Done,
        Ok(Some(workers)) => workers,
    };
    if workers.paused {
        return Verdict::Waiting(Some(
            "the MachineConfigPool worker is paused: its nodes are updated when spec.paused is false"
                .to_owned(),
        ));
    }
    let trouble = workers.trouble.as_ref();
    Verdict::Waiting(
        trouble
            .map(|why| format!("the workers do not go on: {why}"))
            .or_else(|| unaided(facts)),
    )
}

/// Why drains that last too long are not helped.
fn unaided(facts: &Facts) -> Option<String> {
    let seen = &facts.seen;
    let failed = |what: &str, unread: Option<&Unread>| match unread {
        Some(Unread::Failed(why)) => Some(format!("drains are not helped: {what} cannot be read: {why}")),
        _ => None,
    };
    failed("nodes", seen.nodes.as_ref().err())
        .or_else(|| failed("pods", seen.pods.as_ref().err()))
        .or_else(|| failed("PodDisruptionBudgets", seen.budgets.as_ref().err()))
        .or_else(|| {
            let refusal = facts.refusals.get(&Write::Pod)?;
            Some(format!("drains are not helped: {refusal}"))
        })
}
