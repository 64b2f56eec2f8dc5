//! What is shown of each upgrade. Series that say nothing any more go: of an upgrade that is gone, of a target that was
//! replaced, of a halt that is over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::mcu::ForecastStatus;
use drydock_api::mcu::reason::{PRE_CHECKS_UNANSWERED, RISKS_NOT_ACCEPTED};
use drydock_rollout::{ClusterState, Report, Upgrade, UpgradeKey};
use drydock_runtime::metrics::MetricGroup;
use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts};

/// One of the gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gauge {
    Clusters,
    Versions,
    Info,
    Halted,
    PreChecks,
    Progress,
    Refused,
    Forecast,
    ForecastAtStart,
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
    pre_checks: IntGaugeVec,
    progress: IntGaugeVec,
    refused: IntGaugeVec,
    forecast: IntGaugeVec,
    forecast_at_start: IntGaugeVec,
    shown: Arc<Mutex<BTreeMap<UpgradeKey, BTreeSet<Series>>>>,
}

impl Upgrades {
    pub fn new() -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, label: Option<&str>| -> Result<IntGaugeVec, prometheus::Error> {
            let labels: Vec<&str> = ["namespace", "name"].into_iter().chain(label).collect();
            IntGaugeVec::new(Opts::new(name, help), &labels)
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
            pre_checks: gauge(
                "drydock_upgrade_prechecks_clusters",
                "Clusters of an upgrade with findings that nobody has accepted, which have not started or are held by their agents, and those that have not started without the answer that is required.",
                Some("reason"),
            )?,
            progress: gauge(
                "drydock_upgrade_progress_timestamp_seconds",
                "When a cluster of an upgrade was last done, or the upgrade began.",
                None,
            )?,
            refused: gauge(
                "drydock_upgrade_writes_refused",
                "Writes about clusters of an upgrade that cannot be made and are tried again.",
                None,
            )?,
            forecast: gauge(
                "drydock_upgrade_forecast_seconds",
                "When an upgrade is expected to end, in seconds since 1970: by this share of the simulated rollouts that come to an end.",
                Some("quantile"),
            )?,
            forecast_at_start: gauge(
                "drydock_upgrade_forecast_at_start_seconds",
                "When an upgrade was expected to end as its rollout began, in seconds since 1970: by this share of the simulated rollouts; while the rollout is under way.",
                Some("quantile"),
            )?,
            shown: Arc::default(),
        })
    }

    /// An upgrade does not exist any more.
    pub fn forget(&self, key: &UpgradeKey) {
        self.set(key, BTreeMap::new());
    }

    /// An upgrade is where its report says, and this many of its writes are refused. One that is being deleted is no longer shown.
    pub fn show(
        &self,
        upgrade: &Upgrade,
        report: &Report,
        refused: usize,
        forecast: Option<&ForecastStatus>,
    ) {
        let mut wanted = BTreeMap::new();
        if !upgrade.deleting {
            wanted = series(report);
            wanted.insert((Gauge::Refused, None), i64::try_from(refused).unwrap_or(i64::MAX));
            wanted.extend(
                forecast
                    .into_iter()
                    .flat_map(|forecast| forecasts(report, forecast)),
            );
        }
        self.set(&upgrade.key, wanted);
    }

    fn set(&self, key: &UpgradeKey, wanted: BTreeMap<Series, i64>) {
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
            Gauge::PreChecks => &self.pre_checks,
            Gauge::Progress => &self.progress,
            Gauge::Refused => &self.refused,
            Gauge::Forecast => &self.forecast,
            Gauge::ForecastAtStart => &self.forecast_at_start,
        }
    }
}

impl MetricGroup for Upgrades {
    fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self {
            clusters,
            versions,
            info,
            halted,
            pre_checks,
            progress,
            refused,
            forecast,
            forecast_at_start,
            shown: _,
        } = self;
        let gauges = [
            clusters,
            versions,
            info,
            halted,
            pre_checks,
            progress,
            refused,
            forecast,
            forecast_at_start,
        ];
        gauges
            .into_iter()
            .map(|gauge| -> Box<dyn Collector> { Box::new(gauge.clone()) })
            .collect()
    }
}

fn labels<'a>(key: &'a UpgradeKey, label: Option<&'a str>) -> Vec<&'a str> {
    [&*key.namespace, &*key.name].into_iter().chain(label).collect()
}

fn series(report: &Report) -> BTreeMap<Series, i64> {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let mut series = BTreeMap::new();
    for state in ClusterState::ALL {
        let count = report.states.get(&state).copied().unwrap_or(0);
        series.insert((Gauge::Clusters, Some(state.as_str().to_owned())), number(count));
    }
    series.insert(
        (Gauge::Clusters, Some(DRIFTED.to_owned())),
        number(report.drifted),
    );
    for (version, count) in &report.versions {
        series.insert((Gauge::Versions, Some(version.clone())), number(*count));
    }
    series.insert((Gauge::Info, Some(report.target.clone())), 1);
    if let Some(halt) = &report.halt {
        series.insert((Gauge::Halted, Some(halt.as_str().to_owned())), 1);
    }
    let found = &report.pre_checks;
    for (reason, count) in [
        (RISKS_NOT_ACCEPTED, found.with_findings + found.held_by_agent),
        (PRE_CHECKS_UNANSWERED, found.unanswered),
    ] {
        if count > 0 {
            series.insert((Gauge::PreChecks, Some(reason.to_owned())), number(count));
        }
    }
    if let Some(moment) = report.last_finished.max(report.rollout_since) {
        series.insert((Gauge::Progress, None), moment.as_second());
    }
    series
}

fn forecasts(report: &Report, forecast: &ForecastStatus) -> BTreeMap<Series, i64> {
    let is_under_way = report.counts.pending + report.counts.in_flight > 0;
    let start = forecast.at_start.as_ref().filter(|_| is_under_way);
    let now = [&forecast.p10, &forecast.p50, &forecast.p90];
    let then = [
        start.and_then(|start| start.p10.as_ref()),
        start.and_then(|start| start.p50.as_ref()),
        start.and_then(|start| start.p90.as_ref()),
    ];
    let now = now.map(|time| (Gauge::Forecast, time.as_ref()));
    let then = then.map(|time| (Gauge::ForecastAtStart, time));
    let quantiles = ["0.1", "0.5", "0.9"].into_iter().cycle();
    let all = now.into_iter().chain(then).zip(quantiles);
    all.filter_map(|((gauge, time), quantile)| {
        Some(((gauge, Some(quantile.to_owned())), time?.0.as_second()))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use drydock_rollout::{Halt, Retries, Uid};
    use prometheus::Registry;

    fn upgrade(deleting: bool) -> Upgrade {
        Upgrade {
            key: UpgradeKey::new("default", "spring"),
            uid: Uid::new("u"),
            generation: 1,
            deleting,
            namespace_deleting: false,
            finalizer: true,
            retries: Retries::default(),
            started_by: "".into(),
            live: Arc::default(),
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
        let upgrades = Upgrades::new().unwrap();
        upgrades.register_in(&registry).unwrap();
        let report = |target: &str, halt: Option<Halt>| Report {
            target: target.to_owned(),
            halt,
            ..Report::default()
        };
        upgrades.show(&upgrade(false), &report("4.14.12", Some(Halt::Paused)), 0, None);
        let first = shown(&registry).join("\n");
        assert!(
            first.contains("reason=\"Paused\"") && first.contains("target=\"4.14.12\""),
            "{first}"
        );
        upgrades.show(&upgrade(false), &report("4.14.13", None), 2, None);
        let then = shown(&registry).join("\n");
        assert!(
            !then.contains("Paused") && !then.contains("4.14.12") && then.contains("4.14.13"),
            "{then}"
        );
        upgrades.show(&upgrade(true), &Report::default(), 0, None);
        assert!(shown(&registry).is_empty(), "{:?}", shown(&registry));
    }
}
