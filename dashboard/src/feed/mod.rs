//! The view as it is now, with a revision that grows with each change, and the newest changes as they are sent.

mod feeds;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::watch;

use crate::access::TokenError;
use crate::rows::View;
use crate::snapshot::{Change, SnapshotBytes};

pub(crate) use feeds::{Feeds, Follower};

/// How many bytes of changes a feed keeps for each row that it counts as, for viewers that are behind or come back.
const LOG_BYTES_OF_A_ROW: usize = 1 << 10;
/// How many it keeps at most: to catch up by more than that takes longer than a snapshot.
const MOST_LOG_BYTES: usize = 1 << 20;
/// As how many rows a feed counts at most, and one that has not been looked at.
const LARGEST: usize = 4096;
/// As how many rows a feed counts at least.
const SMALLEST: usize = 512;
/// How many bytes of changes are handed out at a time, where it is more than one change: they are copied for each viewer that is behind.
const BYTES_AT_A_TIME: usize = 16 << 10;
/// The most changes that are kept.
const LOG_CHANGES: usize = 4096;

/// What a viewer gets that has seen all up to a revision.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Since {
    /// These changes, which lead to this revision.
    Changes(Vec<Bytes>, u64),
    /// It must take a snapshot: what it has not seen is not kept any more, or its revision is of another server.
    Reset,
}

/// The view and its changes. Clones share them.
#[derive(Clone)]
pub(crate) struct Feed {
    state: Arc<Mutex<State>>,
    revision: watch::Sender<u64>,
    followers: Arc<AtomicUsize>,
}

struct State {
    revision: u64,
    view: Option<Arc<View>>,
    log: VecDeque<(u64, Bytes)>,
    log_bytes: usize,
    snapshot: Option<(u64, Timestamp, SnapshotBytes)>,
}

impl Feed {
    /// Nothing has been seen. Revisions begin at a number that another server does not use, so that nobody resumes here what it has
    /// seen there.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub fn new() -> Result<Self, TokenError> {
        let mut bytes = [0; 4];
        SystemRandom::new().fill(&mut bytes).map_err(|_| TokenError)?;
        // A number that JavaScript does not round.
        let revision = u64::from(u32::from_le_bytes(bytes)) << 16;
        Ok(Self {
            state: Arc::new(Mutex::new(State {
                revision,
                view: None,
                log: VecDeque::new(),
                log_bytes: 0,
                snapshot: None,
            })),
            revision: watch::Sender::new(revision),
            followers: Arc::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything has been seen.
    pub fn has_view(&self) -> bool {
        self.state().view.is_some()
    }

    /// What is shown; nothing if nothing has been seen.
    pub fn view(&self) -> Arc<View> {
        self.state().view.clone().unwrap_or_default()
    }

    /// Takes over what is seen now; viewers get what has changed.
    ///
    /// # Errors
    /// If a change cannot be written, which plain data rules out.
    pub fn update(&self, view: View, now: Timestamp) -> serde_json::Result<()> {
        let mut state = self.state();
        let Some(before) = state.view.take() else {
            state.view = Some(Arc::new(view));
            return Ok(());
        };
        let revision = state.revision + 1;
        let change = Change::between(&before, &view).map(|mut change| {
            (change.revision, change.now) = (revision, now.as_second());
            event("change", Some(revision), &change)
        });
        state.view = Some(Arc::new(view));
        let Some(change) = change.transpose()? else {
            return Ok(());
        };
        state.revision = revision;
        state.keep(revision, change);
        drop(state);
        self.revision.send_replace(revision);
        Ok(())
    }

    /// The view as bytes; one that was made at most `age` ago serves, if nothing has changed since. `None` if nothing has been seen.
    ///
    /// # Errors
    /// If it cannot be written, which plain data rules out.
    pub fn snapshot(&self, now: Timestamp, age: SignedDuration) -> std::io::Result<Option<SnapshotBytes>> {
        let mut state = self.state();
        let revision = state.revision;
        if let Some((of, at, bytes)) = &state.snapshot
            && *of == revision
            && now.duration_since(*at) <= age
        {
            return Ok(Some(bytes.clone()));
        }
        let Some(view) = &state.view else {
            return Ok(None);
        };
        let bytes = SnapshotBytes::of(view, revision, now)?;
        state.snapshot = Some((revision, now, bytes.clone()));
        Ok(Some(bytes))
    }

    /// What has changed since a revision, or the first part of it.
    pub fn since(&self, revision: u64) -> Since {
        let state = self.state();
        let oldest = state.log.front().map_or(state.revision, |(oldest, _)| oldest - 1);
        if revision < oldest || revision > state.revision {
            return Since::Reset;
        }
        let first = state.log.partition_point(|(of, _)| *of <= revision);
        let (mut changes, mut bytes, mut reached) = (Vec::new(), 0, revision);
        for (of, change) in state.log.range(first..) {
            bytes += change.len();
            if bytes > BYTES_AT_A_TIME && !changes.is_empty() {
                break;
            }
            changes.push(change.clone());
            reached = *of;
        }
        Since::Changes(changes, reached)
    }

    /// The revision now, and each time that it has grown.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// As how many rows it counts, where what is kept has to be bounded.
    pub fn weight(&self) -> usize {
        self.state().weight()
    }

    /// Somebody follows, until [`Feed::leave`].
    fn enter(&self) {
        self.followers.fetch_add(1, Ordering::Relaxed);
    }

    /// Somebody follows no more.
    fn leave(&self) {
        self.followers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether anybody follows.
    fn is_followed(&self) -> bool {
        self.followers.load(Ordering::Relaxed) > 0
    }
}

impl State {
    fn weight(&self) -> usize {
        let rows = self.view.as_ref().map(|view| view.rows.len());
        rows.map_or(LARGEST, |rows| rows.clamp(SMALLEST, LARGEST))
    }

    /// How many bytes of changes are kept.
    fn most_log_bytes(&self) -> usize {
        MOST_LOG_BYTES.min(self.weight() * LOG_BYTES_OF_A_ROW)
    }

    fn keep(&mut self, revision: u64, change: Bytes) {
        self.log_bytes += change.len();
        self.log.push_back((revision, change));
        while self.log_bytes > self.most_log_bytes() || self.log.len() > LOG_CHANGES {
            let Some((_, oldest)) = self.log.pop_front() else {
                return;
            };
            self.log_bytes -= oldest.len();
        }
    }
}

/// A server-sent event. JSON has no line breaks of its own, so that the data is one line.
///
/// # Errors
/// If the data cannot be written, which plain data rules out.
pub(crate) fn event(name: &str, id: Option<u64>, data: &impl serde::Serialize) -> serde_json::Result<Bytes> {
    let mut text = id
        .map(|id| format!("id: {id}\n"))
        .unwrap_or_default()
        .into_bytes();
    text.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    serde_json::to_writer(&mut text, data)?;
    text.extend_from_slice(b"\n\n");
    // Without the room that it has grown by: changes are kept, and counted by their bytes.
    Ok(text.into_boxed_slice().into())
}
