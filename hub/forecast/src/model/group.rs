//! Which clusters are like each other.

use std::sync::Arc;

use drydock_rollout::Labels;

/// Which clusters are like each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupBy {
    /// Those of the same value of this label.
    Label(String),
    /// Those of the same provider (label `cloud`) and of about as many nodes (label `nodes`), as far as they are labelled.
    ProviderAndSize,
}

impl GroupBy {
    /// The group of a cluster with these labels.
    pub fn group(&self, labels: &Labels) -> Option<Arc<str>> {
        match self {
            Self::Label(label) => labels.get(label).map(Into::into),
            Self::ProviderAndSize => {
                let provider = labels.get("cloud");
                let nodes: Option<u32> = labels.get("nodes").and_then(|nodes| nodes.parse().ok());
                let size = nodes.map(|nodes| match nodes {
                    0..=6 => "up to 6 nodes",
                    7..=25 => "7 to 25 nodes",
                    26..=100 => "26 to 100 nodes",
                    _ => "more than 100 nodes",
                });
                match (provider, size) {
                    (None, None) => None,
                    (Some(one), None) | (None, Some(one)) => Some(one.into()),
                    (Some(provider), Some(size)) => Some(format!("{provider}, {size}").into()),
                }
            }
        }
    }
}
