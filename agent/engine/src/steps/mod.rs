//! The steps of an upgrade: one table, one file a step. Each decides, from what is observed, whether it is done; none
//! remembers anything: done twice is done once.

mod commence;
mod control_plane;
mod control_plane_window;
mod dependencies;
mod extra_workers;
mod health_check;
mod lock;
mod post_procedures;
mod table;
mod upgradeable;
mod workers;
mod workers_window;

use drydock_api::conditions::TRUE;
use drydock_api::upgradeconfig::{MadeResource, UpgradeCondition, held_until};
use jiff::Timestamp;

use crate::command::Command;
use crate::condition::{self, ConditionType, Conditions};
use crate::facts::{Facts, Need, Target, Unread};
use crate::notification::UpgradeEvent;

pub(crate) use lock::release as release_lock;
pub use table::{Deadline, Milestone, STEPS, Step, in_order};

/// What a step looks at.
pub struct StepContext<'a> {
    /// What was observed.
    pub facts: &'a Facts,
    /// What the upgrade leads to.
    pub target: &'a Target,
    /// What upgrades have made that may still be there.
    pub made: &'a [MadeResource],
    /// Since when the step is worked at; now, if it just begins.
    pub began: Timestamp,
    /// Whether it has last waited for findings that nobody has accepted.
    pub was_held: bool,
}

impl StepContext<'_> {
    /// The target's version, as messages name it.
    pub fn version(&self) -> &str {
        self.target.version().unwrap_or("the image that is asked for")
    }

    /// Whether the release has been applied.
    pub fn is_control_plane_upgraded(&self) -> bool {
        let version = self.target.version();
        let history = self.facts.own_history();
        history
            .iter()
            .any(|past| past.completed && Some(past.version.as_str()) == version)
    }
}

/// How a step ended in this pass.
#[derive(Clone, Debug, PartialEq)]
pub enum StepOutcome {
    /// It is done.
    Done,
    /// It is done, and not as it should be: an event is raised.
    DoneWith(UpgradeEvent, String),
    /// It waits; the text, if there is one, says for what.
    Waiting(Option<String>),
    /// It waits for findings that nobody has accepted, as the text says; if there is none, as it said before.
    Held(Option<String>),
    /// It waits, and asks for a write.
    Asks(Command),
    /// It cannot decide before something is read.
    Needs(Need),
}

impl StepOutcome {
    /// What follows from a fact that is not known: it has to be read, or cannot be, and is waited for.
    fn unread(need: Need, what: &str, unread: &Unread) -> Self {
        match unread {
            Unread::NotAsked => Self::Needs(need),
            Unread::Failed(why) => Self::Waiting(Some(format!("{what} cannot be read: {why}"))),
        }
    }
}

/// How a pass over the steps ended.
#[derive(Clone, Debug, PartialEq)]
pub enum PassEnd {
    /// All steps are done.
    Done,
    /// This step waits.
    Waits(&'static Step),
    /// This step waits, and asks for a write.
    Asks(&'static Step, Command),
    /// A step cannot decide before something is read.
    Needs(Need),
}

/// A pass: how it ended, and which events steps raise.
#[derive(Clone, Debug, PartialEq)]
pub struct Pass {
    /// How it ended.
    pub end: PassEnd,
    /// What an event is raised.
    pub raised: Vec<(UpgradeEvent, String)>,
}

/// Why the upgrade is held, with the time that is left to end that.
fn until_it_fails(facts: &Facts, why: &str) -> String {
    // Upgrades of other types may wait for ever.
    let limit = facts
        .configuration
        .upgrade_window
        .limit()
        .filter(|_| facts.is_osd());
    match limit.and_then(|limit| facts.upgrade_began.checked_add(limit).ok()) {
        Some(end) => held_until(end, why),
        None => why.to_owned(),
    }
}

/// Runs steps in their order, each pass from the first, and keeps their conditions: what is done passes, the first that is
/// not ends the pass.
pub fn run(facts: &Facts, target: &Target, made: &[MadeResource], conditions: &mut Conditions) -> Pass {
    let mut raised = Vec::new();
    for step in in_order(facts.spec.upgrade_type) {
        let type_ = step.condition;
        let end = match outcome(step, facts, target, made, conditions) {
            StepOutcome::Done => {
                condition::done(conditions, type_, facts.now);
                continue;
            }
            StepOutcome::DoneWith(event, description) => {
                condition::done(conditions, type_, facts.now);
                raised.push((event, description));
                continue;
            }
            StepOutcome::Waiting(why) => {
                condition::waits(conditions, type_, why, facts.now);
                PassEnd::Waits(step)
            }
            StepOutcome::Held(why) => {
                if let Some(why) = why {
                    condition::held(conditions, type_, until_it_fails(facts, &why), facts.now);
                }
                PassEnd::Waits(step)
            }
            StepOutcome::Asks(command) => {
                let refused = facts.refusal(&command).map(str::to_owned);
                // Informers are asked again what holds it: nothing is new before they have answered.
                if refused.is_some() || !condition::is_held(conditions, type_) {
                    condition::waits(conditions, type_, refused, facts.now);
                }
                PassEnd::Asks(step, command)
            }
            StepOutcome::Needs(need) => PassEnd::Needs(need),
        };
        return Pass { end, raised };
    }
    Pass {
        end: PassEnd::Done,
        raised,
    }
}

fn outcome(
    step: &Step,
    facts: &Facts,
    target: &Target,
    made: &[MadeResource],
    conditions: &[UpgradeCondition],
) -> StepOutcome {
    let was_done = condition::is(conditions, step.condition, TRUE);
    if (step.precedes_commencement && facts.has_commenced(target)) || (step.once && was_done) {
        return StepOutcome::Done;
    }
    (step.decide)(&StepContext {
        facts,
        target,
        made,
        began: began(conditions, step.condition).unwrap_or(facts.now),
        was_held: condition::is_held(conditions, step.condition),
    })
}

/// Since when a step is worked at.
pub fn began(conditions: &[UpgradeCondition], type_: ConditionType) -> Option<Timestamp> {
    let condition = condition::find(conditions, type_)?;
    condition.start_time.as_ref().map(|time| time.0)
}
