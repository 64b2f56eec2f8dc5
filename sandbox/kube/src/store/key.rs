//! Names of objects and of the collections that hold them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Where an object is inside its collection. Sorted as etcd sorts its paths: by the bytes of `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The namespace, absent for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// The object's name.
    pub name: String,
}

impl Key {
    /// The key of a namespaced object.
    pub fn namespaced(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: Some(namespace.into()),
            name: name.into(),
        }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: impl Into<String>) -> Self {
        Self {
            namespace: None,
            name: name.into(),
        }
    }

    fn path(&self) -> impl Iterator<Item = u8> + '_ {
        let namespace = self.namespace.as_deref().map_or(&[][..], str::as_bytes);
        let separator: &[u8] = if self.namespace.is_some() { b"/" } else { b"" };
        namespace
            .iter()
            .chain(separator)
            .chain(self.name.as_bytes())
            .copied()
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.namespace == other.namespace {
            return self.name.cmp(&other.name);
        }
        self.path().cmp(other.path())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A collection of objects: one plural of one group, whatever the version it is read in. Written `plural.group`, or
/// `plural` alone for the core group. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CollectionId(Arc<str>);

impl CollectionId {
    /// The collection of a plural in a group (the core group is the empty string).
    pub fn new(group: &str, plural: &str) -> Self {
        if group.is_empty() {
            Self(plural.into())
        } else {
            Self(format!("{plural}.{group}").into())
        }
    }

    /// The name, `plural.group`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CollectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_sort_by_the_bytes_of_their_path() {
        let mut keys = [
            Key::namespaced("a", "z"),
            Key::namespaced("a-b", "x"),
            Key::namespaced("a", "b"),
        ];
        keys.sort();
        let paths: Vec<String> = keys.iter().map(ToString::to_string).collect();
        assert_eq!(paths, ["a-b/x", "a/b", "a/z"]);
    }
}
