//! The agent killed at each of its writes, before and after it: the end is the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use drydock_api::names::AGENT_MANAGER;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::spoke::NAME;
use drydock_sandbox::test_env::TestEnv;
use kube_sandbox::server::{FaultAction, RequestInfo, Verb};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;

/// A debug build is killed at every this many writes only.
const STEP: usize = if cfg!(debug_assertions) { 17 } else { 1 };

/// At which write the agent is killed, and whether the write took place.
#[derive(Clone, Copy, Debug)]
struct Kill {
    at: u64,
    after: bool,
}

#[derive(Default)]
struct Killer {
    kill: Option<Kill>,
    writes: AtomicU64,
    dead: AtomicBool,
    struck: Notify,
}

impl Killer {
    fn verdict(&self, asked: &RequestInfo<'_>) -> FaultAction {
        if asked.identity.name() != AGENT_MANAGER {
            return FaultAction::Pass;
        }
        if self.dead.load(Ordering::Relaxed) {
            return FaultAction::Unreachable;
        }
        // Events may be lost.
        let is_event = asked.kind.is_some_and(|kind| kind.plural == "events");
        if is_event || matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch) {
            return FaultAction::Pass;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        match self.kill {
            Some(kill) if kill.at == number => {
                self.dead.store(true, Ordering::Relaxed);
                self.struck.notify_one();
                if kill.after {
                    FaultAction::DropAfterWrite
                } else {
                    FaultAction::Unreachable
                }
            }
            _ => FaultAction::Pass,
        }
    }
}

/// What there is in the end.
#[derive(Debug, PartialEq)]
struct End {
    jobs: Vec<String>,
    status: Value,
    window: Value,
    channel: Option<String>,
    left_out: usize,
}

async fn end(client: &Client) -> End {
    let config = configs(client).get("nights").await.unwrap();
    let window = windows(client).get("holidays").await.unwrap();
    let versions: Api<drydock_api::openshift::ClusterVersion> = Api::all(client.clone());
    let events: Api<k8s_openapi::api::core::v1::Event> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let left_out = "UpgradeConfigSuspendedBySuspensionWindow";
    let mut end = End {
        jobs: job_names(client).await,
        status: json!(config.status),
        window: json!(window.status),
        channel: versions.get("version").await.unwrap().spec.channel,
        left_out: events
            .iter()
            .filter(|event| event.reason.as_deref() == Some(left_out))
            .count(),
    };
    // A restart takes a moment.
    for status in [&mut end.status, &mut end.window] {
        for condition in status["conditions"].as_array_mut().unwrap() {
            condition["lastTransitionTime"].take();
        }
    }
    end
}

/// A cluster with an agent that is killed once, from its beginning until a moment; `each` happens every ten minutes. What is made of the
/// cluster then, and how often the agent has written.
async fn live<T>(
    kill: Option<Kill>,
    schedule: ScheduleSettings,
    until: &str,
    prepare: impl AsyncFn(&Client),
    each: impl AsyncFn(&Client, &Clock),
    end: impl AsyncFn(&Client) -> T,
) -> (T, u64) {
    let mut settings = fleet::three_clusters(4);
    settings.clusters.truncate(1);
    let clock = Clock::simulated(EPOCH);
    let env = TestEnv::start(settings, clock.clone()).await.unwrap();
    let server = env.spoke(NAME).unwrap().clone();
    let killer = Arc::new(Killer {
        kill,
        ..Killer::default()
    });
    let strikes = Arc::clone(&killer);
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        strikes.verdict(asked)
    })));
    let client = server.client("user");
    prepare(&client).await;
    let mut agent = JoinSet::new();
    let start = |agent: &mut JoinSet<_>| {
        let settings = drydock_agent::Settings {
            network: drydock_agent::Network::in_process(env.outside(NAME)),
            schedule: schedule.clone(),
            // Its writes are others than those that the agent is killed at.
            insights: drydock_agent::InsightsSettings::off(),
            ..drydock_agent::Settings::default()
        };
        let client = program_client(&server, AGENT_MANAGER).unwrap();
        agent.spawn(drydock_agent::run(
            settings,
            client,
            clock.clone(),
            CancellationToken::new(),
        ));
    };
    start(&mut agent);
    while clock.now() < at(until) {
        tokio::select! {
            () = killer.struck.notified() => {
                agent.shutdown().await;
                killer.dead.store(false, Ordering::Relaxed);
                start(&mut agent);
            }
            () = tokio::time::sleep(10 * MINUTE) => each(&client, &clock).await,
        }
    }
    let end = end(&client).await;
    agent.shutdown().await;
    env.shut_down().await;
    (end, killer.writes.load(Ordering::Relaxed))
}

/// Six days of a daily maintenance, of which two are left out; UpgradeJobs succeed at once, and one is kept.
async fn run(kill: Option<Kill>) -> (End, u64) {
    let prepare = async |client: &Client| {
        let mut spec = weekly();
        spec["schedule"]["cron"] = json!("0 22 * * *");
        spec["successfulJobsHistoryLimit"] = json!(1);
        create(client, "nights", spec).await;
        holidays(client, "2026-01-07T00:00:00Z", "2026-01-08T20:00:00Z").await;
        let overlay = json!({"clusterID": "c", "channel": "fast-4.14"});
        overlays::manage_of(client, "version", overlay).await;
    };
    let each = async |client: &Client, clock: &Clock| {
        for name in job_names(client).await {
            let started = jobs(client).get(&name).await.unwrap().spec.start_after.0;
            if started <= clock.now() {
                end_job(client, &name, "Succeeded").await;
            }
        }
    };
    live(kill, without_jobs(), "2026-01-11T12:00:00Z", prepare, each, end).await
}

/// What there is at the end of two maintenances.
#[derive(Debug, PartialEq)]
struct Maintained {
    version: Option<String>,
    lock: Option<String>,
    /// How each UpgradeJob has ended.
    ends: BTreeMap<String, String>,
    /// The Jobs of hooks, whether they have a finalizer, and what is tracked of them.
    hook_jobs: BTreeMap<String, bool>,
    tracked: BTreeMap<String, Vec<(String, String)>>,
    paused: Option<bool>,
}

/// Two UpgradeConfigs whose maintenances begin at the same time, one with hooks and a pool that is upgraded later, and a third that is
/// skipped by a window.
async fn maintain(kill: Option<Kill>) -> (Maintained, u64) {
    let prepare = async |client: &Client| {
        for hook in ["Create", "Start", "MachineConfigPoolUnpause", "Finish"] {
            let name = hook.to_lowercase();
            hooks::create_hook(
                client,
                &name,
                json!({"events": [hook], "template": hooks::template("succeed")}),
            )
            .await;
        }
        let mut nights = weekly();
        nights["jobTemplate"]["spec"]["config"]["machineConfigPools"] = json!([{
            "matchLabels": {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}},
            "delayUpgrade": {"delayMin": "3h"},
        }]);
        nights["jobTemplate"]["spec"]["config"]["upgradeTimeout"] = json!("20h");
        create(client, "nights", nights).await;
        let mut others = weekly();
        others["jobTemplate"]["spec"]["config"]["upgradeTimeout"] = json!("20h");
        create(client, "others", others).await;
        create_job(client, "skipped", job_at("2026-01-06T23:00:00Z")).await;
        let window = json!({
            "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeSuspensionWindow",
            "metadata": {"name": "fair"}, "spec": {
                "start": "2026-01-06T22:30:00Z", "end": "2026-01-07T12:00:00Z", "reason": "the fair",
                "jobSelector": {"matchLabels": {"app": "skipped"}},
            },
        });
        let window = serde_json::from_value(window).unwrap();
        windows(client)
            .create(&PostParams::default(), &window)
            .await
            .unwrap();
    };
    let each = async |_: &Client, _: &Clock| {};
    live(
        kill,
        ScheduleSettings::default(),
        "2026-01-07T16:00:00Z",
        prepare,
        each,
        maintained,
    )
    .await
}

async fn maintained(client: &Client) -> Maintained {
    let versions: Api<drydock_api::openshift::ClusterVersion> = Api::all(client.clone());
    let version = versions.get("version").await.unwrap();
    let newest = version.status.unwrap().history.remove(0);
    let mut maintained = Maintained {
        version: newest.version.filter(|_| newest.state == "Completed"),
        lock: upgrades::lock(client).await,
        ends: BTreeMap::new(),
        hook_jobs: BTreeMap::new(),
        tracked: BTreeMap::new(),
        paused: upgrades::pool(client).await.spec.paused,
    };
    for job in jobs(client).list(&ListParams::default()).await.unwrap() {
        let status = job.status.clone().unwrap();
        let end = status.conditions.unwrap().into_iter().find(|condition| {
            matches!(condition.type_.as_str(), "Succeeded" | "Failed") && condition.status == "True"
        });
        let tracked = status.hook_tracker.unwrap_or_default().into_iter();
        let tracked = tracked.map(|entry| {
            (
                entry.upgrade_job_hook.unwrap_or_default(),
                entry.status.unwrap_or_default(),
            )
        });
        maintained.tracked.insert(job.name_any(), tracked.collect());
        maintained
            .ends
            .insert(job.name_any(), end.map(|end| end.reason).unwrap_or_default());
    }
    for job in hooks::hook_jobs(client)
        .list(&ListParams::default())
        .await
        .unwrap()
    {
        maintained
            .hook_jobs
            .insert(job.name_any(), job.finalizers().is_empty());
    }
    maintained
}

#[tokio::test(start_paused = true)]
async fn an_agent_killed_at_any_of_its_writes_comes_to_the_same_end() {
    let (expected, writes) = run(None).await;
    assert_eq!(expected.jobs.len(), 1, "{expected:#?}");
    assert_eq!(expected.left_out, 2, "{expected:#?}");
    assert_eq!(expected.channel.as_deref(), Some("stable-4.15"));
    assert!(writes > 20, "{writes} writes");
    for at in (1..=writes).step_by(STEP) {
        for after in [false, true] {
            let kill = Kill { at, after };
            let (end, _) = run(Some(kill)).await;
            // An Event that was not written yet is lost, and never written twice.
            assert!((1..=2).contains(&end.left_out), "{kill:?} of {writes}: {end:#?}");
            let end = End { left_out: 2, ..end };
            assert_eq!(end, expected, "{kill:?} of {writes}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn upgrades_end_alike_whichever_write_the_agent_is_killed_at() {
    let (expected, writes) = maintain(None).await;
    assert_eq!(expected.lock, None);
    assert_ne!(expected.paused, Some(true));
    assert!(
        expected.hook_jobs.values().all(|is_free| *is_free),
        "{expected:#?}"
    );
    assert_eq!(expected.ends.len(), 3, "{expected:#?}");
    for (name, end) in &expected.ends {
        let wanted = if name == "skipped" { "Skipped" } else { "Succeeded" };
        assert_eq!(end, wanted, "{expected:#?}");
    }
    assert!(writes > 40, "{writes} writes");
    for at in (1..=writes).step_by(STEP) {
        for after in [false, true] {
            let kill = Kill { at, after };
            let (end, _) = maintain(Some(kill)).await;
            assert_eq!(end, expected, "{kill:?} of {writes}");
        }
    }
}
