//! Our UpgradeConfig accepts every object that the original's definition accepts, and reads it without loss.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use drydock_api::{crds, upgradeconfig::UpgradeConfig};
use proptest::prelude::*;
use serde_json::{Value, json};
use shared::schema::{admits, any_of, schema};

fn original() -> Option<Value> {
    let file = shared::folder("crds")?.join("muo/upgradeconfigs.yaml");
    shared::documents(&file).into_iter().next()
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
        admits(
            &ours["properties"][part],
            &original["properties"][part],
            part,
            &[],
        );
    }
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
