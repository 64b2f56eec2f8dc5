//! Our UpgradeConfig accepts every object that the original's definition accepts, and reads it without loss.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use drydock_api::{crds, upgradeconfig::UpgradeConfig};
use proptest::{
    prelude::*,
    strategy::{BoxedStrategy, Just},
};
use serde_json::{Map, Value, json};

fn original() -> Option<Value> {
    let file = shared::folder("crds")?.join("muo/upgradeconfigs.yaml");
    shared::documents(&file).into_iter().next()
}

fn schema(definition: &Value) -> Value {
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

fn ours() -> Value {
    let ours = crds()
        .into_iter()
        .find(|definition| definition.spec.names.kind == "UpgradeConfig");
    serde_json::to_value(ours.unwrap()).unwrap()
}

#[test]
fn names_columns_and_subresources_are_the_originals() {
    let Some(original) = original() else { return };
    let ours = ours();
    assert_eq!(ours["metadata"]["name"], original["metadata"]["name"]);
    for said in ["group", "names", "scope"] {
        assert_eq!(ours["spec"][said], original["spec"][said], "{said}");
    }
    let (ours, original) = (&ours["spec"]["versions"][0], &original["spec"]["versions"][0]);
    for said in [
        "name",
        "served",
        "storage",
        "subresources",
        "additionalPrinterColumns",
    ] {
        assert_eq!(ours[said], original[said], "{said}");
    }
}

#[test]
fn no_field_is_stricter_than_the_originals() {
    let Some(original) = original() else { return };
    let (ours, original) = (schema(&ours()), schema(&original));
    for part in ["spec", "status"] {
        admits(&ours["properties"][part], &original["properties"][part], part);
    }
}

/// Every value that `original` describes, `ours` describes too.
fn admits(ours: &Value, original: &Value, path: &str) {
    let known = [
        "description",
        "type",
        "format",
        "properties",
        "required",
        "items",
        "enum",
        "minimum",
    ];
    for said in ours.as_object().unwrap().keys() {
        assert!(
            known.contains(&said.as_str()),
            "{path}: ours says {said}, which may refuse something"
        );
    }
    assert_eq!(ours["type"], original["type"], "{path}");
    assert_eq!(ours["format"], original["format"], "{path}");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for required in list(&ours["required"]) {
        assert!(
            list(&original["required"]).contains(&required),
            "{path} requires {required}"
        );
    }
    if ours["enum"].is_array() {
        assert!(
            original["enum"].is_array(),
            "{path}: only ours is limited to some values"
        );
        for value in list(&original["enum"]) {
            assert!(list(&ours["enum"]).contains(&value), "{path} refuses {value}");
        }
    }
    if let Some(minimum) = ours["minimum"].as_f64() {
        assert!(
            original["minimum"]
                .as_f64()
                .is_some_and(|theirs| theirs >= minimum),
            "{path}"
        );
    }
    for (name, field) in original["properties"].as_object().into_iter().flatten() {
        let ours = ours["properties"]
            .get(name)
            .unwrap_or_else(|| panic!("{path}.{name} is not ours"));
        admits(ours, field, &format!("{path}.{name}"));
    }
    if original["items"].is_object() {
        admits(&ours["items"], &original["items"], &format!("{path}[]"));
    }
}

/// Any value that a schema describes.
fn any_of(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return proptest::sample::select(values.clone()).boxed();
    }
    match schema["type"].as_str().unwrap() {
        "object" => any_object(schema),
        "array" => proptest::collection::vec(any_of(&schema["items"]), 0..3)
            .prop_map(Value::from)
            .boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            let minimum = schema["minimum"].as_i64().unwrap_or(i64::from(i32::MIN));
            (minimum..=i64::from(i32::MAX)).prop_map(Value::from).boxed()
        }
        "string" if schema["format"] == "date-time" => (0_i64..4_000_000_000)
            .prop_map(|second| json!(jiff::Timestamp::from_second(second).unwrap().to_string()))
            .boxed(),
        "string" => ".{0,12}".prop_map(Value::from).boxed(),
        other => panic!("no values of type {other}"),
    }
}

fn any_object(schema: &Value) -> BoxedStrategy<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    fields
        .into_iter()
        .fold(Just(Map::new()).boxed(), |object, (name, field)| {
            let value = if required.contains(&json!(name)) {
                any_of(&field).prop_map(Some).boxed()
            } else {
                proptest::option::of(any_of(&field)).boxed()
            };
            (object, value)
                .prop_map(move |(mut object, value)| {
                    value.and_then(|value| object.insert(name.clone(), value));
                    object
                })
                .boxed()
        })
        .prop_map(Value::from)
        .boxed()
}

#[test]
fn every_object_of_the_originals_definition_comes_back_without_loss() {
    let Some(original) = original() else { return };
    let original = schema(&original);
    let parts = (
        any_of(&original["properties"]["spec"]),
        any_of(&original["properties"]["status"]),
    );
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let verdict = runner.run(&parts, |(spec, status)| {
        let object = json!({
            "apiVersion": "upgrade.managed.openshift.io/v1alpha1",
            "kind": "UpgradeConfig",
            "metadata": { "name": "managed-upgrade-config" },
            "spec": spec,
            "status": status,
        });
        let read: UpgradeConfig = serde_json::from_value(object.clone()).unwrap();
        prop_assert_eq!(serde_json::to_value(&read).unwrap(), object);
        Ok(())
    });
    verdict.unwrap();
}

#[test]
fn a_phase_that_nobody_knows_is_unknown() {
    let history = json!({ "phase": "Paused" });
    let read: drydock_api::upgradeconfig::UpgradeHistory = serde_json::from_value(history).unwrap();
    assert_eq!(read.phase.as_str(), "Unknown");
}
