//! The agent's metrics (agent 8).

use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradePhase};
use prometheus::{GaugeVec, IntCounter, Opts, Registry};

/// The metrics. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    validation_failed: GaugeVec,
    window_breached: GaugeVec,
    health_check_failed: GaugeVec,
    started: GaugeVec,
    completed: GaugeVec,
    errors: IntCounter,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let gauge = |name: &str, help: &str, labels: &[&str]| -> Result<GaugeVec, prometheus::Error> {
            let metric = GaugeVec::new(Opts::new(name, help), labels)?;
            registry.register(Box::new(metric.clone()))?;
            Ok(metric)
        };
        let errors = IntCounter::new(
            "drydock_agent_reconcile_errors_total",
            "Reconciles that ended with an error.",
        )?;
        registry.register(Box::new(errors.clone()))?;
        Ok(Self {
            validation_failed: gauge(
                "upgradeoperator_upgradeconfig_validation_failed",
                "Whether what the UpgradeConfig asks for cannot be.",
                &["upgradeconfig_name"],
            )?,
            window_breached: gauge(
                "upgradeoperator_upgrade_window_breached",
                "Whether the upgrade did not commence in its window.",
                &["upgradeconfig_name"],
            )?,
            health_check_failed: gauge(
                "upgradeoperator_healthcheck_failed",
                "Whether a health check of the upgrade fails.",
                &["upgradeconfig_name", "state", "version", "reason"],
            )?,
            started: gauge(
                "upgradeoperator_upgrade_started_timestamp",
                "When the upgrade started, in seconds since 1970.",
                &["upgradeconfig_name", "version"],
            )?,
            completed: gauge(
                "upgradeoperator_upgrade_completed_timestamp",
                "When the upgrade was completed, in seconds since 1970.",
                &["upgradeconfig_name", "version"],
            )?,
            errors,
        })
    }

    /// A reconcile ended with an error.
    pub fn failed(&self) {
        self.errors.inc();
    }

    /// Shows what the status says.
    pub fn show(&self, status: &UpgradeConfigStatus) {
        let Some(entry) = status.history.iter().flatten().next() else {
            return;
        };
        let version = entry.version.as_deref().unwrap_or_default();
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        let is_false = |type_: &str| {
            crate::engine::condition::find(conditions, type_).is_some_and(|condition| {
                condition.status == "False"
                    && condition
                        .message
                        .as_deref()
                        .is_some_and(|message| !message.starts_with(type_))
            })
        };
        let number = |yes: bool| f64::from(u8::from(yes));
        self.validation_failed
            .with_label_values(&[UPGRADE_CONFIG])
            .set(number(is_false(crate::phase::VALIDATED)));
        self.window_breached
            .with_label_values(&[UPGRADE_CONFIG])
            .set(number(entry.phase == UpgradePhase::Failed));
        for (state, type_) in [
            ("pre_upgrade", "ClusterHealthyBeforeUpgrade"),
            ("post_upgrade", "ClusterHealthyAfterUpgrade"),
        ] {
            self.health_check_failed
                .with_label_values(&[UPGRADE_CONFIG, state, version, crate::health::OPERATORS_DEGRADED])
                .set(number(is_false(type_)));
        }
        for (metric, time) in [
            (&self.started, &entry.start_time),
            (&self.completed, &entry.complete_time),
        ] {
            if let Some(time) = time {
                metric
                    .with_label_values(&[UPGRADE_CONFIG, version])
                    .set(time.0.as_second() as f64);
            }
        }
    }
}
