//! The name of a managed cluster, which is also its namespace on the hub.

use std::{borrow::Borrow, fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The name of a ManagedCluster. Ordered by text, so that maps keyed by it iterate the same way everywhere. Copies share the
/// text: a decision about ten thousand clusters names each a dozen times.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterName(Arc<str>);

impl ClusterName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The cluster's namespace on the hub, where its works live.
    pub fn namespace(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ClusterName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<String> for ClusterName {
    fn from(name: String) -> Self {
        Self(name.into())
    }
}

impl std::str::FromStr for ClusterName {
    type Err = std::convert::Infallible;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(name))
    }
}

impl Borrow<str> for ClusterName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ClusterName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClusterName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
