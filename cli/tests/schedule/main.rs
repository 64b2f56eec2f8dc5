//! The commands about a cluster's maintenance schedules, as a user runs them: against a cluster of a sandbox, by the program.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

#[path = "../upgrades/sandbox.rs"]
#[allow(dead_code, reason = "the other commands need the rest of it")]
mod sandbox;

use std::process::Command;

use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use sandbox::Sandbox;

const NAMESPACE: &str = "maintenance";
const WHERE: [&str; 4] = ["--context", "dev1", "-n", NAMESPACE];

/// A cluster with two schedules: `nights` has a label, `days` none. Time passes as it does outside.
struct Scheduled {
    sandbox: Sandbox,
    client: Client,
}

impl Scheduled {
    async fn start() -> Self {
        let sandbox = Sandbox::start(&["--speed", "1", "--clusters", "1"]);
        let client = sandbox.client("dev1").await;
        let namespace = json!({"metadata": {"name": NAMESPACE}});
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces
            .create(&PostParams::default(), &read(namespace))
            .await
            .unwrap();
        let scheduled = Self { sandbox, client };
        scheduled.create("nights", &json!({"app": "nights"})).await;
        scheduled.create("days", &Value::Null).await;
        scheduled
    }

    async fn create(&self, name: &str, labels: &Value) {
        let config = json!({
            "metadata": {"name": name, "labels": labels},
            "spec": {
                "schedule": {"cron": "0 22 29 2 *", "location": "Europe/Zurich"},
                "jobTemplate": {"metadata": {"labels": {"team": name}}, "spec": {"config": {
                    "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
                }}},
            },
        });
        let api: Api<UpgradeConfig> = self.api();
        api.create(&PostParams::default(), &read(config)).await.unwrap();
    }

    fn api<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn only<K>(&self) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        let mut all = self.all().await;
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    async fn all<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + std::fmt::Debug,
    {
        self.api::<K>().list(&ListParams::default()).await.unwrap().items
    }

    fn prints(&self, words: &[&str]) -> String {
        self.sandbox.prints(&[&["schedule"], words, &WHERE].concat())
    }

    fn refuses(&self, words: &[&str]) -> String {
        self.sandbox.refuses(&[&["schedule"], words, &WHERE].concat())
    }

    /// The runs of a schedule.
    fn runs(&self, name: &str) -> Vec<Value> {
        let output = ["schedule", "-o", "json", "--context", "dev1", "-n", NAMESPACE];
        let listed: Value = serde_json::from_str(&self.sandbox.prints(&output)).unwrap();
        let schedules = listed["schedules"].as_array().unwrap().iter();
        let mut schedules = schedules.filter(|schedule| schedule["name"] == name);
        schedules.next().unwrap()["runs"].as_array().unwrap().clone()
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Who has written an object.
fn managers(object: &impl ResourceExt) -> Vec<String> {
    let fields = object.managed_fields().iter();
    fields.filter_map(|fields| fields.manager.clone()).collect()
}

#[tokio::test]
async fn schedules_are_shown_and_explained() {
    let cluster = Scheduled::start().await;
    let shown = cluster.prints(&[]);
    assert!(shown.starts_with("NAME    NEXT "), "{shown}");
    assert!(
        shown.contains("-02-29 22:00 +01:00") && shown.ends_with(" start\n"),
        "{shown}"
    );
    let everywhere = cluster
        .sandbox
        .prints(&["schedule", "-A", "-o", "wide", "--context", "dev1"]);
    assert!(
        everywhere.starts_with("NAMESPACE    NAME    CRON "),
        "{everywhere}"
    );
    let runs = cluster.runs("nights");
    assert_eq!((runs.len(), &runs[0]["would"]), (1, &json!("Start")));
    let explained = cluster.prints(&["--explain", "nights"]);
    for part in [
        "UpgradeConfig nights in maintenance, as things are at ",
        "cron \"0 22 29 2 *\", every week, in Europe/Zurich",
        "there is no UpgradeSuspensionWindow in its namespace",
        "the cluster runs 4.14.",
        "machine config pool worker: ",
        "UpgradeCommenced: the cluster is asked for 4.14.",
    ] {
        assert!(explained.contains(part), "{part}: {explained}");
    }
    let yaml = cluster.prints(&["--explain", "nights", "-o", "yaml"]);
    assert!(yaml.contains("would: Start"), "{yaml}");
    let unknown = cluster.refuses(&["--explain", "night"]);
    assert!(unknown.contains("there are: days, nights"), "{unknown}");

    // What a cluster does not have is said; its other kinds are shown nevertheless.
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let windows = "upgradesuspensionwindows.managedupgrade.appuio.io";
    definitions
        .delete(windows, &DeleteParams::default())
        .await
        .unwrap();
    await_condition(
        definitions,
        windows,
        is_deleted(&definition_uid(&cluster.client, windows).await),
    )
    .await
    .unwrap();
    let shown = cluster.prints(&[]);
    assert!(
        shown.contains("the cluster has no kind UpgradeSuspensionWindow"),
        "{shown}"
    );
    assert_eq!(cluster.runs("nights")[0]["would"], "NotKnown");
    let hub = cluster.sandbox.refuses(&["schedule", "-A"]);
    assert!(
        hub.contains("does not have the kinds of maintenance schedules"),
        "{hub}"
    );
}

/// The UID of a definition that is being deleted; one that is gone has none.
async fn definition_uid(client: &Client, name: &str) -> String {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = definitions.get_opt(name).await.unwrap();
    definition
        .and_then(|definition| definition.uid())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_maintenance_is_left_out_and_comes_back() {
    let cluster = Scheduled::start().await;
    let tried = cluster.prints(&["skip", "nights", "--dry-run"]);
    assert!(
        tried.contains("would be left out (dry run: nothing was written)"),
        "{tried}"
    );
    assert!(cluster.all::<UpgradeSuspensionWindow>().await.is_empty());
    let said = cluster.prints(&["skip", "nights", "--reason", "sale"]);
    let window: UpgradeSuspensionWindow = cluster.only().await;
    assert_eq!(
        (window.spec.reason.as_str(), managers(&window)),
        ("sale", vec!["kubectl-drydock".to_owned()])
    );
    let undo = format!(
        "  kubectl delete upgradesuspensionwindows.managedupgrade.appuio.io {} -n {NAMESPACE}\n",
        window.name_any()
    );
    assert!(said.ends_with(&undo), "{said}");
    assert_eq!(cluster.runs("nights")[0]["would"], "SuspensionWindow");
    assert_eq!(cluster.runs("days")[0]["would"], "Start");
    let again = cluster.prints(&["skip", "nights"]);
    assert!(again.contains("is left out already"), "{again}");
    let api: Api<UpgradeSuspensionWindow> = cluster.api();
    api.delete(&window.name_any(), &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(cluster.runs("nights")[0]["would"], "Start");

    let unlabelled = cluster.refuses(&["skip", "days"]);
    assert!(unlabelled.contains("has no labels"), "{unlabelled}");
    cluster.prints(&["skip", "days", "--label", "--dry-run"]);
    let configs: Api<UpgradeConfig> = cluster.api();
    assert!(configs.get("days").await.unwrap().labels().is_empty());
    cluster.prints(&["skip", "days", "--label"]);
    assert_eq!(
        configs.get("days").await.unwrap().labels()["drydock.dev/name"],
        "days"
    );
    assert_eq!(cluster.runs("days")[0]["would"], "SuspensionWindow");
}

#[tokio::test]
async fn a_maintenance_is_started_beside_the_schedule() {
    let cluster = Scheduled::start().await;
    let tried = cluster.prints(&["run-now", "nights", "--dry-run"]);
    assert!(
        tried.contains("would be created in maintenance (dry run: nothing was written)"),
        "{tried}"
    );
    assert!(cluster.all::<UpgradeJob>().await.is_empty());
    let withdrawn = cluster.refuses(&["run-now", "nights", "--version", "4.13.1"]);
    assert!(
        withdrawn.contains("4.13.1 is not available for the cluster; these are: 4.14."),
        "{withdrawn}"
    );
    let said = cluster.prints(&["run-now", "nights", "--start-in", "1h"]);
    let job: UpgradeJob = cluster.only().await;
    let name = job.name_any();
    assert!(
        said.starts_with(&format!("UpgradeJob {name} is created in maintenance\n")),
        "{said}"
    );
    assert_eq!(
        (job.labels()["team"].as_str(), managers(&job)),
        ("nights", vec!["kubectl-drydock".to_owned()])
    );
    assert_eq!(job.owner_references()[0].controller, None);
    let second = cluster.refuses(&["run-now", "nights"]);
    assert!(
        second.contains(&format!("UpgradeJob {name} of nights has not ended")),
        "{second}"
    );
    let runs = cluster.runs("nights");
    assert_eq!(
        (runs.len(), &runs[0]["job"], &runs[0]["beside"]),
        (2, &json!(name), &json!(true))
    );
    let explained = cluster.prints(&["--explain", "nights"]);
    assert!(
        explained.contains(&format!(
            "UpgradeJob {name}, beside the schedule: upgrades to 4.14."
        )),
        "{explained}"
    );

    // They are deleted together, although the UpgradeConfig does not control it.
    let configs: Api<UpgradeConfig> = cluster.api();
    configs.delete("nights", &DeleteParams::default()).await.unwrap();
    await_condition(
        cluster.api::<UpgradeJob>(),
        &name,
        is_deleted(&job.uid().unwrap()),
    )
    .await
    .unwrap();
}

#[test]
fn help_has_examples_and_says_what_each_command_does() {
    for command in [
        &["schedule"][..],
        &["schedule", "test"],
        &["schedule", "skip"],
        &["schedule", "run-now"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-drydock"))
            .args(command)
            .arg("--help")
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            output.status.success() && text.contains("Examples:"),
            "{command:?}: {text}"
        );
        assert!(
            text.contains(&format!("kubectl drydock {}", command.join(" "))),
            "{command:?}: {text}"
        );
    }
}
