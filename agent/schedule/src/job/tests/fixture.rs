//! Objects to test with. A maintenance starts at [`START`], may start until an hour later and must end twelve hours after.

use std::collections::BTreeMap;

use drydock_api::openshift::cluster_version::{Release, UpdateHistory};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{
    DesiredVersion, HookEvent, HookFailurePolicy, JobNotification, MachineConfigPoolConfig,
    PauseMachineConfigPoolsOnFailure, PoolUpgradeDelay, UpgradeJob, UpgradeJobHook, UpgradeSuspensionWindow,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, Time};
use serde_json::json;

/// The start of the maintenance: 2026-01-13T21:00:00Z.
pub const START: Timestamp = Timestamp::constant(1_768_338_000, 0);
/// The namespace of everything that has one.
pub const NAMESPACE: &str = "maintenance";
/// The release that the cluster runs.
pub const OLD: &str = "4.16.4";
/// The release that it is to run.
pub const NEW: &str = "4.16.5";

pub fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

pub fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

pub fn image(version: &str) -> String {
    format!("quay.io/release@sha256:{version}")
}

/// An UpgradeJob to [`NEW`] that was created an hour before its start.
pub fn job(name: &str) -> UpgradeJob {
    let mut job = UpgradeJob::default();
    job.metadata.name = Some(name.to_owned());
    job.metadata.namespace = Some(NAMESPACE.to_owned());
    job.metadata.uid = Some(format!("uid-{name}"));
    job.metadata.generation = Some(1);
    job.metadata.resource_version = Some("1".to_owned());
    job.metadata.creation_timestamp = Some(Time(START - hours(1)));
    job.spec.start_after = Time(START);
    job.spec.start_before = Time(START + hours(1));
    job.spec.desired_version = Some(DesiredVersion {
        version: Some(NEW.to_owned()),
        image: Some(image(NEW)),
        ..DesiredVersion::default()
    });
    job
}

/// ClusterVersion of a cluster that runs [`OLD`] and could run [`NEW`].
pub fn cluster_version() -> ClusterVersion {
    let mut cluster = ClusterVersion::default();
    cluster.metadata.name = Some("version".to_owned());
    cluster.metadata.uid = Some("uid-version".to_owned());
    cluster.metadata.resource_version = Some("1".to_owned());
    let status = cluster.status.get_or_insert_default();
    status.available_updates = vec![release(NEW)].into();
    status.history = vec![history(OLD, "Completed", START - hours(100))].into();
    cluster
}

pub fn release(version: &str) -> Release {
    Release {
        version: Some(version.to_owned()),
        image: Some(image(version)),
        ..Release::default()
    }
}

/// An entry of the history that was begun then, and completed an hour later if it was.
pub fn history(version: &str, state: &str, started: Timestamp) -> UpdateHistory {
    let mut entry = UpdateHistory {
        state: state.to_owned(),
        started_time: Some(started.to_string()),
        version: Some(version.to_owned()),
        image: Some(image(version)),
        ..UpdateHistory::default()
    };
    if entry.is_completed() {
        entry.completion_time = (started + hours(1)).to_string().into();
    }
    entry
}

/// A pool of three nodes that are updated, with a label of its name.
pub fn pool(name: &str) -> MachineConfigPool {
    let mut pool = MachineConfigPool::default();
    pool.metadata.name = Some(name.to_owned());
    pool.metadata.uid = Some(format!("uid-{name}"));
    pool.metadata.resource_version = Some("1".to_owned());
    pool.metadata.labels = Some(labels("pool", name));
    let status = pool.status.get_or_insert_default();
    status.machine_count = Some(3);
    status.updated_machine_count = Some(3);
    pool
}

pub fn outdated(mut pool: MachineConfigPool) -> MachineConfigPool {
    pool.status.get_or_insert_default().updated_machine_count = Some(0);
    pool
}

pub fn paused(mut pool: MachineConfigPool) -> MachineConfigPool {
    pool.spec.paused = Some(true);
    pool
}

pub fn labels(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

pub fn selector(key: &str, value: &str) -> LabelSelector {
    LabelSelector {
        match_labels: Some(labels(key, value)),
        match_expressions: None,
    }
}

/// A selector that a server without our rules has let through.
pub fn invalid_selector() -> LabelSelector {
    LabelSelector {
        match_labels: None,
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "tier".to_owned(),
            operator: "Is".to_owned(),
            values: None,
        }]),
    }
}

/// Delays the pools with the label of this name.
pub fn delay(pool: &str, min: Option<&str>, max: Option<&str>) -> MachineConfigPoolConfig {
    MachineConfigPoolConfig {
        match_labels: Some(selector("pool", pool)),
        delay_upgrade: Some(PoolUpgradeDelay {
            delay_min: min.map(str::to_owned),
            delay_max: max.map(str::to_owned),
        }),
    }
}

pub fn pause_on_failure() -> PauseMachineConfigPoolsOnFailure {
    PauseMachineConfigPoolsOnFailure {
        enabled: Some(true),
        selector: None,
    }
}

/// A hook that was created two hours before the start.
pub fn hook(name: &str, events: &[HookEvent]) -> UpgradeJobHook {
    let mut hook = UpgradeJobHook::default();
    hook.metadata.name = Some(name.to_owned());
    hook.metadata.namespace = Some(NAMESPACE.to_owned());
    hook.metadata.uid = Some(format!("uid-{name}"));
    hook.metadata.resource_version = Some("1".to_owned());
    hook.metadata.creation_timestamp = Some(Time(START - hours(2)));
    hook.spec.events = Some(events.to_vec());
    let container = json!({ "name": "c", "env": [{ "name": "OWN", "value": "1" }] });
    let spec = json!({ "template": { "spec": { "containers": [container], "restartPolicy": "Never" } } });
    let template = hook.spec.template.get_or_insert_default();
    template.spec = serde_json::from_value(spec).unwrap();
    hook
}

pub fn aborting(mut hook: UpgradeJobHook) -> UpgradeJobHook {
    hook.spec.failure_policy = Some(HookFailurePolicy::Abort);
    hook
}

/// A window over the whole maintenance that selects all UpgradeJobs.
pub fn window(name: &str) -> UpgradeSuspensionWindow {
    let mut window = UpgradeSuspensionWindow::default();
    window.metadata.name = Some(name.to_owned());
    window.metadata.namespace = Some(NAMESPACE.to_owned());
    window.spec.start = Time(START - hours(24));
    window.spec.end = Time(START + hours(24));
    window.spec.reason = "holidays".to_owned();
    window.spec.job_selector = Some(LabelSelector::default());
    window
}

pub fn operator(name: &str, condition: &str, status: &str) -> ClusterOperator {
    let object = json!({
        "metadata": { "name": name },
        "status": { "conditions": [{ "type": condition, "status": status, "message": "the reason why" }] },
    });
    serde_json::from_value(object).unwrap()
}

/// A receiver of all notifications.
pub fn receiver() -> JobNotification {
    JobNotification {
        annotations: Some(labels("cluster", "c-one")),
        ..JobNotification::default()
    }
}
