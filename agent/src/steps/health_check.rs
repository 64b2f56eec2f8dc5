//! PreUpgradeHealthCheck and PostUpgradeHealthCheck (agent 3, steps 4 and 15).

use super::{Step, Verdict};
use crate::health::{self, Check};

pub(crate) const BEFORE: Step = Step {
    condition: "ClusterHealthyBeforeUpgrade",
    precedes_commencement: true,
    once: false,
    decide: |situation| verdict(health::before(situation.facts)),
};

pub(crate) const AFTER: Step = Step {
    condition: "ClusterHealthyAfterUpgrade",
    precedes_commencement: false,
    once: false,
    decide: |situation| verdict(health::after(situation.facts)),
};

fn verdict(check: Check) -> Verdict {
    match check {
        Err(need) => Verdict::Needs(need),
        Ok(findings) => match health::blockers(&findings) {
            None => Verdict::Done,
            Some(why) => Verdict::Waiting(Some(why)),
        },
    }
}
