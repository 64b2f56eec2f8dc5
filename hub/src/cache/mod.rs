//! What the hub sees: one watch a kind, each of which feeds the fleet and triggers the upgrades that a change concerns.

mod refusals;
mod triggers;
mod watches;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_objects::Fleet;

pub(crate) use refusals::Refusals;
pub(crate) use triggers::ReconcileTriggers;
pub(crate) use watches::{Watching, follow, follow_upgrades};

/// What the hub sees. Clones share it.
#[derive(Clone)]
pub(crate) struct Cache {
    fleet: Arc<Mutex<Fleet>>,
    triggers: ReconcileTriggers,
}

impl Cache {
    /// Nothing has been seen yet.
    pub fn new(fleet: Fleet, triggers: ReconcileTriggers) -> Self {
        Self {
            fleet: Arc::new(Mutex::new(fleet)),
            triggers,
        }
    }

    /// The fleet, for as long as nobody waits: all changes and decisions go through here, one after the other.
    pub fn fleet(&self) -> MutexGuard<'_, Fleet> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the fleet, and triggers the upgrades that the change concerns.
    pub fn change(&self, change: impl FnOnce(&mut Fleet) -> drydock_objects::Change) {
        let (change, is_about_cluster) = {
            let mut fleet = self.fleet();
            let before = fleet.cluster_changes();
            (change(&mut fleet), fleet.cluster_changes() != before)
        };
        self.triggers.trigger(change);
        if is_about_cluster {
            self.triggers.trigger_clusters();
        }
    }
}
