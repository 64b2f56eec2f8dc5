//! The pools around a cluster from which its durations are drawn: itself, those that are like it, and the fleet.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_rollout::ClusterName;

use super::durations::{Durations, Mixture};
use super::past::{PastUpgrade, Stream};
use super::published;
use super::speed::RolloutEffects;

/// The samples of one stream, by pool.
#[derive(Default)]
struct Samples {
    clusters: BTreeMap<ClusterName, Vec<f64>>,
    groups: BTreeMap<Arc<str>, Vec<f64>>,
    fleet: Vec<f64>,
}

impl Samples {
    fn of<'a>(past: impl Iterator<Item = &'a PastUpgrade>, effects: &RolloutEffects) -> Self {
        let mut samples = Self::default();
        for upgrade in past {
            let Some(seconds) = upgrade.stages.upgrade.filter(|_| upgrade.failure.is_none()) else {
                continue;
            };
            // That its rollout was slow is drawn for a rollout as a whole.
            let seconds = effects.without(upgrade, seconds as f64);
            samples.fleet.push(seconds);
            samples
                .clusters
                .entry(upgrade.cluster.clone())
                .or_default()
                .push(seconds);
            if let Some(group) = &upgrade.group {
                samples.groups.entry(Arc::clone(group)).or_default().push(seconds);
            }
        }
        samples
    }
}

pub(super) fn pool(samples: &[f64]) -> (usize, Arc<Durations>) {
    (samples.len(), Arc::new(Durations::of(samples.iter().copied())))
}

/// One table of durations for each kind of cluster of a stream.
pub(super) struct StreamTable {
    samples: Samples,
    published: Arc<Durations>,
    fleet: (usize, Arc<Durations>),
    groups: BTreeMap<Arc<str>, (usize, Arc<Durations>)>,
}

impl StreamTable {
    /// Upgrades on record of this stream.
    pub fn count(&self) -> usize {
        self.fleet.0
    }

    /// Whether the cluster itself has one.
    pub fn knows(&self, cluster: &ClusterName) -> bool {
        self.samples.clusters.contains_key(cluster)
    }

    pub fn of(stream: Option<Stream>, past: &[PastUpgrade], effects: &RolloutEffects) -> Self {
        let alike = |upgrade: &&PastUpgrade| stream.is_none() || upgrade.stream == stream;
        let samples = Samples::of(past.iter().filter(alike), effects);
        Self {
            fleet: pool(&samples.fleet),
            groups: samples
                .groups
                .iter()
                .map(|(group, samples)| (Arc::clone(group), pool(samples)))
                .collect(),
            published: Arc::new(published::platform(stream)),
            samples,
        }
    }

    pub fn mixture(&self, cluster: &ClusterName, group: Option<&Arc<str>>) -> Mixture {
        let own = self.samples.clusters.get(cluster).map(|samples| pool(samples));
        let peers = group.and_then(|group| self.groups.get(group)).cloned();
        let pools = own.into_iter().chain(peers).chain([self.fleet.clone()]);
        Mixture::of(pools.filter(|(count, _)| *count > 0), &self.published)
    }
}
