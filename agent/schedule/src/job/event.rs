//! What is said of an UpgradeJob: the same words for events, notifications and conditions.

/// A step of a maintenance, or a trouble on the way: the reason of an event, and the type of a notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobStep {
    /// The UpgradeJob was seen for the first time.
    UpgradeScheduled,
    /// It has started.
    UpgradeStarted,
    /// It waits for another upgrade, or for something that cannot be read or used.
    UpgradeWaiting,
    /// It took over the lock of an upgrade that is no longer there.
    UpgradeLockTakenOver,
    /// A health check finds the cluster unhealthy.
    ClusterUnhealthy,
    /// The cluster was healthy before the upgrade.
    PreHealthCheckCompleted,
    /// The cluster has been asked for the release.
    UpgradeCommenced,
    /// The cluster runs the release.
    UpgradeCompleted,
    /// The cluster was healthy after the upgrade.
    PostHealthCheckCompleted,
    /// Pools are paused, to be upgraded later.
    MachineConfigPoolsPaused,
    /// No pool is paused any more.
    MachineConfigPoolsUnpaused,
    /// All that is left to do is the upgrade of paused pools.
    UpgradePaused,
    /// It has ended well.
    UpgradeSucceeded,
    /// The cluster was not upgraded: a suspension window, an unhealthy cluster, or a release that is no longer available.
    UpgradeSkipped,
    /// It has failed.
    UpgradeFailed,
    /// The Job of a hook is created.
    HookStarted,
    /// The Job of a hook has failed.
    HookFailed,
}

impl JobStep {
    const ALL: [Self; 17] = [
        Self::UpgradeScheduled,
        Self::UpgradeStarted,
        Self::UpgradeWaiting,
        Self::UpgradeLockTakenOver,
        Self::ClusterUnhealthy,
        Self::PreHealthCheckCompleted,
        Self::UpgradeCommenced,
        Self::UpgradeCompleted,
        Self::PostHealthCheckCompleted,
        Self::MachineConfigPoolsPaused,
        Self::MachineConfigPoolsUnpaused,
        Self::UpgradePaused,
        Self::UpgradeSucceeded,
        Self::UpgradeSkipped,
        Self::UpgradeFailed,
        Self::HookStarted,
        Self::HookFailed,
    ];

    /// The step with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpgradeScheduled => "UpgradeScheduled",
            Self::UpgradeStarted => "UpgradeStarted",
            Self::UpgradeWaiting => "UpgradeWaiting",
            Self::UpgradeLockTakenOver => "UpgradeLockTakenOver",
            Self::ClusterUnhealthy => "ClusterUnhealthy",
            Self::PreHealthCheckCompleted => "PreHealthCheckCompleted",
            Self::UpgradeCommenced => "UpgradeCommenced",
            Self::UpgradeCompleted => "UpgradeCompleted",
            Self::PostHealthCheckCompleted => "PostHealthCheckCompleted",
            Self::MachineConfigPoolsPaused => "MachineConfigPoolsPaused",
            Self::MachineConfigPoolsUnpaused => "MachineConfigPoolsUnpaused",
            Self::UpgradePaused => "UpgradePaused",
            Self::UpgradeSucceeded => "UpgradeSucceeded",
            Self::UpgradeSkipped => "UpgradeSkipped",
            Self::UpgradeFailed => "UpgradeFailed",
            Self::HookStarted => "HookStarted",
            Self::HookFailed => "HookFailed",
        }
    }

    /// Is it an event of type Warning?
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            Self::UpgradeWaiting
                | Self::UpgradeLockTakenOver
                | Self::ClusterUnhealthy
                | Self::UpgradeSkipped
                | Self::UpgradeFailed
                | Self::HookFailed
        )
    }

    /// Does the status say so? Else it is so once it is done.
    pub const fn is_recorded(self) -> bool {
        !matches!(self, Self::HookStarted | Self::UpgradeLockTakenOver)
    }

    /// Is it notified? What becomes of single hooks is not.
    pub const fn is_notified(self) -> bool {
        !matches!(
            self,
            Self::HookStarted | Self::HookFailed | Self::UpgradeLockTakenOver
        )
    }
}

/// An event of an UpgradeJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    /// What has happened.
    pub step: JobStep,
    /// The same for people.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use drydock_api::schedule::UpgradeJob;
    use kube::CustomResourceExt;

    use super::*;

    /// Who asks for an event that is never sent waits for ever.
    #[test]
    fn the_definition_accepts_the_events_that_are_notified_and_no_others() {
        let definition = serde_json::to_string(&UpgradeJob::crd()).unwrap();
        let rule = definition.split("event in [").nth(1).unwrap();
        let accepted: Vec<&str> = rule.split(']').next().unwrap().split(", ").collect();
        let notified = JobStep::ALL.into_iter().filter(|step| step.is_notified());
        let notified: Vec<String> = notified.map(|step| format!("'{}'", step.name())).collect();
        assert_eq!(accepted, notified);
    }
}
