//! How maintenance schedules are acted on.

use std::collections::BTreeSet;

use drydock_api::machine_api;
use drydock_api::names::CLUSTER_VERSION;
use drydock_schedule::force_drain::DEFAULT_RECHECK;
use jiff::SignedDuration;
use jiff::tz::TimeZone;

/// A part of what is done about maintenance schedules, which can be switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedulePart {
    /// UpgradeConfigs create UpgradeJobs, and UpgradeSuspensionWindows keep them from it.
    UpgradeConfigs,
    /// UpgradeJobs upgrade the cluster, and run the Jobs of UpgradeJobHooks.
    UpgradeJobs,
    /// NodeForceDrains delete pods from nodes whose drains take too long.
    NodeForceDrains,
    /// The managed ClusterVersion determines the spec of OpenShift's.
    ClusterVersion,
}

/// Where the objects of maintenance schedules are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ScheduleNamespace {
    /// In the agent's own namespace.
    #[default]
    Own,
    /// In this one.
    Named(String),
    /// In all.
    All,
}

/// How maintenance schedules are acted on (Maintenance schedules, section 1.7).
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// What is left alone. Where the cluster does not have a kind, nothing is done about it in any case.
    pub off: BTreeSet<SchedulePart>,
    /// Where all of them are but the managed ClusterVersion.
    pub namespace: ScheduleNamespace,
    /// The namespace of the managed ClusterVersion; the agent's own if not given.
    pub managed_namespace: Option<String>,
    /// The name of the managed ClusterVersion: no other is acted on.
    pub managed_name: String,
    /// The name of OpenShift's ClusterVersion.
    pub upstream_name: String,
    /// Where Machines are.
    pub machine_namespace: String,
    /// The time zone that `Local` means.
    pub local_zone: TimeZone,
    /// How often drains are looked at while a node is drained; if not given, only when something is due.
    pub drain_interval: Option<SignedDuration>,
}

impl Default for ScheduleSettings {
    fn default() -> Self {
        Self {
            off: BTreeSet::new(),
            namespace: ScheduleNamespace::Own,
            managed_namespace: None,
            managed_name: CLUSTER_VERSION.to_owned(),
            upstream_name: CLUSTER_VERSION.to_owned(),
            machine_namespace: machine_api::NAMESPACE.to_owned(),
            local_zone: TimeZone::UTC,
            drain_interval: Some(DEFAULT_RECHECK),
        }
    }
}

impl ScheduleSettings {
    /// Is a part acted on?
    pub(super) fn is_on(&self, part: SchedulePart) -> bool {
        !self.off.contains(&part)
    }

    /// Is one of these parts acted on?
    pub(super) fn is_any_on(&self, parts: &[SchedulePart]) -> bool {
        parts.iter().any(|part| self.is_on(*part))
    }
}
