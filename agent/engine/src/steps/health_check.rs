//! PreUpgradeHealthCheck and PostUpgradeHealthCheck.

use super::{StepContext, StepOutcome};
use crate::health::{self, Check};

pub(super) fn before(situation: &StepContext<'_>) -> StepOutcome {
    outcome(health::before(situation.facts))
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
