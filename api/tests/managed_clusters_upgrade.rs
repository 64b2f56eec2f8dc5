//! What a server accepts as a ManagedClustersUpgrade, and what it refuses in which words.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_api::{
    GoDuration, crds,
    mcu::{ManagedClustersUpgrade, UpgradeVia, parse_limit},
};
use kube_cel::Validator;
use serde::Deserialize;
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("data/mcu-example.yaml");
const SPECS: &str = include_str!("data/mcu-specs.yaml");

/// A change to the example, and what a server says to it.
#[derive(Deserialize)]
struct Case {
    name: String,
    spec: Value,
    refused: Option<String>,
    by: Option<String>,
}

fn example() -> Value {
    serde_saphyr::from_str(EXAMPLE).unwrap()
}

fn cases() -> Vec<(Case, Value)> {
    let cases: Vec<Case> = serde_saphyr::from_str(SPECS).unwrap();
    cases
        .into_iter()
        .map(|case| {
            let mut object = example();
            merge(&mut object["spec"], &case.spec);
            (case, object)
        })
        .collect()
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(name);
        } else {
            merge(&mut target[name], change);
        }
    }
}

fn schema() -> Value {
    let definition = serde_json::to_value(&crds()[0]).unwrap();
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

#[test]
fn the_documents_example_is_read_and_written_back_without_loss() {
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(example()).unwrap();
    assert_eq!(serde_json::to_value(&upgrade).unwrap(), example());
}

#[test]
fn both_forms_of_an_action_give_the_work() {
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(example()).unwrap();
    let manifests = |action: &Option<drydock_api::mcu::Action>| {
        let work = action
            .as_ref()
            .unwrap()
            .manifest_work
            .work_spec()
            .unwrap()
            .clone();
        work.workload.unwrap().manifests
    };
    assert_eq!(manifests(&upgrade.spec.pre_upgrade_action)[0].0["kind"], "Job");
    assert_eq!(
        manifests(&upgrade.spec.post_upgrade_action)[0].0["kind"],
        "ConfigMap"
    );
}

#[test]
fn rules_refuse_bad_specs_and_say_what_to_write() {
    let (schema, validator) = (schema(), Validator::new());
    for (case, object) in cases() {
        let verdict = validator.validate(&schema, &object, None);
        match (case.by.as_deref(), case.refused) {
            (Some("rule"), Some(words)) => {
                let errors = verdict.expect_err(&case.name).to_string();
                assert!(errors.contains(&words), "{}: {errors}", case.name);
            }
            // A server looks at rules only where the schema has no objection.
            (_, Some(_)) => {}
            (_, None) => assert!(verdict.is_ok(), "{}: {}", case.name, verdict.unwrap_err()),
        }
    }
}

#[test]
fn every_spec_that_the_rules_see_can_be_read() {
    // A refused one too: a server that lacks the rules lets it through, and its status must be able to say why.
    for (case, object) in cases()
        .into_iter()
        .filter(|(case, _)| case.by.as_deref() != Some("schema"))
    {
        let read = serde_json::from_value::<ManagedClustersUpgrade>(object);
        assert!(read.is_ok(), "{}: {}", case.name, read.unwrap_err());
    }
}

#[test]
fn what_rules_and_schema_accept_can_be_parsed() {
    for (case, object) in cases().into_iter().filter(|(case, _)| case.refused.is_none()) {
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(object).unwrap();
        let strategy = upgrade.spec.upgrade_strategy.unwrap();
        let canaries = strategy.canary_clusters.unwrap();
        let timeouts = [
            strategy.cluster_upgrade_timeout,
            strategy.operators_upgrade_timeout,
            canaries.soak_time,
        ];
        for timeout in timeouts.into_iter().flatten() {
            assert!(timeout.parse::<GoDuration>().is_ok(), "{}: {timeout}", case.name);
        }
        for limit in [strategy.max_concurrency, strategy.max_failures]
            .into_iter()
            .flatten()
        {
            assert!(parse_limit(&limit).is_ok(), "{}: {limit:?}", case.name);
        }
        if let Some(via) = strategy.upgrade_via {
            assert!(via.parse::<UpgradeVia>().is_ok(), "{}: {via}", case.name);
        }
    }
}
