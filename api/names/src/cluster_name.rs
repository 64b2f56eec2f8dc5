//! The name of a managed cluster, which is also its namespace on the hub.

use std::cmp::Ordering;
use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

/// The name of a ManagedCluster. Ordered as people read, `dev2` before `dev10`, wherever clusters are listed. Copies share the
/// text: a decision about ten thousand clusters names each a dozen times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

impl Ord for ClusterName {
    fn cmp(&self, other: &Self) -> Ordering {
        // `dev01` and `dev1` are two clusters.
        alphanumeric_sort::compare_str(&self.0, &other.0).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for ClusterName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_ordered_as_people_read_and_no_two_names_are_equal() {
        let mut names = [
            "dev10",
            "dev2",
            "dev02",
            "b",
            "dev",
            "dev1-a",
            "dev1",
            "prod-2-eu",
            "prod-10-eu",
            "DEV3",
        ]
        .map(ClusterName::from);
        names.sort();
        let names: Vec<&str> = names.iter().map(ClusterName::as_str).collect();
        assert_eq!(
            names,
            [
                "DEV3",
                "b",
                "dev",
                "dev1",
                "dev1-a",
                "dev2",
                "dev02",
                "dev10",
                "prod-2-eu",
                "prod-10-eu"
            ]
        );
    }

    #[test]
    fn the_order_is_total() {
        let parts = ["", "a", "0", "00", "1", "01", "2", "10", "-", "."];
        let names: Vec<ClusterName> = parts
            .iter()
            .flat_map(|first| parts.iter().map(move |second| (first, second)))
            .flat_map(|(first, second)| parts.iter().map(move |third| format!("{first}{second}{third}")))
            .map(ClusterName::from)
            .collect();
        let mut sorted = names;
        sorted.sort();
        for (index, one) in sorted.iter().enumerate() {
            for other in &sorted[index..] {
                assert!(one <= other, "{one} {other}");
                assert_eq!(one == other, one.cmp(other) == Ordering::Equal, "{one} {other}");
            }
        }
    }
}
