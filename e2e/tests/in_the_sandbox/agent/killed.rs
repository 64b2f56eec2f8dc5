//! The agent killed at its writes, before and after each, to the API server and to Alertmanager: the end is the same, and
//! nothing is done twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use drydock_agent::Network;
use drydock_api::machine_api::MachineSet;
use drydock_api::names::{AGENT_MANAGER, AGENT_NAMESPACE, UPGRADE_CONFIG};
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeHistory, UpgradePhase};
use drydock_e2e::fleet;
use drydock_e2e::local_fleet::{EPOCH, program_client};
use drydock_e2e::spoke::{self, NAME};
use drydock_runtime::Clock;
use drydock_sandbox::test_env::{Outside, TestEnv};
use http::{Method, Request, Response};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo, Verb};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::{BoxError, ServiceExt, service_fn};

/// A debug build is killed at every this many writes only.
const STEP: usize = if cfg!(debug_assertions) { 17 } else { 1 };
const TIMEOUT: Duration = Duration::from_hours(24);

/// At which write the agent is killed, and whether the write took place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kill {
    pub at: u64,
    pub after: bool,
}

#[derive(Default)]
struct Killer {
    kill: Option<Kill>,
    writes: AtomicU64,
    dead: AtomicBool,
    struck: Notify,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Lost,
    Refused,
}

impl Killer {
    fn fate(&self, is_write: bool) -> Fate {
        if self.dead.load(Ordering::Relaxed) {
            return Fate::Refused;
        }
        if !is_write {
            return Fate::Answered;
        }
        let number = self.writes.fetch_add(1, Ordering::Relaxed) + 1;
        match self.kill {
            Some(kill) if kill.at == number => {
                self.dead.store(true, Ordering::Relaxed);
                self.struck.notify_one();
                if kill.after { Fate::Lost } else { Fate::Refused }
            }
            _ => Fate::Answered,
        }
    }

    fn verdict(&self, asked: &RequestInfo<'_>) -> FaultAction {
        if asked.identity.name() != AGENT_MANAGER {
            return FaultAction::Pass;
        }
        match self.fate(!matches!(asked.verb, Verb::Get | Verb::List | Verb::Watch)) {
            Fate::Answered => FaultAction::Pass,
            Fate::Lost => FaultAction::DropAfterWrite,
            Fate::Refused => FaultAction::Unreachable,
        }
    }

    /// What the agent reaches besides the API server, with the same fates.
    fn network(self: &Arc<Self>, outside: Outside) -> Network {
        let killer = Arc::clone(self);
        Network::in_process(service_fn(move |request: Request<Bytes>| {
            let (killer, outside) = (Arc::clone(&killer), outside.clone());
            async move {
                let is_query = request.uri().path().ends_with("/query");
                let fate = killer.fate(request.method() != Method::GET && !is_query);
                if fate == Fate::Refused {
                    return Err(BoxError::from("killed"));
                }
                let answer: Response<Body> = outside.oneshot(request).await?;
                if fate == Fate::Lost {
                    return Err(BoxError::from("killed"));
                }
                Ok(answer)
            }
        }))
    }
}

/// How an upgrade ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct End {
    raised: Vec<String>,
    conditions: BTreeSet<String>,
    silences: Vec<(String, String)>,
    history: Vec<String>,
    sets: usize,
}

fn upgrade() -> UpgradeConfig {
    let upgrade = json!({
        "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
        "metadata": {"name": UPGRADE_CONFIG},
        "spec": {
            "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60, "capacityReservation": true,
            "desired": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    });
    serde_json::from_value(upgrade).unwrap()
}

async fn end(env: &TestEnv, client: Client, entry: UpgradeHistory) -> End {
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let history = versions.get("version").await.unwrap().status.unwrap().history;
    let sets: Api<MachineSet> = Api::all(client);
    End {
        raised: entry
            .notifications
            .unwrap()
            .into_iter()
            .map(|raised| raised.event)
            .collect(),
        conditions: entry
            .conditions
            .unwrap()
            .into_iter()
            .map(|condition| format!("{} {}", condition.type_, condition.status))
            .collect(),
        silences: spoke::silences(env)
            .await
            .unwrap()
            .into_iter()
            .filter(|(comment, _)| comment.contains("control plane"))
            .collect(),
        history: history.into_iter().filter_map(|past| past.version).collect(),
        sets: sets.list(&ListParams::default()).await.unwrap().items.len(),
    }
}

/// An upgrade from its beginning to its end, by agents that reach their server as `connect` says.
pub(super) async fn run(kill: Option<Kill>, connect: impl Fn(&ApiServer) -> Client) -> (End, u64) {
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
    let upgrades: Api<UpgradeConfig> = Api::namespaced(client.clone(), AGENT_NAMESPACE);
    upgrades.create(&PostParams::default(), &upgrade()).await.unwrap();
    let mut agent = JoinSet::new();
    let start = |agent: &mut JoinSet<_>| {
        let settings = drydock_agent::Settings {
            network: killer.network(env.outside(NAME)),
            // Its writes are others than those that the agent is killed at.
            insights: drydock_agent::InsightsSettings::off(),
            ..drydock_agent::Settings::default()
        };
        let client = connect(&server);
        agent.spawn(drydock_agent::run(
            settings,
            client,
            clock.clone(),
            CancellationToken::new(),
        ));
    };
    start(&mut agent);
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    let entry = loop {
        tokio::select! {
            () = killer.struck.notified() => {
                agent.shutdown().await;
                killer.dead.store(false, Ordering::Relaxed);
                start(&mut agent);
                continue;
            }
            () = tokio::time::sleep(Duration::from_mins(5)) => {}
        }
        let status = upgrades
            .get(UPGRADE_CONFIG)
            .await
            .unwrap()
            .status
            .unwrap_or_default();
        let newest = status.history.unwrap_or_default().into_iter().next();
        if let Some(entry) = newest.filter(|entry| entry.phase == UpgradePhase::Upgraded) {
            break entry;
        }
        assert!(tokio::time::Instant::now() < deadline, "{kill:?} does not end");
    };
    // What was sent is noted in the status soon after.
    tokio::time::sleep(Duration::from_mins(10)).await;
    let end = end(&env, client, entry).await;
    agent.shutdown().await;
    env.shut_down().await;
    (end, killer.writes.load(Ordering::Relaxed))
}

/// A connection without faults.
pub(super) fn directly(server: &ApiServer) -> Client {
    program_client(server, AGENT_MANAGER).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_agent_killed_at_any_of_its_writes_comes_to_the_same_end_and_does_nothing_twice() {
    let (expected, writes) = run(None, directly).await;
    assert_eq!(expected.conditions.len(), 17, "{expected:#?}");
    assert_eq!(expected.silences.len(), 1, "{expected:#?}");
    assert!(writes > 20, "{writes} writes");
    for at in (1..=writes).step_by(STEP) {
        for after in [false, true] {
            let kill = Kill { at, after };
            let (end, _) = run(Some(kill), directly).await;
            assert_eq!(end, expected, "{kill:?} of {writes}");
        }
    }
}
