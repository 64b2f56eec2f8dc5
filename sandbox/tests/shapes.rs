//! The objects of a real cluster beside those of a simulated one at the like moment, at rest: ours have their fields and their
//! condition types, and what ClusterVersion says is of the same form. The real objects are kept beside the project; where
//! they are absent there is nothing to compare.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::bed::{Bed, BedSettings};
use drydock_sandbox::server::{Call, Identity, ListOptions};
use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;

/// File, and where the kind is served.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("cv", "config.openshift.io", "v1", "clusterversions"),
    ("co", "config.openshift.io", "v1", "clusteroperators"),
    (
        "mcp",
        "machineconfiguration.openshift.io",
        "v1",
        "machineconfigpools",
    ),
    ("node", "", "v1", "nodes"),
];

/// What a simulated cluster has not, and why.
const ABSENT: &[(&str, &str)] = &[
    (
        ".status.extension",
        "some operators put figures of their own there",
    ),
    (".status.volumesInUse", "a simulated node mounts nothing"),
    (
        ".status.capabilities",
        "every capability is there, and nothing asks",
    ),
    (
        ".spec.configuration.source",
        "no MachineConfigs: the rendered one has only a name",
    ),
    (".spec.machineConfigSelector", "no MachineConfigs"),
    (
        ".status.desired.url",
        "errata are told by the update graph of a real vendor",
    ),
    (".spec.upstream", "the update service is inside the model"),
    (
        ".status.relatedObjects",
        "there is nothing that an operator could relate to",
    ),
];

/// Condition types that every operator has; others are its own.
const OF_OPERATORS: &[&str] = &["Available", "Progressing", "Degraded", "Upgradeable"];

fn recorded(file: &str) -> Option<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/fixtures/openshift/not-upgrading")
        .join(format!("{file}.yaml"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    };
    let mut document: Value = serde_saphyr::from_str(&text).unwrap();
    match document["items"].take() {
        Value::Array(items) => Some(items),
        _ => Some(vec![serde_saphyr::from_str(&text).unwrap()]),
    }
}

fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, below) in fields {
                paths(below, &format!("{at}.{name}"), into);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                paths(item, at, into);
            }
        }
        _ => {
            into.insert(at.to_owned());
        }
    }
}

fn all_paths(objects: &[Value]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for object in objects {
        for part in ["spec", "status"] {
            paths(&object[part], &format!(".{part}"), &mut found);
        }
    }
    // Labels are names of their own.
    found.retain(|path| !path.contains("matchLabels") && path != ".spec" && path != ".status");
    found
}

fn conditions(objects: &[Value]) -> Vec<&Value> {
    let lists = objects
        .iter()
        .filter_map(|object| object["status"]["conditions"].as_array());
    lists.flatten().collect()
}

fn types(objects: &[Value]) -> BTreeSet<String> {
    let types = conditions(objects)
        .into_iter()
        .filter_map(|condition| condition["type"].as_str());
    types.map(str::to_owned).collect()
}

/// A message with its versions and numbers taken out.
fn form(message: &str) -> String {
    let version = Regex::new(r"\d+\.\d+\.\d+[-.\w]*").unwrap();
    let url = Regex::new(r#""[^"]+""#).unwrap();
    let number = Regex::new(r"\d+").unwrap();
    let text = version.replace_all(message, "V");
    let text = url.replace_all(&text, "Q");
    number.replace_all(&text, "N").into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_at_rest_looks_as_a_real_one() {
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let bed = Bed::start(BedSettings::demo(1, 7), clock).await.unwrap();
    tokio::time::sleep(Duration::from_mins(10)).await;
    let server = bed.spoke("dev1").unwrap();
    let mut wrong = Vec::new();
    for (file, group, version, plural) in KINDS {
        let Some(real) = recorded(file) else { continue };
        let call = Call::over(
            Identity::new("observer"),
            server.kind(group, version, plural).unwrap(),
            None,
        );
        let list = server.list(&call, &ListOptions::default()).unwrap();
        let ours: Vec<Value> = list.items.iter().map(|object| object.value().clone()).collect();
        let present = all_paths(&ours);
        let is_absent = |path: &str| ABSENT.iter().any(|(absent, _)| path.starts_with(absent));
        let missing = all_paths(&real).into_iter().filter(|path| !is_absent(path));
        wrong.extend(
            missing
                .filter(|path| !present.iter().any(|ours| ours.starts_with(path.as_str())))
                .map(|path| format!("{plural}: no {path}")),
        );
        let (told, expected) = (types(&ours), types(&real));
        let expected = expected
            .into_iter()
            .filter(|kind| *file != "co" || OF_OPERATORS.contains(&kind.as_str()));
        wrong.extend(
            expected
                .filter(|kind| !told.contains(kind))
                .map(|kind| format!("{plural}: no condition {kind}")),
        );
        if *file == "cv" {
            for condition in conditions(&real) {
                let same = |other: &&Value| other["type"] == condition["type"];
                let Some(other) = conditions(&ours).into_iter().find(same) else {
                    continue;
                };
                let text = |value: &Value| form(value["message"].as_str().unwrap_or_default());
                if other["status"] == condition["status"] && text(other) != text(condition) {
                    wrong.push(format!(
                        "{}: {} instead of {}",
                        condition["type"],
                        text(other),
                        text(condition)
                    ));
                }
            }
        }
    }
    bed.shut_down().await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
