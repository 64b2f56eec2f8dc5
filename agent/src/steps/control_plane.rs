//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "ControlPlaneUpgraded",
    precedes_commencement: false,
    once: false,
    decide,
};

/// Whether the release has been applied.
pub(super) fn is_upgraded(situation: &Situation<'_>) -> bool {
    let version = situation.target.version();
    let history = &situation.facts.cluster.history;
    history
        .iter()
        .any(|past| past.completed && Some(past.version.as_str()) == version)
}

fn decide(situation: &Situation<'_>) -> Verdict {
    if is_upgraded(situation) {
        return Verdict::Done;
    }
    let cluster = &situation.facts.cluster;
    let trouble = cluster.refusal.as_ref().or(cluster.failure.as_ref());
    Verdict::Waiting(trouble.map(|why| format!("the cluster does not go on: {why}")))
}
