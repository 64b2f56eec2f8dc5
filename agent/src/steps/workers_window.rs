//! CreateWorkerMaintWindow and RemoveMaintWindow: lesser alerts are silent while workers are updated, as long as they are
//! (agent 3, steps 11 and 14).

use super::{Situation, Step, Verdict};
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
    let Some(workers) = facts.workers.as_ref().filter(|workers| !workers.are_updated()) else {
        return Verdict::Done;
    };
    super::change_silences(situation, |silences| {
        let budget = facts.spec.pdb_force_drain_timeout;
        let configuration = &facts.configuration;
        silences::for_workers(
            situation.version(),
            workers,
            budget,
            configuration,
            silences,
            facts.now,
        )
    })
}
