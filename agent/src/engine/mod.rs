//! Runs steps in their order, each pass from the first: what is done passes, the first that is not ends the pass.

pub(crate) mod condition;

use drydock_api::conditions::TRUE;
use drydock_api::upgradeconfig::UpgradeCondition;
use jiff::Timestamp;

use crate::notify::Event;
use crate::steps::{Command, Need, Situation, Step, Verdict};

/// How a pass ended.
#[derive(Clone, Debug, PartialEq)]
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

/// A pass: how it ended, and what steps want others to be told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pass {
    pub end: End,
    pub told: Vec<(Event, String)>,
}

/// Runs one pass and keeps the steps' conditions.
pub(crate) fn run(
    steps: &[Step],
    situation: &Situation<'_>,
    conditions: &mut Vec<UpgradeCondition>,
    now: Timestamp,
) -> Pass {
    let mut told = Vec::new();
    for step in steps {
        let end = match verdict(step, situation, conditions) {
            Verdict::Done => {
                condition::done(conditions, step.condition, now);
                continue;
            }
            Verdict::DoneWith(event, description) => {
                condition::done(conditions, step.condition, now);
                told.push((event, description));
                continue;
            }
            Verdict::Waiting(why) => {
                condition::waits(conditions, step.condition, why, now);
                End::Waits(step.condition)
            }
            Verdict::Asks(command) => {
                condition::waits(conditions, step.condition, None, now);
                End::Asks(step.condition, command)
            }
            Verdict::Needs(need) => End::Needs(need),
        };
        return Pass { end, told };
    }
    Pass { end: End::Done, told }
}

fn verdict(step: &Step, situation: &Situation<'_>, conditions: &[UpgradeCondition]) -> Verdict {
    let commenced = situation.facts.has_commenced(situation.target);
    let was_done = || condition::find(conditions, step.condition).is_some_and(|known| known.status == TRUE);
    if (commenced && step.precedes_commencement) || (step.once && was_done()) {
        return Verdict::Done;
    }
    (step.decide)(situation)
}
