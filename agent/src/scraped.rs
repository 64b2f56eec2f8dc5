//! Gauges that are computed when they are scraped, from what is seen then.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, Opts, Registry};

/// A family of gauges: its name, what it says, and its labels.
pub(crate) type GaugeFamily = (&'static str, &'static str, &'static [&'static str]);

/// A value of the family of this name.
pub(crate) struct GaugeSample {
    pub family: &'static str,
    /// The values of its labels, in their order.
    pub labels: Vec<String>,
    pub value: f64,
}

struct Scraped<F> {
    /// The gauges by the names of their families. One scrape at a time.
    gauges: Mutex<BTreeMap<&'static str, GaugeVec>>,
    descriptions: Vec<Desc>,
    samples: F,
}

/// Registers families whose samples are computed at each scrape. What there is no sample of has no series.
///
/// # Errors
/// If the registry has one of their names already.
pub(crate) fn register(
    registry: &Registry,
    families: impl IntoIterator<Item = GaugeFamily>,
    samples: impl Fn() -> Vec<GaugeSample> + Send + Sync + 'static,
) -> Result<(), prometheus::Error> {
    let mut gauges = BTreeMap::new();
    let mut descriptions = Vec::new();
    for (name, help, labels) in families {
        let gauge = GaugeVec::new(Opts::new(name, help), labels)?;
        descriptions.extend(gauge.desc().into_iter().cloned());
        gauges.insert(name, gauge);
    }
    registry.register(Box::new(Scraped {
        gauges: Mutex::new(gauges),
        descriptions,
        samples,
    }))
}

impl<F: Fn() -> Vec<GaugeSample> + Send + Sync> Collector for Scraped<F> {
    fn desc(&self) -> Vec<&Desc> {
        self.descriptions.iter().collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let gauges = self.gauges.lock().unwrap_or_else(PoisonError::into_inner);
        for gauge in gauges.values() {
            gauge.reset();
        }
        for sample in (self.samples)() {
            if let Some(gauge) = gauges.get(sample.family) {
                gauge.with_label_values(&sample.labels).set(sample.value);
            }
        }
        gauges.values().flat_map(Collector::collect).collect()
    }
}
