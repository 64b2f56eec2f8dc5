//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{StepContext, StepOutcome};

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    if situation.is_control_plane_upgraded() {
        return StepOutcome::Done;
    }
    let cluster = &situation.facts.cluster;
    // Cleared, it continues with the update that is under way.
    let goes_on = cluster.asked.is_none() && cluster.desired.as_deref() == situation.target.version();
    if !situation.facts.asks_for(situation.target) && !goes_on {
        let asked = cluster.asked.as_ref().map(|asked| asked.version.as_str());
        return StepOutcome::Waiting(Some(format!(
            "somebody has changed ClusterVersion since the upgrade commenced: it asks for {} and not for {} by now",
            asked
                .filter(|version| !version.is_empty())
                .unwrap_or("another release"),
            situation.version()
        )));
    }
    let problem = cluster.refusal.as_ref().or(cluster.failure.as_ref());
    StepOutcome::Waiting(problem.map(|why| format!("the cluster does not make progress: {why}")))
}
