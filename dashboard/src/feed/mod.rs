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

pub(crate) use feeds::Feeds;

/// How many bytes of changes are kept for viewers that are behind or come back.
const LOG_BYTES: usize = 4 << 20;
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
    viewers: Arc<AtomicUsize>,
}

struct State {
    revision: u64,
    view: Option<View>,
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
            viewers: Arc::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything has been seen.
    pub fn has_view(&self) -> bool {
        self.state().view.is_some()
    }

    /// Takes over what is seen now; viewers get what has changed.
    ///
    /// # Errors
    /// If a change cannot be written, which plain data rules out.
    pub fn update(&self, view: View, now: Timestamp) -> serde_json::Result<()> {
        let mut state = self.state();
        let Some(before) = state.view.take() else {
            state.view = Some(view);
            return Ok(());
        };
        let revision = state.revision + 1;
        let change = Change::between(&before, &view).map(|mut change| {
            (change.revision, change.now) = (revision, now.as_second());
            event("change", Some(revision), &change)
        });
        state.view = Some(view);
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

    /// What has changed since a revision.
    pub fn since(&self, revision: u64) -> Since {
        let state = self.state();
        let oldest = state.log.front().map_or(state.revision, |(oldest, _)| oldest - 1);
        if revision < oldest || revision > state.revision {
            return Since::Reset;
        }
        let first = state.log.partition_point(|(of, _)| *of <= revision);
        let changes = state.log.range(first..).map(|(_, bytes)| bytes.clone());
        Since::Changes(changes.collect(), state.revision)
    }

    /// The revision now, and each time that it has grown.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Somebody views, until what is returned is dropped.
    pub fn enter(&self) -> Follower {
        self.viewers.fetch_add(1, Ordering::Relaxed);
        Follower(Arc::clone(&self.viewers))
    }

    /// How many view.
    pub fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }
}

impl State {
    fn keep(&mut self, revision: u64, change: Bytes) {
        self.log_bytes += change.len();
        self.log.push_back((revision, change));
        while self.log_bytes > LOG_BYTES || self.log.len() > LOG_CHANGES {
            let Some((_, oldest)) = self.log.pop_front() else {
                return;
            };
            self.log_bytes -= oldest.len();
        }
    }
}

/// Somebody who views.
pub(crate) struct Follower(Arc<AtomicUsize>);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
    Ok(text.into())
}
