//! Whether the UpdatePlan of the version says that its update may start, where the configuration asks for that.

use drydock_api::insights::UpdatePlanState;

use super::{Check, Finding, reason};
use crate::command::Command;
use crate::facts::{Facts, Need, Target, Unread};

/// The version whose plan counts. What is asked for by its image alone has none.
fn planned(facts: &Facts) -> Option<String> {
    let target = facts
        .target()
        .filter(|_| facts.configuration.health_check.check_update_plan);
    target.as_ref().and_then(Target::version).map(str::to_owned)
}

/// What keeps the update from being started.
pub fn check(facts: &Facts) -> Check {
    let Some(version) = planned(facts) else {
        return Ok(Vec::new());
    };
    let message = match &facts.seen.update_plan {
        Err(Unread::NotAsked) => return Err(Need::UpdatePlan),
        Err(Unread::Failed(why)) => Some(format!(
            "cannot check whether the update to {version} may start: {why}"
        )),
        Ok(state) => state.obstacle(&version),
    };
    let finding = message.map(|message| Finding {
        reason: reason::UPDATE_PLAN,
        message,
        blocks: true,
    });
    Ok(finding.into_iter().collect())
}

/// What is written where nothing else blocks, and the plan says nothing of now.
pub fn request(facts: &Facts, findings: &[Finding]) -> Option<Command> {
    let others = findings
        .iter()
        .any(|finding| finding.blocks && finding.reason != reason::UPDATE_PLAN);
    let is_outdated = matches!(facts.seen.update_plan, Ok(UpdatePlanState::Outdated));
    let version = planned(facts).filter(|_| is_outdated && !others)?;
    Some(Command::RequestUpdatePlan(version))
}
