//! Simulation: two replicas of the real hub, several upgrades of one fleet whose clusters succeed, fail or hang, people who edit,
//! delete and restore, and faults, all drawn from one seed, under paused time. After every write the rules of rollouts are checked; when
//! the faults cease, each upgrade must come to its end. The same seed draws the same world; in which order the hub's tasks run is not
//! drawn.

mod acceptances;
mod agents;
mod backup;
pub mod boundaries;
mod draw;
mod faults;
mod fleet;
mod happening;
mod moments;
mod rules;
mod scenario;
mod world;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::leader::{Election, Leadership, LeaseSettings, leader_only_writes};
use drydock_runtime::server_time::ServerTime;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube_sandbox::access::{Access, Selection};
use kube_sandbox::server::ApiServer;
use prometheus::Registry;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use backup::Backups;
pub use faults::Counts;
use faults::InjectedFaults;
use fleet::Fleet;
use happening::Events;
use rules::Rules;
use scenario::Scenario;
use world::{Obstacles, World};

use crate::delayed_watch::{Lateness, delayed_watch};
use crate::hub_fleet::UPGRADE;
use crate::local_fleet::{EPOCH, hub_settings};

/// How long faults last.
const FAULT_PERIOD: Duration = Duration::from_hours(12);
/// By when all upgrades must have come to their ends after the faults: all clusters one after the other, each to its timeout, some
/// only within a window a day.
const TIMEOUT: Duration = Duration::from_hours(24 * 12);
/// Of this many seeds one has simulated clusters instead of works that are answered.
const REAL: u64 = 8;
/// How often it is asked whether it has.
const LOOK: Duration = Duration::from_mins(10);

/// What a run came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Virtual time.
    pub lasted: SignedDuration,
    /// The faults that happened.
    pub faults: Counts,
    /// Writes after which the rules were checked.
    pub checks: u64,
    /// Clusters that were started.
    pub starts: u64,
}

/// Runs one seed.
///
/// # Errors
/// If a rule is broken, or a rollout does not come to its end: with what happened before.
pub async fn run(seed: u64) -> anyhow::Result<Summary> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let scenario = Scenario::draw(&mut rng, seed.is_multiple_of(REAL));
    let events = Events::draw(&mut rng, &scenario, FAULT_PERIOD);
    let fleet = Arc::new(Fleet::start(&scenario, seed).await?);
    let (server, clock) = (fleet.hub.clone(), fleet.clock.clone());
    let rules = Rules::new(fleet.spokes());
    let mut parts = JoinSet::new();
    parts.spawn(rules::watch(
        Access::memory(&server, "rules"),
        clock.clone(),
        rules.clone(),
    ));
    let (obstacles, skew) = (Obstacles::default(), Arc::new(AtomicI64::new(0)));
    let end = EPOCH + SignedDuration::try_from(FAULT_PERIOD)?;
    let (registries, backups) = (Registries::default(), Backups::default());
    let (faults, kill) = (
        InjectedFaults::begin(&server, &mut rng, end, &clock, obstacles.clone(), rules.clone()),
        Arc::new(Notify::new()),
    );
    faults.counted().events += events.count();
    let lateness = faults.lateness(&mut rng, end, &clock);
    parts.spawn(
        backups
            .clone()
            .keep(Access::memory(&server, "backup"), clock.clone()),
    );
    let world = World {
        fleet: Arc::clone(&fleet),
        skew: Arc::clone(&skew),
        obstacles,
        rules: rules.clone(),
        scenario: scenario.clone(),
        backups,
        kill: Arc::clone(&kill),
    };
    rules.set_inputs(world.inputs().await?, Timestamp::MIN);
    create_upgrades(&fleet, &scenario).await;
    let happens = tokio::spawn(world.play(events.clone()));
    start_agents(&fleet, &mut rng, &faults, &mut parts);
    let replicas = Replicas {
        server: server.clone(),
        clock: clock.skewed(skew),
        registries: registries.clone(),
        lateness,
    };
    let hubs = tokio::spawn(faults::restart_at_random(
        replicas,
        rng,
        FAULT_PERIOD,
        faults.clone(),
        kill,
    ));
    let ended = follow(&fleet, &rules, &registries, &happens).await;
    hubs.abort();
    parts.shutdown().await;
    ended.with_context(|| {
        let history = rules.history();
        format!("seed {seed}: {scenario:?}\n{events:?}\nwhat happened:\n{history}")
    })?;
    happens.await.context("what happens panicked")??;
    Ok(Summary {
        lasted: clock.now().duration_since(EPOCH),
        faults: faults.counts(),
        checks: rules.checks(),
        starts: rules.starts(),
    })
}

/// The first upgrades. One whose spec the API refuses is not there.
async fn create_upgrades(fleet: &Fleet, scenario: &Scenario) {
    for (which, spec) in &scenario.upgrades {
        let _refused = fleet.user.create(&UPGRADE, draw::upgrade(which, spec)).await;
    }
}

/// The real agents of simulated clusters.
fn start_agents(fleet: &Fleet, rng: &mut ChaCha8Rng, faults: &InjectedFaults, parts: &mut JoinSet<()>) {
    for (name, spoke, network) in fleet.agents() {
        let draws = ChaCha8Rng::seed_from_u64(rng.next_u64());
        let clock = fleet.clock.clone();
        let agent = agents::keep_running(spoke, network, clock, draws, FAULT_PERIOD, faults.clone());
        parts.spawn(agent.instrument(tracing::info_span!("agent", cluster = name)));
    }
}

/// All upgrades that there are.
async fn upgrades(fleet: &Fleet) -> anyhow::Result<Vec<ManagedClustersUpgrade>> {
    let found = fleet.user.list(&UPGRADE, &Selection::everything()).await?;
    let parsed = found
        .iter()
        .map(|found| serde_json::from_value(found.complete().into_owned()));
    parsed.collect::<Result<_, _>>().context("reading the upgrades")
}

async fn follow(
    fleet: &Fleet,
    rules: &Rules,
    registries: &Registries,
    happens: &JoinHandle<anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let deadline = EPOCH + SignedDuration::try_from(FAULT_PERIOD + TIMEOUT)?;
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(broken) = rules.broken() {
            anyhow::bail!("{broken}");
        }
        registries.nothing_refused()?;
        let upgrades = upgrades(fleet).await?;
        let now = fleet.clock.now();
        for upgrade in &upgrades {
            if let Some(broken) = rules.breaks_by_status(upgrade, now) {
                anyhow::bail!("{broken}");
            }
        }
        let is_calm = now.duration_since(EPOCH) > SignedDuration::try_from(FAULT_PERIOD)?;
        if !is_calm || !happens.is_finished() {
            continue;
        }
        let going: Vec<String> = upgrades
            .iter()
            .filter_map(|upgrade| {
                let why = rules.waits_for_work(upgrade, now)?;
                let metadata = &upgrade.metadata;
                Some(format!(
                    "{:?}/{:?}: {why}: {:#?}",
                    metadata.namespace, metadata.name, upgrade.status
                ))
            })
            .collect();
        if going.is_empty() {
            return rules.lost().map_or(Ok(()), |lost| Err(anyhow::anyhow!(lost)));
        }
        ensure!(
            now < deadline,
            "upgrades do not come to their end: {}",
            going.join("\n")
        );
    }
}

/// Where replicas run.
struct Replicas {
    server: ApiServer,
    clock: Clock,
    registries: Registries,
    lateness: Lateness,
}

/// The metrics of all replicas that ever ran. Clones share them.
#[derive(Clone, Default)]
struct Registries(Arc<Mutex<Vec<Registry>>>);

impl Registries {
    fn add(&self) -> Registry {
        let registry = Registry::new();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(registry.clone());
        registry
    }

    /// The check of a plan, which is the second to look at it, never had one to refuse.
    fn nothing_refused(&self) -> anyhow::Result<()> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let families = all.iter().flat_map(Registry::gather);
        let mut labels = families
            .filter(|family| family.name() == "drydock_reconcile_errors_total")
            .flat_map(|family| family.get_metric().to_vec())
            .flat_map(|metric| metric.get_label().to_vec());
        ensure!(
            !labels.any(|label| label.value() == "InternalInvariantViolated"),
            "the hub made a plan that breaks a rule, and its own check refused it"
        );
        Ok(())
    }
}

impl Replicas {
    /// Starts one; it ends by itself when it loses its lease.
    fn start(&self, name: &str) -> anyhow::Result<JoinHandle<Result<(), drydock_hub::Error>>> {
        let metrics = || RequestMetrics::register(&prometheus::Registry::new());
        let leadership = Leadership::default();
        let time = ServerTime::new(&self.clock);
        let transport = time.reading(self.server.service(name));
        let own: Client = client::from_service(transport.clone(), "default", &metrics()?);
        // Longer than usual: a run is days, and most of it would be renewals.
        let lease = LeaseSettings {
            duration: Duration::from_mins(3),
            renew_deadline: Duration::from_mins(2),
            retry_period: Duration::from_secs(30),
            ..LeaseSettings::new("default", "drydock-hub", name)
        };
        let election = Election::new(own, lease, self.clock.clone(), leadership.clone());
        let transport = delayed_watch(transport, Arc::clone(&self.lateness));
        let transport = leader_only_writes(transport, leadership);
        let guarded = client::from_service(transport, "default", &metrics()?);
        let settings = drydock_hub::Settings {
            election: Some(Arc::new(election)),
            registry: self.registries.add(),
            ..hub_settings()
        };
        let run = drydock_hub::run(settings, guarded, time.clock(), CancellationToken::new());
        Ok(tokio::spawn(run))
    }
}
