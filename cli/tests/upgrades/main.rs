//! The commands about a hub's upgrades, as a user runs them: against a sandbox, by the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod plan;
mod sandbox;

use std::fs::File;
use std::process::Command;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::ocm::ManagedCluster;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use sandbox::{Sandbox, spring};

#[tokio::test]
async fn an_upgrade_is_watched_paused_listed_and_retried() {
    let sandbox = Sandbox::start(&["--speed", "100000", "--clusters", "3", "--fault", "dev2=F6"]);
    assert!(
        sandbox
            .prints(&["status"])
            .contains("no ManagedClustersUpgrade in namespace default")
    );
    let unknown = sandbox.refuses(&["status", "spring"]);
    assert!(
        unknown.contains("no ManagedClustersUpgrade in namespace default"),
        "{unknown}"
    );
    sandbox.create(spring(true)).await;
    let misspelt = sandbox.refuses(&["pause", "sprung"]);
    assert!(misspelt.contains("there are: spring"), "{misspelt}");
    assert_eq!(sandbox.prints(&["pause", "spring"]), "spring is paused already\n");
    assert_eq!(sandbox.prints(&["resume", "spring"]), "spring resumed\n");
    // Ends by itself when the upgrade is over.
    let watched = sandbox.prints(&["status", "spring", "--watch"]);
    assert!(watched.contains("; 8 in 10 from "), "{watched}");
    let end = watched
        .rsplit("spring upgrades 3 clusters to 4.14.12")
        .next()
        .unwrap();
    assert!(
        end.contains("2 complete, 0 in flight, 1 failed, 0 not started"),
        "{watched}"
    );
    assert!(
        end.contains("kubectl drydock clusters spring --state failed"),
        "{watched}"
    );
    let all = sandbox.prints(&["status", "--all-namespaces"]);
    assert!(
        all.contains("NAMESPACE") && all.contains("spring") && all.contains("4.14.12"),
        "{all}"
    );

    clusters_are_listed(&sandbox);
    forecasts_are_compared(&sandbox).await;
    let whole = sandbox.refuses(&["retry", "spring", "--cluster", "dev1"]);
    assert!(whole.contains("dev1 has not failed; these have: dev2"), "{whole}");
    assert_eq!(
        sandbox.prints(&["retry", "spring", "--cluster", "dev2"]),
        "spring: dev2 starts over\n"
    );
    // How clusters ended is known when the upgrade is not there any more.
    let api = sandbox.upgrades().await;
    api.delete("spring", &DeleteParams::default()).await.unwrap();
    while api.get_opt("spring").await.unwrap().is_some() {
        tokio::task::yield_now().await;
    }
    history_is_read(&sandbox);
}

/// How good the forecast was is on record soon after the end.
async fn forecasts_are_compared(sandbox: &Sandbox) {
    for _ in 0..100 {
        let history = sandbox.prints(&["history", "spring"]);
        if history.contains("Forecasts:\n  spring to 4.14.12, begun ") {
            assert!(
                history.contains("1 rollouts ended within p10 to p90"),
                "{history}"
            );
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!(
        "no forecast is on record: {}",
        sandbox.prints(&["history", "spring"])
    );
}

fn clusters_are_listed(sandbox: &Sandbox) {
    let failed = sandbox.prints(&["clusters", "spring", "--state", "failed"]);
    assert!(failed.contains("dev2") && !failed.contains("dev1"), "{failed}");
    assert!(
        failed.contains("kubectl drydock retry spring --cluster dev2"),
        "{failed}"
    );
    let rows: Value = serde_json::from_str(&sandbox.prints(&["clusters", "spring", "-o", "json"])).unwrap();
    let states: Vec<&str> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["Complete", "Failed", "Complete"]);
    assert_eq!(rows[1]["reason"], "InvalidTarget");
    let waiting = sandbox.prints(&["clusters", "spring", "--state", "not-started", "-o", "json"]);
    assert_eq!(waiting, "[]\n");
    let history = sandbox.prints(&["history", "spring"]);
    assert!(
        history.lines().nth(1).unwrap().contains("dev2"),
        "the first to end: {history}"
    );
}

fn history_is_read(sandbox: &Sandbox) {
    let history = sandbox.prints(&["history", "--since", "30d"]);
    assert!(
        history.contains("spring (deleted)") && history.contains("dev1"),
        "{history}"
    );
    let entries: Value = serde_json::from_str(&sandbox.prints(&["history", "spring", "-o", "json"])).unwrap();
    let failed = entries
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["cluster"] == "dev2")
        .unwrap();
    assert_eq!(
        (
            failed["outcome"].as_str(),
            failed["reason"].as_str(),
            failed["upgradeDeleted"].as_bool()
        ),
        (Some("Failed"), Some("InvalidTarget"), Some(true))
    );
    assert!(failed["startedBy"].is_string(), "{failed}");
    let csv = sandbox.prints(&["history", "spring", "-o", "csv"]);
    let mut lines = csv.lines();
    assert!(
        lines
            .next()
            .unwrap()
            .starts_with("ended_at,upgrade,upgrade_deleted,target,"),
        "{csv}"
    );
    assert_eq!(lines.count(), entries.as_array().unwrap().len());
    let later = sandbox.prints(&["history", "spring", "--since", "2999-01-01", "-o", "json"]);
    assert_eq!(later, "[]\n");
    let nobody = sandbox.refuses(&["history", "sprung"]);
    assert!(
        nobody.contains("no records of an upgrade sprung; it has some of: spring"),
        "{nobody}"
    );
    let never = sandbox.refuses(&["history", "--since", "yesterday"]);
    assert!(
        never.contains("`yesterday` is not a time: write 7d, 12h"),
        "{never}"
    );
}

#[test]
fn help_has_examples_and_says_what_each_command_does() {
    for command in [
        "plan", "status", "clusters", "history", "pause", "resume", "retry",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args([command, "--help"])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains("Examples:"),
            "{command}: {text}"
        );
        assert!(
            text.contains(&format!("kubectl drydock {command}")),
            "{command}: {text}"
        );
    }
}

#[test]
fn kubectl_and_shells_complete_the_commands() {
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let offered = run(&["__complete", "re"]);
    let words: Vec<&str> = offered
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(words, ["resume", "retry", ":4"]);
    assert!(run(&["__complete", "status", "--out"]).starts_with("--output"));
    assert!(run(&["completion", "kubectl"]).contains("kubectl-drydock __complete"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completion", shell]).contains("kubectl-drydock"), "{shell}");
    }
}

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_reader_that_leaves_is_none() {
    let script = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"));
        command.args(["completion", "bash"]);
        command
    };
    let full = File::options().write(true).open("/dev/full").unwrap();
    let refused = script().stdout(full).output().unwrap();
    let why = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(why.contains("writing to standard output: No space left"), "{why}");

    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let left = script().stdout(writer).output().unwrap();
    assert!(left.status.success(), "{left:?}");
}

#[test]
fn what_acts_on_a_terminal_is_refused_before_an_error_quotes_it() {
    for name in ["spring\u{1b}[2J", "spring\u{202e}"] {
        let refused = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args(["status", name])
            .output()
            .unwrap();
        let why = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1));
        assert!(why.contains("a character that a terminal acts on"), "{why}");
        assert!(!why.contains(['\u{1b}', '\u{202e}']), "{why:?}");
    }
}

/// Of three clusters the target is not recommended to one, which has the agent: it is held until somebody accepts that.
#[tokio::test]
async fn what_holds_clusters_is_listed_and_accepted() {
    let sandbox = Sandbox::start(&["--speed", "100000", "--clusters", "3", "--fault", "dev3=F7"]);
    let mut upgrade = spring(false);
    upgrade["spec"]["preChecks"] = serde_json::json!({"mode": "Require"});
    upgrade["spec"]["upgradeStrategy"] = serde_json::json!({"maxConcurrency": 3});
    sandbox.create(upgrade).await;
    let held = until(&sandbox, &["pre-checks", "spring"], "has the risk").await;
    assert!(
        held.contains("1 cluster has findings that are not accepted"),
        "{held}"
    );
    let of_one = sandbox.run(&["pre-checks", "spring", "--cluster", "dev3", "-o", "json"]);
    assert_eq!(of_one.status.code(), Some(1), "it is held");
    let of_one: Value = serde_json::from_slice(&of_one.stdout).unwrap();
    let finding = of_one["findings"]
        .as_array()
        .and_then(|findings| findings.iter().find(|finding| finding["uuid"].is_string()))
        .unwrap_or_else(|| panic!("{of_one:#}"));
    let uuid = finding["uuid"].as_str().unwrap();
    let unknown = sandbox.refuses(&["accept", "spring", "no-such-finding", "--reason", "known"]);
    assert!(unknown.contains("no-such-finding"), "{unknown}");
    let accepted = sandbox.prints(&["accept", "spring", uuid, "--reason", "it does not apply here"]);
    assert!(accepted.contains("spring"), "{accepted}");
    until(&sandbox, &["status", "spring"], "  3 complete").await;
    // Nothing is held any more: it succeeds.
    sandbox.prints(&["pre-checks", "spring"]);
}

/// A cluster without a namespace on the hub cannot be asked: the commands say so, instead of that nothing was found.
#[tokio::test]
async fn a_cluster_that_cannot_be_asked_is_held_and_commands_carry_the_namespace() {
    let sandbox = Sandbox::start(&["--speed", "100000", "--clusters", "1"]);
    join_without_namespace(&sandbox, "ext1").await;
    let mut upgrade = spring(false);
    upgrade["metadata"]["namespace"] = json!("dev");
    upgrade["spec"]["preChecks"] = json!({"mode": "Require"});
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(sandbox.client("hub").await, "dev");
    upgrades.create(&PostParams::default(), &upgrade).await.unwrap();

    let of_fleet = ["pre-checks", "spring", "-n", "dev"];
    let why = "ext1: the cluster could not be asked for its pre-checks: ";
    let held = until(&sandbox, &of_fleet, why).await;
    assert!(held.contains("1 cluster does not start"), "{held}");
    assert_eq!(sandbox.run(&of_fleet).status.code(), Some(1));
    let of_one = sandbox.run(&["pre-checks", "spring", "-n", "dev", "--cluster", "ext1"]);
    assert_eq!(of_one.status.code(), Some(1));
    let of_one = String::from_utf8(of_one.stdout).unwrap();
    assert!(of_one.starts_with(why), "{of_one}");

    let advised = "kubectl drydock clusters spring -n dev says what they wait for";
    until(&sandbox, &["status", "spring", "-n", "dev"], advised).await;
}

/// Joins a cluster like dev1, whose namespace somebody has forgotten.
async fn join_without_namespace(sandbox: &Sandbox, name: &str) {
    let clusters: Api<ManagedCluster> = Api::all(sandbox.client("hub").await);
    let mut like = clusters.get("dev1").await.unwrap();
    let status = json!({"status": &like.status});
    like.metadata = ObjectMeta {
        name: Some(name.to_owned()),
        labels: like.metadata.labels,
        ..ObjectMeta::default()
    };
    clusters.create(&PostParams::default(), &like).await.unwrap();
    let parameters = PatchParams::default();
    clusters
        .patch_status(name, &parameters, &Patch::Merge(&status))
        .await
        .unwrap();
}

/// What a command prints as soon as that has these words, whether it succeeds or not.
async fn until(sandbox: &Sandbox, arguments: &[&str], words: &str) -> String {
    let mut printed = String::new();
    for _ in 0..300 {
        printed = String::from_utf8(sandbox.run(arguments).stdout).unwrap();
        if printed.contains(words) {
            return printed;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{arguments:?} never prints {words:?}: {printed}");
}
