//! The steps of an upgrade, one file a step. Each decides, from what is observed, whether it is done and what it asks for;
//! none remembers anything: done twice is done once (agent 3).

pub(crate) mod commence;
pub(crate) mod completed_notification;
pub(crate) mod control_plane;
pub(crate) mod delayed_check;
pub(crate) mod health_check;
pub(crate) mod started_notification;
pub(crate) mod upgradeable;
pub(crate) mod workers;

use crate::facts::{Facts, Target};

/// A step of an upgrade.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The type of its condition.
    pub condition: &'static str,
    /// Whether it is over once the upgrade has commenced.
    pub precedes_commencement: bool,
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is done.
    Done,
    /// It waits; the text, if there is one, says for what.
    Waiting(Option<String>),
    /// It waits, and asks for a write.
    Asks(Command),
    /// It cannot tell before something is read.
    Needs(Need),
}

/// Something that is read only when a step needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The cluster operators.
    Operators,
}

/// A write that a step asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// ClusterVersion's channel.
    SetChannel(String),
    /// ClusterVersion's desired update: a version, and an image if that was asked for.
    SetDesiredUpdate {
        version: Option<String>,
        image: Option<String>,
    },
}
