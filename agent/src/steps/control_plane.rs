//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "ControlPlaneUpgraded",
    precedes_commencement: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    let version = situation.target.version();
    let history = &situation.facts.cluster.history;
    let is_completed = history
        .iter()
        .any(|past| past.completed && Some(past.version.as_str()) == version);
    if is_completed {
        return Verdict::Done;
    }
    let trouble = situation.facts.cluster.trouble.as_ref();
    Verdict::Waiting(trouble.map(|why| format!("the cluster does not go on: {why}")))
}
