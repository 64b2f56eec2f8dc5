//! The families: names, labels and what they mean.

/// A family of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricKind {
    /// An UpgradeConfig.
    ConfigInfo,
    /// How long before a maintenance its version is pinned.
    PinVersionWindow,
    /// A time of a schedule.
    NextSchedule,
    /// An UpgradeSuspensionWindow.
    WindowInfo,
    /// When it starts.
    WindowStart,
    /// When it ends.
    WindowEnd,
    /// An UpgradeConfig that it selects.
    WindowMatchingConfig,
    /// The managed ClusterVersion.
    VersionInfo,
    /// An overlay of it.
    Overlay,
}

/// A family, as it is scraped.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Which.
    pub kind: MetricKind,
    /// Its whole name.
    pub name: &'static str,
    /// What it says.
    pub help: &'static str,
    /// Its labels, in the order of a series' values.
    pub labels: &'static [&'static str],
}

const fn family(
    kind: MetricKind,
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
) -> Family {
    Family {
        kind,
        name,
        help,
        labels,
    }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    family(
        MetricKind::ConfigInfo,
        "openshift_upgrade_controller_upgradeconfig_info",
        "1 for each UpgradeConfig.",
        &["namespace", "upgradeconfig", "cron", "location", "suspended"],
    ),
    family(
        MetricKind::PinVersionWindow,
        "openshift_upgrade_controller_upgradeconfig_pin_version_window_seconds",
        "How long before the start of a maintenance its UpgradeJob is created, in seconds.",
        &["namespace", "upgradeconfig"],
    ),
    family(
        MetricKind::NextSchedule,
        "openshift_upgrade_controller_upgradeconfig_next_possible_schedule_timestamp_seconds",
        "The next times of the schedule, suspended or not, in seconds since 1970.",
        &["namespace", "upgradeconfig", "n", "timestamp"],
    ),
    family(
        MetricKind::WindowInfo,
        "openshift_upgrade_controller_upgradesuspensionwindow_info",
        "1 for each UpgradeSuspensionWindow.",
        &["namespace", "upgradesuspensionwindow", "reason"],
    ),
    family(
        MetricKind::WindowStart,
        "openshift_upgrade_controller_upgradesuspensionwindow_start_timestamp_seconds",
        "When the UpgradeSuspensionWindow starts, in seconds since 1970.",
        &["namespace", "upgradesuspensionwindow"],
    ),
    family(
        MetricKind::WindowEnd,
        "openshift_upgrade_controller_upgradesuspensionwindow_end_timestamp_seconds",
        "When the UpgradeSuspensionWindow ends, in seconds since 1970.",
        &["namespace", "upgradesuspensionwindow"],
    ),
    family(
        MetricKind::WindowMatchingConfig,
        "openshift_upgrade_controller_upgradesuspensionwindow_matching_config",
        "1 for each UpgradeConfig that the UpgradeSuspensionWindow selects.",
        &["namespace", "upgradesuspensionwindow", "config"],
    ),
    family(
        MetricKind::VersionInfo,
        "openshift_upgrade_controller_cluster_version_info",
        "1 for the managed ClusterVersion, with what is in force.",
        &[
            "namespace",
            "cluster_version",
            "baseline_capability_set",
            "channel",
            "cluster_id",
            "upstream",
        ],
    ),
    family(
        MetricKind::Overlay,
        "openshift_upgrade_controller_cluster_version_overlay_timestamp_seconds",
        "When an overlay of the managed ClusterVersion comes into force, in seconds since 1970, with what is in force then.",
        &[
            "namespace",
            "cluster_version",
            "baseline_capability_set",
            "channel",
            "cluster_id",
            "upstream",
            "from",
        ],
    ),
];
