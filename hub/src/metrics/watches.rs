//! Whether the hub's watches bring what they should: a hub that reads no more is up, leads, and does nothing.

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
        registry.register(Box::new(failing.clone()))?;
        Ok(Self(failing))
    }

    /// What became of the last request of a watch.
    pub fn saw(&self, watch: &str, failed: bool) {
        self.0.with_label_values(&[watch]).set(i64::from(failed));
    }
}
