//! What is shown of each upgrade. Series that say nothing any more go: of an upgrade that is gone, of a target that was
//! replaced, of a halt that is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use drydock_rollout::{ClusterState, Report, Upgrade, UpgradeKey};
use prometheus::{IntGaugeVec, Opts, Registry};

/// One of the gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gauge {
    Clusters,
    Versions,
    Info,
    Halted,
    Progress,
}

/// The state of clusters beyond their target; they are Complete as well.
const DRIFTED: &str = "Drifted";

/// A gauge and the value of its label after the upgrade's namespace and name.
type Series = (Gauge, Option<String>);

/// The gauges about upgrades. Cheap to clone.
#[derive(Clone)]
pub(super) struct Upgrades {
    clusters: IntGaugeVec,
    versions: IntGaugeVec,
    info: IntGaugeVec,
    halted: IntGaugeVec,
    progress: IntGaugeVec,
    shown: Arc<Mutex<BTreeMap<UpgradeKey, BTreeSet<Series>>>>,
}

impl Upgrades {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, label: Option<&str>| -> Result<IntGaugeVec, prometheus::Error> {
            let labels: Vec<&str> = ["namespace", "name"].into_iter().chain(label).collect();
            let metric = IntGaugeVec::new(Opts::new(name, help), &labels)?;
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        };
        Ok(Self {
            clusters: gauge(
                "drydock_upgrade_clusters",
                "Clusters of an upgrade, by the state they are in.",
                Some("state"),
            )?,
            versions: gauge(
                "drydock_upgrade_cluster_versions",
                "Clusters of an upgrade, by the version they run.",
                Some("version"),
            )?,
            info: gauge(
                "drydock_upgrade_info",
                "What an upgrade upgrades to.",
                Some("target"),
            )?,
            halted: gauge(
                "drydock_upgrade_halted",
                "Why an upgrade starts nothing new.",
                Some("reason"),
            )?,
            progress: gauge(
                "drydock_upgrade_progress_timestamp_seconds",
                "When a cluster of an upgrade was last done, or the upgrade began.",
                None,
            )?,
            shown: Arc::default(),
        })
    }

    /// An upgrade stands so. One that is being deleted is no longer shown.
    pub fn show(&self, upgrade: &Upgrade, report: &Report) {
        let key = &upgrade.key;
        let wanted = if upgrade.deleting {
            BTreeMap::new()
        } else {
            series(report)
        };
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for (gauge, label) in shown.remove(key).unwrap_or_default() {
            if !wanted.contains_key(&(gauge, label.clone())) {
                let labels = labels(key, label.as_deref());
                // That it is absent already is as good.
                let _ = self.of(gauge).remove_label_values(&labels);
            }
        }
        for ((gauge, label), value) in &wanted {
            self.of(*gauge)
                .with_label_values(&labels(key, label.as_deref()))
                .set(*value);
        }
        if !wanted.is_empty() {
            shown.insert(key.clone(), wanted.into_keys().collect());
        }
    }

    fn of(&self, gauge: Gauge) -> &IntGaugeVec {
        match gauge {
            Gauge::Clusters => &self.clusters,
            Gauge::Versions => &self.versions,
            Gauge::Info => &self.info,
            Gauge::Halted => &self.halted,
            Gauge::Progress => &self.progress,
        }
    }
}

fn labels<'a>(key: &'a UpgradeKey, label: Option<&'a str>) -> Vec<&'a str> {
    [key.namespace.as_str(), key.name.as_str()]
        .into_iter()
        .chain(label)
        .collect()
}

fn series(report: &Report) -> BTreeMap<Series, i64> {
    let mut counts: BTreeMap<(Gauge, &str), i64> = ClusterState::ALL
        .into_iter()
        .map(ClusterState::as_str)
        .chain([DRIFTED])
        .map(|state| ((Gauge::Clusters, state), 0))
        .collect();
    for standing in report.clusters.values() {
        let version = standing.version.as_deref().unwrap_or("unknown");
        *counts
            .entry((Gauge::Clusters, standing.state.as_str()))
            .or_default() += 1;
        *counts.entry((Gauge::Clusters, DRIFTED)).or_default() += i64::from(standing.drifted);
        *counts.entry((Gauge::Versions, version)).or_default() += 1;
    }
    let mut series: BTreeMap<Series, i64> = counts
        .into_iter()
        .map(|((gauge, label), count)| ((gauge, Some(label.to_owned())), count))
        .collect();
    series.insert((Gauge::Info, Some(report.target.clone())), 1);
    if let Some(halt) = &report.halt {
        series.insert((Gauge::Halted, Some(halt.as_str().to_owned())), 1);
    }
    let finished = report.clusters.values().filter_map(|standing| standing.finished);
    if let Some(moment) = finished.chain(report.rollout_since).max() {
        series.insert((Gauge::Progress, None), moment.as_second());
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use drydock_rollout::{Halt, Uid};

    fn upgrade(deleting: bool) -> Upgrade {
        Upgrade {
            key: UpgradeKey::new("default", "spring"),
            uid: Uid::new("u"),
            generation: 1,
            deleting,
            finalizer: true,
            retry: Ok(None),
        }
    }

    fn shown(registry: &Registry) -> Vec<String> {
        let text = prometheus::TextEncoder::new()
            .encode_to_string(&registry.gather())
            .unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    }

    #[test]
    fn a_series_that_says_nothing_any_more_goes() {
        let registry = Registry::new();
        let upgrades = Upgrades::register(&registry).unwrap();
        let report = |target: &str, halt: Option<Halt>| Report {
            target: target.to_owned(),
            halt,
            ..Report::default()
        };
        upgrades.show(&upgrade(false), &report("4.14.12", Some(Halt::Paused)));
        let first = shown(&registry).join("\n");
        assert!(
            first.contains("reason=\"Paused\"") && first.contains("target=\"4.14.12\""),
            "{first}"
        );
        upgrades.show(&upgrade(false), &report("4.14.13", None));
        let then = shown(&registry).join("\n");
        assert!(
            !then.contains("Paused") && !then.contains("4.14.12") && then.contains("4.14.13"),
            "{then}"
        );
        upgrades.show(&upgrade(true), &Report::default());
        assert!(shown(&registry).is_empty(), "{:?}", shown(&registry));
    }
}
