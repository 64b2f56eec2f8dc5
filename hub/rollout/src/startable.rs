//! The clusters that may start, in the order in which they do, apart by their timetables: those whose start times are closed cost nothing.

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;

use crate::Timetable;

/// The order in which clusters start: those that have a slot already because an earlier attempt was refused, canaries, those that
/// are upgraded for the first time, then by placement and decision group, then by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StartKey {
    pub needs_slot: bool,
    pub is_other: bool,
    pub is_repeat: bool,
    pub place: (u32, u32),
    pub name: ClusterName,
}

/// The clusters that may start when it is their turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Startable(BTreeMap<Timetable, BTreeSet<StartKey>>);

impl Startable {
    /// Adds a cluster, or takes it away.
    pub fn change(&mut self, timetable: Timetable, key: StartKey, adds: bool) {
        if adds {
            self.0.entry(timetable).or_default().insert(key);
        } else if let Some(keys) = self.0.get_mut(&timetable) {
            keys.remove(&key);
            if keys.is_empty() {
                self.0.remove(&timetable);
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }

    /// The timetables that they have: of canaries alone, where all others wait for these.
    pub fn timetables(&self, of_canaries: bool) -> impl Iterator<Item = Timetable> {
        let has_canary = |keys: &BTreeSet<StartKey>| keys.iter().any(|key| !key.is_other);
        let wanted = self
            .0
            .iter()
            .filter(move |(_, keys)| !of_canaries || has_canary(keys));
        wanted.map(|(timetable, _)| *timetable)
    }

    /// Those with timetables that are wanted, in their order.
    pub fn with(&self, is_wanted: impl Fn(Timetable) -> bool) -> impl Iterator<Item = &StartKey> {
        let wanted = self.0.iter().filter(move |(timetable, _)| is_wanted(**timetable));
        let mut queues: Vec<_> = wanted.map(|(_, keys)| keys.iter().peekable()).collect();
        std::iter::from_fn(move || {
            let heads = queues
                .iter_mut()
                .filter_map(|queue| Some((*queue.peek()?, queue)));
            heads.min_by_key(|(head, _)| *head)?.1.next()
        })
    }
}
