//! AllWorkersUpgraded: every machine of the pool `worker` has been updated.

use super::{Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "WorkerNodesUpgraded",
    precedes_commencement: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    match situation.facts.workers {
        Some(workers) if !workers.are_updated() => Verdict::Waiting(None),
        Some(_) | None => Verdict::Done,
    }
}
