//! How a cluster's work stands, as the rollout sees it (fleet reference 2, "MWRS mapping").

use jiff::Timestamp;
use serde_json::Value;

use super::super::condition::{self, Condition, Status};
use super::super::object;

/// A work's part in a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none, or the spoke has not said how it goes: without a condition Progressing it never does.
    ToApply,
    /// On its way.
    Progressing,
    /// At its end.
    Succeeded,
    /// Degraded while it progresses.
    Failed,
    /// It was Progressing or Failed for longer than its deadline.
    TimedOut,
}

/// One cluster in a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The cluster.
    pub cluster: String,
    /// How its work stands.
    pub state: State,
    /// Since when; nothing is known of a work that is still to be applied.
    pub since: Option<Timestamp>,
}

impl Standing {
    /// A cluster that has no work yet.
    pub fn to_apply(cluster: &str) -> Self {
        Self {
            cluster: cluster.to_owned(),
            state: State::ToApply,
            since: None,
        }
    }

    /// Reads a work.
    pub fn of(work: &Value) -> Self {
        let cluster = object::namespace(work);
        let generation = object::generation(work);
        let conditions = condition::parse(&work["status"]["conditions"]);
        let current = |kind: &str| {
            condition::find(&conditions, kind).filter(|found| found.observed_generation == generation)
        };
        let applied = current("Applied").is_some_and(|applied| applied.status == Status::True);
        let degraded = condition::find(&conditions, "Degraded");
        let degraded_is_current = degraded.is_none_or(|found| found.observed_generation == generation);
        let Some(progressing) = current("Progressing").filter(|_| applied && degraded_is_current) else {
            return Self::to_apply(cluster);
        };
        let degraded = degraded.filter(|degraded| degraded.status == Status::True);
        let (state, told_by) = match (progressing.status, degraded) {
            (Status::True, Some(degraded)) => (State::Failed, degraded),
            (Status::True | Status::Unknown, _) => (State::Progressing, progressing),
            (Status::False, _) => (State::Succeeded, progressing),
        };
        Self {
            cluster: cluster.to_owned(),
            state,
            since: time_of(told_by),
        }
    }
}

fn time_of(condition: &Condition) -> Option<Timestamp> {
    condition.last_transition_time.parse().ok()
}
