//! The agent's metrics as they are scraped. Which series there are follows from the status and from what a pass has seen
//! ([`drydock_engine::metrics`]); those of the outbox and of the provider are set by them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use drydock_api::names::UPGRADE_CONFIG;
use drydock_engine::metrics::{CONDITION, FAMILIES, MetricKind, WantedSeries};
use drydock_engine::notification::UpgradeEvent;
use drydock_engine::steps::STEPS;
use jiff::Timestamp;
use prometheus::{GaugeVec, IntCounter, Opts, Registry};

/// The metrics. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    families: BTreeMap<MetricKind, GaugeVec>,
    shown: Arc<Mutex<WantedSeries>>,
    notification_failed: GaugeVec,
    synced: GaugeVec,
    errors: IntCounter,
}

/// Registers a gauge.
fn gauge(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<GaugeVec, prometheus::Error> {
    let metric = GaugeVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

fn errors(registry: &Registry) -> Result<IntCounter, prometheus::Error> {
    let errors = IntCounter::new(
        "drydock_agent_reconcile_errors_total",
        "Reconciles that ended with an error.",
    )?;
    registry.register(Box::new(errors.clone()))?;
    Ok(errors)
}

impl Metrics {
    /// Registers all of them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let mut families = BTreeMap::new();
        for family in FAMILIES {
            let metric = gauge(registry, family.name, family.help, family.labels)?;
            families.insert(family.kind, metric);
        }
        let help = "When the step was done, or began if it is not, in seconds since 1970.";
        for (index, step) in STEPS.iter().enumerate() {
            let name = format!("managed_upgrade_condition_{}_timestamp", step.metric);
            families.insert(
                MetricKind::Condition(index),
                gauge(registry, &name, help, CONDITION)?,
            );
        }
        Ok(Self {
            families,
            shown: Arc::default(),
            // Without the prefix of the others, as managed-upgrade-operator has it.
            notification_failed: gauge(
                registry,
                "upgrade_notification_failed",
                "1 while a receiver could not be notified.",
                &["upgradeconfig_name", "event"],
            )?,
            synced: gauge(
                registry,
                "upgradeoperator_upgradeconfig_sync_timestamp",
                "When the upgrade policy was last synchronized, in seconds since 1970.",
                &["upgradeconfig_name"],
            )?,
            errors: errors(registry)?,
        })
    }

    /// A reconcile ended with an error.
    pub fn failed(&self) {
        self.errors.inc();
    }

    /// A policy has been brought to the cluster.
    pub fn synced(&self, now: Timestamp) {
        self.synced
            .with_label_values(&[UPGRADE_CONFIG])
            .set(now.as_second() as f64);
    }

    /// A state has been sent, or could not be.
    pub fn notified(&self, event: UpgradeEvent, sent: bool) {
        let failed = self
            .notification_failed
            .with_label_values(&[UPGRADE_CONFIG, event.name()]);
        failed.set(f64::from(u8::from(!sent)));
    }

    /// Shows these series, and no others.
    pub fn show(&self, wanted: &WantedSeries) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        for ((kind, labels), value) in wanted {
            if let Some(family) = self.families.get(kind) {
                family.with_label_values(labels).set(*value);
            }
        }
        for (kind, labels) in shown.keys().filter(|series| !wanted.contains_key(series)) {
            if let Some(family) = self.families.get(kind) {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                // One that is not there is as good.
                let _gone = family.remove_label_values(&labels);
            }
        }
        shown.clone_from(wanted);
    }

    /// The UpgradeConfig is gone: only results stay.
    pub fn forget(&self) {
        let results: WantedSeries = {
            let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            let results = shown.iter().filter(|((kind, _), _)| *kind == MetricKind::Result);
            results.map(|(series, value)| (series.clone(), *value)).collect()
        };
        self.show(&results);
        self.notification_failed.reset();
    }
}
