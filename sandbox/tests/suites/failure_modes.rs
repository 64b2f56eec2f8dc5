//! What each failure mode of a cluster looks like to somebody who watches it, that the same
//! seed gives the same log, and that a mode can be injected and lifted while the cluster runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{FAULT_ANNOTATION, TestEnv, TestEnvSettings};
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key};
use kube_sandbox::server::{ApiServer, Call, Identity, WatchFrame, WatchOptions};
use ocm_sandbox::kinds::MANAGED_CLUSTER;
use openshift_sandbox::cluster::Fault;
use openshift_sandbox::cluster::kinds::CLUSTER_VERSION;
use serde_json::{Value, json};

const WATCHED: &[(&str, &str, &str)] = &[
    ("config.openshift.io", "v1", "clusterversions"),
    ("config.openshift.io", "v1", "clusteroperators"),
    ("machineconfiguration.openshift.io", "v1", "machineconfigpools"),
    ("", "v1", "nodes"),
];

type Log = Arc<Mutex<Vec<String>>>;

/// What is known of an object: a fact by name.
fn facts(object: &Value) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for condition in object["status"]["conditions"].as_array().into_iter().flatten() {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let said = format!("{} {}: {}", text("status"), text("reason"), text("message"));
        facts.insert(text("type").to_owned(), said);
    }
    for (at, entry) in object["status"]["history"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let place = object["status"]["history"].as_array().map_or(0, Vec::len) - at;
        let said = format!(
            "{} {} verified={}, {}",
            entry["version"].as_str().unwrap_or_default(),
            entry["state"].as_str().unwrap_or_default(),
            entry["verified"],
            if entry["completionTime"].is_string() {
                "ended"
            } else {
                "open"
            }
        );
        facts.insert(format!("history {place}"), said);
    }
    for update in object["status"]["conditionalUpdates"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let version = update["release"]["version"].as_str().unwrap_or_default();
        let condition = &update["conditions"][0];
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        facts.insert(
            format!("update {version}"),
            format!("{} {}", text("status"), text("reason")),
        );
    }
    let annotations = &object["metadata"]["annotations"];
    if let Some(state) = annotations["machineconfiguration.openshift.io/state"].as_str() {
        let reason = annotations["machineconfiguration.openshift.io/reason"]
            .as_str()
            .unwrap_or_default();
        facts.insert("state".to_owned(), format!("{state} {reason}"));
    }
    if object["kind"] == "Node" {
        facts.insert(
            "unschedulable".to_owned(),
            object["spec"]["unschedulable"].to_string(),
        );
    }
    facts
}

/// Writes down every change of every fact.
fn follow(server: &ApiServer, log: &Log) {
    for (group, version, plural) in WATCHED {
        let call = Call::on_collection(
            Identity::new("observer"),
            server.kind(group, version, plural).unwrap(),
            None,
        );
        let mut watch = server.watch(&call, &WatchOptions::default()).unwrap();
        let (log, clock, server) = (Arc::clone(log), server.clock().clone(), server.clone());
        tokio::spawn(async move {
            let mut known: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
            loop {
                let Some(frame) = watch.next().await else {
                    // The control plane was gone for a while.
                    watch = server.watch(&call, &WatchOptions::default()).unwrap();
                    continue;
                };
                let WatchFrame::Change { object, .. } = frame else {
                    continue;
                };
                let name = format!(
                    "{}/{}",
                    object["kind"].as_str().unwrap_or_default(),
                    object.name()
                );
                let found = facts(object.value());
                let before = known.insert(name.clone(), found.clone()).unwrap_or_default();
                for (fact, said) in found
                    .iter()
                    .filter(|(fact, said)| before.get(*fact) != Some(said))
                {
                    log.lock()
                        .unwrap()
                        .push(format!("{} {name} {fact}={said}", clock.now()));
                }
            }
        });
    }
}

async fn ask_for(access: &Access, update: Value) {
    let patch = json!({"spec": {"desiredUpdate": update}});
    let key = Key::cluster("version");
    access.merge_patch(&CLUSTER_VERSION, &key, patch).await.unwrap();
}

async fn annotate(env: &TestEnv, faults: Option<&str>) {
    let hub = Access::memory(env.hub_server().unwrap(), "user");
    let patch = json!({"metadata": {"annotations": {FAULT_ANNOTATION: faults}}});
    hub.merge_patch(&MANAGED_CLUSTER, &Key::cluster("dev1"), patch)
        .await
        .unwrap();
}

async fn env(faults: &[Fault]) -> (TestEnv, Log) {
    let mut settings = TestEnvSettings::demo(1, 7);
    settings.clusters[0].faults = faults.iter().copied().collect::<BTreeSet<Fault>>();
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let env = TestEnv::start(settings, clock).await.unwrap();
    let log = Log::default();
    follow(env.spoke("dev1").unwrap(), &log);
    (env, log)
}

struct Case {
    fault: Option<Fault>,
    target: Value,
    /// Requested after half an hour, instead.
    then: Option<Value>,
    /// What the log has, in this order: parts of its lines, divided by `…`.
    shows: &'static [&'static str],
    /// What it never has.
    never: &'static [&'static str],
}

fn case(fault: Fault, shows: &'static [&'static str], never: &'static [&'static str]) -> Case {
    Case {
        fault: Some(fault),
        target: json!({"version": "4.14.12"}),
        then: None,
        shows,
        never,
    }
}

const DONE: &str = "ClusterVersion/version history 2=4.14.12 Completed";

#[expect(clippy::too_many_lines, reason = "a table")]
fn cases() -> Vec<Case> {
    vec![
        case(
            Fault::OperatorDegraded,
            &[
                "ClusterOperator/monitoring Degraded=True",
                "ClusterVersion/version Failing=True ClusterOperatorDegraded",
                "ClusterOperator/monitoring Degraded=False",
                DONE,
            ],
            &[],
        ),
        case(
            Fault::OperatorUnavailable,
            &[
                "ClusterOperator/monitoring Available=False",
                "ClusterVersion/version Failing=True ClusterOperatorNotAvailable",
            ],
            &[DONE],
        ),
        case(
            Fault::OperatorSlow,
            &["ClusterVersion/version Failing=Unknown SlowClusterOperator"],
            &[DONE],
        ),
        case(
            Fault::DrainStuck,
            &[
                "Node/…unschedulable=true",
                DONE,
                "Node/…state=Degraded failed to drain node",
                "MachineConfigPool/worker NodeDegraded=True",
            ],
            &[],
        ),
        case(
            Fault::SignatureNotVerified,
            &["ClusterVersion/version ReleaseAccepted=False RetrievePayload"],
            &["history 2", "Progressing=True"],
        ),
        Case {
            then: Some(Value::Null),
            ..case(
                Fault::SignatureNotVerified,
                &[
                    "ClusterVersion/version ReleaseAccepted=False RetrievePayload",
                    "ClusterVersion/version ReleaseAccepted=True PayloadLoaded",
                ],
                &["history 2", "Progressing=True"],
            )
        },
        Case {
            target: json!({"version": "4.14.12", "force": true}),
            ..case(
                Fault::SignatureNotVerified,
                &["ClusterVersion/version history 2=4.14.12 Partial verified=false"],
                &[],
            )
        },
        case(
            Fault::UnknownUpdate,
            &["ClusterVersion/version Invalid=True InvalidClusterVersion"],
            &["history 2"],
        ),
        case(
            Fault::NotRecommended,
            &["ClusterVersion/version update 4.14.12=False"],
            &[],
        ),
        case(
            Fault::RiskUnknown,
            &["ClusterVersion/version update 4.14.12=Unknown EvaluationFailed"],
            &[],
        ),
        case(
            Fault::NodeConfigDegraded,
            &[
                "Node/…state=Degraded unexpected on-disk state",
                "MachineConfigPool/worker NodeDegraded=True",
            ],
            &[],
        ),
        case(
            Fault::PausedPool,
            &["MachineConfigPool/worker Updating=False", DONE],
            &["MachineConfigPool/worker Updating=True"],
        ),
        case(
            Fault::GraphBroken,
            &["ClusterVersion/version RetrievedUpdates=False"],
            &[],
        ),
        Case {
            fault: None,
            then: Some(json!({"version": "4.14.13"})),
            ..case(
                Fault::OperatorSlow,
                &[
                    "ClusterVersion/version history 2=4.14.12 Partial verified=true, open",
                    "ClusterVersion/version history 2=4.14.12 Partial verified=true, ended",
                    "ClusterVersion/version history 3=4.14.13 Completed",
                ],
                &[],
            )
        },
        case(
            Fault::MinorBlocked,
            &["ClusterVersion/version Upgradeable=False AdminAckRequired", DONE],
            &[],
        ),
        case(Fault::VersionOperatorRestart, &[DONE], &[]),
        case(Fault::ControlPlaneUnreachable, &[DONE], &[]),
        case(
            Fault::NodeNotReady,
            &["Node/…Ready=Unknown", DONE],
            &["MachineConfigPool/worker Updated=True"],
        ),
    ]
}

/// The log of one case. Everything in it comes from the seed and the virtual clock.
async fn log_of(case: &Case) -> Vec<String> {
    let faults: Vec<Fault> = case.fault.into_iter().collect();
    let (env, log) = env(&faults).await;
    let user = Access::memory(env.spoke("dev1").unwrap(), "user");
    tokio::time::sleep(Duration::from_mins(1)).await;
    ask_for(&user, case.target.clone()).await;
    if let Some(then) = &case.then {
        tokio::time::sleep(Duration::from_mins(30)).await;
        ask_for(&user, then.clone()).await;
    }
    tokio::time::sleep(Duration::from_hours(5)).await;
    env.shut_down().await;
    let log = log.lock().unwrap();
    log.clone()
}

fn has(line: &str, wanted: &str) -> bool {
    let mut rest = line;
    wanted.split('…').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[tokio::test(start_paused = true)]
async fn each_failure_mode_shows_as_the_reference_says() {
    let mut wrong = Vec::new();
    for case in cases() {
        let log = log_of(&case).await;
        let name = case.fault.map_or("F12".to_owned(), |fault| fault.to_string());
        let mut from = 0;
        for wanted in case.shows {
            match log[from..].iter().position(|line| has(line, wanted)) {
                Some(at) => from += at + 1,
                None => wrong.push(format!("{name}: no {wanted:?} after line {from}")),
            }
        }
        for never in case.never {
            if let Some(line) = log
                .iter()
                .skip_while(|line| !line.contains("4.14.1"))
                .find(|line| has(line, never))
            {
                wrong.push(format!("{name}: {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The `N` of `N of M done` in each message that has one, in their order.
fn counts(log: &[String]) -> Vec<u32> {
    let done = |line: &String| {
        let (before, _) = line.split_once(" done (")?;
        let (count, _) = before.rsplit_once(" of ")?;
        count.rsplit(' ').next()?.parse().ok()
    };
    log.iter().filter_map(done).collect()
}

/// The longest time without a line, while the update runs.
fn longest_silence(log: &[String]) -> jiff::SignedDuration {
    let at = |line: &String| {
        line.split(' ')
            .next()
            .unwrap()
            .parse::<jiff::Timestamp>()
            .unwrap()
    };
    let running = || {
        let begins = log.iter().skip_while(|line| !line.contains("Working towards"));
        begins.take_while(|line| !line.contains(DONE))
    };
    let pairs = running().zip(running().skip(1));
    pairs
        .map(|(one, other)| at(other).duration_since(at(one)))
        .max()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn f14_the_count_of_what_is_done_begins_again_and_in_a_healthy_update_never_falls() {
    let falls = |log: &[String]| counts(log).windows(2).any(|pair| pair[1] < pair[0]);
    let with = |fault| {
        let mut case = case(Fault::VersionOperatorRestart, &[], &[]);
        case.fault = fault;
        case
    };
    assert!(falls(&log_of(&with(Some(Fault::VersionOperatorRestart))).await));
    assert!(!falls(&log_of(&with(None)).await));
}

#[tokio::test(start_paused = true)]
async fn f15_while_the_control_plane_is_gone_nothing_is_reported_and_then_the_update_continues() {
    let with = |fault| {
        let mut case = case(Fault::ControlPlaneUnreachable, &[], &[]);
        case.fault = fault;
        case
    };
    let healthy = longest_silence(&log_of(&with(None)).await);
    let log = log_of(&with(Some(Fault::ControlPlaneUnreachable))).await;
    assert!(longest_silence(&log) > healthy, "{healthy}");
    assert!(log.iter().any(|line| line.contains(DONE)), "{log:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_log_for_every_failure_mode() {
    for case in cases() {
        let (one, two) = (log_of(&case).await, log_of(&case).await);
        assert!(one.len() > 40, "{}", one.len());
        assert_eq!(one, two, "{:?}", case.fault);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_mode_is_injected_and_lifted_while_the_cluster_runs() {
    let (env, log) = env(&[]).await;
    let user = Access::memory(env.spoke("dev1").unwrap(), "user");
    annotate(&env, Some("F4, F2")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    annotate(&env, Some("F4")).await;
    ask_for(&user, json!({"version": "4.14.12"})).await;
    tokio::time::sleep(Duration::from_hours(6)).await;
    let logged: Vec<String> = std::mem::take(&mut *log.lock().unwrap());
    assert!(
        logged
            .iter()
            .any(|line| has(line, "ClusterOperator/monitoring Available=False"))
    );
    assert!(
        logged
            .iter()
            .any(|line| has(line, "MachineConfigPool/worker NodeDegraded=True"))
    );
    assert!(
        !logged
            .iter()
            .any(|line| has(line, "MachineConfigPool/worker Updated=True…rendered-worker-…12"))
    );
    annotate(&env, None).await;
    tokio::time::sleep(Duration::from_hours(3)).await;
    let after = log.lock().unwrap().clone();
    for wanted in [
        "MachineConfigPool/worker NodeDegraded=False",
        "MachineConfigPool/worker Updated=True",
    ] {
        assert!(after.iter().any(|line| has(line, wanted)), "{wanted}: {after:#?}");
    }
    env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_release_that_was_refused_is_looked_at_again_once_it_can_be_verified() {
    let (env, _) = env(&[]).await;
    let user = Access::memory(env.spoke("dev1").unwrap(), "user");
    annotate(&env, Some("F5")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    ask_for(&user, json!({"version": "4.14.12"})).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let newest = async || {
        let version = user
            .get(&CLUSTER_VERSION, &Key::cluster("version"))
            .await
            .unwrap();
        version["status"]["history"][0]["version"].clone()
    };
    assert_eq!(newest().await, "4.14.9");
    annotate(&env, None).await;
    tokio::time::sleep(Duration::from_mins(30)).await;
    assert_eq!(newest().await, "4.14.12");
    env.shut_down().await;
}
