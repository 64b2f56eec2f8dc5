//! Names of objects that must not be mixed up.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The uid of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(Arc<str>);

impl Uid {
    /// The uid as given.
    pub fn new(uid: impl Into<Arc<str>>) -> Self {
        Self(uid.into())
    }

    /// The text of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! key {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name {
            /// Its namespace.
            pub namespace: Arc<str>,
            /// Its name.
            pub name: Arc<str>,
        }

        impl $name {
            /// A key of its two parts.
            pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
                Self { namespace: namespace.into(), name: name.into() }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}/{}", self.namespace, self.name)
            }
        }
    };
}

key!(
    /// Which ManagedClustersUpgrade.
    UpgradeKey
);
key!(
    /// Which Placement.
    PlacementKey
);

impl UpgradeKey {
    /// The upgrade that `namespace/name` names, if that is what the text is.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        (!namespace.is_empty() && !name.is_empty()).then(|| Self::new(namespace, name))
    }
}

/// Which upgrade made a work or wrote a page of records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The upgrade's uid, as a label says it.
    pub uid: Uid,
    /// The upgrade's namespace and name, as an annotation says them; `None` if that is missing or was edited.
    pub upgrade: Option<UpgradeKey>,
}

impl Owner {
    /// Whether both are the same upgrade, though it was restored under another uid meanwhile.
    pub fn is_same(&self, other: &Self) -> bool {
        self.uid == other.uid || self.upgrade.is_some() && self.upgrade == other.upgrade
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.upgrade {
            Some(upgrade) => upgrade.fmt(f),
            None => write!(f, "the upgrade with uid {}", self.uid),
        }
    }
}
