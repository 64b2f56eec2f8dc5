//! Gauges that are computed when they are scraped, from what is seen then.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use drydock_api::metrics::{Family, FamilyKind, Sample};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, Opts, Registry};

struct Scraped<F> {
    /// The gauges by the names of their families. One scrape at a time.
    gauges: Mutex<BTreeMap<&'static str, GaugeVec>>,
    descriptions: Vec<Desc>,
    samples: F,
}

/// Registers the gauges among the families, whose samples are computed at each scrape. What there is no sample of has no series.
///
/// # Errors
/// If the registry has one of their names already.
pub(crate) fn register(
    registry: &Registry,
    families: &[&'static Family],
    samples: impl Fn() -> Vec<Sample> + Send + Sync + 'static,
) -> Result<(), prometheus::Error> {
    let mut gauges = BTreeMap::new();
    let mut descriptions = Vec::new();
    for family in families.iter().filter(|family| family.kind == FamilyKind::Gauge) {
        let gauge = GaugeVec::new(Opts::new(family.name, family.help), family.labels)?;
        descriptions.extend(gauge.desc().into_iter().cloned());
        gauges.insert(family.name, gauge);
    }
    registry.register(Box::new(Scraped {
        gauges: Mutex::new(gauges),
        descriptions,
        samples,
    }))
}

impl<F: Fn() -> Vec<Sample> + Send + Sync> Collector for Scraped<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let gauges = self.gauges.lock().unwrap_or_else(PoisonError::into_inner);
        for gauge in gauges.values() {
            gauge.reset();
        }
        for sample in (self.samples)() {
            if let Some(gauge) = gauges.get(sample.family.name) {
                gauge.with_label_values(&sample.labels).set(sample.value);
            }
        }
        gauges.values().flat_map(Collector::collect).collect()
    }
}
