//! CreateWorkerMaintWindow and RemoveMaintWindow: lesser alerts are silent while workers are updated, as long as they are
//! (agent 3, steps 11 and 14).

use super::{Command, Need, Situation, Step, Verdict};
use crate::silences;

pub(crate) const CREATE: Step = Step {
    condition: "WorkersMaintenanceWindowCreated",
    precedes_commencement: false,
    once: false,
    decide: create,
};

pub(crate) const REMOVE: Step = Step {
    condition: "WorkersMaintenanceWindowRemoved",
    precedes_commencement: false,
    once: true,
    decide: |situation| super::end_silences(situation, silences::WORKERS),
};

fn create(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let Some(workers) = facts.workers.filter(|workers| !workers.are_updated()) else {
        return Verdict::Done;
    };
    match &facts.seen.silences {
        None => Verdict::Needs(Need::Silences),
        Some(Err(why)) => Verdict::Waiting(Some(format!("silences cannot be made: {why}"))),
        Some(Ok(silences)) => {
            let version = situation.version();
            let budget = facts.spec.pdb_force_drain_timeout;
            let change = silences::for_workers(
                version,
                workers,
                budget,
                &facts.configuration,
                silences,
                facts.now,
            );
            change.map_or(Verdict::Done, |change| Verdict::Asks(Command::Silence(change)))
        }
    }
}
