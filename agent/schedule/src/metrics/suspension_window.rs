//! The series of UpgradeSuspensionWindows.

use drydock_api::schedule::{UpgradeConfig, UpgradeSuspensionWindow};

use super::{Family, FamilyKind, Sample, key, seconds};
use crate::suspension::matching;

/// 1 for each UpgradeSuspensionWindow.
pub const INFO: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradesuspensionwindow_info",
    help: "1 for each UpgradeSuspensionWindow.",
    labels: &["upgradesuspensionwindow", "reason", "namespace"],
};
/// When it starts.
pub const START: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradesuspensionwindow_start_timestamp_seconds",
    help: "When the UpgradeSuspensionWindow starts, in seconds since 1970.",
    labels: &["upgradesuspensionwindow", "namespace"],
};
/// When it ends.
pub const END: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradesuspensionwindow_end_timestamp_seconds",
    help: "When the UpgradeSuspensionWindow ends, in seconds since 1970.",
    labels: &["upgradesuspensionwindow", "namespace"],
};
/// An UpgradeConfig that it selects.
pub const MATCHING_CONFIG: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradesuspensionwindow_matching_config",
    help: "1 for each UpgradeConfig that the UpgradeSuspensionWindow selects.",
    labels: &["upgradesuspensionwindow", "config", "namespace"],
};

/// The samples of an UpgradeSuspensionWindow; `configs` are the UpgradeConfigs of its namespace, or more.
pub fn of_window<'a>(
    window: &UpgradeSuspensionWindow,
    configs: impl IntoIterator<Item = &'a UpgradeConfig>,
) -> Vec<Sample> {
    let [name, namespace] = key(&window.metadata);
    let spec = &window.spec;
    let mut samples = vec![
        Sample::new(&INFO, &[name, &spec.reason, namespace], 1.0),
        Sample::new(&START, &[name, namespace], seconds(spec.start.0)),
        Sample::new(&END, &[name, namespace], seconds(spec.end.0)),
    ];
    let matching = matching(window, configs, []).matching_configs;
    let of = |config: &str| Sample::new(&MATCHING_CONFIG, &[name, config, namespace], 1.0);
    samples.extend(matching.iter().flatten().map(|config| of(&config.name)));
    samples
}
