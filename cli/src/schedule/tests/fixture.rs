//! A cluster that runs 4.16.4, on a Wednesday morning, with two schedules in the namespace `maintenance`: `nights`, each second Tuesday at
//! 22:00 in Zurich, pinned four hours before, and `days`, every day at noon.

use std::collections::BTreeMap;

use drydock_api::fact::Unread;
use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::schedule::cluster::{ObservedCluster, Scope};

pub const NAMESPACE: &str = "maintenance";
/// The next maintenance of `nights`, and the one after it.
pub const NIGHT: &str = "2026-12-01T21:00:00Z";
pub const NEXT_NIGHT: &str = "2026-12-15T21:00:00Z";

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn new_york() -> TimeZone {
    TimeZone::get("America/New_York").unwrap()
}

fn release(version: &str) -> Value {
    json!({"version": version, "image": format!("quay.io/release:{version}")})
}

fn config(name: &str, labels: &Value, schedule: &Value, pin: &str) -> UpgradeConfig {
    read(json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "labels": labels,
            "creationTimestamp": "2026-11-20T08:00:00Z",
        },
        "spec": {
            "schedule": schedule, "pinVersionWindow": pin,
            "jobTemplate": {"metadata": {"labels": {"team": name}}, "spec": {"config": {
                "upgradeTimeout": "12h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
            }}},
        },
    }))
}

pub fn cluster() -> ObservedCluster {
    let night = json!({"cron": "0 22 * * 2", "isoWeek": "@odd", "location": "Europe/Zurich"});
    let day = json!({"cron": "0 12 * * *", "location": "UTC"});
    ObservedCluster {
        now: at("2026-11-25T08:00:00Z"),
        scope: Scope::Namespace(NAMESPACE.to_owned()),
        local_zone: TimeZone::UTC,
        configs: vec![
            config("days", &Value::Null, &day, "0s"),
            config("nights", &json!({"app": "nights"}), &night, "4h"),
        ],
        jobs: Ok(Vec::new()),
        windows: Ok(Vec::new()),
        hooks: Ok(Vec::new()),
        hook_jobs: Ok(Vec::new()),
        cluster_version: Ok(read(json!({
            "metadata": {"name": "version", "uid": "uid-version", "resourceVersion": "1"},
            "spec": {"channel": "stable-4.16"},
            "status": {
                "history": [{
                    "version": "4.16.4", "image": "quay.io/release:4.16.4", "state": "Completed",
                    "startedTime": "2026-10-01T08:00:00Z", "completionTime": "2026-10-01T09:00:00Z",
                }],
                "availableUpdates": [release("4.16.9"), release("4.16.10")],
                "conditionalUpdates": [{
                    "release": release("4.17.2"),
                    "conditions": [{
                        "type": "Recommended", "status": "False", "reason": "SlowPods", "message": "pods start slowly",
                    }],
                }],
            },
        }))),
        operators: Ok(Vec::new()),
        pools: Ok(vec![read(json!({
            "metadata": {"name": "worker", "uid": "uid-worker", "resourceVersion": "1"},
            "status": {"machineCount": 3, "updatedMachineCount": 3},
        }))]),
        holder: Err(Unread::NotAsked),
        pausing_jobs: BTreeMap::new(),
        update_plans: BTreeMap::new(),
    }
}

/// A cluster on which something is otherwise.
pub fn with(change: impl FnOnce(&mut ObservedCluster)) -> ObservedCluster {
    let mut cluster = cluster();
    change(&mut cluster);
    cluster
}

/// An UpgradeJob of a config that was created by the agent.
pub fn job(config: &str, name: &str, start: &str, conditions: &Value) -> UpgradeJob {
    let mut job: UpgradeJob = read(json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}"), "labels": {"team": config},
            "ownerReferences": [{
                "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeConfig", "name": config,
                "uid": format!("uid-{config}"), "controller": true,
            }],
        },
        "spec": {
            "startAfter": start, "startBefore": start,
            "desiredVersion": release("4.16.9"),
            "config": {"upgradeTimeout": "12h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {}},
        },
        "status": {"conditions": conditions},
    }));
    job.spec.start_before = Time(at(start) + jiff::SignedDuration::from_hours(1));
    job
}

pub fn condition(type_: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-11-25T07:00:00Z",
    })
}

pub fn window(name: &str, start: &str, end: &str, selectors: &Value) -> UpgradeSuspensionWindow {
    let mut spec = json!({"start": start, "end": end, "reason": "nobody is there"});
    let (spec_fields, selectors) = (spec.as_object_mut().unwrap(), selectors.as_object().unwrap());
    spec_fields.extend(selectors.clone());
    read(json!({"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}))
}

/// A window over the whole winter.
pub fn holidays(selectors: &Value) -> UpgradeSuspensionWindow {
    window(
        "holidays",
        "2026-11-24T00:00:00Z",
        "2027-01-31T00:00:00Z",
        selectors,
    )
}
