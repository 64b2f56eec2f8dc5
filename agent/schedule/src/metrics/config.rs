//! The series of UpgradeConfigs.

use drydock_api::GoDuration;
use drydock_api::conditions::{self, TRUE};
use drydock_api::schedule::{UpgradeConfig, UpgradeJob, condition};

use super::{Family, FamilyKind, Sample, key, number, seconds};
use crate::config::last_success;

/// 1 for each UpgradeConfig.
pub const INFO: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_info",
    help: "1 for each UpgradeConfig.",
    labels: &["upgradeconfig", "cron", "location", "suspended", "namespace"],
};
/// How long before a maintenance its version is pinned.
pub const PIN_VERSION_WINDOW: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_pin_version_window_seconds",
    help: "How long before the start of a maintenance its UpgradeJob is created, in seconds.",
    labels: &["upgradeconfig", "namespace"],
};
/// The next times of the schedule.
pub const NEXT_SCHEDULE: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_next_possible_schedule_timestamp_seconds",
    help: "The next times of the schedule, suspended or not, in seconds since 1970.",
    labels: &["upgradeconfig", "n", "timestamp", "namespace"],
};
/// Whether it can create UpgradeJobs; ours.
pub const READY: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_ready",
    help: "1 if the UpgradeConfig can create UpgradeJobs, else 0 and why.",
    labels: &["upgradeconfig", "reason", "namespace"],
};
/// When it was created; ours.
pub const CREATED: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_created_timestamp_seconds",
    help: "When the UpgradeConfig was created, in seconds since 1970.",
    labels: &["upgradeconfig", "namespace"],
};
/// When one of its UpgradeJobs succeeded last; ours.
pub const LAST_SUCCESS: Family = Family {
    kind: FamilyKind::Gauge,
    name: "openshift_upgrade_controller_upgradeconfig_last_success_timestamp_seconds",
    help: "When an UpgradeJob of the UpgradeConfig last succeeded without being skipped, in seconds since 1970.",
    labels: &["upgradeconfig", "namespace"],
};

/// The samples of an UpgradeConfig; `jobs` are the UpgradeJobs of its namespace, or more.
pub fn of_config<'a>(config: &UpgradeConfig, jobs: impl IntoIterator<Item = &'a UpgradeJob>) -> Vec<Sample> {
    let [name, namespace] = key(&config.metadata);
    let spec = &config.spec;
    let schedule = &spec.schedule;
    let suspended = schedule.suspend.unwrap_or(false).to_string();
    let labels = [name, &schedule.cron, &schedule.location, &suspended, namespace];
    let mut samples = vec![Sample::new(&INFO, &labels, 1.0)];
    let window = spec.pin_version_window.as_deref().unwrap_or("0s");
    if let Ok(window) = window.parse::<GoDuration>() {
        let seconds = window.signed().as_secs_f64();
        samples.push(Sample::new(&PIN_VERSION_WINDOW, &[name, namespace], seconds));
    }
    if let Some(created) = &config.metadata.creation_timestamp {
        samples.push(Sample::new(&CREATED, &[name, namespace], seconds(created.0)));
    }
    if let Some(success) = last_success(config, jobs) {
        samples.push(Sample::new(&LAST_SUCCESS, &[name, namespace], seconds(success)));
    }
    let status = config.status.as_ref();
    let all = status.and_then(|status| status.conditions.as_deref());
    if let Some(ready) = conditions::find(all.unwrap_or_default(), condition::READY) {
        let labels = [name, &ready.reason, namespace];
        samples.push(Sample::new(&READY, &labels, number(ready.status == TRUE)));
    }
    let times = status.and_then(|status| status.next_possible_schedules.as_deref());
    for (number, next) in times.unwrap_or_default().iter().enumerate() {
        let time = next.time.0;
        let labels = [name, &number.to_string(), &time.to_string(), namespace];
        samples.push(Sample::new(&NEXT_SCHEDULE, &labels, seconds(time)));
    }
    samples
}
