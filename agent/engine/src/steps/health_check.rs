//! PreUpgradeHealthCheck and PostUpgradeHealthCheck.

use super::{StepContext, StepOutcome};
use crate::health::{self, Check, PlanAnswer};

pub(super) fn before(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let check = health::at_start(facts);
    let Ok(findings) = &check else {
        return outcome(check);
    };
    if let Some(request) = health::update_plan_request(facts, findings) {
        return StepOutcome::Asks(request);
    }
    let answer = health::plan_answer(facts);
    let is_alone = findings
        .iter()
        .all(|finding| !finding.blocks || finding.reason == health::reason::UPDATE_PLAN);
    match (outcome(check), answer) {
        (StepOutcome::Waiting(why), PlanAnswer::Holds) => StepOutcome::Held(why),
        (StepOutcome::Waiting(why), PlanAnswer::OfBefore) if situation.was_held => {
            StepOutcome::Held(why.filter(|_| !is_alone))
        }
        (outcome, _) => outcome,
    }
}

pub(super) fn after(situation: &StepContext<'_>) -> StepOutcome {
    outcome(health::after(situation.facts))
}

fn outcome(check: Check) -> StepOutcome {
    match check {
        Err(need) => StepOutcome::Needs(need),
        Ok(findings) => match health::blockers(&findings) {
            None => StepOutcome::Done,
            Some(why) => StepOutcome::Waiting(Some(why)),
        },
    }
}
