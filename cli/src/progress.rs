//! How far a rollout is, from the objects on the hub alone: works and the upgrade's status.

use std::collections::BTreeMap;

use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgradeStatus;
use drydock_api::names::{self, EndState, WorkKind};
use drydock_api::ocm::manifest_work::ManifestWork;
use jiff::Timestamp;
use kube::ResourceExt;

/// The part of a work that is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkDigest {
    /// What it is for.
    pub kind: Option<WorkKind>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// How its cluster has ended, once it has.
    pub ended: Option<End>,
    /// The cluster's own words, by feedback.
    pub message: Option<String>,
}

/// A cluster's end, as the hub records it on the work.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Complete or failed.
    pub state: EndState,
    /// When.
    pub since: Option<Timestamp>,
    /// Why, if it failed.
    pub message: String,
}

impl WorkDigest {
    /// Reads a work.
    pub fn of(work: &ManifestWork) -> Self {
        let annotation = |name: &str| work.annotations().get(name).cloned();
        let ended = work
            .labels()
            .get(names::STATE_LABEL)
            .and_then(|label| EndState::parse(label));
        Self {
            kind: work
                .labels()
                .get(names::KIND_LABEL)
                .and_then(|label| WorkKind::parse(label)),
            created: work.metadata.creation_timestamp.as_ref().map(|time| time.0),
            ended: ended.map(|state| End {
                state,
                since: annotation(names::STATE_SINCE_ANNOTATION).and_then(|text| text.parse().ok()),
                message: annotation(names::STATE_MESSAGE_ANNOTATION).unwrap_or_default(),
            }),
            message: feedback_message(work),
        }
    }
}

fn feedback_message(work: &ManifestWork) -> Option<String> {
    let manifests = &work.status.as_ref()?.resource_status.as_ref()?.manifests;
    manifests
        .iter()
        .find_map(|manifest| manifest.status_feedback.as_ref()?.value("message")?.to_text())
}

/// Where a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Not started.
    Waiting,
    /// Its pre-upgrade action runs.
    PreAction,
    /// Its platform is being upgraded.
    Upgrading,
    /// Its operators are being upgraded.
    Operators,
    /// Its post-upgrade action runs.
    PostAction,
    /// It has ended.
    Ended(EndState),
}

impl Stage {
    /// A word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::PreAction => "pre-action",
            Self::Upgrading => "upgrading",
            Self::Operators => "operators",
            Self::PostAction => "post-action",
            Self::Ended(state) => state.as_str(),
        }
    }
}

/// One cluster's progress.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterProgress {
    /// Whether it goes first.
    pub canary: bool,
    /// Where it is.
    pub stage: Stage,
    /// When its first work was made.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// The latest words of or about the cluster.
    pub message: String,
}

impl ClusterProgress {
    /// How far it is, in percent: the cluster's own figure while it upgrades.
    pub fn percent(&self) -> u64 {
        match self.stage {
            Stage::Waiting | Stage::PreAction => 0,
            Stage::Upgrading => percent_in(&self.message)
                .or_else(|| percent_of_step(&self.message))
                .unwrap_or(1)
                .min(99),
            Stage::Operators | Stage::PostAction => 99,
            Stage::Ended(_) => 100,
        }
    }

    fn in_flight(&self) -> bool {
        matches!(
            self.stage,
            Stage::PreAction | Stage::Upgrading | Stage::Operators | Stage::PostAction
        )
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
        .find(|(step, _)| message.starts_with(step))
        .map(|(_, percent)| *percent)
}

/// `45` of `Working towards 4.14.12: 390 of 862 done (45% complete)`.
fn percent_in(message: &str) -> Option<u64> {
    let (before, _) = message.split_once('%')?;
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The whole fleet.
#[derive(Clone, Debug)]
pub struct Fleet {
    clusters: BTreeMap<ClusterName, ClusterProgress>,
    most_in_flight: usize,
}

impl Fleet {
    /// A fleet none of which has started.
    pub fn new(clusters: impl IntoIterator<Item = (ClusterName, bool)>) -> Self {
        let waiting = |canary| ClusterProgress {
            canary,
            stage: Stage::Waiting,
            started: None,
            ended: None,
            message: String::new(),
        };
        let clusters = clusters
            .into_iter()
            .map(|(name, canary)| (name, waiting(canary)))
            .collect();
        Self {
            clusters,
            most_in_flight: 0,
        }
    }

    /// Takes in a work of `cluster`; says whether its stage changed.
    pub fn saw_work(&mut self, cluster: &ClusterName, work: &WorkDigest) -> bool {
        let Some(progress) = self.clusters.get_mut(cluster) else {
            return false;
        };
        let before = progress.stage;
        progress.started = [progress.started, work.created].into_iter().flatten().min();
        if let Some(end) = &work.ended {
            progress.stage = Stage::Ended(end.state);
            progress.ended = progress.ended.or(end.since);
            progress.message.clone_from(&end.message);
        } else if !matches!(progress.stage, Stage::Ended(_)) {
            progress.stage = progress.stage.max(stage_of(work.kind));
            if let Some(message) = &work.message {
                progress.message.clone_from(message);
            }
        }
        let changed = before != progress.stage;
        self.most_in_flight = self.most_in_flight.max(self.in_flight().count());
        changed
    }

    /// Takes in the upgrade's status: clusters that ended without a work, and why clusters wait.
    pub fn saw_status(&mut self, status: &ManagedClustersUpgradeStatus) {
        for entry in status.clusters.iter().flatten() {
            let Some(progress) = self.clusters.get_mut(entry.name.as_str()) else {
                continue;
            };
            if matches!(progress.stage, Stage::Ended(_)) {
                continue;
            }
            if let Some(state) = EndState::parse(&entry.state) {
                progress.stage = Stage::Ended(state);
                progress.ended = entry.since.as_ref().map(|since| since.0);
            }
            if let (Stage::Waiting | Stage::Ended(_), Some(message)) = (progress.stage, &entry.message) {
                progress.message.clone_from(message);
            }
        }
        let complete = status
            .conditions
            .iter()
            .flatten()
            .any(|c| c.type_ == "Complete" && c.status == "True");
        if complete {
            for progress in self
                .clusters
                .values_mut()
                .filter(|progress| progress.stage == Stage::Waiting)
            {
                progress.stage = Stage::Ended(EndState::Complete);
            }
        }
    }

    /// Every cluster, by name as people count: dev2 before dev10.
    pub fn clusters(&self) -> Vec<(&ClusterName, &ClusterProgress)> {
        let mut all: Vec<_> = self.clusters.iter().collect();
        all.sort_by_key(|(name, _)| (name.as_str().len(), name.as_str().to_owned()));
        all
    }

    /// One cluster.
    pub fn get(&self, cluster: &ClusterName) -> Option<&ClusterProgress> {
        self.clusters.get(cluster)
    }

    /// The clusters in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = (&ClusterName, &ClusterProgress)> {
        self.clusters.iter().filter(|(_, progress)| progress.in_flight())
    }

    /// How many have ended so.
    pub fn ended(&self, state: EndState) -> usize {
        self.clusters
            .values()
            .filter(|progress| progress.stage == Stage::Ended(state))
            .count()
    }

    /// How many clusters there are.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// The most clusters that were in flight at one time.
    pub fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }
}

fn stage_of(kind: Option<WorkKind>) -> Stage {
    match kind {
        None => Stage::Waiting,
        Some(WorkKind::Pre) => Stage::PreAction,
        Some(WorkKind::Cluster) => Stage::Upgrading,
        Some(WorkKind::Operators) => Stage::Operators,
        Some(WorkKind::Post) => Stage::PostAction,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ClusterName {
        ClusterName::from(text)
    }

    fn work(kind: WorkKind, ended: Option<EndState>) -> WorkDigest {
        WorkDigest {
            kind: Some(kind),
            created: Some(Timestamp::UNIX_EPOCH),
            ended: ended.map(|state| End {
                state,
                since: Some(Timestamp::UNIX_EPOCH),
                message: "why".to_owned(),
            }),
            message: Some("Working towards 4.14.12: 390 of 862 done (45% complete)".to_owned()),
        }
    }

    #[test]
    fn a_cluster_goes_forward_through_its_works_and_counts_in_flight_until_it_ends() {
        let mut fleet = Fleet::new([(name("dev1"), true), (name("dev2"), false)]);
        assert!(fleet.saw_work(&name("dev1"), &work(WorkKind::Pre, None)));
        assert!(fleet.saw_work(&name("dev1"), &work(WorkKind::Cluster, None)));
        assert!(
            !fleet.saw_work(&name("dev1"), &work(WorkKind::Pre, None)),
            "never back"
        );
        assert_eq!(fleet.get(&name("dev1")).map(ClusterProgress::percent), Some(45));
        assert_eq!(fleet.in_flight().count(), 1);
        assert!(fleet.saw_work(&name("dev1"), &work(WorkKind::Cluster, Some(EndState::Complete))));
        fleet.saw_work(&name("dev2"), &work(WorkKind::Pre, None));
        assert_eq!((fleet.in_flight().count(), fleet.most_in_flight()), (1, 1));
        assert_eq!(
            (fleet.ended(EndState::Complete), fleet.ended(EndState::Failed)),
            (1, 0)
        );
    }

    #[test]
    fn clusters_are_listed_as_people_count() {
        let fleet = Fleet::new((1..=11).map(|n| (name(&format!("dev{n}")), n == 1)));
        let names: Vec<_> = fleet
            .clusters()
            .into_iter()
            .map(|(name, _)| name.as_str().to_owned())
            .collect();
        assert_eq!((names[1].as_str(), names[10].as_str()), ("dev2", "dev11"));
    }
}
