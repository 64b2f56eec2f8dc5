//! `crds/` is what the types say, and every definition is one that a server takes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::{collections::BTreeSet, fs, path::Path};

use drydock_api::{crds, file_name, to_yaml};
use serde_json::Value;

#[test]
fn crds_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds");
    let mut expected = BTreeSet::new();
    for definition in crds() {
        let name = file_name(&definition);
        let present = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert_eq!(
            present,
            to_yaml(&definition).unwrap(),
            "crds/{name} is stale: run `cargo run -p drydock-api --bin crds`"
        );
        expected.insert(name);
    }
    let mut present = files(&folder, "");
    present.append(&mut files(&folder.join("schedule"), "schedule/"));
    present.append(&mut files(&folder.join("insights"), "insights/"));
    assert_eq!(present, expected, "crds/ holds no other definition");
}

fn files(folder: &Path, prefix: &str) -> BTreeSet<String> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| format!("{prefix}{}", entry.file_name().into_string().unwrap()))
        .filter(|name| !name.ends_with("kustomization.yaml"))
        .collect()
}

#[test]
fn every_definition_is_small_enough_to_be_applied() {
    // `kubectl apply` keeps a copy of the object in an annotation, and annotations may be 256 KiB together.
    for definition in crds() {
        let size = serde_json::to_string(&definition).unwrap().len();
        assert!(
            size < 200 << 10,
            "{:?} has {size} bytes",
            definition.metadata.name
        );
    }
}

#[test]
fn what_is_optional_is_left_out_and_never_null() {
    for definition in crds() {
        let text = to_yaml(&definition).unwrap();
        assert!(!text.contains("nullable"), "{:?}", definition.metadata.name);
    }
}

#[test]
fn every_field_of_ours_is_described() {
    for definition in crds() {
        let value = serde_json::to_value(&definition.spec.versions[0]).unwrap();
        let root = &value["schema"]["openAPIV3Schema"];
        for part in ["spec", "status"] {
            if let Some(schema) = root["properties"].get(part) {
                described(schema, &format!("{}.{part}", definition.spec.names.kind));
            }
        }
    }
}

fn described(schema: &Value, path: &str) {
    assert!(schema["description"].is_string(), "{path} has no description");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        described(field, &format!("{path}.{name}"));
    }
    if schema["items"]["properties"].is_object() {
        described(&schema["items"], &format!("{path}[]"));
    }
}

#[test]
fn every_schema_is_structural() {
    for definition in crds() {
        let value = serde_json::to_value(&definition.spec.versions[0]).unwrap();
        let fields = &value["schema"]["openAPIV3Schema"]["properties"];
        for (name, field) in fields.as_object().unwrap() {
            structural(field, &format!("{}.{name}", definition.spec.names.kind));
        }
    }
}

/// Every node says its type, and a list what it is a list of.
fn structural(schema: &Value, path: &str) {
    let typed = schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == Value::Bool(true);
    assert!(typed, "{path} has no type");
    assert!(schema.get("$ref").is_none(), "{path} refers to another schema");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        structural(field, &format!("{path}.{name}"));
    }
    if schema["type"] == "array" {
        structural(&schema["items"], &format!("{path}[]"));
    }
}
