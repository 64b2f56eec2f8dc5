//! PostUpgradeProcedures: in FedRAMP environments the file-integrity operator takes the upgraded files for the good ones
//! (agent 3, step 16).

use super::{Command, Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "PostUpgradeTasksCompleted",
    precedes_commencement: false,
    once: true,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    if !facts.configuration.environment.fedramp || facts.seen.reinitialized {
        return Verdict::Done;
    }
    Verdict::Asks(Command::ReinitializeFileIntegrity)
}
