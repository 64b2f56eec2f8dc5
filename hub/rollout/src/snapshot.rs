//! When the decisions of a Placement may be read: its pages are not written atomically.

use std::collections::BTreeMap;

use drydock_names::ClusterName;

/// The clusters of a Placement with the index of their decision group.
pub type Snapshot = BTreeMap<ClusterName, u32>;

/// One PlacementDecision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecisionPage {
    /// The index of its decision group.
    pub group: u32,
    /// Its clusters.
    pub clusters: Vec<ClusterName>,
}

/// What `Placement.status` says about its pages; written last by the placement controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementSummary {
    /// Whether the placement controller has decided at all.
    pub decided: bool,
    /// The number of selected clusters.
    pub selected: usize,
    /// The names of the pages of all decision groups; empty from an OCM that does not list them.
    pub pages: Vec<String>,
}

/// What the pages say, taken together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decisions {
    /// A whole snapshot.
    Whole(Snapshot),
    /// Not decided, or pages are being written.
    Inconsistent,
}

/// Reads the pages of a Placement. A snapshot counts only when the pages that the status names are all there, no other
/// is, and their clusters add up.
pub fn read_snapshot(status: &PlacementSummary, pages: &BTreeMap<String, DecisionPage>) -> Decisions {
    let named = status.pages.iter().all(|page| pages.contains_key(page));
    let exact = status.pages.is_empty() || status.pages.len() == pages.len();
    if !(status.decided && named && exact) {
        return Decisions::Inconsistent;
    }
    let mut snapshot = Snapshot::new();
    let mut entries = 0;
    for page in pages.values() {
        for cluster in &page.clusters {
            entries += 1;
            let group = snapshot.entry(cluster.clone()).or_insert(page.group);
            *group = (*group).min(page.group);
        }
    }
    if entries == snapshot.len() && snapshot.len() == status.selected {
        Decisions::Whole(snapshot)
    } else {
        Decisions::Inconsistent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(group: u32, clusters: &[&str]) -> DecisionPage {
        DecisionPage {
            group,
            clusters: clusters.iter().map(|name| ClusterName::from(*name)).collect(),
        }
    }

    fn status(selected: usize, pages: &[&str]) -> PlacementSummary {
        PlacementSummary {
            decided: true,
            selected,
            pages: pages.iter().map(|page| (*page).to_owned()).collect(),
        }
    }

    fn whole(status: &PlacementSummary, pages: &[(&str, DecisionPage)]) -> bool {
        let pages = pages
            .iter()
            .map(|(name, page)| ((*name).to_owned(), page.clone()))
            .collect();
        read_snapshot(status, &pages) != Decisions::Inconsistent
    }

    #[test]
    fn a_snapshot_counts_only_when_its_pages_are_all_there_and_add_up() {
        let (first, second) = (page(0, &["a", "b"]), page(1, &["c"]));
        let both = [("p-1", first.clone()), ("p-2", second.clone())];
        assert!(whole(&status(3, &["p-1", "p-2"]), &both));
        assert!(
            !whole(&status(3, &["p-1", "p-2"]), &both[..1]),
            "a page is missing"
        );
        assert!(
            !whole(&status(2, &["p-1"]), &both),
            "a page that the status does not name"
        );
        assert!(!whole(&status(4, &["p-1", "p-2"]), &both), "the numbers differ");
        let twice = [("p-1", first), ("p-2", page(1, &["b", "c"]))];
        assert!(
            !whole(&status(3, &["p-1", "p-2"]), &twice),
            "a cluster is in two pages"
        );
        assert!(!whole(&PlacementSummary::default(), &[]), "nothing was decided");
        assert!(
            whole(&status(0, &["p-1"]), &[("p-1", page(0, &[]))]),
            "nothing is selected"
        );
        assert!(whole(&status(3, &[]), &both), "an OCM that names no pages");
    }
}
