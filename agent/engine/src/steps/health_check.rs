//! PreUpgradeHealthCheck and PostUpgradeHealthCheck.

use super::{StepContext, StepOutcome};
use crate::health::{self, Check};

pub(super) fn before(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let check = health::at_start(facts);
    let request = check
        .as_ref()
        .ok()
        .and_then(|findings| health::update_plan_request(facts, findings));
    match (request, outcome(check)) {
        (Some(request), _) => StepOutcome::Asks(request),
        (None, StepOutcome::Waiting(Some(why))) if health::is_held_by_update_plan(facts) => {
            StepOutcome::Held(why)
        }
        (None, outcome) => outcome,
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
