//! `status.history` of ClusterVersion: prepend, complete, and what is dropped above its limit.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::condition::wire_time;
use super::release::Release;

/// The most entries that the history keeps.
const LIMIT: usize = 100;
/// The newest entries, which are never dropped.
const NEWEST_KEPT: usize = 5;

/// One release that the cluster was asked to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) release: Release,
    pub(super) completed: bool,
    pub(super) started: Timestamp,
    pub(super) ended: Option<Timestamp>,
    pub(super) verified: bool,
    pub(super) accepted_risks: String,
}

/// The history, newest first; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct History(Vec<Entry>);

impl History {
    /// The history of a cluster that was installed with `release`.
    pub(super) fn installed(release: Release, started: Timestamp, ended: Timestamp) -> Self {
        Self(vec![Entry {
            release,
            completed: true,
            started,
            ended: Some(ended),
            verified: false,
            accepted_risks: String::new(),
        }])
    }

    /// The entries, newest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Begins with another release: what ran before ends now, as partial if it was not completed.
    pub(super) fn begin(&mut self, release: Release, verified: bool, accepted_risks: String, now: Timestamp) {
        if let Some(previous) = self.0.first_mut() {
            previous.ended.get_or_insert(now);
        }
        let entry = Entry {
            release,
            completed: false,
            started: now,
            ended: None,
            verified,
            accepted_risks,
        };
        self.0.insert(0, entry);
        self.trim(LIMIT);
    }

    /// The newest release has been applied.
    pub(super) fn complete(&mut self, now: Timestamp) {
        if let Some(newest) = self.0.first_mut() {
            newest.completed = true;
            newest.ended.get_or_insert(now);
        }
    }

    fn trim(&mut self, limit: usize) {
        if self.0.len() <= limit {
            return;
        }
        let ranks = (0..self.0.len()).map(|index| (self.rank(index), index));
        if let Some((_, least)) = ranks.min_by(|a, b| a.0.total_cmp(&b.0)) {
            self.0.remove(least);
        }
    }

    /// How detailed an entry is: the initial one, the newest and the last completed most; partial ones between
    /// two patches least; among equals the older one less.
    fn rank(&self, index: usize) -> f64 {
        let last_completed = self.0.iter().position(|entry| entry.completed);
        let kept = index < NEWEST_KEPT || index + 1 == self.0.len() || Some(index) == last_completed;
        let weight = if kept {
            1000.0
        } else if self.0[index].completed {
            if self.ends_a_minor(index) { 30.0 } else { 0.0 }
        } else {
            self.weight_of_partial(index)
        };
        weight - 1.01 * index as f64
    }

    fn older_completed(&self, index: usize) -> Option<&Entry> {
        self.0[index + 1..].iter().find(|entry| entry.completed)
    }

    fn newer_completed(&self, index: usize) -> Option<&Entry> {
        self.0[..index].iter().rev().find(|entry| entry.completed)
    }

    fn ends_a_minor(&self, index: usize) -> bool {
        let minor = self.0[index].release.version.minor;
        let other = |entry: Option<&Entry>| entry.is_none_or(|entry| entry.release.version.minor != minor);
        other(self.older_completed(index)) || other(self.newer_completed(index))
    }

    fn weight_of_partial(&self, index: usize) -> f64 {
        let (Some(older), Some(newer)) = (self.older_completed(index), self.newer_completed(index)) else {
            return 0.0;
        };
        let (older, newer) = (&older.release.version, &newer.release.version);
        match (older.minor == newer.minor, older.patch == newer.patch) {
            (false, _) => 20.0,
            (true, false) => -20.0,
            (true, true) => 0.0,
        }
    }

    /// As on the wire.
    pub(super) fn to_value(&self) -> Value {
        self.0.iter().map(Entry::to_value).collect()
    }
}

impl Entry {
    fn to_value(&self) -> Value {
        let mut value = Map::new();
        if !self.accepted_risks.is_empty() {
            value.insert("acceptedRisks".into(), json!(self.accepted_risks));
        }
        value.insert("completionTime".into(), self.ended.map_or(Value::Null, wire_time));
        value.insert("image".into(), json!(self.release.image));
        value.insert("startedTime".into(), wire_time(self.started));
        let state = if self.completed { "Completed" } else { "Partial" };
        value.insert("state".into(), json!(state));
        value.insert("verified".into(), json!(self.verified));
        value.insert("version".into(), json!(self.release.version.to_string()));
        Value::Object(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + 60 * minute).unwrap()
    }

    fn release(minor: u64, patch: u64) -> Release {
        Release::of(semver::Version::new(4, minor, patch))
    }

    #[test]
    fn a_retarget_leaves_a_partial_entry_that_ended_when_the_next_began() {
        let mut history = History::installed(release(14, 9), at(0), at(30));
        history.begin(release(14, 11), true, String::new(), at(60));
        history.begin(release(14, 12), true, String::new(), at(70));
        let entries = history.entries();
        assert_eq!(entries.len(), 3);
        assert!(!entries[0].completed && entries[0].ended.is_none());
        assert!(!entries[1].completed);
        assert_eq!(entries[1].ended, Some(at(70)));
        assert_eq!(entries[2].ended, Some(at(30)), "a completed entry keeps its end");
    }

    proptest! {
        #[test]
        fn the_history_keeps_its_limit_its_order_its_first_and_its_last_completed(
            steps in proptest::collection::vec((10_u64..16, 0_u64..40, any::<bool>()), 1..260)
        ) {
            let mut history = History::installed(release(10, 0), at(0), at(1));
            for (minute, (minor, patch, complete)) in steps.into_iter().enumerate() {
                let now = at(10 + minute as i64);
                let newest_completed = history.entries().iter().find(|entry| entry.completed).cloned();
                history.begin(release(minor, patch), true, String::new(), now);
                prop_assert!(history.entries().contains(&newest_completed.unwrap()));
                if complete {
                    history.complete(now);
                }
                let entries = history.entries();
                prop_assert!(entries.len() <= LIMIT);
                prop_assert_eq!(&entries.last().unwrap().release, &release(10, 0));
                prop_assert!(entries.windows(2).all(|pair| pair[0].started >= pair[1].started));
                prop_assert!(entries[1..].iter().all(|entry| entry.ended.is_some()));
            }
        }
    }

    #[test]
    fn a_partial_patch_update_is_dropped_before_the_completed_ones_around_it() {
        let mut history = History::installed(release(13, 0), at(0), at(1));
        for patch in 1..=LIMIT as u64 {
            history.begin(release(13, patch), true, String::new(), at(patch as i64 + 1));
            if patch != 12 {
                history.complete(at(patch as i64 + 1));
            }
        }
        assert_eq!(history.entries().len(), LIMIT);
        assert!(history.entries().iter().all(|entry| entry.completed));
    }
}
