//! Runs steps in their order, each pass from the first: what is done passes, the first that is not ends the pass.

pub(crate) mod condition;

use drydock_api::upgradeconfig::UpgradeCondition;
use jiff::Timestamp;

use crate::steps::{Command, Need, Situation, Step, Verdict};

/// How a pass ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// All steps are done.
    Done,
    /// This step waits.
    Waits(&'static str),
    /// This step waits, and asks for a write.
    Asks(&'static str, Command),
    /// A step cannot tell before something is read.
    Needs(Need),
}

/// Runs one pass and keeps the steps' conditions.
pub(crate) fn run(
    steps: &[Step],
    situation: &Situation<'_>,
    conditions: &mut Vec<UpgradeCondition>,
    now: Timestamp,
) -> End {
    let commenced = situation.facts.has_commenced(situation.target);
    for step in steps {
        let verdict = if commenced && step.precedes_commencement {
            Verdict::Done
        } else {
            (step.decide)(situation)
        };
        match verdict {
            Verdict::Done => condition::done(conditions, step.condition, now),
            Verdict::Waiting(why) => {
                condition::waits(conditions, step.condition, why, now);
                return End::Waits(step.condition);
            }
            Verdict::Asks(command) => {
                condition::waits(conditions, step.condition, None, now);
                return End::Asks(step.condition, command);
            }
            Verdict::Needs(need) => return End::Needs(need),
        }
    }
    End::Done
}
