//! Which clusters take part, which are canaries, and in which order they start.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::ClusterName;
use drydock_api::names::WorkKind;
use jiff::Timestamp;

use crate::cluster::{Member, survey};
use crate::report::SelectionReport;
use crate::{Goal, Observed, Spec, Toleration, WorkFeedback, Works};

/// Where a cluster stands in the selection.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// The first Placement that selects it, and its decision group there.
    pub order: (usize, u32),
    /// The tolerations of each Placement that selects it.
    pub tolerations: Vec<&'a [Toleration]>,
}

/// What all clusters' surveys share.
pub(crate) struct Context<'a> {
    pub observed: &'a Observed,
    pub spec: Option<&'a Spec>,
    pub selected: BTreeMap<&'a ClusterName, Place<'a>>,
    /// When this rollout began, or begins with the first start.
    pub rollout_since: Timestamp,
    /// Clusters that failed before this moment start over. One that is yet to come waits for its time.
    pub retry: Option<Timestamp>,
    pub now: Timestamp,
}

impl<'a> Context<'a> {
    pub fn new(observed: &'a Observed, now: Timestamp) -> Self {
        Self {
            observed,
            spec: observed.spec.as_ref().ok(),
            selected: selected(observed),
            rollout_since: persisted_start(observed).unwrap_or(now),
            retry: observed
                .upgrade
                .retry
                .as_ref()
                .ok()
                .copied()
                .flatten()
                .filter(|asked| *asked <= now),
            now,
        }
    }

    /// The clusters that take part: the selected ones, and those that have started.
    pub fn members(&self) -> BTreeMap<ClusterName, Member> {
        let none = Works::new();
        let names: BTreeSet<&ClusterName> = self
            .selected
            .keys()
            .copied()
            .chain(self.observed.works.keys())
            .collect();
        names
            .into_iter()
            .filter_map(|name| {
                let works = self.observed.works.get(name).unwrap_or(&none);
                survey(self, name, works).map(|member| (name.clone(), member))
            })
            .collect()
    }

    pub fn is_canary(&self, name: &ClusterName) -> bool {
        let selector = self.spec.and_then(|spec| spec.strategy.canaries.as_ref());
        let labels = self.observed.clusters.get(name).map(|cluster| &cluster.labels);
        match (selector, labels) {
            (Some(selector), Some(labels)) => selector.matches(labels),
            _ => false,
        }
    }

    /// Whether a cluster was started for this goal, not only for one that an edit has replaced.
    pub fn is_for_goal(&self, name: &ClusterName, goal: &Goal) -> bool {
        let works = self.observed.works.get(name).into_iter().flat_map(Works::values);
        works
            .filter(|work| work.owner.uid == self.observed.upgrade.uid)
            .any(|work| work.is_for(goal))
    }

    /// Since when a cluster is Available, as its condition says.
    pub fn available_since(&self, name: &ClusterName) -> Option<Timestamp> {
        self.observed.clusters.get(name)?.available_since
    }

    /// Whether a cluster that is complete is well: Available, and its upgrade work feeds back no trouble.
    pub fn is_healthy(&self, name: &ClusterName) -> bool {
        let troubled = self
            .observed
            .works
            .get(name)
            .and_then(|works| works.get(&WorkKind::Cluster))
            .is_some_and(|work| match &work.feedback {
                WorkFeedback::ClusterVersion(feedback) => feedback.hindrance.is_some(),
                WorkFeedback::Agent(_) | WorkFeedback::Action(_) | WorkFeedback::Unreadable(_) => false,
            });
        let available = self
            .observed
            .clusters
            .get(name)
            .is_some_and(|cluster| cluster.available);
        available && !troubled
    }

    pub fn selection_report(&self) -> SelectionReport {
        SelectionReport {
            selected: self.selected.len(),
            problem: self.observed.selection.sources.iter().find_map(|source| {
                let problem = source.outcome.as_ref().err()?;
                Some((source.placement.clone(), problem.clone()))
            }),
        }
    }
}

/// When the rollout began, if it has: an upgrade that was complete and then edited begins a new one.
pub(crate) fn persisted_start(observed: &Observed) -> Option<Timestamp> {
    let previous = &observed.previous;
    let over = previous.complete && previous.observed_generation != Some(observed.upgrade.generation);
    previous.start_time.filter(|_| !over)
}

fn selected(observed: &Observed) -> BTreeMap<&ClusterName, Place<'_>> {
    let mut selected: BTreeMap<&ClusterName, Place<'_>> = BTreeMap::new();
    for (index, source) in observed.selection.sources.iter().enumerate() {
        for (name, group) in source.outcome.iter().flat_map(|snapshot| snapshot.iter()) {
            selected
                .entry(name)
                .or_insert_with(|| Place {
                    order: (index, *group),
                    tolerations: Vec::new(),
                })
                .tolerations
                .push(&source.tolerations);
        }
    }
    selected
}
