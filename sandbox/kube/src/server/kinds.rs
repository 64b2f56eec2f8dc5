//! Kinds and where they are served.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Status;
use crate::schema::{GroupVersionKind, Structural, builtin};
use crate::store::CollectionId;

/// Where a kind comes from; the two differ in how their objects are decoded, patched and listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A part of Kubernetes itself.
    BuiltIn,
    /// Defined by a CustomResourceDefinition.
    Custom,
}

/// What the server knows about one kind in one version. Shared between servers.
#[derive(Clone, Debug)]
pub struct ServedKind {
    /// The API group, empty for the core group.
    pub group: String,
    /// The version, for example `v1`.
    pub version: String,
    /// The kind, for example `ConfigMap`.
    pub kind: String,
    /// The kind of its lists.
    pub list_kind: String,
    /// The plural, as in paths.
    pub plural: String,
    /// The singular.
    pub singular: String,
    /// Short names for kubectl.
    pub short_names: Vec<String>,
    /// Categories, for example `all`.
    pub categories: Vec<String>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Where its objects are stored; several versions (and the two kinds of Event) share one.
    pub collection: CollectionId,
    /// `plural.group`, as messages say it.
    pub resource: CollectionId,
    /// Built in or custom.
    pub origin: Origin,
    /// Whether there is a status subresource.
    pub status: bool,
    /// Where the scale subresource reads and writes, if there is one.
    pub scale: Option<ScalePaths>,
    /// Whether `metadata.generation` counts changes of the desired state.
    pub generation: bool,
    /// The version in which objects are stored, `group/version`.
    pub storage_api_version: String,
    /// The version of its definition that a custom kind comes from (`spec.versions[i]`), complete.
    pub definition: Option<Arc<Value>>,
    /// The compiled schema of a custom kind.
    pub schema: Option<Arc<Structural>>,
    /// The fields by which a custom kind's objects can be selected, for example `spec.color`.
    pub selectable_fields: Vec<String>,
}

/// The JSON paths of a scale subresource, for example `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Path of the wanted number.
    pub spec: String,
    /// Path of the observed number.
    pub status: String,
    /// Path of the selector as text, if there is one.
    pub selector: Option<String>,
}

impl ServedKind {
    /// `group/version`, or `version` alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Group, version and kind.
    pub fn group_version_kind(&self) -> GroupVersionKind {
        GroupVersionKind::new(&self.group, &self.version, &self.kind)
    }

    /// The compiled schema.
    pub fn schema(&self) -> Option<Arc<Structural>> {
        match self.origin {
            Origin::Custom => self.schema.clone(),
            Origin::BuiltIn => builtin::structural(&self.group_version_kind()),
        }
    }

    /// Whether it is this kind of this group.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }
}

/// The kinds that one server serves. Copied on write, so that servers share what they have in common.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    by_plural: BTreeMap<String, Arc<ServedKind>>,
    by_kind: BTreeMap<String, Arc<ServedKind>>,
}

impl Registry {
    /// Finds a kind by the parts of its path.
    ///
    /// # Errors
    /// 404, as for any path that the server does not have.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Result<&Arc<ServedKind>, Status> {
        self.by_plural
            .get(&path(group, version, plural))
            .ok_or_else(Status::no_such_path)
    }

    /// Finds a kind by `apiVersion` and `kind`.
    pub fn find_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<ServedKind>> {
        self.by_kind.get(&format!("{api_version}/{kind}"))
    }

    /// All kinds, sorted by group, version and plural.
    pub fn kinds(&self) -> impl Iterator<Item = &Arc<ServedKind>> {
        self.by_plural.values()
    }

    /// Whether paths of a group and version are answered: of the built-in groups in every version, of others in those that
    /// are served.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        self.by_plural
            .values()
            .any(|kind| kind.group == group && (kind.origin == Origin::BuiltIn || kind.version == version))
    }

    /// The kind in whose version the objects of a collection are stored.
    pub fn storage_of(&self, collection: &CollectionId) -> Option<&Arc<ServedKind>> {
        self.by_plural
            .values()
            .filter(|kind| kind.collection == *collection)
            .find(|kind| kind.storage_api_version == kind.api_version())
    }

    pub(super) fn insert(&mut self, kind: Arc<ServedKind>) {
        let api_version = kind.api_version();
        self.by_kind
            .insert(format!("{api_version}/{}", kind.kind), Arc::clone(&kind));
        self.by_plural
            .insert(path(&kind.group, &kind.version, &kind.plural), kind);
    }

    pub(super) fn remove_resource(&mut self, resource: &CollectionId) {
        self.by_kind.retain(|_, kind| kind.resource != *resource);
        self.by_plural.retain(|_, kind| kind.resource != *resource);
    }
}

fn path(group: &str, version: &str, plural: &str) -> String {
    format!("{group}/{version}/{plural}")
}
