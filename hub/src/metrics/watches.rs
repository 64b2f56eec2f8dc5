//! Whether the hub's watches bring what they should: a hub that reads no more is up, leads, and does nothing.

use drydock_runtime::metrics::MetricGroup;
use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts, Registry};

/// Which watches fail at present. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WatchHealth(IntGaugeVec);

impl WatchHealth {
    /// Registers the metric.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let failing = IntGaugeVec::new(
            Opts::new(
                "drydock_watch_failing",
                "1 while the last request of a watch has failed: changes of that kind are not seen.",
            ),
            &["watch"],
        )?;
        let health = Self(failing);
        health.register_in(registry)?;
        Ok(health)
    }

    /// What became of the last request of a watch.
    pub fn saw(&self, watch: &str, failed: bool) {
        self.0.with_label_values(&[watch]).set(i64::from(failed));
    }
}

impl MetricGroup for WatchHealth {
    fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self(failing) = self;
        vec![Box::new(failing.clone())]
    }
}
