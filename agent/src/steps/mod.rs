//! The steps of an upgrade, one file a step. Each decides, from what is observed, whether it is done and what it asks for;
//! none remembers anything: done twice is done once (agent 3).

pub(crate) mod commence;
pub(crate) mod completed_notification;
pub(crate) mod control_plane;
pub(crate) mod control_plane_window;
pub(crate) mod delayed_check;
pub(crate) mod dependencies;
pub(crate) mod extra_workers;
pub(crate) mod health_check;
pub(crate) mod post_procedures;
pub(crate) mod started_notification;
pub(crate) mod upgradeable;
pub(crate) mod workers;
pub(crate) mod workers_window;

use drydock_api::machine_api::MachineSet;

use crate::facts::{Facts, Target};
use crate::nodekeeper::Action;
use crate::notify::Event;
use crate::silences;

/// A step of an upgrade.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The type of its condition.
    pub condition: &'static str,
    /// Whether it is over once the upgrade has commenced.
    pub precedes_commencement: bool,
    /// Whether it stays done once it was: what it does must not be done again.
    pub once: bool,
    /// What it makes of the facts.
    pub decide: fn(&Situation<'_>) -> Verdict,
}

/// What a step looks at.
pub(crate) struct Situation<'a> {
    pub facts: &'a Facts,
    pub target: &'a Target,
}

impl Situation<'_> {
    /// The target's version, as messages name it.
    pub fn version(&self) -> &str {
        self.target.version().unwrap_or("the image that is asked for")
    }
}

/// What a step says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is done.
    Done,
    /// It is done, and not as it should be: others are told.
    DoneWith(Event, String),
    /// It waits; the text, if there is one, says for what.
    Waiting(Option<String>),
    /// It waits, and asks for a write.
    Asks(Command),
    /// It cannot tell before something is read.
    Needs(Need),
}

/// Something that is read only when a step needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// The cluster operators.
    Operators,
    /// The critical alerts that fire.
    Alerts,
    /// What else must be reachable.
    Dependencies,
    /// MachineSets, and the machines and nodes of our copies.
    Capacity,
    /// Our silences.
    Silences,
    /// The nodes.
    Nodes,
    /// The PodDisruptionBudgets.
    Budgets,
    /// The pods of nodes that are drained.
    Pods,
    /// The update graph of the channel that is asked for.
    Graph,
    /// The version of the image that is asked for.
    Release,
    /// The provider's policy.
    Policy,
}

/// A write that is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// ClusterVersion's channel.
    SetChannel(String),
    /// ClusterVersion's desired update: a version, and an image if that was asked for.
    SetDesiredUpdate {
        version: Option<String>,
        image: Option<String>,
    },
    /// The version of the image, into the UpgradeConfig.
    SetVersion(String),
    /// A silence.
    Silence(silences::Change),
    /// A copy of a MachineSet.
    CreateMachineSet(Box<MachineSet>),
    /// The end of a copy.
    DeleteMachineSet(String),
    /// The file-integrity operator starts over.
    ReinitializeFileIntegrity,
    /// What holds drains up goes.
    Tend(Vec<Action>),
}

/// Makes the next change to our silences; done if there is none.
fn change_silences(
    situation: &Situation<'_>,
    next: impl FnOnce(&[silences::Silence]) -> Option<silences::Change>,
) -> Verdict {
    match &situation.facts.seen.silences {
        None => Verdict::Needs(Need::Silences),
        Some(Err(why)) => Verdict::Waiting(Some(format!("silences cannot be changed: {why}"))),
        Some(Ok(silences)) => {
            next(silences).map_or(Verdict::Done, |change| Verdict::Asks(Command::Silence(change)))
        }
    }
}

/// Ends all of our silences with `marker`.
fn end_silences(situation: &Situation<'_>, marker: &str) -> Verdict {
    change_silences(situation, |silences| {
        silences::ended(marker, silences, situation.facts.now)
    })
}
