//! The series about maintenance schedules, computed when they are scraped from what is seen then ([`drydock_schedule::metrics`]).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use drydock_api::schedule::UpgradeConfig;
use drydock_runtime::Clock;
use drydock_schedule::force_drain::metrics::of_nodes;
use drydock_schedule::job::metrics::{of_cluster, of_jobs};
use drydock_schedule::metrics::{
    FAMILIES, FamilyKind, Sample, of_cluster_version, of_config, of_machines, of_window,
};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, Opts, Registry};

use super::watches::Seen;

struct ScheduleMetrics {
    /// The gauges by the names of their families. One scrape at a time.
    gauges: Mutex<BTreeMap<&'static str, GaugeVec>>,
    descriptions: Vec<Desc>,
    seen: Seen,
    clock: Clock,
}

/// Registers all of them.
///
/// # Errors
/// If the registry has one of their names already.
pub(super) fn register(registry: &Registry, seen: Seen, clock: Clock) -> Result<(), prometheus::Error> {
    let mut gauges = BTreeMap::new();
    let mut descriptions = Vec::new();
    for family in FAMILIES.iter().filter(|family| family.kind == FamilyKind::Gauge) {
        let gauge = GaugeVec::new(Opts::new(family.name, family.help), family.labels)?;
        descriptions.extend(gauge.desc().into_iter().cloned());
        gauges.insert(family.name, gauge);
    }
    registry.register(Box::new(ScheduleMetrics {
        gauges: Mutex::new(gauges),
        descriptions,
        seen,
        clock,
    }))
}

impl ScheduleMetrics {
    fn samples(&self) -> Vec<Sample> {
        let configs = self.seen.configs.objects();
        let jobs = self.seen.jobs.objects();
        let jobs = || jobs.iter().map(AsRef::as_ref);
        let of_config = |config: &UpgradeConfig| of_config(config, jobs());
        let mut samples: Vec<Sample> = configs.iter().flat_map(|config| of_config(config)).collect();
        for window in self.seen.windows.objects() {
            samples.extend(of_window(&window, configs.iter().map(AsRef::as_ref)));
        }
        let (jobs, hooks) = (self.seen.jobs.objects(), self.seen.hooks.objects());
        let hooks = hooks.iter().map(AsRef::as_ref);
        samples.extend(of_jobs(jobs.iter().map(AsRef::as_ref), hooks));
        let (cluster, pools) = (self.seen.upstream.object(), self.seen.pools.objects());
        samples.extend(of_cluster(cluster.as_deref(), pools.iter().map(AsRef::as_ref)));
        samples.extend(of_nodes(self.seen.nodes.objects().iter().map(AsRef::as_ref)));
        samples.extend(of_machines(
            self.seen.machines.objects().iter().map(AsRef::as_ref),
        ));
        for version in self.seen.managed.objects() {
            samples.extend(of_cluster_version(&version, self.clock.now()));
        }
        samples
    }
}

impl Collector for ScheduleMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let gauges = self.gauges.lock().unwrap_or_else(PoisonError::into_inner);
        for gauge in gauges.values() {
            gauge.reset();
        }
        for sample in self.samples() {
            if let Some(gauge) = gauges.get(sample.family.name) {
                gauge.with_label_values(&sample.labels).set(sample.value);
            }
        }
        gauges.values().flat_map(Collector::collect).collect()
    }
}
