//! Whether the UpdatePlan of the version says that its update may start, where the configuration asks for that.

use drydock_api::insights::{PlannedUpdate, UpdatePlanState};

use super::{Check, Finding, reason};
use crate::command::Command;
use crate::facts::{Facts, Need, Unread};

/// The update whose plan counts.
fn planned(facts: &Facts) -> Option<PlannedUpdate> {
    let is_asked = facts.configuration.health_check.check_update_plan;
    facts.planned_update().filter(|_| is_asked)
}

/// What keeps the update from being started.
pub fn check(facts: &Facts) -> Check {
    let Some(PlannedUpdate { version, .. }) = planned(facts) else {
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

/// What informers have said of the start, where that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAnswer {
    /// There is something that somebody has to accept.
    Holds,
    /// They are asked again, or are to be: what they said before stands.
    OfBefore,
    /// Nothing, or nothing that holds.
    Nothing,
}

/// What informers have said of the start.
pub fn answer(facts: &Facts) -> PlanAnswer {
    match &facts.seen.update_plan {
        _ if planned(facts).is_none() => PlanAnswer::Nothing,
        Ok(UpdatePlanState::Held(_)) => PlanAnswer::Holds,
        Ok(UpdatePlanState::Collecting | UpdatePlanState::Outdated(_)) => PlanAnswer::OfBefore,
        Ok(UpdatePlanState::Startable | UpdatePlanState::AskedOtherwise(_)) | Err(_) => PlanAnswer::Nothing,
    }
}

/// What is written where nothing else blocks, and the plan says nothing of now.
pub fn request(facts: &Facts, findings: &[Finding]) -> Option<Command> {
    let others = findings
        .iter()
        .any(|finding| finding.blocks && finding.reason != reason::UPDATE_PLAN);
    let Ok(UpdatePlanState::Outdated(asker)) = facts.seen.update_plan else {
        return None;
    };
    let update = planned(facts).filter(|_| !others)?;
    Some(Command::RequestUpdatePlan {
        update: Box::new(update),
        asker,
    })
}
