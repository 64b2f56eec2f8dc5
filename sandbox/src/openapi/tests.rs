use super::*;
use crate::bed::hub_types;
use crate::server::{ApiServer, ServerSettings};
use drydock_runtime::Clock;

fn server() -> ApiServer {
    let clock = Clock::simulated(jiff::Timestamp::UNIX_EPOCH);
    ApiServer::new(ServerSettings::new("hub", clock, 1, hub_types().unwrap()))
}

const OURS: (&str, &str) = ("cluster.open-cluster-management.io", "v1beta1");

#[tokio::test]
async fn discovery_names_every_kind_and_its_parts_in_both_forms() {
    let registry = server().registry();
    let old = resources(&registry, OURS.0, OURS.1).unwrap();
    let names: Vec<&str> = old["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(names.contains(&"managedclustersupgrades") && names.contains(&"managedclustersupgrades/status"));
    assert!(resources(&registry, OURS.0, "v9").is_none());
    let all = aggregated(&registry, false);
    let group = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["metadata"]["name"] == OURS.0)
        .unwrap();
    let versions: Vec<&str> = group["versions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["version"].as_str())
        .collect();
    assert_eq!(
        versions,
        ["v1", "v1beta2", "v1beta1"],
        "the preferred version comes first"
    );
    assert_eq!(
        aggregated(&registry, true)["items"][0]["versions"][0]["version"],
        "v1"
    );
}

#[tokio::test]
async fn a_document_has_a_path_and_a_schema_for_each_kind_and_everything_they_refer_to() {
    let registry = server().registry();
    for (group, version) in [OURS, ("", "v1"), ("batch", "v1")] {
        let document = document(&registry, group, version).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{group}/{version} refers to {name}");
        }
    }
    let document = document(&registry, OURS.0, OURS.1).unwrap();
    let path = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/{namespace}/managedclustersupgrades/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"]["kind"],
        "ManagedClustersUpgrade"
    );
    assert!(
        patch["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "fieldValidation")
    );
    assert!(index(&registry)["paths"]["api/v1"]["serverRelativeURL"].is_string());
}
