//! One rehearsal: a copy of the fleet in the sandbox's API server, the real hub controller, and clusters that take as long
//! as such clusters take, all in virtual time from now on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use drydock_api::conditions;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeStatus, condition, reason};
use drydock_api::names::{CLUSTER_VERSION_CLAIM, HUB_MANAGER, PLACEMENT_LABEL};
use drydock_hub::LiveFleet;
use drydock_objects::upgrade::key;
use drydock_rollout::Halt;
use drydock_runtime::Clock;
use drydock_runtime::tasks::Tasks;
use drydock_sandbox::local_fleet::program_client;
use drydock_sandbox::test_env;
use jiff::{SignedDuration, Timestamp};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use kube_sandbox::access::{Access, Kind, Object};
use kube_sandbox::server::{ApiServer, ServerSettings};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, NAMESPACE, PLACEMENT};
use ocm_sandbox::placement::controller::{self, PlacementSettings};
use ocm_sandbox::spokes::{StubWorkAgent, StubWorkAgentSettings};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::fleet::Fleet;
use super::timeline::{Pause, Timeline};

/// How often the upgrade is looked at, in virtual time.
const LOOK: Duration = Duration::from_mins(1);
/// Where nothing is on its way and nothing changes for so long, nothing will.
const QUIET: SignedDuration = SignedDuration::from_hours(2);
/// No rehearsal looks further ahead.
const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);

/// Rehearses once, with the durations that the seed draws, from `now` on.
///
/// # Errors
/// If the copy cannot be made: the upgrade is refused as the hub's API server would refuse it.
pub fn rehearse(fleet: &Fleet, seed: u64, now: Timestamp) -> anyhow::Result<Timeline> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .context("starting the rehearsal's runtime")?;
    runtime.block_on(run(fleet, seed, now))
}

async fn run(fleet: &Fleet, seed: u64, now: Timestamp) -> anyhow::Result<Timeline> {
    let clock = Clock::simulated(now);
    let types = test_env::hub_types().context("installing the kinds of a hub")?;
    let server = ApiServer::new(ServerSettings::new("rehearsal", clock.clone(), seed, types));
    let access = Access::memory(&server, "rehearsal");
    copy(&access, fleet).await?;
    let stop = CancellationToken::new();
    let mut parts = JoinSet::new();
    parts.spawn(controller::run(
        PlacementSettings::default(),
        Access::memory(&server, "placement"),
        clock.clone(),
        stop.clone(),
    ));
    let settings = StubWorkAgentSettings {
        durations: fleet.durations.clone(),
        seed,
        ..StubWorkAgentSettings::default()
    };
    let spokes = StubWorkAgent::new(settings, clock.clone());
    let clusters = fleet.objects.iter().filter(|(kind, _)| *kind == MANAGED_CLUSTER);
    for (_, cluster) in clusters.clone() {
        install(&spokes, cluster);
    }
    parts.spawn(spokes.run(access));
    let pace = crate::local_fleet::unattended_pace(clusters.count());
    let settings = drydock_hub::Settings {
        pace,
        ..drydock_hub::Settings::default()
    };
    let hub = drydock_hub::run(
        settings,
        program_client(&server, HUB_MANAGER).context("registering request metrics")?,
        clock.clone(),
        stop.clone(),
    );
    parts.spawn(async move {
        if let Err(error) = hub.await {
            tracing::error!(%error, "the hub of the rehearsal ended");
        }
    });
    let client = server.client("rehearsal");
    let mut tasks = Tasks::new(stop.clone());
    let live = LiveFleet::follow(&client, &clock, pace, &mut tasks, &stop);
    create(&client, &fleet.upgrade).await?;
    let timeline = follow(&client, &fleet.upgrade, &clock, &live).await;
    stop.cancel();
    parts.shutdown().await;
    timeline
}

/// A simulated cluster runs what the one that it stands for claims.
fn install(spokes: &StubWorkAgent, cluster: &Value) {
    let claims = cluster["status"]["clusterClaims"].as_array();
    let mut claims = claims.into_iter().flatten();
    let version = claims.find(|claim| claim["name"] == CLUSTER_VERSION_CLAIM);
    let version = version.and_then(|claim| claim["value"].as_str());
    if let (Some(name), Some(version)) = (cluster["metadata"]["name"].as_str(), version) {
        spokes.with(name, |cluster, now| cluster.runs(version, now));
    }
}

async fn copy(access: &Access, fleet: &Fleet) -> anyhow::Result<()> {
    let mut namespaces: BTreeSet<String> = fleet.upgrade.namespace().into_iter().collect();
    for (_, object) in &fleet.objects {
        namespaces.extend(object["metadata"]["namespace"].as_str().map(str::to_owned));
        if object["kind"] == "ManagedCluster" {
            namespaces.extend(object["metadata"]["name"].as_str().map(str::to_owned));
        }
    }
    for name in namespaces {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        make(access, &NAMESPACE, &namespace).await?;
    }
    let mut placements: std::collections::HashMap<(Value, Value), Value> = std::collections::HashMap::new();
    for (kind, object) in &fleet.objects {
        let mut object = object.clone();
        let namespace = object["metadata"]["namespace"].clone();
        let placement = (
            namespace.clone(),
            object["metadata"]["labels"][PLACEMENT_LABEL].clone(),
        );
        if let Some(owner) = placements.get(&placement) {
            object["metadata"]["ownerReferences"] = json!([owner]);
        }
        let made = make(access, kind, &object).await?;
        if let Some(made) = made.filter(|_| *kind == PLACEMENT) {
            let name = made["metadata"]["name"].clone();
            let owner = json!({
                "apiVersion": made["apiVersion"], "kind": made["kind"], "name": name, "uid": made["metadata"]["uid"],
            });
            placements.insert((namespace, name), owner);
        }
    }
    Ok(())
}

async fn make(access: &Access, kind: &Kind, object: &Value) -> anyhow::Result<Option<Arc<Object>>> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let made = match access.create(kind, object.clone()).await {
        Ok(made) => made,
        // Every server has some namespaces.
        Err(error) if error.is_already_exists() => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("copying {kind} {name} for the rehearsal"));
        }
    };
    if let Some(status) = object.get("status") {
        let mut with_status = made.value().clone();
        with_status["status"] = status.clone();
        let written = access.replace_status(kind, with_status).await;
        written.with_context(|| format!("copying the status of {kind} {name} for the rehearsal"))?;
    }
    Ok(Some(made))
}

fn upgrades(client: &Client, upgrade: &ManagedClustersUpgrade) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(client.clone(), &upgrade.namespace().unwrap_or_default())
}

async fn create(client: &Client, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<()> {
    let fresh = ManagedClustersUpgrade {
        metadata: ObjectMeta {
            name: upgrade.metadata.name.clone(),
            namespace: upgrade.metadata.namespace.clone(),
            labels: upgrade.metadata.labels.clone(),
            ..ObjectMeta::default()
        },
        spec: upgrade.spec.clone(),
        status: None,
    };
    upgrades(client, upgrade)
        .create(&PostParams::default(), &fresh)
        .await
        .context("the API server would refuse the upgrade")?;
    Ok(())
}

/// Looks on until the rollout is over, or nothing happens any more.
async fn follow(
    client: &Client,
    upgrade: &ManagedClustersUpgrade,
    clock: &Clock,
    live: &LiveFleet,
) -> anyhow::Result<Timeline> {
    let begun = clock.now();
    let api = upgrades(client, upgrade);
    let mut halts: Vec<Pause> = Vec::new();
    let (mut before, mut since) = (ManagedClustersUpgradeStatus::default(), begun);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = clock.now();
        let status = api
            .get(&upgrade.name_any())
            .await
            .context("reading the rehearsed upgrade")?
            .status
            .unwrap_or_default();
        let halt = halted(&status);
        Pause::note(&mut halts, halt, now);
        if status != before {
            (before, since) = (status, now);
        }
        let is_complete = conditions::is_true(
            before.conditions.as_deref().unwrap_or_default(),
            condition::COMPLETE,
        );
        let waits_for_time = matches!(halt, Some(reason::AWAITING_START_WINDOW | reason::CANARY_SOAKING));
        let clusters = live
            .look(&key(upgrade))
            .map(|(_, clusters)| clusters)
            .unwrap_or_default();
        let is_moving = clusters.iter().any(|details| details.state.in_flight());
        let is_quiet = now.duration_since(since) > QUIET && !is_moving && !waits_for_time;
        if is_complete || is_quiet || now.duration_since(begun) > LONGEST {
            return Ok(Timeline::new(begun, &clusters, halts, &before));
        }
    }
}

/// Why nothing new starts, if so.
fn halted(status: &ManagedClustersUpgradeStatus) -> Option<&'static str> {
    let conditions = status.conditions.as_deref().unwrap_or_default();
    let found = conditions::find(conditions, condition::IN_PROGRESS)?;
    Halt::ALL.into_iter().find(|reason| *reason == found.reason)
}
