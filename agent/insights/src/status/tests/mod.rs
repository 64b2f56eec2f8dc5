//! Tables of what is said of a cluster.

mod alerts;
mod control_plane;
mod nodes;
mod operators;
mod pools;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{StatusError, StatusReport, UpdateStatus, assess};
use crate::estimate::Method;
use crate::insight::Insight;
use crate::objects;

/// The moment that is looked at.
fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

/// So many minutes before it.
fn minutes_ago(minutes: i64) -> String {
    seconds_ago(minutes * 60)
}

fn seconds_ago(seconds: i64) -> String {
    (now() - SignedDuration::from_secs(seconds)).to_string()
}

/// A ClusterVersion that updates since 30 minutes.
fn version() -> Value {
    json!({
        "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "status": {
            "desired": {"version": "new"},
            "history": [
                {"state": "Partial", "version": "new", "image": "new-image", "startedTime": minutes_ago(30), "completionTime": null},
                {"state": "Completed", "version": "old", "image": "old-image", "startedTime": minutes_ago(9_000), "completionTime": minutes_ago(8_940)},
            ],
            "conditions": [
                {"type": "Progressing", "status": "True", "lastTransitionTime": minutes_ago(30)},
                {"type": "Failing", "status": "False", "lastTransitionTime": minutes_ago(9_000)},
            ],
        },
    })
}

/// An operator of the old version, which is well.
fn operator(name: &str) -> Value {
    json!({
        "kind": "ClusterOperator",
        "metadata": {"name": name, "annotations": {"include.release.openshift.io/self-managed-high-availability": "true"}},
        "status": {
            "versions": [{"name": "operator", "version": "old"}],
            "conditions": [
                {"type": "Available", "status": "True", "lastTransitionTime": minutes_ago(9_000)},
                {"type": "Progressing", "status": "False", "lastTransitionTime": minutes_ago(9_000)},
                {"type": "Degraded", "status": "False", "lastTransitionTime": minutes_ago(9_000)},
            ],
        },
    })
}

/// Sets a condition of an object.
fn with_condition(mut object: Value, type_: &str, status: &str, since: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != type_);
    conditions.push(
        json!({"type": type_, "status": status, "reason": "Because", "message": "It is so.",
        "lastTransitionTime": since}),
    );
    object
}

fn updated(mut operator: Value) -> Value {
    operator["status"]["versions"][0]["version"] = json!("new");
    operator
}

/// A pool whose nodes have the label of its role, and should have the configuration `new`.
fn pool(name: &str) -> Value {
    json!({
        "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {
            "configuration": {"name": "config-new"},
            "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
        },
    })
}

/// MachineConfigs of the old and the new version.
fn configs() -> [Value; 2] {
    ["old", "new"].map(|version| {
        json!({
            "kind": "MachineConfig",
            "metadata": {
                "name": format!("config-{version}"),
                "annotations": {"machineconfiguration.openshift.io/release-image-version": version},
            },
        })
    })
}

/// A ready node of a role, whose daemon has these annotations.
fn node(name: &str, role: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<_, _> = annotations
        .iter()
        .map(|(key, value)| (format!("machineconfiguration.openshift.io/{key}"), json!(value)))
        .collect();
    json!({
        "kind": "Node",
        "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}, "annotations": annotations},
        "status": {"conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": minutes_ago(9_000)},
            {"type": "DiskPressure", "status": "False", "lastTransitionTime": minutes_ago(9_000)},
        ]},
    })
}

/// Annotations of a node that is not updated.
const OLD: [(&str, &str); 3] = [
    ("currentConfig", "config-old"),
    ("desiredConfig", "config-old"),
    ("state", "Done"),
];
/// Annotations of a node that is updated.
const NEW: [(&str, &str); 3] = [
    ("currentConfig", "config-new"),
    ("desiredConfig", "config-new"),
    ("state", "Done"),
];

/// Annotations of a node that is being updated.
fn moving<'a>(state: &'a str, others: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let configs = [
        ("currentConfig", "config-old"),
        ("desiredConfig", "config-new"),
        ("state", state),
    ];
    configs.iter().chain(others).copied().collect()
}

fn report(objects: Vec<Value>) -> Result<StatusReport, StatusError> {
    assess(&objects::facts(objects).unwrap(), now(), Method::Oc)
}

/// How an update proceeds, of these objects and a ClusterVersion.
fn update(objects: impl IntoIterator<Item = Value>) -> UpdateStatus {
    let objects = [version(), operator("etcd")]
        .into_iter()
        .chain(configs())
        .chain(objects);
    report(objects.collect()).unwrap().update.unwrap()
}

/// The insights of an update, without their words.
fn levels(insights: &[Insight]) -> Vec<(&str, &str)> {
    let words = |insight: &Insight| (insight.level.as_str(), insight.impact.as_str());
    insights.iter().map(words).collect()
}

#[test]
fn a_cluster_without_operators_says_nothing() {
    assert_eq!(report(vec![version()]).unwrap_err(), StatusError::NoOperators);
}

#[test]
fn a_cluster_version_must_say_whether_it_progresses() {
    let mut silent = version();
    silent["status"]["conditions"] = json!([]);
    assert_eq!(
        report(vec![silent, operator("etcd")]).unwrap_err(),
        StatusError::NoProgressing
    );
}

#[test]
fn a_cluster_does_not_update_if_nothing_progresses_and_no_worker_is_behind() {
    let idle = || with_condition(version(), "Progressing", "False", &minutes_ago(10));
    let with = |role: &str, annotations: &[(&str, &str)]| {
        let objects = [
            idle(),
            operator("etcd"),
            pool("master"),
            pool("worker"),
            node("node-one", role, annotations),
        ];
        let complete = report(objects.iter().cloned().chain(configs()).collect()).unwrap();
        // MachineConfigs are large, and left out of many dumps: the pools say as well what nodes should run.
        let without_configs = report(objects.to_vec()).unwrap();
        assert_eq!(complete.update.is_some(), without_configs.update.is_some());
        assert!(without_configs.notes[0].starts_with("the machine configs could not be read"));
        complete.update.is_some()
    };
    assert!(!with("worker", &NEW), "updated");
    assert!(with("worker", &OLD), "a worker is behind");
    assert!(!with("master", &OLD), "only workers count");
}

#[test]
fn what_could_not_be_read_takes_nothing_else_with_it() {
    let broken = json!({"kind": "Node", "metadata": {"name": 7}});
    let objects = [version(), operator("etcd"), pool("worker"), broken];
    let report = report(objects.into_iter().chain(configs()).collect()).unwrap();
    assert_eq!(report.update.unwrap().control_plane.operators.total, 1);
    assert_eq!(report.notes.len(), 1);
    assert!(
        report.notes[0].starts_with("the nodes could not be read"),
        "{:?}",
        report.notes
    );
}
