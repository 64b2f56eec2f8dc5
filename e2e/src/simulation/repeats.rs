//! That what failed is tried again: a rollout that comes to its end only because something else happens to wake the hub would
//! look right at its end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::conditions;
use drydock_api::mcu::{ManagedClustersUpgrade, condition};
use jiff::{SignedDuration, Timestamp};

/// How long after a failure a cluster's works are written again at the latest: both replicas may have ended and wait to be started.
const SOON: SignedDuration = SignedDuration::from_hours(1);

/// How long the hub may not see a write of its own whose answer was lost, or what somebody else did: it goes on meanwhile as
/// before, and then need not any more.
const UNSEEN: SignedDuration = SignedDuration::from_mins(5);

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Served,
    /// Served, but the hub may not have been told.
    AnswerLost,
    Failed,
}

/// Writes of works that failed and have not been tried again. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Repeats(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// When the last write of one of a cluster's works failed.
    failed: BTreeMap<String, Timestamp>,
    /// When the answer to one was lost.
    lost: BTreeMap<String, Timestamp>,
    /// When something last happened that may change what is to be done.
    happened: Option<Timestamp>,
    /// How many clusters had failed at the last look.
    failures: i64,
}

impl Repeats {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A work of the cluster was written, or could not be.
    pub fn tried(&self, cluster: &str, now: Timestamp, fate: Fate) {
        let mut state = self.state();
        let unseen = [state.lost.get(cluster), state.happened.as_ref()];
        let is_unseen = unseen
            .into_iter()
            .flatten()
            .any(|since| now.duration_since(*since) < UNSEEN);
        match fate {
            Fate::Failed if is_unseen => {}
            Fate::Failed => {
                state.failed.insert(cluster.to_owned(), now);
            }
            Fate::Served | Fate::AnswerLost => {
                state.failed.remove(cluster);
            }
        }
        if fate == Fate::AnswerLost {
            state.lost.insert(cluster.to_owned(), now);
        }
    }

    /// Something happened that may change what is to be done.
    pub fn forget(&self, now: Timestamp) {
        let mut state = self.state();
        state.failed.clear();
        state.happened = Some(now);
    }

    /// A cluster whose work should have been tried again long ago, if there is one. An upgrade that halts need not go on.
    pub fn overdue(&self, upgrade: &ManagedClustersUpgrade, now: Timestamp) -> Option<String> {
        let mut state = self.state();
        let status = upgrade.status.as_ref()?;
        let conditions = status.conditions.as_deref().unwrap_or_default();
        let failures = status
            .clusters_summery
            .as_ref()
            .map_or(0, |summary| summary.failed);
        if failures != state.failures || !conditions::is_true(conditions, condition::IN_PROGRESS) {
            state.failures = failures;
            state.failed.clear();
        }
        let overdue = state
            .failed
            .iter()
            .find(|(_, since)| now.duration_since(**since) > SOON);
        overdue.map(|(cluster, since)| {
            format!("a write of a work of {cluster} failed at {since} and was not tried again by {now}")
        })
    }
}
