//! The clusters as they were last seen, and how many are where.

use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;

use crate::upgrades::fleet::sort_as_people_count;

/// The clusters as they were last seen, as people count.
#[derive(Debug, Default)]
pub struct Progress {
    clusters: Vec<ClusterDetails>,
}

impl Progress {
    /// Takes over what is seen now; gives back the clusters whose state has changed.
    pub fn update(&mut self, mut clusters: Vec<ClusterDetails>) -> impl Iterator<Item = &ClusterDetails> {
        sort_as_people_count(&mut clusters);
        let before: std::collections::BTreeMap<String, ClusterState> = std::mem::take(&mut self.clusters)
            .into_iter()
            .map(|details| (details.name, details.state))
            .collect();
        self.clusters = clusters;
        self.clusters.iter().filter(move |details| {
            let before = before.get(&details.name).copied();
            before.unwrap_or(ClusterState::NotStarted) != details.state
        })
    }

    /// All clusters.
    pub fn clusters(&self) -> &[ClusterDetails] {
        &self.clusters
    }

    /// The clusters in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = &ClusterDetails> {
        self.clusters.iter().filter(|details| details.state.in_flight())
    }

    /// How many are in this state.
    pub fn count(&self, state: ClusterState) -> usize {
        self.clusters
            .iter()
            .filter(|details| details.state == state)
            .count()
    }
}

/// How far a cluster is, in percent: its own figure while it upgrades.
pub fn percent(details: &ClusterDetails) -> u64 {
    match details.state {
        ClusterState::NotStarted | ClusterState::PreAction => 0,
        ClusterState::Initialized | ClusterState::PartialUpgrade => percent_in(&details.message)
            .or_else(|| percent_of_step(&details.message))
            .unwrap_or(1)
            .min(99),
        ClusterState::Operators | ClusterState::PostAction => 99,
        ClusterState::Complete | ClusterState::Failed => 100,
    }
}

/// An agent names the step that it waits for; this is about when each begins.
fn percent_of_step(message: &str) -> Option<u64> {
    const STEPS: [(&str, u64); 4] = [
        ("UpgradeCommenced", 3),
        ("ControlPlaneUpgraded", 5),
        ("WorkerNodesUpgraded", 80),
        ("ClusterHealthyAfterUpgrade", 95),
    ];
    STEPS
        .iter()
        .find(|(step, _)| message.contains(step))
        .map(|(_, percent)| *percent)
}

/// `45` of `Working towards 4.14.12: 390 of 862 done (45% complete)`.
fn percent_in(message: &str) -> Option<u64> {
    let (before, _) = message.split_once('%')?;
    let digits = before.rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn details(name: &str, state: ClusterState) -> ClusterDetails {
        ClusterDetails {
            name: name.to_owned(),
            canary: false,
            selected: true,
            state,
            reason: String::new(),
            message: "upgrading: Working towards 4.14.12: 390 of 862 done (45% complete)".to_owned(),
            version: None,
            since: None,
            started_at: None,
            ended_at: None,
        }
    }

    #[test]
    fn a_change_is_told_once_and_clusters_are_listed_as_people_count() {
        let mut progress = Progress::default();
        let seen = |state| vec![details("dev10", state), details("dev2", ClusterState::NotStarted)];
        assert_eq!(progress.update(seen(ClusterState::PreAction)).count(), 1);
        assert_eq!(progress.update(seen(ClusterState::PreAction)).count(), 0);
        assert_eq!(progress.update(seen(ClusterState::Initialized)).count(), 1);
        let names: Vec<_> = progress
            .clusters()
            .iter()
            .map(|details| details.name.as_str())
            .collect();
        assert_eq!(names, ["dev2", "dev10"]);
        assert_eq!(progress.in_flight().count(), 1);
        assert_eq!(progress.count(ClusterState::NotStarted), 1);
    }

    #[test]
    fn the_clusters_own_figure_is_shown_while_it_upgrades() {
        for (state, shown) in [
            (ClusterState::PreAction, 0),
            (ClusterState::PartialUpgrade, 45),
            (ClusterState::Operators, 99),
            (ClusterState::Complete, 100),
        ] {
            assert_eq!(percent(&details("dev1", state)), shown, "{state}");
        }
    }
}
