//! Works whose names are taken by objects that are not ours. Their watch events do not reach us, so each is forgotten
//! after a while, and the next attempt finds out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drydock_api::ClusterName;
use drydock_api::names::WorkKind;
use tokio::time::Instant;

/// How long a name counts as taken.
pub(super) const REMEMBERED: Duration = Duration::from_mins(1);

/// The names that are known to be taken.
#[derive(Debug, Default)]
pub(crate) struct Obstructions {
    found: Mutex<BTreeMap<(ClusterName, WorkKind), Instant>>,
}

impl Obstructions {
    /// A name was found to be taken.
    pub fn found(&self, cluster: ClusterName, kind: WorkKind) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert((cluster, kind), Instant::now());
    }

    /// The names that count as taken now.
    pub fn current(&self) -> BTreeSet<(ClusterName, WorkKind)> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.retain(|_, since| since.elapsed() < REMEMBERED);
        found.keys().cloned().collect()
    }
}
