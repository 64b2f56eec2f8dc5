//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{Situation, Verdict};

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    if situation.is_control_plane_upgraded() {
        return Verdict::Done;
    }
    let cluster = &situation.facts.cluster;
    let trouble = cluster.refusal.as_ref().or(cluster.failure.as_ref());
    Verdict::Waiting(trouble.map(|why| format!("the cluster does not go on: {why}")))
}
