//! What a cluster has before it, in the order of time.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::job::{JobEvent, JobKey};
use crate::cluster::Fault;

/// Something that is going to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The payload of this candidate has been retrieved, or could not be.
    PayloadRetrieved { candidate: u64 },
    /// The version operator runs from the release of this sync.
    SelfReplaced { sync: u64 },
    /// Everything in the level that does not wait has been applied.
    LevelApplied { sync: u64, level: usize },
    /// An operator has come to the end of its rollout.
    RolledOut { operator: usize },
    /// A deadline of an operator that is waited for has passed.
    Deadline,
    /// The version operator may write its status again.
    StatusDue,
    /// The machine config controller looks at its pools.
    PoolsDue,
    /// A node leaves its stage.
    NodeMoves { node: usize },
    /// A drain has failed so long that the node reports itself degraded.
    DrainGivesUp { node: usize },
    /// A Machine leaves its stage.
    MachineMoves { machine: String },
    /// A failure that lies in wait shows.
    FaultShows(Fault),
    /// A failure that ends by itself ends.
    FaultHeals(Fault),
    /// Something about a job.
    Job(JobKey, JobEvent),
}

/// Events by time, and in the order of their entry where the times are equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Agenda {
    entries: BTreeMap<(Timestamp, u64), Event>,
    entered: u64,
}

impl Agenda {
    pub(super) fn enter(&mut self, at: Timestamp, event: Event) {
        self.entered += 1;
        self.entries.insert((at, self.entered), event);
    }

    /// The next moment of interest.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next event that is due at `now`, with its own time.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<(Timestamp, Event)> {
        let entry = self.entries.first_entry().filter(|entry| entry.key().0 <= now)?;
        let ((at, _), event) = entry.remove_entry();
        Some((at, event))
    }
}
