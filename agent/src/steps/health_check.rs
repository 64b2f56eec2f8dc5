//! PreUpgradeHealthCheck and PostUpgradeHealthCheck: the cluster operators are well (agent 3, steps 4 and 15).

use super::{Need, Situation, Step, Verdict};
use crate::health::{self, Health};

pub(crate) const BEFORE: Step = Step {
    condition: "ClusterHealthyBeforeUpgrade",
    precedes_commencement: true,
    decide,
};

pub(crate) const AFTER: Step = Step {
    condition: "ClusterHealthyAfterUpgrade",
    precedes_commencement: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    match health::check(situation.facts) {
        Health::Unknown => Verdict::Needs(Need::Operators),
        Health::Good => Verdict::Done,
        Health::Bad(why) => Verdict::Waiting(Some(why)),
    }
}
