//! Fields that an endpoint takes from the live object whatever the request says, and fields nobody owns.

use super::field_path::Step;
use super::path_set::PathSet;
use std::sync::LazyLock;

/// What an endpoint resets; such fields are never owned through it.
#[derive(Clone, Debug, Default)]
pub struct ResetFields(PathSet);

fn path(fields: &[&str]) -> Vec<Step> {
    fields.iter().map(|field| Step::field(field)).collect()
}

impl ResetFields {
    /// Nothing is reset.
    pub fn none() -> Self {
        Self::default()
    }

    /// The main endpoint: `status` is reset when it has an endpoint of its own.
    pub fn main(has_status_endpoint: bool) -> Self {
        if !has_status_endpoint {
            return Self::none();
        }
        Self([path(&["status"])].into_iter().collect())
    }

    /// The status endpoint of a custom resource: metadata and spec are reset.
    pub fn status() -> Self {
        Self([path(&["metadata"]), path(&["spec"])].into_iter().collect())
    }

    /// The status endpoint of a built-in kind: the spec is reset.
    pub fn built_in_status() -> Self {
        Self([path(&["spec"])].into_iter().collect())
    }

    pub(super) fn paths(&self) -> &PathSet {
        &self.0
    }
}

/// The fields that make up an object's identity or are the server's own.
static IDENTITY: LazyLock<PathSet> = LazyLock::new(|| {
    let identity = [
        &["apiVersion"][..],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ];
    identity.iter().map(|fields| path(fields)).collect()
});

/// The set without the fields that make up an object's identity or are the server's own.
pub(super) fn without_identity(set: &PathSet) -> PathSet {
    set.difference(&IDENTITY)
}
