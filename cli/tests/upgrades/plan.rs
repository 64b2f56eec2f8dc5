//! `plan`: what an upgrade will do, against a hub.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::sandbox::{Sandbox, spring};

/// A sandbox in which time passes as it does outside.
fn sandbox() -> Sandbox {
    Sandbox::start(&["--speed", "1", "--clusters", "6"])
}

fn file(content: &Value) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, content).unwrap();
    file
}

/// The upgrade of a file, with one canary, in nights.
fn planned() -> Value {
    let mut planned = spring(false);
    planned["spec"]["upgradeStrategy"] = json!({
        "maxConcurrency": 1,
        "canaryClusters": {"clusterSelector": {"matchLabels": {"name": "dev3"}}, "soakTime": "1h"},
        "startWindows": [{"cron": "0 1 * * *", "duration": "3h"}],
    });
    planned
}

impl Sandbox {
    /// The forecast of a file, whatever the exit code.
    fn plans(&self, upgrade: &Value, arguments: &[&str]) -> (Option<i32>, Value) {
        let file = file(upgrade);
        let mut all = vec!["plan", "-f", file.path().to_str().unwrap(), "-o", "json"];
        all.extend(arguments);
        let output = self.run(&all);
        let printed = serde_json::from_slice(&output.stdout);
        let said = || String::from_utf8_lossy(&output.stderr).into_owned();
        (
            output.status.code(),
            printed.unwrap_or_else(|error| panic!("{error}: {}", said())),
        )
    }

    /// What is said of a file that cannot be planned.
    fn refuses_to_plan(&self, upgrade: &Value, arguments: &[&str]) -> String {
        let file = file(upgrade);
        let mut all = vec!["plan", "-f", file.path().to_str().unwrap()];
        all.extend(arguments);
        self.refuses(&all)
    }
}

fn moment(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn an_upgrade_is_forecast_without_a_write_to_the_hub() {
    let sandbox = sandbox();
    let (code, plan) = sandbox.plans(&planned(), &["--no-failures"]);
    assert_eq!(code, Some(0), "{plan}");
    assert_eq!(
        (
            plan["runs"].as_u64(),
            plan["checkedByServer"].as_bool(),
            plan["paused"].as_bool()
        ),
        (Some(200), Some(true), Some(false))
    );
    assert_eq!(plan["counts"]["waiting"], 6, "{plan}");
    assert!(plan["completes"].as_f64().unwrap() > 0.9, "{plan}");
    assert_eq!(plan["basis"], "published durations of OpenShift updates");
    let [p10, p50, p90] = ["p10", "p50", "p90"].map(|which| moment(&plan["ends"][which]));
    assert!(p10 <= p50 && p50 <= p90 && p10 < p90, "{plan}");
    let waits: Vec<&str> = plan["waits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|wait| wait["waitsFor"].as_str().unwrap())
        .collect();
    assert!(
        waits.contains(&"windows") && waits.contains(&"slots"),
        "{waits:?}"
    );
    let waves = plan["waves"].as_array().unwrap();
    assert_eq!(
        (&waves[0]["canaries"], &waves[0]["names"]),
        (&json!(true), &json!(["dev3"]))
    );
    for cluster in plan["clusters"].as_array().unwrap() {
        let hour = moment(&cluster["starts"]["p50"])
            .to_zoned(jiff::tz::TimeZone::UTC)
            .hour();
        assert!((1..4).contains(&hour), "{cluster}");
    }
    assert!(
        sandbox.prints(&["status"]).contains("no ManagedClustersUpgrade"),
        "nothing was made"
    );
    let file = file(&planned());
    let table = sandbox.prints(&["plan", "-f", file.path().to_str().unwrap(), "--no-failures"]);
    assert!(
        table.contains("spring to 4.14.12: 6 clusters, 6 waiting; nothing was written"),
        "{table}"
    );
    assert!(table.contains("1 (canaries)  1"), "{table}");
    let listed = sandbox.prints(&[
        "plan",
        "-f",
        file.path().to_str().unwrap(),
        "--no-failures",
        "--clusters",
        "-o",
        "wide",
    ]);
    assert!(listed.contains("dev6") && listed.contains("4.14.9"), "{listed}");
}

#[tokio::test]
async fn the_same_seed_gives_the_same_forecast() {
    let sandbox = sandbox();
    let mut at_any_time = planned();
    at_any_time["spec"]["upgradeStrategy"]["startWindows"] = Value::Null;
    let durations = |seed: &str| {
        let (_, plan) = sandbox.plans(&at_any_time, &["--seed", seed, "--runs", "50"]);
        let now = moment(&plan["computedAt"]);
        let ends = ["p10", "p50", "p90"].map(|which| moment(&plan["ends"][which]).duration_since(now));
        (ends, plan["stops"].clone(), plan["waits"].clone())
    };
    let first = durations("7");
    assert_eq!(durations("7"), first);
    assert_ne!(durations("8"), first);
}

#[tokio::test]
async fn what_cannot_be_planned_is_said_clearly() {
    let sandbox = sandbox();
    let mut nowhere = planned();
    nowhere["spec"]["placement"] = json!([{"name": "nowhere", "namespace": "dev"}]);
    let mut empty = planned();
    empty["spec"]["placement"] = Value::Null;
    empty["spec"]["clusterSelector"] = json!({"matchLabels": {"name": "nobody"}});
    let mut version = planned();
    version["spec"]["clusterVersion"]["version"] = json!("4.x");
    let mut misspelt = planned();
    misspelt["spec"]["upgradeStrategy"]["maxConcurrent"] = json!(3);
    let mut never = planned();
    never["spec"]["upgradeStrategy"]["startWindows"][0]["cron"] = json!("0 0 30 2 *");
    let mut nameless = planned();
    nameless["metadata"] = json!({"labels": {}});
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "spring"}});
    let none: &[&str] = &[];
    for (upgrade, arguments, why) in [
        (&nowhere, none, "there is no Placement dev/nowhere: create it"),
        (&empty, none, "finds no clusters: NoManagedClusterMatched"),
        (&version, none, "the API server refuses the upgrade: "),
        (&version, none, "version must be a semantic version"),
        (
            &misspelt,
            none,
            "unknown field \"spec.upgradeStrategy.maxConcurrent\"",
        ),
        (&never, none, "never occurs, like February 30"),
        (&nameless, none, "has no metadata.name"),
        (
            &other,
            none,
            "is no ManagedClustersUpgrade: its kind is \"ConfigMap\"",
        ),
        (&planned(), &["--runs", "0"], "0 is not in 1..=100000"),
        (
            &planned(),
            &["--finish-by", "2020-01-01T00:00:00Z"],
            "is in the past: on the hub it is ",
        ),
        (&planned(), &["--finish-by", "tomorrow"], "is not one moment"),
        (&planned(), &["--failure-rate", "2"], "from 0 to 1"),
        (&planned(), &["--sweep", "maxConcurrency=0"], "at least 1"),
        (
            &planned(),
            &["--sweep", "maxConcurrency=4294967295"],
            "the API server refuses the upgrade with maxConcurrency=4294967295: ",
        ),
        (
            &planned(),
            &["-n", "dev"],
            "is in namespace default, and -n says dev",
        ),
    ] {
        let said = sandbox.refuses_to_plan(upgrade, arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

#[tokio::test]
async fn the_least_concurrency_that_is_in_time_is_found() {
    let sandbox = sandbox();
    let mut at_any_time = planned();
    at_any_time["spec"]["upgradeStrategy"] = json!({"maxConcurrency": 1});
    let now = moment(&sandbox.plans(&at_any_time, &[]).1["computedAt"]);
    let within = |hours: i64| (now + SignedDuration::from_hours(hours)).to_string();

    let relaxed = within(24 * 7);
    let arguments = ["--no-failures", "--finish-by", &relaxed];
    let (code, met) = sandbox.plans(&at_any_time, &arguments);
    assert_eq!((code, met["confident"].as_bool()), (Some(0), Some(true)), "{met}");
    assert_eq!(met["finishBy"]["maxConcurrency"], 1, "{met}");

    let tight = within(5);
    let arguments = ["--no-failures", "--finish-by", &tight, "--confidence", "50%"];
    let (code, late) = sandbox.plans(&at_any_time, &arguments);
    assert_eq!(
        (code, late["confident"].as_bool()),
        (Some(1), Some(false)),
        "{late}"
    );
    let least = late["finishBy"]["maxConcurrency"].as_u64().unwrap();
    assert!((2..=6).contains(&least), "{late}");
    assert!(late["finishBy"]["inTimeWith"].as_f64().unwrap() >= 0.5, "{late}");

    let file = file(&planned());
    let too_tight = within(4);
    let arguments = [
        "plan",
        "-f",
        file.path().to_str().unwrap(),
        "--no-failures",
        "--finish-by",
        &too_tight,
    ];
    let output = sandbox.run(&arguments);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no maxConcurrency meets it"), "{said}");
    assert!(said.contains("90% are complete by"), "{said}");
}

#[tokio::test]
async fn strategies_stand_beside_each_other() {
    let sandbox = sandbox();
    let windows = file(&json!([{"cron": "0 * * * *", "duration": "1h"}]));
    let by_file = format!("startWindows={}", windows.path().display());
    let mut other = planned();
    other["metadata"]["name"] = json!("autumn");
    other["spec"]["upgradeStrategy"]["maxConcurrency"] = json!(6);
    let other = file(&other);
    let other = other.path().to_str().unwrap();
    let arguments = [
        "--no-failures",
        "--sweep",
        "maxConcurrency=2,100%",
        "--sweep",
        "soakTime=0s",
        "--sweep",
        &by_file,
        "--compare",
        other,
    ];
    let (code, plan) = sandbox.plans(&planned(), &arguments);
    assert_eq!(code, Some(0));
    let strategies = plan["strategies"].as_array().unwrap();
    let names: Vec<&str> = strategies
        .iter()
        .map(|strategy| strategy["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "as it is",
            "maxConcurrency=2",
            "maxConcurrency=100%",
            "soakTime=0s",
            &by_file,
            other
        ]
    );
    let p50 = |index: usize| moment(&strategies[index]["ends"]["p50"]);
    assert!(p50(2) < p50(0) && p50(4) < p50(0), "{plan}");
    assert_eq!(p50(5), p50(2), "the same spec");
    assert_eq!(
        strategies[2]["mostInFlight"]["max"], 5,
        "all but the canary: {plan}"
    );
    let file = file(&planned());
    let mut all = vec!["plan", "-f", file.path().to_str().unwrap()];
    all.extend(arguments);
    let table = sandbox.prints(&all);
    assert!(
        table.contains("STRATEGY") && table.contains("maxConcurrency=100%"),
        "{table}"
    );
}

#[tokio::test]
async fn clusters_that_do_not_start_are_named() {
    let sandbox = sandbox();
    let mut by_agent = planned();
    by_agent["spec"]["upgradeStrategy"]["upgradeVia"] = json!("Agent");
    let (_, plan) = sandbox.plans(&by_agent, &["--no-failures"]);
    let blocked = &plan["blocked"][0];
    assert_eq!(blocked["reason"], "AgentNotAvailable", "{plan}");
    assert_eq!(
        plan["counts"]["blocked"].as_u64(),
        blocked["clusters"].as_array().map(|all| all.len() as u64)
    );
    let file = file(&by_agent);
    let path = file.path().to_str().unwrap();
    // The rollout ends, and is not complete; that is enough for who says so.
    let output = sandbox.run(&["plan", "-f", path, "--no-failures"]);
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(
        table.contains("ClustersBlocked") && table.contains("--ignore-blocked leaves them out"),
        "{table}"
    );
    let table = sandbox.prints(&["plan", "-f", path, "--no-failures", "--ignore-blocked"]);
    assert!(
        table.contains("that cannot start") && table.contains("AgentNotAvailable"),
        "{table}"
    );
    assert!(table.contains("dev1"), "{table}");
}

#[tokio::test]
async fn a_running_rollout_is_forecast_from_where_it_is() {
    let sandbox = sandbox();
    let mut running = spring(false);
    running["spec"]["upgradeStrategy"] = json!({"maxConcurrency": 2, "upgradeVia": "ClusterVersion"});
    sandbox.create(running.clone()).await;
    let plan = loop {
        let plan: Value =
            serde_json::from_slice(&sandbox.run(&["plan", "spring", "-o", "json"]).stdout).unwrap();
        if plan["counts"]["inFlight"] == 2 {
            break plan;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(plan["rolloutSince"].is_string(), "{plan}");
    assert_eq!(plan["counts"]["waiting"], 4, "{plan}");
    assert_eq!(
        (&plan["waves"][0]["number"], &plan["waves"][0]["clusters"]),
        (&json!(0), &json!(2))
    );

    // A file with a change of it.
    running["spec"]["upgradeStrategy"]["maxConcurrency"] = json!(6);
    let (_, faster) = sandbox.plans(&running, &[]);
    assert_eq!(faster["counts"]["inFlight"], 2, "{faster}");
    assert_eq!(faster["rolloutSince"], plan["rolloutSince"]);
    assert!(
        moment(&faster["ends"]["p50"]) < moment(&plan["ends"]["p50"]),
        "{faster}"
    );
    running["spec"]["upgradeStrategy"]["maxConcurrency"] = json!(0);
    let refused = sandbox.refuses_to_plan(&running, &[]);
    assert!(
        refused.contains("the API server refuses the upgrade") && refused.contains("maxConcurrency"),
        "{refused}"
    );

    let api = sandbox.upgrades().await;
    let mut printed = serde_json::to_value(api.get("spring").await.unwrap()).unwrap();
    printed["metadata"]["resourceVersion"] = json!("1");
    printed["spec"]["upgradeStrategy"]["maxConcurrency"] = json!(6);
    let (_, same) = sandbox.plans(&printed, &[]);
    assert_eq!(
        same["mostInFlight"]["max"], 6,
        "an object as it was printed is planned as well: {same}"
    );

    let pause = Patch::Merge(json!({"spec": {"paused": true}}));
    api.patch("spring", &PatchParams::default(), &pause)
        .await
        .unwrap();
    let output = sandbox.run(&["plan", "spring"]);
    let paused = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{paused}");
    assert!(
        paused.contains("paused: no end (kubectl drydock resume spring)"),
        "{paused}"
    );
}
