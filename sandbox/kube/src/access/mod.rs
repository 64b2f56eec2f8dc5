//! What a stand-in needs of an API server: the in-memory one, or a real one. Stand-ins are written once against
//! [`Access`]; over [`Access::Memory`] neither HTTP nor JSON text lies between them and the objects.

mod error;
mod kind;
mod memory;
mod remote;
mod watch;

pub use crate::server::Propagation;
pub use crate::store::{Key, Object};
pub use error::AccessError;
pub use kind::Kind;
pub use memory::InMemoryClient;
pub use remote::Remote;
pub use watch::WatchEvent;

use std::sync::Arc;

use futures::stream::BoxStream;
use serde_json::Value;

use crate::server::{ApiServer, Identity};

/// An API server, as a stand-in sees it.
#[derive(Clone, Debug)]
pub enum Access {
    /// The sandbox's own, in this process.
    Memory(InMemoryClient),
    /// Any, over HTTP.
    Remote(Remote),
}

/// Which objects a list or a watch is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only those of this namespace; absent means all.
    pub namespace: Option<String>,
    /// Only the one of this name.
    pub name: Option<String>,
    /// Only those with such labels, as in `app=web,tier in (a,b)`.
    pub labels: Option<String>,
}

impl Selection {
    /// All objects of a kind.
    pub fn everything() -> Self {
        Self::default()
    }

    /// The objects of a namespace.
    pub fn in_namespace(namespace: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            ..Self::default()
        }
    }

    /// One object.
    pub fn one(key: &Key) -> Self {
        Self {
            namespace: key.namespace.clone(),
            name: Some(key.name.clone()),
            labels: None,
        }
    }

    /// Narrowed to objects with such labels.
    pub fn with_labels(mut self, labels: impl Into<String>) -> Self {
        self.labels = Some(labels.into());
        self
    }
}

/// How an object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// What happens to dependents; absent means Background.
    pub propagation: Option<Propagation>,
    /// Only the object with this UID.
    pub uid: Option<String>,
    /// Seconds that a pod gets; absent means what the pod says.
    pub grace_period: Option<i64>,
}

impl Access {
    /// The in-memory server, as the client that calls itself `name` (also its field manager).
    pub fn memory(server: &ApiServer, name: impl Into<String>) -> Self {
        Self::Memory(InMemoryClient::new(server.clone(), Identity::new(name)))
    }

    /// Any server over HTTP, as the client that calls itself `name` (also its field manager).
    pub fn remote(client: kube::Client, name: impl Into<String>) -> Self {
        Self::Remote(Remote::new(client, name))
    }

    /// Reads one object.
    ///
    /// # Errors
    /// `NotFound` if there is none.
    pub async fn get(&self, kind: &Kind, key: &Key) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.get(kind, key).await,
            Self::Remote(remote) => remote.get(kind, key).await,
        }
    }

    /// Reads one object, `None` if there is none.
    ///
    /// # Errors
    /// Anything but `NotFound`.
    pub async fn find(&self, kind: &Kind, key: &Key) -> Result<Option<Arc<Object>>, AccessError> {
        match self.get(kind, key).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads many, sorted by namespace and name.
    ///
    /// # Errors
    /// If the server refuses or cannot be reached.
    pub async fn list(&self, kind: &Kind, selection: &Selection) -> Result<Vec<Arc<Object>>, AccessError> {
        match self {
            Self::Memory(memory) => memory.list(kind, selection).await,
            Self::Remote(remote) => remote.list(kind, selection).await,
        }
    }

    /// Follows objects for ever: first a [`WatchEvent::Resync`] with all of them, then every change; after a lost
    /// connection another `Resync`. While the server cannot be reached nothing comes.
    pub fn watch(&self, kind: &Kind, selection: &Selection) -> BoxStream<'static, WatchEvent> {
        watch::follow(self.clone(), kind.clone(), selection.clone())
    }

    /// Makes an object; its namespace and name are those in `object`.
    ///
    /// # Errors
    /// `AlreadyExists`, `Invalid`, `NotFound` for a missing namespace.
    pub async fn create(&self, kind: &Kind, object: Value) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.create(kind, object).await,
            Self::Remote(remote) => remote.create(kind, object).await,
        }
    }

    /// Replaces an object; a `resourceVersion` in it is a precondition.
    ///
    /// # Errors
    /// `Conflict`, `NotFound`, `Invalid`.
    pub async fn replace(&self, kind: &Kind, object: Value) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.replace(kind, object, false).await,
            Self::Remote(remote) => remote.replace(kind, object, false).await,
        }
    }

    /// Replaces an object's status; a `resourceVersion` in it is a precondition.
    ///
    /// # Errors
    /// `Conflict`, `NotFound`, `Invalid`.
    pub async fn replace_status(&self, kind: &Kind, object: Value) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.replace(kind, object, true).await,
            Self::Remote(remote) => remote.replace(kind, object, true).await,
        }
    }

    /// Changes fields by a merge patch (RFC 7386).
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `Conflict` if the patch names another `resourceVersion`.
    pub async fn merge_patch(
        &self,
        kind: &Kind,
        key: &Key,
        patch: Value,
    ) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.merge_patch(kind, key, patch, false).await,
            Self::Remote(remote) => remote.merge_patch(kind, key, patch, false).await,
        }
    }

    /// Changes fields of the status by a merge patch of the whole object, `{"status": {…}}`.
    ///
    /// # Errors
    /// `NotFound`, `Invalid`, `Conflict` if the patch names another `resourceVersion`.
    pub async fn merge_patch_status(
        &self,
        kind: &Kind,
        key: &Key,
        patch: Value,
    ) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.merge_patch(kind, key, patch, true).await,
            Self::Remote(remote) => remote.merge_patch(kind, key, patch, true).await,
        }
    }

    /// Server-side apply under the field manager `manager`.
    ///
    /// # Errors
    /// `Conflict` with one cause a field if others manage it and `force` is not given; `Invalid`.
    pub async fn apply(
        &self,
        kind: &Kind,
        object: Value,
        manager: &str,
        force: bool,
    ) -> Result<Arc<Object>, AccessError> {
        match self {
            Self::Memory(memory) => memory.apply(kind, object, manager, force).await,
            Self::Remote(remote) => remote.apply(kind, object, manager, force).await,
        }
    }

    /// Deletes an object, or begins to.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` if a precondition fails.
    pub async fn delete(&self, kind: &Kind, key: &Key, removal: &Removal) -> Result<(), AccessError> {
        match self {
            Self::Memory(memory) => memory.delete(kind, key, removal).await,
            Self::Remote(remote) => remote.delete(kind, key, removal).await,
        }
    }

    /// Finds a kind by the `apiVersion` and `kind` of an object, as a REST mapper does.
    ///
    /// # Errors
    /// `NotFound` if the server does not have it.
    pub async fn resolve(&self, api_version: &str, kind: &str) -> Result<Kind, AccessError> {
        match self {
            Self::Memory(memory) => memory.resolve(api_version, kind).await,
            Self::Remote(remote) => remote.resolve(api_version, kind).await,
        }
    }
}
