//! Foreign kinds are read and written back without loss, whatever they carry.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use std::{collections::BTreeMap, fmt::Debug};

use drydock_api::{
    ocm::{
        ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, ManifestWork,
        Placement, PlacementDecision,
    },
    olm::{CatalogSource, ClusterServiceVersion, InstallPlan, Subscription},
    openshift::{ClusterOperator, ClusterVersion, MachineConfigPool},
};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// Reads an object as its type and writes it back; `None` for a kind that is not ours to read.
fn through_its_type(object: &Value) -> Option<Result<Value, serde_json::Error>> {
    let through: fn(Value) -> _ = match object["kind"].as_str()? {
        "ManagedCluster" => through::<ManagedCluster>,
        "ManagedClusterSet" => through::<ManagedClusterSet>,
        "ManagedClusterSetBinding" => through::<ManagedClusterSetBinding>,
        "ManagedClusterAddOn" => through::<ManagedClusterAddOn>,
        "ManifestWork" => through::<ManifestWork>,
        "Placement" => through::<Placement>,
        "PlacementDecision" => through::<PlacementDecision>,
        "ClusterVersion" => through::<ClusterVersion>,
        "ClusterOperator" => through::<ClusterOperator>,
        "MachineConfigPool" => through::<MachineConfigPool>,
        "CatalogSource" => through::<CatalogSource>,
        "Subscription" => through::<Subscription>,
        "InstallPlan" => through::<InstallPlan>,
        "ClusterServiceVersion" => through::<ClusterServiceVersion>,
        _ => return None,
    };
    Some(through(object.clone()))
}

fn through<K: DeserializeOwned + Serialize>(object: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<K>(object)?)
}

/// The objects of a document: those of a list, of a watch event, of a request, or the document itself.
fn objects(document: Value) -> Vec<Value> {
    match document {
        Value::Object(mut fields) if fields.contains_key("items") => match fields.remove("items") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        },
        Value::Object(mut fields) if fields.contains_key("object") => {
            fields.remove("object").into_iter().collect()
        }
        Value::Object(mut fields) if fields.contains_key("request") => fields
            .remove("request")
            .and_then(|mut request| request.get_mut("body").map(Value::take))
            .into_iter()
            .collect(),
        other => vec![other],
    }
}

fn recorded() -> Vec<Value> {
    let Some(folder) = shared::folder("fixtures") else {
        return Vec::new();
    };
    let files = shared::yaml_files(&folder);
    files
        .iter()
        .flat_map(|file| shared::documents(file))
        .flat_map(objects)
        .map(with_owner_uids)
        .collect()
}

/// The recordings leave out UIDs, but a reference to an owner has one.
fn with_owner_uids(mut object: Value) -> Value {
    let owners = object
        .pointer_mut("/metadata/ownerReferences")
        .and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten() {
        if owner["uid"].is_null() {
            owner["uid"] = json!("00000000-0000-0000-0000-000000000000");
        }
    }
    object
}

#[test]
fn objects_of_real_clusters_and_of_real_ocm_come_back_without_loss() {
    let mut seen = BTreeMap::<String, usize>::new();
    for object in recorded() {
        if let Some(back) = through_its_type(&object) {
            let (kind, name) = (object["kind"].to_string(), &object["metadata"]["name"]);
            assert_eq!(back.unwrap(), object, "{kind} {name}");
            *seen.entry(kind).or_default() += 1;
        }
    }
    if shared::folder("fixtures").is_some() {
        assert_eq!(seen.len(), 7, "every recorded kind is read: {seen:?}");
    }
}

#[test]
fn unknown_fields_and_values_neither_fail_nor_get_lost() {
    for mut object in recorded() {
        disturb(&mut object, true);
        if let Some(back) = through_its_type(&object) {
            assert_eq!(back.unwrap(), object);
        }
    }
}

/// What Kubernetes itself defines, and closes.
const CLOSED: [&str; 5] = [
    "metadata",
    "kind",
    "apiVersion",
    "labelSelector",
    "matchExpressions",
];

/// Adds a field to every object and a letter to every text, but for what is closed and for the root's own fields.
fn disturb(value: &mut Value, root: bool) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !CLOSED.contains(&name.as_str()) {
                    disturb(field, false);
                }
            }
            if !root {
                fields.insert("unheardOf".to_owned(), json!({ "nested": [1, null, "two"] }));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| disturb(item, false)),
        Value::String(text) => text.push('?'),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn an_object_of_nothing_but_its_name_is_read() {
    bare::<ManagedCluster>();
    bare::<ManagedClusterSet>();
    bare::<ManagedClusterSetBinding>();
    bare::<ManagedClusterAddOn>();
    bare::<ManifestWork>();
    bare::<Placement>();
    bare::<PlacementDecision>();
    bare::<ClusterVersion>();
    bare::<ClusterOperator>();
    bare::<MachineConfigPool>();
    bare::<CatalogSource>();
    bare::<Subscription>();
    bare::<InstallPlan>();
    bare::<ClusterServiceVersion>();
}

/// Items of a list may lack `apiVersion` and `kind`, and anything may lack a spec.
fn bare<K: DeserializeOwned + Serialize + Default + PartialEq + Debug + kube::Resource<DynamicType = ()>>() {
    let read: K = serde_json::from_value(json!({ "metadata": { "name": "bare" } })).unwrap();
    let mut built = K::default();
    built.meta_mut().name = Some("bare".to_owned());
    assert_eq!(read, built);
    let written = serde_json::to_value(&built).unwrap();
    assert_eq!(written["apiVersion"], json!(K::api_version(&())));
    assert_eq!(written["kind"], json!(K::kind(&())));
}

proptest! {
    #[test]
    fn a_work_with_any_feedback_is_read(type_ in ".*", text in proptest::option::of(".*"), extra in any::<i64>()) {
        let value = json!({ "name": "state", "fieldValue": { "type": type_, "string": text, "extra": extra } });
        let object = json!({
            "apiVersion": "work.open-cluster-management.io/v1",
            "kind": "ManifestWork",
            "metadata": {},
            "status": { "resourceStatus": { "manifests": [{ "statusFeedback": { "values": [value] } }] } },
        });
        let work: ManifestWork = serde_json::from_value(object).unwrap();
        let manifests = work.status.unwrap().resource_status.unwrap().manifests;
        let feedback = manifests[0].status_feedback.as_ref().unwrap();
        prop_assert_eq!(feedback.value("state").unwrap().to_text(), text);
        prop_assert!(feedback.value("version").is_none());
    }
}
