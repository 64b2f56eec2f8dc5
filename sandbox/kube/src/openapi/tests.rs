use super::*;
use crate::server::Types;
use crate::server::{ApiServer, ServerSettings};
use serde_json::json;
use virtual_clock::Clock;

const GROUP: (&str, &str) = ("example.com", "v1beta1");

/// Three kinds of one group, each in another version.
fn server() -> ApiServer {
    let definitions =
        [("Widget", "v1beta1"), ("Gadget", "v1"), ("Tool", "v1beta2")].map(|(kind, version)| {
            let plural = format!("{}s", kind.to_lowercase());
            json!({
                "metadata": {"name": format!("{plural}.{}", GROUP.0)},
                "spec": {
                    "group": GROUP.0, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
                    "versions": [{
                        "name": version, "served": true, "storage": true, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                            "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                            "status": {"type": "object"},
                        }}},
                    }],
                },
            })
        });
    let types = Types::with_definition_values(definitions.to_vec()).unwrap();
    let clock = Clock::simulated(jiff::Timestamp::UNIX_EPOCH);
    ApiServer::new(ServerSettings::new("server", clock, 1, types))
}

#[tokio::test]
async fn discovery_names_every_kind_and_its_parts_in_both_forms() {
    let registry = server().registry();
    let old = resources(&registry, GROUP.0, GROUP.1).unwrap();
    let names: Vec<&str> = old["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert!(names.contains(&"widgets") && names.contains(&"widgets/status"));
    assert!(resources(&registry, GROUP.0, "v9").is_none());
    let all = aggregated(&registry, false);
    let group = all["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["metadata"]["name"] == GROUP.0)
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
    for (group, version) in [GROUP, ("", "v1"), ("batch", "v1")] {
        let document = document(&registry, group, version).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let text = document.to_string();
        for reference in text.split("\"#/components/schemas/").skip(1) {
            let name = reference.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{group}/{version} refers to {name}");
        }
    }
    let document = document(&registry, GROUP.0, GROUP.1).unwrap();
    let path = "/apis/example.com/v1beta1/namespaces/{namespace}/widgets/{name}";
    let patch = &document["paths"][path]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Widget");
    assert!(
        patch["parameters"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["name"] == "fieldValidation")
    );
    assert!(index(&registry)["paths"]["api/v1"]["serverRelativeURL"].is_string());
}
