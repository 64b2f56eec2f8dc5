//! The decision groups of a Placement, as its PlacementDecisions tell them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{names, object};

/// A decision group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Its index, from 0.
    pub index: i64,
    /// Its name; empty for the unnamed ones.
    pub name: String,
    /// Its clusters.
    pub clusters: BTreeSet<String>,
}

/// All groups of a Placement, by their indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups(pub Vec<Group>);

/// A group that the strategy wants to go first: by its name, or by its index where it gives none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupRef {
    /// All groups of this name.
    Name(String),
    /// The group with this index.
    Index(i64),
}

/// A PlacementDecision without a number where the index of its group belongs.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("incorrect group index: {0:?} is not a number")]
pub struct BadIndex(String);

impl Groups {
    /// Reads the pages of one Placement.
    ///
    /// # Errors
    /// [`BadIndex`] for a page whose label is no number.
    pub fn read<'a>(pages: impl IntoIterator<Item = &'a Value>) -> Result<Self, BadIndex> {
        let mut groups: Vec<Group> = Vec::new();
        for page in pages {
            let label = |name: &str| page["metadata"]["labels"][name].as_str().unwrap_or_default();
            let index = label(names::DECISION_GROUP_INDEX_LABEL);
            let index: i64 = index.parse().map_err(|_| BadIndex(index.to_owned()))?;
            let name = label(names::DECISION_GROUP_NAME_LABEL);
            let known = groups
                .iter()
                .position(|group| group.index == index && group.name == name);
            let at = known.unwrap_or_else(|| {
                groups.push(Group {
                    index,
                    name: name.to_owned(),
                    clusters: BTreeSet::new(),
                });
                groups.len() - 1
            });
            groups[at].clusters.extend(
                object::list(&page["status"]["decisions"])
                    .iter()
                    .filter_map(|decision| decision["clusterName"].as_str().map(str::to_owned)),
            );
        }
        groups.sort_by_key(|group| group.index);
        Ok(Self(groups))
    }

    /// All clusters of the groups.
    pub fn clusters(&self) -> BTreeSet<&str> {
        let all = self.0.iter().flat_map(|group| &group.clusters);
        all.map(String::as_str).collect()
    }

    /// The groups that are referred to, and the others.
    pub fn split(&self, chosen: &[GroupRef]) -> (Self, Self) {
        let is_chosen = |group: &&Group| {
            chosen.iter().any(|reference| match reference {
                GroupRef::Name(name) => group.name == *name,
                GroupRef::Index(index) => group.index == *index,
            })
        };
        let (chosen, others): (Vec<&Group>, Vec<&Group>) = self.0.iter().partition(is_chosen);
        (
            Self(chosen.into_iter().cloned().collect()),
            Self(others.into_iter().cloned().collect()),
        )
    }
}
