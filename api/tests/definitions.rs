//! `crds/` is what the types say, and every definition is one that a server takes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::{collections::BTreeSet, fs, path::Path};

use drydock_api::{crds, foreign_crds, to_yaml};
use serde_json::Value;

#[test]
fn crds_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crds");
    let mut expected = BTreeSet::new();
    for definition in crds() {
        let name = format!("{}.yaml", definition.spec.names.plural);
        let present = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert_eq!(
            present,
            to_yaml(&definition).unwrap(),
            "crds/{name} is stale: run `cargo run -p drydock-api --bin crds`"
        );
        expected.insert(name);
    }
    let present: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "kustomization.yaml")
        .collect();
    assert_eq!(present, expected, "crds/ holds no other definition");
}

#[test]
fn what_is_optional_is_left_out_and_never_null() {
    for definition in crds().into_iter().chain(foreign_crds()) {
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
    for definition in crds().into_iter().chain(foreign_crds()) {
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

/// Kinds of which no real definition is at hand.
const WITHOUT_MODEL: [&str; 2] = [
    "catalogsources.operators.coreos.com",
    "clusterserviceversions.operators.coreos.com",
];

#[test]
fn definitions_of_foreign_kinds_have_the_shape_of_the_real_ones() {
    let Some(folder) = shared::folder("crds") else {
        return;
    };
    let real: Vec<Value> = ["ocm", "openshift", "olm"]
        .iter()
        .flat_map(|source| shared::yaml_files(&folder.join(source)))
        .flat_map(|file| shared::documents(&file))
        .collect();
    for definition in foreign_crds() {
        let ours = serde_json::to_value(&definition).unwrap();
        let name = &ours["metadata"]["name"];
        let theirs = real.iter().find(|real| real["metadata"]["name"] == *name);
        let Some(theirs) = theirs else {
            let name = name.as_str().unwrap();
            assert!(WITHOUT_MODEL.contains(&name), "{name}");
            continue;
        };
        assert_eq!(ours["spec"]["names"], theirs["spec"]["names"], "{name}");
        assert_eq!(ours["spec"]["scope"], theirs["spec"]["scope"], "{name}");
        let ours = &ours["spec"]["versions"][0];
        let versions = theirs["spec"]["versions"].as_array().unwrap();
        let theirs = versions
            .iter()
            .find(|version| version["name"] == ours["name"])
            .unwrap();
        assert_eq!(theirs["served"], true, "{name}");
        assert_eq!(ours["subresources"], theirs["subresources"], "{name}");
        assert_eq!(columns(ours), columns(theirs), "{name}");
        for part in ["spec", "status"] {
            let at = |version: &Value| version["schema"]["openAPIV3Schema"]["properties"][part].clone();
            no_stricter(&at(ours), &at(theirs), &format!("{name} {part}"));
        }
    }
}

fn columns(version: &Value) -> Vec<[Value; 3]> {
    let columns = version["additionalPrinterColumns"].as_array();
    columns
        .into_iter()
        .flatten()
        .map(|column| ["name", "type", "jsonPath"].map(|field| column[field].clone()))
        .collect()
}

/// What ours requires, lists by key or gives a default, theirs does too, in the same way.
fn no_stricter(ours: &Value, theirs: &Value, path: &str) {
    for said in [
        "type",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "default",
    ] {
        if let Some(value) = ours.get(said) {
            assert_eq!(Some(value), theirs.get(said), "{path} {said}");
        }
    }
    for required in ours["required"].as_array().into_iter().flatten() {
        let theirs = theirs["required"].as_array().unwrap();
        assert!(theirs.contains(required), "{path} requires {required}");
    }
    for (name, field) in ours["properties"].as_object().into_iter().flatten() {
        no_stricter(field, &theirs["properties"][name], &format!("{path}.{name}"));
    }
    if ours["items"].is_object() {
        no_stricter(&ours["items"], &theirs["items"], &format!("{path}[]"));
    }
}

mod shared;
