//! The series about maintenance schedules, computed when they are scraped from what is seen then ([`drydock_schedule::metrics`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use drydock_runtime::Clock;
use drydock_schedule::metrics::{FAMILIES, MetricKind, Series, of_cluster_version, of_config, of_window};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, Opts, Registry};

use super::watches::Seen;

struct ScheduleMetrics {
    /// One scrape at a time.
    families: Mutex<BTreeMap<MetricKind, GaugeVec>>,
    descriptions: Vec<Desc>,
    seen: Seen,
    clock: Clock,
}

/// Registers all of them.
///
/// # Errors
/// If the registry has one of their names already.
pub(super) fn register(registry: &Registry, seen: Seen, clock: Clock) -> Result<(), prometheus::Error> {
    let mut families = BTreeMap::new();
    let mut descriptions = Vec::new();
    for family in FAMILIES {
        let gauge = GaugeVec::new(Opts::new(family.name, family.help), family.labels)?;
        descriptions.extend(gauge.desc().into_iter().cloned());
        families.insert(family.kind, gauge);
    }
    registry.register(Box::new(ScheduleMetrics {
        families: Mutex::new(families),
        descriptions,
        seen,
        clock,
    }))
}

impl ScheduleMetrics {
    fn series(&self) -> Vec<Series> {
        let configs = self.seen.configs.objects();
        let mut series: Vec<Series> = configs.iter().flat_map(|config| of_config(config)).collect();
        for window in self.seen.windows.objects() {
            series.extend(of_window(&window, configs.iter().map(AsRef::as_ref)));
        }
        for version in self.seen.managed.objects() {
            series.extend(of_cluster_version(&version, self.clock.now()));
        }
        series
    }
}

impl Collector for ScheduleMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let families = self.families.lock().unwrap_or_else(PoisonError::into_inner);
        for family in families.values() {
            family.reset();
        }
        for series in self.series() {
            if let Some(family) = families.get(&series.kind) {
                family.with_label_values(&series.labels).set(series.value);
            }
        }
        families.values().flat_map(Collector::collect).collect()
    }
}
