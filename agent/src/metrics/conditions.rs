//! The metrics that repeat the UpgradeConfig: its times, and one of each condition, as the original's collector names them.

use drydock_api::conditions::TRUE;
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::UpgradeHistory;
use prometheus::{GaugeVec, Registry};

use super::gauge;
use crate::facts::Facts;

/// The conditions' types, and what their metrics are called.
const CONDITIONS: [(&str, &str); 17] = [
    ("StartedNotificationSent", "notification_start"),
    ("UpgradeDelayedCheck", "delayed_check"),
    ("IsClusterUpgradable", "upgradeable_check"),
    ("ClusterHealthyBeforeUpgrade", "health_check"),
    ("ExternalDependenciesAvailable", "external_dep_check"),
    ("ComputeCapacityReserved", "capacity_added"),
    (
        "ControlPlaneMaintenanceWindowCreated",
        "control_plane_maint_start",
    ),
    ("UpgradeCommenced", "control_plane_upgrade_start"),
    ("ControlPlaneUpgraded", "control_plane_completion"),
    (
        "ControlPlaneMaintenanceWindowRemoved",
        "control_plane_maint_removed",
    ),
    ("WorkersMaintenanceWindowCreated", "workers_maint_start"),
    ("WorkerNodesUpgraded", "workers_upgraded"),
    ("ComputeCapacityRemoved", "capacity_removed"),
    ("WorkersMaintenanceWindowRemoved", "workers_maint_removed"),
    ("ClusterHealthyAfterUpgrade", "post_upgrade_healthcheck"),
    ("PostUpgradeTasksCompleted", "post_upgrade_tasks"),
    ("CompletedNotificationSent", "notification_complete"),
];

/// The metrics.
#[derive(Clone)]
pub(super) struct Conditions {
    scheduled: GaugeVec,
    started: GaugeVec,
    completed: GaugeVec,
    budget: GaugeVec,
    steps: Vec<(&'static str, GaugeVec)>,
}

impl Conditions {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let ours = |name: &str, help: &str, labels: &[&str]| {
            gauge(registry, &format!("managed_upgrade_{name}"), help, labels)
        };
        let phased = &["version", "desired_version", "phase"];
        let conditions = CONDITIONS.iter().map(|(type_, name)| {
            let help = "When the step was done, or began if it is not, in seconds since 1970.";
            let labels = &["upgradeconfig_name", "version", "desired_version", "condition"];
            Ok((
                *type_,
                ours(&format!("condition_{name}_timestamp"), help, labels)?,
            ))
        });
        Ok(Self {
            scheduled: ours(
                "upgrade_scheduled",
                "When the upgrade may start, in seconds since 1970.",
                phased,
            )?,
            started: ours(
                "upgrade_start_timestamp",
                "When the upgrade started, in seconds since 1970.",
                phased,
            )?,
            completed: ours(
                "upgrade_complete_timestamp",
                "When the upgrade was completed, in seconds since 1970.",
                phased,
            )?,
            budget: ours(
                "upgrade_pdb_timeout_minutes",
                "How long PodDisruptionBudgets may hold up a drain.",
                &["version", "desired_version"],
            )?,
            steps: conditions.collect::<Result<_, prometheus::Error>>()?,
        })
    }

    /// Forgets everything.
    pub fn forget(&self) {
        let one = [&self.scheduled, &self.started, &self.completed, &self.budget];
        let others = self.steps.iter().map(|(_, vector)| vector);
        one.into_iter().chain(others).for_each(GaugeVec::reset);
    }

    /// Shows an upgrade, and no other.
    pub fn show(&self, facts: &Facts, entry: &UpgradeHistory) {
        self.forget();
        let desired = entry.version.as_deref().unwrap_or_default();
        let current = facts.current().filter(|current| *current != desired);
        let version = current.or(entry.preceding_version.as_deref()).unwrap_or_default();
        let phased = &[version, desired, entry.phase.as_str()];
        if let Some(at) = facts.upgrade_at() {
            self.scheduled
                .with_label_values(phased)
                .set(at.as_second() as f64);
        }
        for (metric, time) in [
            (&self.started, &entry.start_time),
            (&self.completed, &entry.complete_time),
        ] {
            if let Some(time) = time {
                metric.with_label_values(phased).set(time.0.as_second() as f64);
            }
        }
        self.budget
            .with_label_values(&[version, desired])
            .set(f64::from(facts.spec.pdb_force_drain_timeout));
        for (type_, metric) in &self.steps {
            let conditions = entry.conditions.as_deref().unwrap_or_default();
            let Some(condition) = crate::engine::condition::find(conditions, type_) else {
                continue;
            };
            let time = if condition.status == TRUE {
                condition.complete_time.as_ref()
            } else {
                condition.start_time.as_ref()
            };
            if let Some(time) = time {
                let labels = &[UPGRADE_CONFIG, version, desired, condition.status.as_str()];
                metric.with_label_values(labels).set(time.0.as_second() as f64);
            }
        }
    }
}
