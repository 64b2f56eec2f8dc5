//! Maintenance schedules: our definitions accept every object that the originals accept, and read it without loss.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use drydock_api::{
    crds,
    schedule::{
        GROUP, ManagedClusterVersion, NodeForceDrain, UpgradeConfig, UpgradeJob, UpgradeJobHook,
        UpgradeSuspensionWindow,
    },
};
use kube_cel::Validator;
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::schema::{admits, any_of, schema, unknown_field};

const OBJECTS: &str = include_str!("data/schedule-objects.yaml");

/// What is refused at the door although the originals accept it: schedules that never come, and what no rule can look at because
/// it is too long.
const REFUSALS: &[(&str, &str)] = &[
    ("UpgradeConfig.spec.schedule.cron", "maxLength"),
    ("UpgradeConfig.spec.schedule.cron", "x-kubernetes-validations"),
    ("UpgradeConfig.spec.schedule.isoWeek", "maxLength"),
    ("UpgradeConfig.spec.schedule.isoWeek", "x-kubernetes-validations"),
    ("UpgradeSuspensionWindow.spec", "x-kubernetes-validations"),
];

/// Rules on fields of ours, and those of the original in other words.
const SAME: &[(&str, &str)] = &[
    ("UpgradeJob.spec.desiredVersion", "x-kubernetes-validations"),
    (
        "UpgradeJob.spec.config.preUpgradeHealthChecks",
        "x-kubernetes-validations",
    ),
    (
        "UpgradeJob.spec.config.postUpgradeHealthChecks",
        "x-kubernetes-validations",
    ),
    (
        "UpgradeConfig.spec.jobTemplate.spec.config.preUpgradeHealthChecks",
        "x-kubernetes-validations",
    ),
    (
        "UpgradeConfig.spec.jobTemplate.spec.config.postUpgradeHealthChecks",
        "x-kubernetes-validations",
    ),
];

fn objects() -> Vec<Value> {
    serde_saphyr::from_multiple(OBJECTS).unwrap()
}

fn ours() -> Vec<Value> {
    let ours = crds()
        .into_iter()
        .filter(|definition| definition.spec.group == GROUP);
    ours.map(|definition| serde_json::to_value(definition).unwrap())
        .collect()
}

/// Our definitions, each with the original's.
fn both() -> Vec<(String, Value, Value)> {
    let Some(folder) = shared::folder("crds") else {
        return Vec::new();
    };
    ours()
        .into_iter()
        .map(|ours| {
            let plural = ours["spec"]["names"]["plural"].as_str().unwrap();
            let file = folder.join(format!("appuio/{plural}.yaml"));
            let original = shared::documents(&file).remove(0);
            let kind = ours["spec"]["names"]["kind"].as_str().unwrap().to_owned();
            (kind, ours, original)
        })
        .collect()
}

fn schema_of(kind: &str) -> Value {
    let ours = ours();
    let mut ours = ours
        .iter()
        .filter(|definition| definition["spec"]["names"]["kind"] == kind);
    schema(ours.next().unwrap())
}

/// An object read as its type and written back.
fn read_and_written(object: &Value) -> Value {
    fn through<T: serde::de::DeserializeOwned + serde::Serialize>(object: &Value) -> Value {
        let read: T = serde_json::from_value(object.clone()).unwrap();
        serde_json::to_value(read).unwrap()
    }
    match object["kind"].as_str().unwrap() {
        "UpgradeConfig" => through::<UpgradeConfig>(object),
        "UpgradeJob" => through::<UpgradeJob>(object),
        "UpgradeJobHook" => through::<UpgradeJobHook>(object),
        "UpgradeSuspensionWindow" => through::<UpgradeSuspensionWindow>(object),
        "NodeForceDrain" => through::<NodeForceDrain>(object),
        "ClusterVersion" => through::<ManagedClusterVersion>(object),
        other => panic!("no kind {other}"),
    }
}

#[test]
fn names_and_subresources_are_the_originals() {
    for (kind, ours, original) in both() {
        assert_eq!(ours["metadata"]["name"], original["metadata"]["name"]);
        assert_eq!(ours["spec"]["scope"], original["spec"]["scope"], "{kind}");
        for name in ["kind", "listKind", "plural", "singular"] {
            let (ours, original) = (&ours["spec"]["names"][name], &original["spec"]["names"][name]);
            assert_eq!(ours, original, "{kind}");
        }
        let (ours, original) = (&ours["spec"]["versions"], &original["spec"]["versions"]);
        assert_eq!(ours.as_array().map(Vec::len), Some(1), "{kind}");
        for word in ["name", "served", "storage", "subresources"] {
            assert_eq!(ours[0][word], original[0][word], "{kind}.{word}");
        }
    }
}

#[test]
fn no_field_is_stricter_than_the_originals() {
    let exceptions = [REFUSALS, SAME].concat();
    for (kind, ours, original) in both() {
        let (ours, original) = (schema(&ours), schema(&original));
        assert_eq!(ours["required"], original["required"], "{kind}");
        for part in ["spec", "status"] {
            let path = format!("{kind}.{part}");
            admits(
                &ours["properties"][part],
                &original["properties"][part],
                &path,
                &exceptions,
            );
        }
    }
}

#[test]
fn every_object_of_the_originals_definitions_comes_back_without_loss() {
    for (kind, ours, original) in both() {
        let (ours, mut original) = (schema(&ours), schema(&original));
        // A hook's Job is a whole pod, and kept as it is: see the example.
        let spec = &mut original["properties"]["spec"]["properties"];
        spec.as_object_mut()
            .unwrap()
            .remove("template")
            .filter(|_| kind == "UpgradeJobHook");
        let parts = ["spec", "status"].map(|part| any_of(&original["properties"][part]));
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        let verdict = runner.run(&parts, |[spec, status]| {
            let object = json!({
                "apiVersion": format!("{GROUP}/v1beta1"),
                "kind": kind,
                "metadata": { "name": "example" },
                "spec": spec,
                "status": status,
            });
            prop_assert_eq!(read_and_written(&object), object.clone());
            for part in ["spec", "status"] {
                let schema = &ours["properties"][part];
                prop_assert_eq!(unknown_field(schema, &object[part], part), None);
            }
            Ok(())
        });
        verdict.unwrap();
    }
}

#[test]
fn examples_are_accepted_and_come_back_without_loss() {
    for object in objects() {
        let (kind, name) = (object["kind"].as_str().unwrap(), &object["metadata"]["name"]);
        let schema = schema_of(kind);
        for part in ["spec", "status"] {
            let unknown = unknown_field(&schema["properties"][part], &object[part], part);
            assert_eq!(unknown, None, "{kind} {name}");
        }
        let verdict = Validator::new().validate(&schema, &object, None);
        assert!(verdict.is_ok(), "{kind} {name}: {}", verdict.unwrap_err());
        assert_eq!(read_and_written(&object), object, "{kind} {name}");
    }
}

#[test]
fn an_object_without_a_spec_can_be_read() {
    let object =
        |kind: &str| json!({ "apiVersion": format!("{GROUP}/v1beta1"), "kind": kind, "metadata": {} });
    for kind in [
        "UpgradeJob",
        "UpgradeJobHook",
        "UpgradeSuspensionWindow",
        "NodeForceDrain",
        "ClusterVersion",
    ] {
        let read = read_and_written(&object(kind));
        assert_eq!(read_and_written(&read), read, "{kind}");
    }
    let window = read_and_written(&object("UpgradeSuspensionWindow"));
    assert!(window["spec"].get("configSelector").is_none(), "selects nothing");
    let drain = read_and_written(&object("NodeForceDrain"));
    assert_eq!(drain["spec"]["nodeDrainGracePeriod"], "0s", "deletes nothing");
}

/// An example of a kind, changed; and what our rules say to it.
fn verdict(kind: &str, change: impl FnOnce(&mut Value)) -> Result<(), String> {
    let mut object = objects()
        .into_iter()
        .find(|object| object["kind"] == kind)
        .unwrap();
    change(&mut object["spec"]);
    Validator::new()
        .validate(&schema_of(kind), &object, None)
        .map_err(|errors| errors.to_string())
}

fn refused(kind: &str, words: &str, change: impl FnOnce(&mut Value)) {
    let refusal = verdict(kind, change).expect_err(words);
    assert!(refusal.contains(words), "{refusal}");
}

#[test]
fn weeks_that_no_year_has_are_refused() {
    let week = |week: &str| verdict("UpgradeConfig", |spec| spec["schedule"]["isoWeek"] = json!(week));
    for accepted in ["@odd", "@even", "1", "01", "9", "10", "52", "53", ""] {
        assert_eq!(week(accepted), Ok(()), "{accepted}");
    }
    for refused in ["0", "00", "54", "60", "99", "007", "@Odd", "odd", "-1", " 7"] {
        let refusal = week(refused).expect_err(refused);
        assert!(
            refusal.contains("isoWeek must be @odd, @even or the number of a week from 1 to 53"),
            "{refused}: {refusal}"
        );
    }
}

fn cron(cron: &str) -> Result<(), String> {
    verdict("UpgradeConfig", |spec| spec["schedule"]["cron"] = json!(cron))
}

#[test]
fn cron_expressions_of_the_original_are_accepted() {
    for accepted in [
        "0 22 * * 2",
        "  0\t22 * * 2 \n",
        "*/15 0-5,22-23 1,15 1-6/2 MON-FRI",
        "0 22 * jan,DEC Tue",
        "5/10 1/2 ? * ?",
        "0 22 13 * 5",
        "0 22 ,1,,15, * *",
        "00 022 031 012 06",
        "0 22 * * 7",
        "@yearly",
        "@annually",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        "@every 36h",
        "@every 1h30m10.5s",
        "@every 0",
        "CRON_TZ=America/New_York 0 22 * * SUN",
        "TZ=UTC @daily",
        // The day of the week makes it come.
        "0 22 30 2 5",
        "0 22 29 2 *",
        "0 22 31 1,2 *",
        "0 22 30 2,3 *",
        "0 22 30 4 *",
        "0 22 15,31 4 *",
    ] {
        assert_eq!(cron(accepted), Ok(()), "{accepted}");
    }
}

#[test]
fn malformed_cron_expressions_are_refused() {
    for refused in [
        "",
        "0 22 * *",
        "0 0 22 * * 2",
        "0 22 * * 2 2027",
        "60 22 * * *",
        "0 24 * * *",
        "0 22 32 * *",
        "0 22 0 * *",
        "0 22 * 13 *",
        "0 22 * 0 *",
        "0 22 * * 8",
        "0 22 * * TUESDAY",
        "0 22 L * *",
        "0 22 * * 5#2",
        "*/0 22 * * *",
        "a b c d e",
        "10pm on Tuesdays",
        "@fortnightly",
        "@Weekly",
        "@every",
        "@every day",
        "@every -36h",
        "@weekly @daily",
    ] {
        let refusal = cron(refused).expect_err(refused);
        assert!(
            refusal.contains("cron must have five fields"),
            "{refused}: {refusal}"
        );
    }
}

#[test]
fn dates_that_never_come_are_refused() {
    for refused in [
        "0 22 30 2 *",
        "0 22 30,31 FEB ?",
        "0 22 30-31 02 *",
        "0 22 31 4 *",
        "0 22 31 apr,6,SEP,11 *",
        "CRON_TZ=Europe/Zurich 0 22 31 2,4,6,9,11 *",
    ] {
        let refusal = cron(refused).expect_err(refused);
        assert!(refusal.contains("cron never occurs"), "{refused}: {refusal}");
    }
}

#[test]
fn a_window_must_start_before_it_ends() {
    let start = |start: &'static str| move |spec: &mut Value| spec["start"] = json!(start);
    let kind = "UpgradeSuspensionWindow";
    assert_eq!(verdict(kind, start("2027-01-03T23:59:59Z")), Ok(()));
    assert_eq!(verdict(kind, start("2027-01-04T00:59:59+01:00")), Ok(()));
    refused(kind, "start must be before end", start("2027-01-04T00:00:00Z"));
    refused(
        kind,
        "start must be before end",
        start("2027-01-04T00:00:00-01:00"),
    );
}

#[test]
fn rules_of_the_original_on_releases_are_kept() {
    let desired = |desired: Value| move |spec: &mut Value| spec["desiredVersion"] = desired;
    let both = json!({ "version": "4.16.10", "architecture": "Multi", "image": "example.com/a@sha256:1" });
    refused("UpgradeJob", "architecture and image", desired(both));
    for without_version in [
        json!({ "architecture": "Multi" }),
        json!({ "architecture": "Multi", "version": "" }),
    ] {
        refused("UpgradeJob", "version must be set", desired(without_version));
    }
    let empty = json!({ "architecture": "", "image": "example.com/a@sha256:1" });
    assert_eq!(verdict("UpgradeJob", desired(empty)), Ok(()));
}

#[test]
fn fields_of_ours_are_read() {
    let config = json!({
        "schedule": { "cron": "0 22 * * 2", "location": "Europe/Zurich" },
        "maxSchedulingDelay": "1h",
        "maxUpgradeStartDelay": "1h",
        "notifications": [{
            "webhook": { "urlSecretRef": { "name": "notify", "key": "url" }, "signingKeySecretRef": { "name": "notify", "key": "key" } },
            "events": ["UpgradeSkipped"],
            "annotations": { "cluster": "c-one" },
        }],
        "jobTemplate": { "spec": { "config": {
            "upgradeTimeout": "12h",
            "preUpgradeHealthChecks": {
                "timeout": "1h",
                "checkCriticalAlerts": true,
                "checkDegradedOperators": true,
                "excludeAlerts": [{ "alertname": "KubePodCrashLooping", "severity": "critical" }],
                "excludeNamespaces": ["openshift-console"],
                "excludeOperators": ["openshift-monitoring"],
            },
            "postUpgradeHealthChecks": { "timeout": "1h" },
        } } },
    });
    let object = json!({ "apiVersion": format!("{GROUP}/v1beta1"), "kind": "UpgradeConfig", "metadata": {}, "spec": config });
    assert_eq!(
        unknown_field(&schema_of("UpgradeConfig"), &json!({ "spec": config }), ""),
        None
    );
    assert_eq!(read_and_written(&object), object);
    let read: UpgradeConfig = serde_json::from_value(object).unwrap();
    let notification = &read.spec.notifications.unwrap()[0];
    assert!(notification.wants("UpgradeSkipped") && !notification.wants("UpgradeFailed"));
}

#[test]
fn health_checks_that_contradict_themselves_are_refused() {
    let checks = |checks: Value| {
        move |spec: &mut Value| spec["jobTemplate"]["spec"]["config"]["preUpgradeHealthChecks"] = checks
    };
    let words = "skipDegradedOperatorsCheck and checkDegradedOperators contradict each other";
    let both = json!({ "timeout": "1h", "skipDegradedOperatorsCheck": true, "checkDegradedOperators": true });
    refused("UpgradeConfig", words, checks(both));
    let neither =
        json!({ "timeout": "1h", "skipDegradedOperatorsCheck": true, "checkDegradedOperators": false });
    assert_eq!(verdict("UpgradeConfig", checks(neither)), Ok(()));
}

/// The values that a server fills in, and for no other field of a spec.
#[test]
fn defaults_are_the_originals() {
    fn collect(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
        if let Some(default) = schema.get("default") {
            found.push((path.to_owned(), default.clone()));
        }
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            collect(field, &format!("{path}.{name}"), found);
        }
        if schema["items"].is_object() {
            collect(&schema["items"], &format!("{path}[]"), found);
        }
    }
    let defaults = |kind: &str| {
        let mut found = Vec::new();
        collect(&schema_of(kind)["properties"]["spec"], "spec", &mut found);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    };
    let job = |path: &str| {
        [
            ("postUpgradeHealthChecks.timeout", "1h"),
            ("preUpgradeHealthChecks.timeout", "1h"),
            ("upgradeTimeout", "12h"),
        ]
        .map(|(field, default)| (format!("{path}.{field}"), json!(default)))
    };
    let field = |path: &str, default: &str| (path.to_owned(), json!(default));
    let mut config = job("spec.jobTemplate.spec.config").to_vec();
    config.extend([
        field("spec.maxSchedulingDelay", "1h"),
        field("spec.maxUpgradeStartDelay", "1h"),
        field("spec.schedule.location", "Local"),
    ]);
    assert_eq!(defaults("UpgradeConfig"), config);
    assert_eq!(defaults("UpgradeJob"), job("spec.config"));
    for kind in [
        "UpgradeJobHook",
        "UpgradeSuspensionWindow",
        "NodeForceDrain",
        "ClusterVersion",
    ] {
        assert_eq!(defaults(kind), [], "{kind}");
    }
}
