//! The commands about a hub's upgrades, as a user runs them: against a sandbox, by the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use drydock_api::mcu::ManagedClustersUpgrade;
use kube::api::{DeleteParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// A sandbox of three clusters, the last of which refuses the update.
struct Sandbox {
    program: Child,
    kubeconfig: PathBuf,
}

impl Sandbox {
    fn start() -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args([
                "sandbox",
                "--clusters",
                "3",
                "--speed",
                "100000",
                "--fault",
                "dev2=F6",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut path = String::new();
        BufReader::new(program.stdout.take().unwrap())
            .read_line(&mut path)
            .unwrap();
        Self {
            program,
            kubeconfig: PathBuf::from(path.trim()),
        }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap()
    }

    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    async fn upgrades(&self) -> Api<ManagedClustersUpgrade> {
        let file = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
            .await
            .unwrap();
        Api::namespaced(Client::try_from(config).unwrap(), "default")
    }

    async fn create(&self, upgrade: Value) {
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
        let api = self.upgrades().await;
        api.create(&PostParams::default(), &upgrade).await.unwrap();
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.program.kill().unwrap();
        self.program.wait().unwrap();
    }
}

fn spring(paused: bool) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "spring", "namespace": "default"},
        "spec": {
            "placement": [{"name": "dev-clusters", "namespace": "dev"}],
            "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            "upgradeStrategy": {"maxConcurrency": 3, "upgradeVia": "ClusterVersion"},
            "paused": paused,
        },
    })
}

#[tokio::test]
async fn an_upgrade_is_watched_paused_listed_and_retried() {
    let sandbox = Sandbox::start();
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
    assert!(never.contains("`yesterday` is no time: write 7d, 12h"), "{never}");
}

#[tokio::test]
async fn an_upgrade_is_rehearsed_without_a_write_to_the_hub() {
    let sandbox = Sandbox::start();
    let mut thought = spring(false);
    thought["spec"]["upgradeStrategy"] = json!({
        "maxConcurrency": 1,
        "canaryClusters": {"clusterSelector": {"matchLabels": {"name": "dev3"}}, "soakTime": "1h"},
        "startWindows": [{"cron": "0 1 * * *", "duration": "2h"}],
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &thought).unwrap();
    let path = file.path().to_str().unwrap();
    let plan: Value = serde_json::from_str(&sandbox.prints(&["plan", "-f", path, "-o", "json"])).unwrap();
    assert_eq!(
        (plan["selected"].as_i64(), plan["complete"].as_i64()),
        (Some(3), Some(3)),
        "{plan}"
    );
    let clusters = plan["clusters"].as_array().unwrap();
    let names: Vec<&str> = clusters
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["dev3", "dev1", "dev2"], "the canary first");
    for entry in clusters {
        let start: jiff::Timestamp = entry["startsAt"].as_str().unwrap().parse().unwrap();
        let hour = start.to_zoned(jiff::tz::TimeZone::UTC).hour();
        assert!((1..3).contains(&hour), "{entry}");
    }
    let reasons: Vec<&str> = plan["halts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|halt| halt["reason"].as_str().unwrap())
        .collect();
    assert!(
        reasons.contains(&"AwaitingStartWindow") && reasons.contains(&"CanarySoaking"),
        "{reasons:?}"
    );

    let many = sandbox.prints(&["plan", "-f", path, "--runs", "5"]);
    assert!(many.contains("of 5 rehearsals half end by"), "{many}");
    assert!(
        sandbox.prints(&["status"]).contains("no ManagedClustersUpgrade"),
        "nothing was made"
    );

    thought["spec"]["placement"] = json!([{"name": "nowhere", "namespace": "dev"}]);
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &thought).unwrap();
    let nothing = sandbox.prints(&["plan", "-f", file.path().to_str().unwrap()]);
    assert!(
        nothing.contains("PlacementNotFound: there is no Placement dev/nowhere"),
        "{nothing}"
    );
    thought["spec"]["clusterVersion"]["version"] = json!("4.x");
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &thought).unwrap();
    let refused = sandbox.refuses(&["plan", "-f", file.path().to_str().unwrap()]);
    assert!(
        refused.contains("version must be a semantic version"),
        "{refused}"
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
