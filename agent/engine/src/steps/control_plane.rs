//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{Situation, Verdict};

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    if situation.is_control_plane_upgraded() {
        return Verdict::Done;
    }
    let cluster = &situation.facts.cluster;
    // Cleared, it goes on with what it is about.
    let goes_on = cluster.asked.is_none() && cluster.desired.as_deref() == situation.target.version();
    if !situation.facts.asks_for(situation.target) && !goes_on {
        let asked = cluster.asked.as_ref().map(|asked| asked.version.as_str());
        return Verdict::Waiting(Some(format!(
            "somebody has changed ClusterVersion since the upgrade commenced: it asks for {} and not for {} by now",
            asked
                .filter(|version| !version.is_empty())
                .unwrap_or("another release"),
            situation.version()
        )));
    }
    let trouble = cluster.refusal.as_ref().or(cluster.failure.as_ref());
    Verdict::Waiting(trouble.map(|why| format!("the cluster does not go on: {why}")))
}
