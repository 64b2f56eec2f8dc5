//! The clusters as they were last seen, and how many are where.

use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;

use crate::upgrades::fleet::sort_by_name;

/// The clusters as they were last seen, as people count.
#[derive(Debug, Default)]
pub struct Progress {
    clusters: Vec<ClusterDetails>,
}

impl Progress {
    /// Takes over what is seen now; gives back the clusters whose state has changed.
    pub fn update(&mut self, mut clusters: Vec<ClusterDetails>) -> impl Iterator<Item = &ClusterDetails> {
        sort_by_name(&mut clusters);
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

    /// What a screen with room for this many clusters shows: those that failed first, then those that have moved the longest.
    pub fn shown(&self, rows: usize) -> Shown<'_> {
        let mut failed: Vec<_> = self
            .clusters
            .iter()
            .filter(|details| details.state == ClusterState::Failed)
            .collect();
        let mut moving: Vec<_> = self.in_flight().collect();
        // Who is shown stays until it is done.
        moving.sort_by_key(|details| details.started_at);
        let for_failed = rows.div_ceil(3).max(rows.saturating_sub(moving.len()));
        let hidden_failed = failed.len().saturating_sub(for_failed);
        failed.truncate(for_failed);
        let for_moving = rows.saturating_sub(failed.len());
        let hidden_moving = moving.len().saturating_sub(for_moving);
        moving.truncate(for_moving);
        Shown {
            failed,
            hidden_failed,
            moving,
            hidden_moving,
        }
    }

    /// How many are in this state.
    pub fn count(&self, state: ClusterState) -> usize {
        self.clusters
            .iter()
            .filter(|details| details.state == state)
            .count()
    }
}

/// What fits on a screen.
#[derive(Debug)]
pub struct Shown<'a> {
    /// Clusters that have failed.
    pub failed: Vec<&'a ClusterDetails>,
    /// How many more have.
    pub hidden_failed: usize,
    /// Clusters in flight, those that began first in front.
    pub moving: Vec<&'a ClusterDetails>,
    /// How many more are.
    pub hidden_moving: usize,
}

impl Shown<'_> {
    /// What is not shown, in words; nothing if all is.
    pub fn rest(&self) -> String {
        let failed = (self.hidden_failed > 0).then(|| format!("{} more failed", self.hidden_failed));
        let moving = (self.hidden_moving > 0).then(|| format!("{} more in flight", self.hidden_moving));
        let rest: Vec<String> = failed.into_iter().chain(moving).collect();
        rest.join(" · ")
    }
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
            deadline: None,
            opens_at: None,
            is_blocked: false,
            afterwards: None,
        }
    }

    #[test]
    fn a_change_is_shown_once_and_clusters_are_listed_as_people_count() {
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
    fn what_does_not_fit_is_counted_and_what_failed_comes_first() {
        let mut progress = Progress::default();
        let many = |from: usize, to: usize, state| {
            (from..to).map(move |number| details(&format!("dev{number}"), state))
        };
        let clusters = many(1, 41, ClusterState::Failed).chain(many(41, 101, ClusterState::PartialUpgrade));
        assert_eq!(progress.update(clusters.collect()).count(), 100);
        let shown = progress.shown(12);
        assert_eq!((shown.failed.len(), shown.moving.len()), (4, 8));
        assert_eq!(shown.rest(), "36 more failed · 52 more in flight");
        let shown = progress.shown(200);
        assert_eq!((shown.failed.len(), shown.moving.len()), (40, 60));
        assert_eq!(shown.rest(), "");
        assert_eq!(progress.shown(0).rest(), "40 more failed · 60 more in flight");
    }

    #[test]
    fn the_clusters_own_figure_is_shown_while_it_upgrades() {
        for (state, shown) in [
            (ClusterState::PreAction, 0),
            (ClusterState::PartialUpgrade, 45),
            (ClusterState::Operators, 99),
            (ClusterState::Complete, 100),
        ] {
            assert_eq!(details("dev1", state).percent(None), shown, "{state}");
        }
    }
}
