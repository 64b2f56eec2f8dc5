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
    request.map_or_else(|| outcome(check), StepOutcome::Asks)
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
