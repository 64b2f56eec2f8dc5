//! Fields that an endpoint takes from the live object whatever the request says, and fields nobody owns.

use super::field_path::Step;
use super::path_set::PathSet;
use std::sync::LazyLock;

/// The fields of the root that an endpoint resets; nothing of them is ever owned through it.
#[derive(Clone, Copy, Debug)]
pub struct ResetFields(&'static [&'static str]);

impl ResetFields {
    /// Nothing is reset.
    pub const fn none() -> Self {
        Self(&[])
    }

    /// The main endpoint: `status` is reset when it has an endpoint of its own.
    pub const fn main(has_status_endpoint: bool) -> Self {
        if has_status_endpoint {
            Self(&["status"])
        } else {
            Self::none()
        }
    }

    /// The status endpoint of a custom resource: metadata and spec are reset.
    pub const fn status() -> Self {
        Self(&["metadata", "spec"])
    }

    /// The status endpoint of a built-in kind: the spec is reset.
    pub const fn built_in_status() -> Self {
        Self(&["spec"])
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.0.contains(&field)
    }

    pub(super) fn paths(&self) -> PathSet {
        self.0.iter().map(|field| vec![Step::field(field)]).collect()
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
    let path = |fields: &&[&str]| fields.iter().map(|field| Step::field(field)).collect();
    identity.iter().map(path).collect()
});

/// The set without the fields that make up an object's identity or are the server's own.
pub(super) fn without_identity(set: &PathSet) -> PathSet {
    set.difference(&IDENTITY)
}
