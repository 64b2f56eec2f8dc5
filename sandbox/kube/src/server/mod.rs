//! The API server: typed operations on objects ([`ApiServer::get`] and its sisters), and their thin translation to HTTP
//! ([`ApiServer::service`], [`ApiServer::serve`]). It answers as kube-apiserver does wherever a client can tell; what a
//! real cluster does in its controller manager (garbage collection, the end of namespaces) it does at once, in order.
//!
//! Nothing here blocks or reads the machine's clock, so whole controllers run on it under tokio's paused time.

mod admission;
mod after_write;
mod builtin;
mod conversion;
mod create;
mod definitions;
mod delete;
mod errors;
mod faults;
mod garbage;
mod identity;
mod kinds;
mod list;
mod metadata;
mod namespaces;
mod options;
mod patch;
mod pods;
mod scale;
mod selectors;
mod state;
mod structure;
mod types;
mod update;
mod watch;

pub use errors::{Cause, Details, Status};
pub use faults::{FaultAction, FaultHook, RequestInfo, RequestKey};
pub(crate) use faults::{FaultOutcome, Refusal};
pub use identity::Identity;
pub use kinds::{Origin, Registry, ScalePaths, ServedKind};
pub use options::{
    Call, DeleteOptions, Deletion, FieldValidation, List, ListOptions, Patch, Propagation, Subresource, Verb,
    VersionMatch, WatchOptions, WriteOptions, Written,
};
pub use selectors::{FieldSelector, LabelSelector};
pub use types::{Types, TypesError, read_definitions};
pub use watch::{Watch, WatchFrame};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use virtual_clock::Clock;

use crate::store::{CollectionId, Object};
use faults::Faults;
use state::State;

/// The largest body that the server reads, in bytes.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// What one API server is made of.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Its name, for logs; with the seed it determines UIDs and generated names.
    pub name: String,
    /// Where its times come from.
    pub clock: Clock,
    /// The seed of everything random.
    pub seed: u64,
    /// The kinds that it has from the start; shared by servers.
    pub types: Arc<Types>,
    /// How many changes of each kind are kept for watches that resume. Older ones get 410.
    pub history: usize,
}

impl ServerSettings {
    /// Settings with the usual history.
    pub fn new(name: impl Into<String>, clock: Clock, seed: u64, types: Arc<Types>) -> Self {
        Self {
            name: name.into(),
            clock,
            seed,
            types,
            history: 1_000,
        }
    }
}

/// An API server in memory. Cheap to clone; all clones are the same server.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

struct Inner {
    name: String,
    clock: Clock,
    state: Mutex<State>,
    faults: Faults,
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ApiServer({})", self.inner.name)
    }
}

impl ApiServer {
    /// A server with the namespaces that every cluster has, and the kinds of `settings.types`.
    pub fn new(settings: ServerSettings) -> Self {
        let state = State::new(&settings);
        Self {
            inner: Arc::new(Inner {
                name: settings.name,
                clock: settings.clock,
                state: Mutex::new(state),
                faults: Faults::default(),
            }),
        }
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The clock that it stamps times with.
    pub fn clock(&self) -> &Clock {
        &self.inner.clock
    }

    /// The kinds that are served now.
    pub fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.state().registry)
    }

    /// Finds a kind by the parts of its path.
    ///
    /// # Errors
    /// 404 if it is not served.
    pub fn kind(&self, group: &str, version: &str, plural: &str) -> Result<Arc<ServedKind>, Status> {
        self.state().registry.find(group, version, plural).map(Arc::clone)
    }

    /// Whether paths of a group and version are this server's to answer, even if it has no such kind there.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.state().registry.serves(group, version)
    }

    /// Finds a kind by the `apiVersion` and `kind` of an object.
    pub fn find_kind(&self, api_version: &str, kind: &str) -> Option<Arc<ServedKind>> {
        self.state().registry.find_kind(api_version, kind).map(Arc::clone)
    }

    /// The revision of the last write.
    pub fn revision(&self) -> u64 {
        self.state().store.revision()
    }

    /// How many objects a collection has, named `plural.group`.
    pub fn count(&self, group: &str, plural: &str) -> usize {
        self.state().store.count(&CollectionId::new(group, plural))
    }

    /// Forgets the kept changes, as etcd's compaction does: watches that resume from before get 410.
    pub fn compact(&self) {
        self.state().store.compact();
    }

    /// Reads one object.
    ///
    /// # Errors
    /// 404 if there is none.
    pub fn get(&self, call: &Call) -> Result<Arc<Object>, Status> {
        self.state().get(call)
    }

    /// Reads objects of one moment.
    ///
    /// # Errors
    /// 400 for a selector or token that cannot be read, 410 for a moment that is no longer kept, 504 for one to come.
    pub fn list(&self, call: &Call, options: &ListOptions) -> Result<List, Status> {
        self.state().list(call, options)
    }

    /// Follows objects.
    ///
    /// # Errors
    /// 400 for options that cannot be; a version that is no longer kept is the first frame of the watch, not an error.
    pub fn watch(&self, call: &Call, options: &WatchOptions) -> Result<Watch, Status> {
        Watch::open(self, call, options)
    }

    /// Makes an object, or runs the creating subresource (eviction, binding).
    ///
    /// # Errors
    /// 409 if the name is taken, 404 without its namespace, 422 if the kind does not allow it.
    pub fn create(&self, call: &Call, body: Value, options: &WriteOptions) -> Result<Written, Status> {
        self.state().create(call, body, options)
    }

    /// Replaces an object or its status.
    ///
    /// # Errors
    /// 404 if there is none, 409 if it has changed, 422 if the kind does not allow it.
    pub fn update(&self, call: &Call, body: Value, options: &WriteOptions) -> Result<Written, Status> {
        self.state().update(call, body, options)
    }

    /// Changes a part of an object or of its status; an apply makes the object if there is none.
    ///
    /// # Errors
    /// As [`Self::update`], and 409 with the conflicting fields for an apply without `force`.
    pub fn patch(&self, call: &Call, patch: &Patch, options: &WriteOptions) -> Result<Written, Status> {
        self.state().patch(call, patch, options)
    }

    /// Deletes an object, or begins to.
    ///
    /// # Errors
    /// 404 if there is none, 409 if a precondition fails.
    pub fn delete(&self, call: &Call, options: &DeleteOptions) -> Result<Deletion, Status> {
        self.state().delete(call, options)
    }

    /// Deletes what `list` selects.
    ///
    /// # Errors
    /// As [`Self::list`] and [`Self::delete`].
    pub fn delete_collection(
        &self,
        call: &Call,
        list: &ListOptions,
        options: &DeleteOptions,
    ) -> Result<List, Status> {
        self.state().delete_collection(call, list, options)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
