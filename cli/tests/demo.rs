//! The demo as a user runs it: the program, its output and its exit code.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::process::{Command, Output};

use serde_json::Value;

fn demo(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
        .args(["demo", "--as-fast-as-possible"])
        .args(arguments)
        .output()
        .unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stdout));
    })
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let run = |seed: &str| {
        let mut end = json(&demo(&["--clusters", "4", "--seed", seed, "--output", "json"]));
        assert!(end.as_object_mut().unwrap().remove("wallDuration").is_some());
        end
    };
    let (first, again, other) = (run("7"), run("7"), run("8"));
    assert_eq!(first, again);
    assert_ne!(first, other);
}

#[test]
fn a_fleet_that_is_upgraded_ends_well_and_its_json_tells_all_of_it() {
    let output = demo(&[
        "--clusters",
        "5",
        "--canaries",
        "2",
        "--max-concurrency",
        "2",
        "--output",
        "json",
    ]);
    assert_eq!(output.status.code(), Some(0));
    let end = json(&output);
    let clusters = end["clusters"].as_array().unwrap();
    assert_eq!(clusters.len(), 5);
    for cluster in clusters {
        assert_eq!(cluster["state"], "Complete", "{cluster}");
        for field in ["name", "canary", "startedAt", "completedAt", "message"] {
            assert!(!cluster[field].is_null(), "{field} of {cluster}");
        }
    }
    assert_eq!(
        clusters
            .iter()
            .filter(|cluster| cluster["canary"] == true)
            .count(),
        2
    );
    assert_eq!(end["maxInFlight"], 2);
    assert!(end["virtualDuration"].as_f64().unwrap() > end["wallDuration"].as_f64().unwrap());
}

#[test]
fn a_cluster_that_fails_makes_the_exit_code_1_and_is_in_the_table_with_its_reason() {
    let output = demo(&["--clusters", "3", "--fault", "dev2=F6"]);
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("dev2") && table.contains("Failed"), "{table}");
    assert!(table.contains("when image is empty"), "{table}");
}

#[test]
fn a_fault_of_a_cluster_that_is_not_there_or_of_no_mode_is_refused_with_what_there_is() {
    let output = demo(&["--clusters", "3", "--fault", "dev9=F2"]);
    assert!(!output.status.success());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("dev1 to dev3"), "{error}");
    let output = demo(&["--fault", "dev1=F99"]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("F2 (operator unavailable)"), "{error}");
}

#[test]
fn clusters_that_did_not_start_say_why() {
    let output = demo(&["--clusters", "3", "--fault", "dev1=F6", "--output", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let end = json(&output);
    let reasons: Vec<(&str, &str)> = end["clusters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cluster| {
            (
                cluster["state"].as_str().unwrap(),
                cluster["reason"].as_str().unwrap(),
            )
        })
        .collect();
    let waits = ("NotStarted", "CanaryFailed");
    assert_eq!(reasons, [("Failed", "InvalidTarget"), waits, waits]);
    assert!(
        end["clusters"][1]["message"]
            .as_str()
            .unwrap()
            .contains("CanaryFailed"),
        "{end}"
    );
}
