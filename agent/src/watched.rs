//! Objects that a watch keeps, and how that watch does. One that fails for longer than a moment makes its objects unread: what has
//! been seen long ago is no ground for a decision.

use std::sync::{Arc, Mutex, PoisonError};

use drydock_engine::facts::{Fact, Unread};
use drydock_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::Event;
use kube::runtime::{reflector, watcher};
use kube::{Resource, ResourceExt};
use tokio::sync::watch;

use crate::refusal;

/// For how long a watch may fail before what it has seen last does not count any more.
const STALE: SignedDuration = SignedDuration::from_mins(1);
/// After how long without a failure a watch counts as healthy: that it resumed is no event.
const WORKS_AGAIN: SignedDuration = SignedDuration::from_mins(2);

/// The objects, and how their watch does. Cheap to clone.
pub(crate) struct Watched<K: Resource<DynamicType = ()> + 'static> {
    store: Store<K>,
    state: Arc<Mutex<Health>>,
    looked: watch::Receiver<bool>,
}

impl<K: Resource<DynamicType = ()> + Clone + 'static> Clone for Watched<K> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            state: Arc::clone(&self.state),
            looked: self.looked.clone(),
        }
    }
}

/// Takes what a watch reports.
pub(crate) struct WatchSink<K: Resource<DynamicType = ()> + Clone + 'static> {
    writer: Writer<K>,
    state: Arc<Mutex<Health>>,
    look: watch::Sender<bool>,
    clock: Clock,
    /// Takes from an object what nobody needs.
    trim: fn(&mut K),
}

/// What a report of a watch means to those who read the objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// There is something new.
    Changed,
    /// A list is being read: until it is complete, what was there before counts.
    Incomplete,
    /// The server did not answer, or refused, and why. It is asked again.
    Failed(String),
    /// The server has no such kind.
    NoSuchKind,
}

/// How a watch does.
#[derive(Clone, Debug, Default)]
struct Health {
    /// Whether the objects have been listed.
    listed: bool,
    /// Since when it fails.
    failing: Option<Failing>,
}

#[derive(Clone, Debug)]
struct Failing {
    since: Timestamp,
    last: Timestamp,
    why: String,
    /// Whether the server says that there is no such kind.
    is_absent: bool,
}

impl Failing {
    /// Whether it fails for long, and still does.
    fn counts(&self, now: Timestamp) -> bool {
        now.duration_since(self.since) > STALE && now.duration_since(self.last) < WORKS_AGAIN
    }
}

/// Objects of which nothing has been seen yet, and what takes the reports of their watch.
pub(crate) fn watched<K>(clock: Clock) -> (Watched<K>, WatchSink<K>)
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    watched_in_part(clock, |_| {})
}

/// The same, for objects of which `trim` leaves what is needed.
pub(crate) fn watched_in_part<K>(clock: Clock, trim: fn(&mut K)) -> (Watched<K>, WatchSink<K>)
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let (store, writer) = reflector::store();
    let state: Arc<Mutex<Health>> = Arc::default();
    let (look, looked) = watch::channel(false);
    let watched = Watched {
        store,
        state: Arc::clone(&state),
        looked,
    };
    let sink = WatchSink {
        writer,
        state,
        look,
        clock,
        trim,
    };
    (watched, sink)
}

impl<K: Resource<DynamicType = ()> + Clone + 'static> Watched<K> {
    /// All of them.
    pub fn objects(&self) -> Vec<Arc<K>> {
        self.store.state()
    }

    /// The object, if there is one: of those of which no more than one is watched.
    pub fn object(&self) -> Option<Arc<K>> {
        self.store.state().into_iter().next()
    }

    /// The object, or why it is not known.
    pub fn fact(&self, now: Timestamp) -> Fact<Option<Arc<K>>> {
        self.known(now).map(|()| self.object())
    }

    /// Are the objects known? If not, why.
    pub fn known(&self, now: Timestamp) -> Fact<()> {
        let health = self.state.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match health.failing {
            Some(failing) if failing.is_absent => Ok(()),
            Some(failing) if !health.listed || failing.counts(now) => Err(Unread::Failed(failing.why)),
            _ => Ok(()),
        }
    }

    /// Whether they have been looked for, successfully or not.
    pub fn is_looked_for(&self) -> bool {
        *self.looked.borrow()
    }

    /// Waits until they have been looked for, successfully or not.
    pub async fn wait_until_looked(&self) {
        // The other side goes with its watch, which is when the process ends.
        let mut looked = self.looked.clone();
        let _ended = looked.wait_for(|looked| *looked).await;
    }
}

impl<K> WatchSink<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// Takes a report.
    pub fn apply(&mut self, event: watcher::Result<Event<K>>) -> Report {
        self.note(&event);
        match event {
            Ok(event) => {
                let event = event.modify(|object| {
                    object.managed_fields_mut().clear();
                    (self.trim)(object);
                });
                self.writer.apply_watcher_event(&event);
                match event {
                    Event::Init | Event::InitApply(_) => return Report::Incomplete,
                    Event::Apply(_) | Event::Delete(_) => {}
                    Event::InitDone => drop(self.look.send_replace(true)),
                }
                Report::Changed
            }
            Err(error) => {
                self.look.send_replace(true);
                let (why, is_absent) = words(&error);
                let kind = K::plural(&()).into_owned();
                let error: &dyn std::error::Error = &error;
                tracing::debug!(error, kind, "a watch is tried again");
                if is_absent {
                    Report::NoSuchKind
                } else {
                    Report::Failed(why)
                }
            }
        }
    }

    /// There are none, since there is no such kind.
    pub fn clear(&mut self) {
        self.writer.apply_watcher_event(&Event::Init);
        self.writer.apply_watcher_event(&Event::InitDone);
        self.look.send_replace(true);
    }

    fn note(&self, event: &watcher::Result<Event<K>>) {
        let now = self.clock.now();
        let mut health = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            // An attempt to list is no answer yet.
            Ok(Event::Init | Event::InitApply(_)) => {}
            Ok(event) => {
                health.listed |= matches!(event, Event::InitDone);
                health.failing = None;
            }
            Err(error) => {
                let before = health
                    .failing
                    .take()
                    .filter(|failing| now.duration_since(failing.last) < WORKS_AGAIN);
                let since = before.map_or(now, |failing| failing.since);
                let (why, is_absent) = words(error);
                health.failing = Some(Failing {
                    since,
                    last: now,
                    why,
                    is_absent,
                });
            }
        }
    }
}

/// Why a watch fails, and whether because there is no such kind.
fn words(error: &watcher::Error) -> (String, bool) {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            let is_absent = matches!(error, kube::Error::Api(refusal) if refusal.code == 404);
            (refusal::words(error), is_absent)
        }
        error => (error.to_string(), false),
    }
}
