//! The hub's metrics. None has a label a cluster: a fleet of 10,000 would be 10,000 series.

#[cfg(test)]
mod page;
mod upgrades;
mod watches;

use std::time::Duration;

use drydock_api::mcu::{ForecastStatus, RecordedForecast};
use drydock_api::names::PRE_CHECKS_KIND;
use drydock_objects::Planned;
use drydock_rollout::{Action, EndState, RecordedOutcome, RefusalCause, UpgradeKey};
use drydock_runtime::metrics::MetricGroup;
use prometheus::core::Collector;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    exponential_buckets,
};

use crate::controller::ReconcileError;
use upgrades::Upgrades;
pub(crate) use watches::WatchHealth;

/// How long upgrades of clusters take: from ten minutes to half a day.
const UPGRADE_SECONDS: [f64; 9] = [
    600.0, 1800.0, 2700.0, 3600.0, 5400.0, 7200.0, 10_800.0, 21_600.0, 43_200.0,
];

/// The metrics. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics {
    upgrades: Upgrades,
    duration: HistogramVec,
    works: IntCounterVec,
    failures: IntCounterVec,
    refused: IntCounterVec,
    leader: IntGauge,
    reconciles: Histogram,
    errors: IntCounterVec,
    forecast_error: IntGaugeVec,
    forecasts: IntCounterVec,
}

impl Metrics {
    /// Registers all of them.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self::new()?;
        metrics.register_in(registry)?;
        Ok(metrics)
    }

    fn new() -> Result<Self, prometheus::Error> {
        let counter =
            |name: &str, help: &str, labels: &[&str]| IntCounterVec::new(Opts::new(name, help), labels);
        let duration = HistogramVec::new(
            HistogramOpts::new(
                "drydock_cluster_upgrade_duration_seconds",
                "How long the upgrades of clusters took.",
            )
            .buckets(UPGRADE_SECONDS.to_vec()),
            &["outcome", "stage"],
        )?;
        let reconciles = Histogram::with_opts(
            HistogramOpts::new("drydock_reconcile_duration_seconds", "How long reconciles took.")
                .buckets(exponential_buckets(0.001, 4.0, 8)?),
        )?;
        let leader = IntGauge::new("drydock_leader", "Whether this replica is the one that acts.")?;
        let forecast_error = IntGaugeVec::new(
            Opts::new(
                "drydock_upgrade_forecast_error_seconds",
                "By how much the last rollout of an upgrade ended later than the median that was forecast at its start.",
            ),
            &["namespace", "name"],
        )?;
        Ok(Self {
            forecast_error,
            forecasts: counter(
                "drydock_rollout_forecasts_total",
                "Rollouts that have ended, by whether that was from the p10 to the p90 of the forecast of their start.",
                &["within_band"],
            )?,
            upgrades: Upgrades::new()?,
            duration,
            works: counter(
                "drydock_works_total",
                "ManifestWorks created, by what they are for.",
                &["kind"],
            )?,
            failures: counter(
                "drydock_cluster_failures_total",
                "Clusters that failed, by reason.",
                &["reason"],
            )?,
            refused: counter(
                "drydock_writes_refused_total",
                "Writes that could not be made, by what was written and why not.",
                &["write", "cause"],
            )?,
            leader,
            reconciles,
            errors: counter(
                "drydock_reconcile_errors_total",
                "Reconciles that failed, by reason.",
                &["reason"],
            )?,
        })
    }

    /// This replica leads from now to its end.
    pub fn leads(&self) {
        self.leader.set(1);
    }

    /// A reconcile ended, after this duration and with this result.
    pub fn reconciled(&self, took: Duration, error: Option<&ReconcileError>) {
        self.reconciles.observe(took.as_secs_f64());
        if let Some(error) = error {
            self.errors.with_label_values(&[error.reason()]).inc();
        }
    }

    /// An upgrade is where a plan says. One that is being deleted is no longer shown.
    pub fn observed(&self, planned: &Planned, forecast: Option<&ForecastStatus>) {
        let (upgrade, report) = (&planned.rollout.upgrade, &planned.plan.report);
        self.upgrades.show(upgrade, report, planned.refusals, forecast);
    }

    /// A rollout has ended, and this is how good the forecast of its start was.
    pub fn forecast_ended(&self, key: &UpgradeKey, forecast: &RecordedForecast) {
        self.forecast_error(key, forecast.error_seconds);
        let within = if forecast.within_band { "true" } else { "false" };
        self.forecasts.with_label_values(&[within]).inc();
    }

    /// The last rollout of an upgrade ended by so much later than it was forecast.
    pub fn forecast_error(&self, key: &UpgradeKey, seconds: i64) {
        let labels = [&*key.namespace, &*key.name];
        self.forecast_error.with_label_values(&labels).set(seconds);
    }

    /// An upgrade does not exist any more.
    pub fn forget(&self, key: &UpgradeKey) {
        self.upgrades.forget(key);
        // That it is absent already is as good.
        let _ = self
            .forecast_error
            .remove_label_values(&[&*key.namespace, &*key.name]);
    }

    /// An action was refused.
    pub fn refused(&self, action: &Action, cause: RefusalCause) {
        let write = match action {
            Action::CreateWork(_) | Action::AskPreChecks(_) => "create",
            Action::DeleteWork { .. } | Action::DeletePreChecks { .. } => "delete",
            Action::WritePage(_) | Action::MarkPage { .. } => "record",
            _ => "change",
        };
        let cause = match cause {
            RefusalCause::NamespaceMissing => "NamespaceMissing",
            RefusalCause::NameTaken => "NameTaken",
            RefusalCause::Unavailable => "Unavailable",
            RefusalCause::Other => "Refused",
        };
        self.refused.with_label_values(&[write, cause]).inc();
    }

    /// An action was carried out.
    pub fn carried_out(&self, action: &Action) {
        match action {
            Action::CreateWork(new) => self.works.with_label_values(&[new.kind.as_str()]).inc(),
            Action::AskPreChecks(_) => self.works.with_label_values(&[PRE_CHECKS_KIND]).inc(),
            Action::FinishWork(finish) => {
                let seconds = finish.at.duration_since(finish.started_at).as_secs_f64();
                self.duration
                    .with_label_values(&[finish.outcome.as_str(), finish.kind.as_str()])
                    .observe(seconds);
                if finish.outcome == EndState::Failed {
                    self.failures.with_label_values(&[finish.reason]).inc();
                }
            }
            Action::WritePage(write) => {
                // A failure whose work could not even be written stands on the record alone.
                let entries = write.entries.iter();
                let never_written = entries.filter(|entry| {
                    entry.outcome == RecordedOutcome::Failed && entry.started == Some(entry.completed)
                });
                for entry in never_written {
                    self.failures.with_label_values(&[&*entry.reason]).inc();
                }
            }
            Action::AddFinalizer
            | Action::RemoveFinalizer
            | Action::ApplyPlacement(_)
            | Action::DeletePlacement(_)
            | Action::EnforceWork { .. }
            | Action::SetChannel { .. }
            | Action::ReopenWork { .. }
            | Action::LabelWork { .. }
            | Action::ConfirmWork { .. }
            | Action::DeletePreChecks { .. }
            | Action::MarkPage { .. }
            | Action::DeleteWork { .. } => {}
        }
    }
}

impl MetricGroup for Metrics {
    fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self {
            upgrades,
            duration,
            works,
            failures,
            refused,
            leader,
            reconciles,
            errors,
            forecast_error,
            forecasts,
        } = self;
        let mut all = upgrades.collectors();
        for counter in [works, failures, refused, errors, forecasts] {
            all.push(Box::new(counter.clone()));
        }
        all.push(Box::new(duration.clone()));
        all.push(Box::new(leader.clone()));
        all.push(Box::new(reconciles.clone()));
        all.push(Box::new(forecast_error.clone()));
        all
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use drydock_runtime::client::RequestMetrics;
    use prometheus::IntGauge;

    use super::*;

    /// The metrics that a text names.
    fn named(text: &str) -> BTreeSet<&str> {
        let words = text.split(|letter: char| letter != '_' && !letter.is_ascii_lowercase());
        words.filter(|word| word.starts_with("drydock_")).collect()
    }

    #[test]
    fn alerts_and_dashboard_ask_for_metrics_that_there_are() {
        let registry = Registry::new();
        let _metrics = Metrics::register(&registry).unwrap();
        let _requests = RequestMetrics::register(&registry).unwrap();
        let _watches = WatchHealth::register(&registry).unwrap();
        for (file, text) in [
            (
                "prometheusrule.yaml",
                include_str!("../../../manifests/monitoring/prometheusrule.yaml"),
            ),
            (
                "grafana-dashboard.json",
                include_str!("../../../manifests/monitoring/grafana-dashboard.json"),
            ),
        ] {
            assert!(named(text).len() > 3, "{file}");
            for name in named(text) {
                let name = name.strip_suffix("_bucket").unwrap_or(name);
                // A name that is taken cannot be registered again.
                let free = registry.register(Box::new(IntGauge::new(name, "Not the help of it.").unwrap()));
                assert!(free.is_err(), "{file} asks for {name}");
            }
        }
    }
}
