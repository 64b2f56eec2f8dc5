//! Which crate may depend on which: what each may know is the architecture (docs/architecture.md, the table of folders).

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use drydock_e2e::manifests::in_repository;
use serde_json::Value;

/// The crates of the workspace and those of them that each may use.
const LAYERS: &[(&str, &[&str])] = &[
    ("virtual-clock", &[]),
    ("drydock-names", &[]),
    ("drydock-api", &["drydock-names"]),
    ("drydock-runtime", &["drydock-names", "virtual-clock"]),
    ("drydock-rollout", &["drydock-names"]),
    ("drydock-forecast", &["drydock-rollout"]),
    (
        "drydock-objects",
        &["drydock-api", "drydock-forecast", "drydock-rollout"],
    ),
    (
        "drydock-hub",
        &[
            "drydock-api",
            "drydock-forecast",
            "drydock-objects",
            "drydock-rollout",
            "drydock-runtime",
        ],
    ),
    (
        "drydock-edits",
        &["drydock-api", "drydock-objects", "drydock-rollout"],
    ),
    (
        "drydock-dashboard",
        &[
            "drydock-api",
            "drydock-edits",
            "drydock-hub",
            "drydock-objects",
            "drydock-rollout",
            "drydock-runtime",
        ],
    ),
    ("drydock-engine", &["drydock-api"]),
    ("drydock-schedule", &["drydock-api"]),
    ("drydock-insights", &["drydock-api"]),
    (
        "drydock-agent",
        &[
            "drydock-api",
            "drydock-engine",
            "drydock-insights",
            "drydock-runtime",
            "drydock-schedule",
        ],
    ),
    ("kube-sandbox", &["virtual-clock"]),
    ("ocm-sandbox", &["kube-sandbox"]),
    ("openshift-sandbox", &["kube-sandbox"]),
    (
        "drydock-sandbox",
        &[
            "drydock-agent",
            "drydock-api",
            "drydock-hub",
            "drydock-runtime",
            "kube-sandbox",
            "ocm-sandbox",
            "openshift-sandbox",
        ],
    ),
    (
        "drydock-cli",
        &[
            "drydock-agent",
            "drydock-api",
            "drydock-dashboard",
            "drydock-edits",
            "drydock-forecast",
            "drydock-hub",
            "drydock-insights",
            "drydock-objects",
            "drydock-rollout",
            "drydock-runtime",
            "drydock-sandbox",
            "drydock-schedule",
            "kube-sandbox",
            "openshift-sandbox",
        ],
    ),
];

/// What decides without I/O has nothing with which it could do any.
const PURE: &[(&str, &[&str])] = &[
    (
        "drydock-rollout",
        &["k8s-openapi", "kube", "kube-client", "reqwest", "tokio"],
    ),
    (
        "drydock-forecast",
        &["k8s-openapi", "kube", "kube-client", "reqwest", "tokio"],
    ),
    ("drydock-engine", &["kube-client", "reqwest", "tokio"]),
    ("drydock-schedule", &["kube-client", "reqwest", "tokio"]),
    ("drydock-insights", &["kube-client", "reqwest", "tokio"]),
    ("drydock-api", &["kube-client", "reqwest", "tokio"]),
];

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--manifest-path",
        ])
        .arg(in_repository("Cargo.toml"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// The names of the crates that a package is built from; those of its tests only with `tests`.
fn dependencies(package: &Value, tests: bool) -> BTreeSet<&str> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|dependency| tests || dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .collect()
}

#[test]
fn no_crate_knows_more_than_it_may() {
    let packages = packages();
    let own: BTreeSet<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    let layers: BTreeMap<_, _> = LAYERS.iter().copied().collect();
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        // The suites use everything.
        if name == "drydock-e2e" {
            continue;
        }
        let allowed = layers
            .get(name)
            .unwrap_or_else(|| panic!("{name} is in no layer"));
        let allowed: BTreeSet<&str> = allowed.iter().copied().collect();
        let used: BTreeSet<&str> = dependencies(package, false).intersection(&own).copied().collect();
        assert_eq!(used, allowed, "{name}");
    }
    assert_eq!(layers.len() + 1, packages.len(), "a layer has no crate");
}

#[test]
fn what_decides_cannot_do_anything() {
    let packages = packages();
    for (name, forbidden) in PURE {
        let package = packages.iter().find(|package| package["name"] == *name).unwrap();
        let used = dependencies(package, false);
        for crate_ in *forbidden {
            assert!(!used.contains(crate_), "{name} uses {crate_}");
        }
    }
}

#[test]
fn the_api_server_knows_nothing_of_drydock() {
    let packages = packages();
    let sandbox = packages
        .iter()
        .find(|package| package["name"] == "kube-sandbox")
        .unwrap();
    for name in dependencies(sandbox, true) {
        assert!(!name.starts_with("drydock"), "kube-sandbox uses {name}");
    }
}
