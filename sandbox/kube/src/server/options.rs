//! What a request asks for, besides the object: the typed form of query parameters and of `DeleteOptions`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::selectors::{FieldSelector, LabelSelector};
use super::{Identity, ServedKind};
use crate::store::{Key, Object};

/// What is done to an object, as Kubernetes names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make one.
    Create,
    /// Replace one.
    Update,
    /// Change a part of one.
    Patch,
    /// Delete one.
    Delete,
    /// Delete many.
    DeleteCollection,
}

impl Verb {
    /// As in RBAC rules and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }
}

/// A part of an object that has a path of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subresource {
    /// `/status`
    Status,
    /// `/scale`
    Scale,
    /// `/eviction` of a pod
    Eviction,
    /// `/binding` of a pod
    Binding,
    /// `/finalize` of a namespace
    Finalize,
}

impl Subresource {
    /// As in paths.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Binding => "binding",
            Self::Finalize => "finalize",
        }
    }
}

/// Who asks, and about what: the part that every operation has.
#[derive(Clone, Debug)]
pub struct Call {
    /// The client.
    pub identity: Identity,
    /// The kind, in the version asked for.
    pub kind: Arc<ServedKind>,
    /// The namespace; absent for cluster-scoped kinds and for lists across namespaces.
    pub namespace: Option<String>,
    /// The object's name; empty for operations on many, and for a create that generates it.
    pub name: String,
    /// The part of the object.
    pub subresource: Option<Subresource>,
}

impl Call {
    /// A call about one object, by its key.
    pub fn on_object(identity: Identity, kind: Arc<ServedKind>, key: &Key) -> Self {
        Self {
            identity,
            kind,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            subresource: None,
        }
    }

    /// A call about all objects of a kind, or those of a namespace.
    pub fn on_collection(identity: Identity, kind: Arc<ServedKind>, namespace: Option<&str>) -> Self {
        Self {
            identity,
            kind,
            namespace: namespace.map(str::to_owned),
            name: String::new(),
            subresource: None,
        }
    }

    /// The same call on a subresource.
    pub fn on(mut self, subresource: Subresource) -> Self {
        self.subresource = Some(subresource);
        self
    }

    /// The object's place in its collection.
    pub fn key(&self) -> Key {
        Key {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

/// How `resourceVersion` of a list is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionMatch {
    /// At least as new.
    NotOlderThan,
    /// That very one.
    Exact,
}

/// Options of a list.
#[derive(Clone, Debug, Default)]
pub struct ListOptions {
    /// Only objects with such labels.
    pub labels: LabelSelector,
    /// Only objects with such fields.
    pub fields: FieldSelector,
    /// At most this many; 0 is no limit.
    pub limit: usize,
    /// The token of the page before.
    pub continue_token: Option<String>,
    /// From which version; absent is the newest.
    pub resource_version: Option<String>,
    /// How that version is meant.
    pub version_match: Option<VersionMatch>,
}

/// A list's answer: objects of one moment.
#[derive(Clone, Debug)]
pub struct List {
    /// The moment, as `metadata.resourceVersion` of the list.
    pub revision: u64,
    /// The objects, sorted by namespace and name.
    pub items: Vec<Arc<Object>>,
    /// The token for the next page.
    pub continue_token: Option<String>,
    /// How many follow after this page; absent when a selector makes it unknown.
    pub remaining: Option<usize>,
}

/// Options of a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Only objects with such labels.
    pub labels: LabelSelector,
    /// Only objects with such fields.
    pub fields: FieldSelector,
    /// After which version; absent or `0` begins with the present objects as ADDED.
    pub resource_version: Option<String>,
    /// How that version is meant; only with `initial_events`.
    pub version_match: Option<VersionMatch>,
    /// Whether BOOKMARK events are wanted.
    pub bookmarks: bool,
    /// Begin with the present objects and mark their end by a bookmark (`sendInitialEvents`).
    pub initial_events: Option<bool>,
    /// End after this time.
    pub timeout: Option<Duration>,
}

/// What happens to fields that a schema does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped.
    Ignore,
    /// They are dropped, and the answer has a warning.
    #[default]
    Warn,
    /// The request fails.
    Strict,
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Who manages the written fields; absent means the client's name.
    pub field_manager: Option<String>,
    /// What to do about unknown fields.
    pub field_validation: FieldValidation,
    /// Answer as if, and write nothing.
    pub dry_run: bool,
    /// For apply: take over fields that others manage.
    pub force: bool,
    /// The paths of fields that the body gave more than once; the last one counted.
    pub duplicates: Vec<String>,
}

/// A patch, by its content type.
#[derive(Clone, Debug)]
pub enum Patch {
    /// `application/merge-patch+json`
    Merge(Value),
    /// `application/json-patch+json`
    Json(json_patch::Patch),
    /// `application/strategic-merge-patch+json`
    Strategic(Value),
    /// `application/apply-patch+yaml`
    Apply(Value),
}

/// What happens to dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They live on.
    Orphan,
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
}

/// Options of a delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Seconds that a pod gets to end; absent means what the pod says.
    pub grace_period: Option<i64>,
    /// What happens to dependents; absent means Background.
    pub propagation: Option<Propagation>,
    /// Only if the object has this UID.
    pub uid: Option<String>,
    /// Only if the object has this version.
    pub resource_version: Option<String>,
    /// Answer as if, and delete nothing.
    pub dry_run: bool,
}

/// What a write did.
#[derive(Clone, Debug)]
pub struct Written {
    /// The object as it is now.
    pub object: Arc<Object>,
    /// Whether the write made it.
    pub created: bool,
    /// What the client is warned of, for `Warning` headers.
    pub warnings: Vec<String>,
}

/// What a delete did.
#[derive(Clone, Debug)]
pub enum Deletion {
    /// The object is gone; its last version.
    Gone(Arc<Object>),
    /// Deletion has begun, and waits for finalizers or for the grace period.
    Pending(Arc<Object>),
}

impl Deletion {
    /// The object's last version, or the one that waits.
    pub fn object(&self) -> &Arc<Object> {
        match self {
            Self::Gone(object) | Self::Pending(object) => object,
        }
    }
}
