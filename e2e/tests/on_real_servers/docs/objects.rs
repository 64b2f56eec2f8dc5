//! Every object in the docs is accepted by a real API server with our definitions and the real ones of OCM and OpenShift. A block that is no
//! whole object (a part of a spec, or a file of configuration) is at least YAML.

use std::collections::BTreeSet;

use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::{Block, blocks};

pub(super) fn objects(block: &Block) -> Vec<Value> {
    let parsed: Result<Vec<Value>, _> = serde_saphyr::from_multiple(&block.text);
    let documents = parsed.unwrap_or_else(|error| panic!("{}: {error}", block.place()));
    // A Kustomization is for kubectl, and no server has it.
    let is_object =
        |document: &Value| document["apiVersion"].is_string() && document["kind"] != "Kustomization";
    documents.into_iter().filter(is_object).collect()
}

async fn try_out(admin: &Client, object: &Value) -> anyhow::Result<()> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let types = object.types.clone().unwrap_or_default();
    let api = manifests::api(admin, &types, object.namespace().as_deref()).await?;
    let parameters = PatchParams::apply("docs").force().dry_run().validation_strict();
    api.patch(&object.name_any(), &parameters, &Patch::Apply(&object))
        .await?;
    Ok(())
}

#[tokio::test]
async fn every_object_in_the_docs_is_accepted() {
    let server = ControlPlane::start_with(&Settings::named("docs"), Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    manifests::install(&admin, &manifests::definitions().unwrap())
        .await
        .unwrap();
    let blocks = blocks();
    let yaml = || blocks.iter().filter(|block| block.kind == "yaml");
    let all: Vec<(&Block, Value)> = yaml()
        .flat_map(|block| objects(block).into_iter().map(move |object| (block, object)))
        .collect();
    assert!(all.len() > 10, "the docs have objects: {}", all.len());
    let named = all
        .iter()
        .filter_map(|(_, object)| object["metadata"]["namespace"].as_str());
    for namespace in named.collect::<BTreeSet<_>>() {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let namespace: DynamicObject = serde_json::from_value(namespace).unwrap();
        manifests::apply(&admin, &namespace).await.unwrap();
    }
    let mut refused = Vec::new();
    for (block, object) in &all {
        if let Err(error) = try_out(&admin, object).await {
            refused.push(format!("{}: {} {error:#}", block.place(), object["kind"]));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
