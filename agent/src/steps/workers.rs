//! AllWorkersUpgraded: every machine of the pool `worker` has been updated.

use super::{Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "WorkerNodesUpgraded",
    precedes_commencement: false,
    once: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    match &situation.facts.workers {
        Some(workers) if workers.are_updated() => Verdict::Done,
        Some(workers) if workers.paused => Verdict::Waiting(Some(
            "the MachineConfigPool worker is paused: its nodes are updated when spec.paused is false"
                .to_owned(),
        )),
        Some(workers) => {
            let trouble = workers.trouble.as_ref();
            Verdict::Waiting(trouble.map(|why| format!("the workers do not go on: {why}")))
        }
        None => Verdict::Done,
    }
}
