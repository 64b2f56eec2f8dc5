//! CreateWorkerMaintWindow and RemoveMaintWindow: lesser alerts are silent while workers are updated, as long as they are.
//! The silences themselves follow from what is wanted, see [`crate::wanted`].

use super::{Situation, Verdict, control_plane_window, workers};
use crate::facts::{Need, Write};
use crate::silences::{self, Change, WORKERS};

pub(super) fn create(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let left = match workers::left(facts) {
        Err(verdict) => return verdict,
        Ok(None) => return Verdict::Done,
        Ok(Some(workers)) => workers,
    };
    let budget = facts.spec.pdb_force_drain_timeout;
    let version = situation.version();
    let wanted = silences::for_workers(version, left, budget, &facts.configuration, facts.now);
    match &facts.seen.silences {
        Err(unread) => Verdict::unread(Need::Silences, "silences", unread),
        Ok(known) => {
            let changes = silences::worker_changes(wanted.as_ref(), known, facts.now);
            if changes.iter().any(|change| matches!(change, Change::Create(_))) {
                Verdict::Waiting(facts.refusals.get(&Write::Silence).cloned())
            } else {
                Verdict::Done
            }
        }
    }
}

pub(super) fn remove(situation: &Situation<'_>) -> Verdict {
    control_plane_window::ended(situation, WORKERS)
}
