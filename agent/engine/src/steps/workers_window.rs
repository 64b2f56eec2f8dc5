//! CreateWorkerMaintWindow and RemoveMaintWindow: lesser alerts are silent while workers are updated, as long as they are.
//! The silences themselves follow from what is wanted, see [`crate::wanted`].

use super::{StepContext, StepOutcome, control_plane_window, workers};
use crate::facts::{Need, Write};
use crate::silences::{self, SilenceChange, WORKERS};

pub(super) fn create(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let left = match workers::left(facts) {
        Err(verdict) => return verdict,
        Ok(None) => return StepOutcome::Done,
        Ok(Some(workers)) => workers,
    };
    let budget = facts.spec.pdb_force_drain_timeout;
    let version = situation.version();
    let wanted = silences::for_workers(version, left, budget, &facts.configuration, facts.now);
    match &facts.seen.silences {
        Err(unread) => StepOutcome::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let changes = silences::worker_changes(wanted.as_ref(), known, facts.now);
            if changes
                .iter()
                .any(|change| matches!(change, SilenceChange::Create(_)))
            {
                StepOutcome::Waiting(facts.refusals.get(&Write::Silence).cloned())
            } else {
                StepOutcome::Done
            }
        }
    }
}

pub(super) fn remove(situation: &StepContext<'_>) -> StepOutcome {
    control_plane_window::ended(situation, WORKERS)
}
