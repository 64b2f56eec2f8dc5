//! ControlPlaneUpgraded: ClusterVersion's history has the release as completed.

use super::{StepContext, StepOutcome, commence};

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    if situation.is_control_plane_upgraded() {
        return StepOutcome::Done;
    }
    let cluster = &situation.facts.cluster;
    let goes_on = cluster.desired.as_deref() == situation.target.version();
    match &cluster.asked {
        // Cleared, it continues with the update that is under way. One that it has not taken up is asked for again.
        None if goes_on || situation.facts.has_commenced(situation.target) => {}
        None => return commence::decide(situation),
        Some(_) if situation.facts.asks_for(situation.target) => {}
        Some(asked) => {
            return StepOutcome::Waiting(Some(format!(
                "somebody has changed ClusterVersion since the upgrade commenced: it asks for {} and not for {} by now",
                asked.name(),
                situation.version()
            )));
        }
    }
    let problem = cluster.refusal.as_ref().or(cluster.failure.as_ref());
    StepOutcome::Waiting(problem.map(|why| format!("the cluster does not make progress: {why}")))
}
