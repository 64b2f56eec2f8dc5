//! PreUpgradeHealthCheck and PostUpgradeHealthCheck.

use super::{Situation, Verdict};
use crate::health::{self, Check};

pub(super) fn before(situation: &Situation<'_>) -> Verdict {
    verdict(health::before(situation.facts))
}

pub(super) fn after(situation: &Situation<'_>) -> Verdict {
    verdict(health::after(situation.facts))
}

fn verdict(check: Check) -> Verdict {
    match check {
        Err(need) => Verdict::Needs(need),
        Ok(findings) => match health::blockers(&findings) {
            None => Verdict::Done,
            Some(why) => Verdict::Waiting(Some(why)),
        },
    }
}
