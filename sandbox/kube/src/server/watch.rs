//! Watches: the changes of a kind, as a client that knows a version needs them to continue from there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::list::{parse_version, scope_of, selects};
use super::selectors::{FieldSelector, LabelSelector};
use super::{ApiServer, Call, Cause, ServedKind, Status, VersionMatch, WatchOptions, conversion};
use crate::store::{Change, ChangeKind, Object, Subscription};

/// How often a watch that asks for bookmarks gets one, as the real server's about once a minute.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);

/// How long before its end a watch gets its last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

/// One frame of a watch.
#[derive(Clone, Debug)]
pub enum WatchFrame {
    /// An object came into the watch, changed, or left it.
    Change {
        /// As the watcher sees it: an object that begins to match its selector is ADDED.
        kind: ChangeKind,
        /// The object; for DELETED its last version, stamped with the revision of the change.
        object: Arc<Object>,
    },
    /// The watcher has seen all changes up to this revision.
    Bookmark {
        /// That revision.
        revision: u64,
        /// Whether it ends the initial events (`k8s.io/initial-events-end`).
        initial_events_end: bool,
    },
    /// The watch cannot continue; the last frame.
    Error(Status),
}

/// An open watch.
#[derive(Debug)]
pub struct Watch {
    server: ApiServer,
    kind: Arc<ServedKind>,
    labels: LabelSelector,
    fields: FieldSelector,
    pending: VecDeque<WatchFrame>,
    subscription: Option<Subscription>,
    deadline: Option<Instant>,
    next_bookmark: Option<Instant>,
}

impl Watch {
    pub(super) fn open(server: &ApiServer, call: &Call, options: &WatchOptions) -> Result<Self, Status> {
        options.fields.check(&call.kind)?;
        check_initial_events(options)?;
        let asked = match options.resource_version.as_deref() {
            None | Some("") => None,
            Some(text) => Some(parse_version(text).map_err(|mut status| {
                status.message = format!("resourceVersion: Invalid value: {text:?}: {}", status.message);
                status
            })?),
        };
        let now = Instant::now();
        let mut watch = Self {
            server: server.clone(),
            kind: Arc::clone(&call.kind),
            labels: options.labels.clone(),
            fields: options.fields.clone(),
            pending: VecDeque::new(),
            subscription: None,
            deadline: options.timeout.map(|timeout| now + timeout),
            next_bookmark: None,
        };
        watch.next_bookmark = options.bookmarks.then(|| watch.bookmark_after(now)).flatten();
        watch.subscribe(call, options, asked);
        Ok(watch)
    }

    fn subscribe(&mut self, call: &Call, options: &WatchOptions, asked: Option<u64>) {
        let scope = scope_of(call, &options.fields);
        let collection = &call.kind.collection;
        let server = self.server.clone();
        let mut state = server.state();
        let from_present = options
            .initial_events
            .unwrap_or_else(|| asked.is_none_or(|version| version == 0));
        let since = if from_present {
            for object in state.store.objects(collection, &scope) {
                if selects(&self.labels, &self.fields, &object) {
                    self.pending.push_back(WatchFrame::Change {
                        kind: ChangeKind::Added,
                        object: conversion::presented(&self.kind, &object),
                    });
                }
            }
            if options.initial_events == Some(true) && options.bookmarks {
                self.pending.push_back(WatchFrame::Bookmark {
                    revision: state.store.revision(),
                    initial_events_end: true,
                });
            }
            None
        } else {
            asked.filter(|version| *version > 0)
        };
        match state
            .store
            .subscribe(collection, scope, since, call.identity.name())
        {
            Ok(subscription) => self.subscription = Some(subscription),
            Err(compacted) => self.pending.push_back(WatchFrame::Error(Status::expired(format!(
                "too old resource version: {} ({})",
                since.unwrap_or_default(),
                compacted.oldest
            )))),
        }
    }

    /// The next frame, or `None` when the watch has ended: its time is over, or the server cut it.
    pub async fn next(&mut self) -> Option<WatchFrame> {
        loop {
            if let Some(frame) = self.pending.pop_front() {
                return Some(frame);
            }
            let subscription = self.subscription.as_mut()?;
            let wake = [self.deadline, self.next_bookmark].into_iter().flatten().min();
            let change = match wake {
                None => subscription.next().await,
                Some(wake) => tokio::select! {
                    biased;
                    change = subscription.next() => change,
                    () = tokio::time::sleep_until(wake) => {
                        self.wake_up();
                        continue;
                    }
                },
            };
            match change {
                Some(change) => self.take(&change),
                None => self.subscription = None,
            }
        }
    }

    /// When the next bookmark is due: once a minute, and shortly before the end.
    fn bookmark_after(&self, now: Instant) -> Option<Instant> {
        let last = self
            .deadline
            .and_then(|deadline| deadline.checked_sub(LAST_BOOKMARK));
        [Some(now + BOOKMARK_PERIOD), last]
            .into_iter()
            .flatten()
            .filter(|due| *due > now)
            .min()
    }

    /// A bookmark is due, or the end.
    fn wake_up(&mut self) {
        let now = Instant::now();
        let ending = self.deadline.is_some_and(|deadline| deadline <= now);
        if self.next_bookmark.is_some_and(|due| due <= now) {
            // Changes are queued under the same lock, so after this all up to the revision are here.
            let revision = self.server.state().store.revision();
            while let Some(change) = self.subscription.as_mut().and_then(Subscription::try_next) {
                self.take(&change);
            }
            self.pending.push_back(WatchFrame::Bookmark {
                revision,
                initial_events_end: false,
            });
            self.next_bookmark = self.bookmark_after(now);
        }
        if ending {
            self.subscription = None;
        }
    }

    fn take(&mut self, change: &Change) {
        let matches = |object: &Object| selects(&self.labels, &self.fields, object);
        let before = change.previous.as_deref().is_some_and(matches);
        let after = change.kind != ChangeKind::Deleted && matches(&change.object);
        let (kind, object) = match (before, after) {
            (false, false) => return,
            (false, true) => (ChangeKind::Added, Arc::clone(&change.object)),
            (true, true) => (ChangeKind::Modified, Arc::clone(&change.object)),
            (true, false) if change.kind == ChangeKind::Deleted => {
                (ChangeKind::Deleted, Arc::clone(&change.object))
            }
            (true, false) => (ChangeKind::Deleted, left(change)),
        };
        self.pending.push_back(WatchFrame::Change {
            kind,
            object: conversion::presented(&self.kind, &object),
        });
    }
}

/// The version that last matched, stamped with the revision at which it ceased to.
fn left(change: &Change) -> Arc<Object> {
    let previous = change.previous.as_ref().unwrap_or(&change.object);
    let mut value = previous.value().clone();
    value["metadata"]["resourceVersion"] = Value::from(change.revision().to_string());
    let managed = previous.managed_fields().clone();
    Arc::new(Object::managed(value, managed, change.revision()))
}

fn check_initial_events(options: &WatchOptions) -> Result<(), Status> {
    let field = "resourceVersionMatch";
    let forbidden = |why: &str| Cause::new("FieldValueForbidden", field, format!("Forbidden: {why}"));
    let causes = match (options.initial_events, options.version_match) {
        (Some(_), Some(VersionMatch::NotOlderThan)) | (None, None) => return Ok(()),
        (Some(_), other) => {
            let mut causes = vec![forbidden(
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )];
            if other == Some(VersionMatch::Exact) {
                let why = "Unsupported value: \"Exact\": supported values: \"NotOlderThan\"";
                causes.push(Cause::new("FieldValueNotSupported", field, why));
            }
            causes
        }
        (None, Some(_)) => vec![forbidden(
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )],
    };
    Err(Status::invalid_of("meta.k8s.io", "ListOptions", "", causes))
}
