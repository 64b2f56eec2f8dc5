//! Simulation: two replicas of the real hub, a fleet whose clusters succeed, fail or hang, and faults, all drawn from one
//! seed, under paused time. After every write the rules of a rollout are checked; when the faults cease, it must come to a
//! right end. The same seed is the same run.

mod agents;
pub mod boundaries;
mod events;
mod faults;
mod fleet;
mod repeats;
mod rules;
mod scenario;

use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_runtime::Clock;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::leader::{Election, Leadership, LeaseSettings, guard};
use drydock_sandbox::access::Access;
use drydock_sandbox::server::ApiServer;
use jiff::{SignedDuration, Timestamp};
use kube::api::PostParams;
use kube::{Api, Client};
use prometheus::Registry;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use events::{Events, Offline, Present, World};
pub use faults::Counts;
use faults::Trouble;
use fleet::Fleet;
use repeats::Repeats;
use rules::Rules;
use scenario::Scenario;

use crate::late::{Lateness, late};

/// When virtual time begins.
const EPOCH: Timestamp = Timestamp::constant(1_767_600_000, 0);
/// How long faults go on.
const TROUBLED: Duration = Duration::from_hours(12);
/// By when a rollout must have come to its end after the faults: all clusters one after the other, each to its timeout.
const PATIENCE: Duration = Duration::from_hours(24 * 4);
/// Of so many seeds one has simulated clusters instead of works that are answered.
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
}

/// Runs one seed.
///
/// # Errors
/// If a rule is broken, or the rollout does not come to a right end: with what happened before.
pub async fn run(seed: u64) -> anyhow::Result<Summary> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let scenario = Scenario::draw(&mut rng, seed.is_multiple_of(REAL));
    let events = Events::draw(&mut rng, &scenario, TROUBLED);
    let clock = Clock::simulated(EPOCH);
    let fleet = Fleet::start(&scenario, seed, &clock).await?;
    let server = fleet.hub.clone();
    let rules = Arc::new(Rules::new(&scenario));
    let mut parts = JoinSet::new();
    parts.spawn(rules::watch(
        Access::memory(&server, "rules"),
        clock.clone(),
        Arc::clone(&rules),
    ));
    let (offline, skew) = (Offline::default(), Arc::new(AtomicI64::new(0)));
    let end = EPOCH + SignedDuration::try_from(TROUBLED)?;
    let (repeats, registries) = (Repeats::default(), Registries::default());
    let trouble = Trouble::begin(&server, &mut rng, end, &clock, offline.clone(), repeats.clone());
    trouble.counted().events += events.count();
    let lateness = trouble.lateness(&mut rng, end, &clock);
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(server.client("user"), "default");
    upgrades
        .create(&PostParams::default(), &scenario.upgrade()?)
        .await
        .context("creating the upgrade")?;
    let world = World {
        server: server.clone(),
        hub: Access::memory(&server, "user"),
        clock: clock.clone(),
        skew: Arc::clone(&skew),
        offline,
        rules: Arc::clone(&rules),
        repeats: repeats.clone(),
        scenario: scenario.clone(),
        connect: fleet.connection(),
        fleet: Mutex::new(Present::all(&scenario)),
    };
    let happens = tokio::spawn(world.play(events.clone()));
    for (name, spoke, network) in fleet.agents() {
        let draws = ChaCha8Rng::seed_from_u64(rng.next_u64());
        let agent = agents::keep_running(spoke, network, clock.clone(), draws, TROUBLED, trouble.clone());
        parts.spawn(agent.instrument(tracing::info_span!("agent", cluster = name)));
    }
    let replicas = Replicas {
        server: server.clone(),
        clock: clock.skewed(skew),
        registries: registries.clone(),
        lateness,
    };
    let hubs = tokio::spawn(faults::restart_at_random(
        replicas,
        rng,
        TROUBLED,
        trouble.clone(),
    ));

    let ended = follow(&upgrades, &scenario, (&rules, &repeats), &clock).await;
    let ended = ended.and_then(|()| registries.nothing_refused());
    hubs.abort();
    parts.shutdown().await;
    ended.with_context(|| {
        let history = rules.history();
        format!("seed {seed}: {scenario:?}\n{events:?}\nwhat happened:\n{history}")
    })?;
    happens.await.context("what happens panicked")??;
    Ok(Summary {
        lasted: clock.now().duration_since(EPOCH),
        faults: trouble.counts(),
        checks: rules.checks(),
    })
}

async fn follow(
    upgrades: &Api<ManagedClustersUpgrade>,
    scenario: &Scenario,
    (rules, repeats): (&Rules, &Repeats),
    clock: &Clock,
) -> anyhow::Result<()> {
    let deadline = EPOCH + SignedDuration::try_from(TROUBLED + PATIENCE)?;
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(broken) = rules.broken() {
            anyhow::bail!("{broken}");
        }
        let upgrade = upgrades.get("sim").await.context("reading the upgrade")?;
        let size = serde_json::to_vec(&upgrade.status).map_or(0, |text| text.len());
        ensure!(size < 64 * 1024, "the status has {size} bytes");
        let now = clock.now();
        // Clusters of the bed come and go by themselves.
        if let Some(overdue) = repeats.overdue(&upgrade, now).filter(|_| !scenario.real) {
            anyhow::bail!("{overdue}");
        }
        let is_calm = now.duration_since(EPOCH) > SignedDuration::try_from(TROUBLED)?;
        if is_calm && rules.is_settled(&upgrade, scenario) {
            return rules.right_end(&upgrade, scenario);
        }
        ensure!(
            now < deadline,
            "it does not come to an end: {:#?}",
            upgrade.status
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
        let own: Client = client::from_service(self.server.service(name), "default", &metrics()?);
        // Longer than usual: a run is days, and most of it would be renewals.
        let lease = LeaseSettings {
            duration: Duration::from_mins(3),
            renew_deadline: Duration::from_mins(2),
            retry_period: Duration::from_secs(30),
            ..LeaseSettings::new("default", "drydock-hub", name)
        };
        let election = Election::new(own, lease, self.clock.clone(), leadership.clone());
        let transport = late(self.server.service(name), Arc::clone(&self.lateness));
        let transport = guard(transport, leadership);
        let guarded = client::from_service(transport, "default", &metrics()?);
        let settings = drydock_hub::Settings {
            election: Some(Arc::new(election)),
            registry: self.registries.add(),
            ..drydock_hub::Settings::default()
        };
        let run = drydock_hub::run(settings, guarded, self.clock.clone(), CancellationToken::new());
        Ok(tokio::spawn(run))
    }
}
