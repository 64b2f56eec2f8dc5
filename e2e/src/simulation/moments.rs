//! What was asked when, and what the hub may believe of it: it learns late, and nothing while it is cut off.

use jiff::{SignedDuration, Timestamp};

/// How old the hub's view of an edit may be: its watches break, and its requests fail.
const STALE: SignedDuration = SignedDuration::from_mins(20);

/// By how much the hub's clock may be off.
const SKEWED: SignedDuration = SignedDuration::from_mins(3);

/// Something that changes, and since when it was what; the newest last.
#[derive(Clone, Debug)]
pub(super) struct Moments<T>(Vec<(Timestamp, T)>);

impl<T> Default for Moments<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Moments<T> {
    pub fn push(&mut self, now: Timestamp, what: T) {
        self.0.push((now, what));
    }

    pub fn latest(&self) -> Option<&T> {
        self.0.last().map(|(_, what)| what)
    }

    /// What changed while the hub was cut off it learns only afterwards.
    pub fn learned(&mut self, cut: Timestamp, now: Timestamp) {
        for (since, _) in self.0.iter_mut().filter(|(since, _)| *since >= cut) {
            *since = now;
        }
    }

    /// Everything that the hub may believe.
    pub fn believed(&self, now: Timestamp) -> impl Iterator<Item = &T> {
        let first = self.0.iter().rposition(|(since, _)| *since + STALE <= now);
        self.0[first.unwrap_or(0)..].iter().map(|(_, what)| what)
    }

    /// Whether it changed between two moments, as far as clocks that differ allow.
    pub fn has_changed_between(&self, from: Timestamp, to: Timestamp) -> bool {
        self.0
            .iter()
            .skip(1)
            .any(|(at, _)| *at + SKEWED >= from && *at <= to + SKEWED)
    }

    /// Everything since a moment.
    pub fn since(&self, moment: Timestamp) -> impl Iterator<Item = &T> {
        let since = self.0.iter().filter(move |(at, _)| *at >= moment);
        since.map(|(_, what)| what)
    }
}
