//! The lenient definitions of foreign kinds have the shape of the real ones. Those are kept beside the project; where they are
//! absent there is nothing to compare.

use std::path::Path;

use kube_sandbox::server::read_definitions;
use serde_json::Value;

fn foreign() -> Vec<Value> {
    let texts = [
        ocm_sandbox::crds::HUB,
        ocm_sandbox::crds::SPOKE,
        openshift_sandbox::crds::CLUSTER,
    ];
    read_definitions(&texts.concat()).unwrap()
}

fn real_definitions(source: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/crds")
        .join(source);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is not there", folder.display());
        return Vec::new();
    };
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|extension| extension == "yaml"))
        .flat_map(|file| {
            let text = std::fs::read_to_string(&file).unwrap();
            serde_saphyr::from_multiple::<Value>(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        })
        .collect()
}

/// Kinds of which no real definition is at hand.
const WITHOUT_MODEL: [&str; 4] = [
    "catalogsources.operators.coreos.com",
    "clusterserviceversions.operators.coreos.com",
    "etcds.operator.openshift.io",
    "prometheusrules.monitoring.coreos.com",
];

#[test]
fn definitions_of_foreign_kinds_have_the_shape_of_the_real_ones() {
    let real: Vec<Value> = ["ocm", "openshift", "olm"]
        .iter()
        .flat_map(|source| real_definitions(source))
        .collect();
    if real.is_empty() {
        return;
    }
    for ours in foreign() {
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
