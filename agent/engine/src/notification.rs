//! The states that are notified, and how one enters the status.

use drydock_api::upgradeconfig::{UpgradeHistory, UpgradeNotification};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Characters of a description that are kept.
const LONGEST: usize = 1024;

/// A state that is notified, by managed-upgrade-operator's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UpgradeEvent {
    /// It has started.
    Started,
    /// It is completed.
    Completed,
    /// It waits for longer than it should.
    Delayed,
    /// It was given up.
    Failed,
    /// There is no MachineSet to copy.
    ScaleSkipped,
    /// Extra workers did not come in time.
    Skipped,
    /// What a health check found before the upgrade.
    HealthCheck,
    /// What a health check found hours before.
    PreHealthCheck,
    /// The upgrade of the control plane has started.
    ControlPlaneStarted,
    /// The control plane has been upgraded.
    ControlPlaneFinished,
    /// The workers have been upgraded.
    WorkerPlaneFinished,
}

impl UpgradeEvent {
    const ALL: [Self; 11] = [
        Self::Started,
        Self::Completed,
        Self::Delayed,
        Self::Failed,
        Self::ScaleSkipped,
        Self::Skipped,
        Self::HealthCheck,
        Self::PreHealthCheck,
        Self::ControlPlaneStarted,
        Self::ControlPlaneFinished,
        Self::WorkerPlaneFinished,
    ];

    /// managed-upgrade-operator's name, which the metrics and the status carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "StateStarted",
            Self::Completed => "StateCompleted",
            Self::Delayed => "StateDelayed",
            Self::Failed => "StateFailed",
            Self::ScaleSkipped => "StateScaleSkipped",
            Self::Skipped => "StateSkipped",
            Self::HealthCheck => "StateHealthCheckSL",
            Self::PreHealthCheck => "StatePreHealthCheckSL",
            Self::ControlPlaneStarted => "StateControlPlaneStartedSL",
            Self::ControlPlaneFinished => "StateControlPlaneFinishedSL",
            Self::WorkerPlaneFinished => "StateWorkerPlaneFinishedSL",
        }
    }

    /// The event with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether it goes to the service log only.
    pub fn is_service_log(self) -> bool {
        self.name().ends_with("SL")
    }
}

/// Whether an event has been raised for this upgrade.
pub fn was_raised(entry: &UpgradeHistory, event: UpgradeEvent) -> bool {
    entry
        .notifications
        .iter()
        .flatten()
        .any(|raised| raised.event == event.name())
}

/// The description of an event that has been raised.
pub fn description(entry: &UpgradeHistory, event: UpgradeEvent) -> Option<&str> {
    let raised = entry.notifications.iter().flatten();
    let mut raised = raised.filter(|raised| raised.event == event.name());
    raised
        .next()
        .map(|raised| raised.description.as_deref().unwrap_or_default())
}

/// Raises an event, unless it was raised before.
pub fn raise(entry: &mut UpgradeHistory, event: UpgradeEvent, description: &str, now: Timestamp) {
    if was_raised(entry, event) {
        return;
    }
    entry
        .notifications
        .get_or_insert_default()
        .push(UpgradeNotification {
            event: event.name().to_owned(),
            description: Some(description.chars().take(LONGEST).collect()),
            raised_time: Some(Time(now)),
            sent_time: None,
            delivered_to: None,
        });
}
