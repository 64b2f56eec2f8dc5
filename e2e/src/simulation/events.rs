//! What people and the world do to a rollout while it runs: edits, pauses, placements that change, clusters that come, go
//! and fall silent, clocks that jump.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use drydock_runtime::Clock;
use drydock_sandbox::access::{Access, Key, Kind};
use drydock_sandbox::ocm::kinds::MANAGED_CLUSTER;
use drydock_sandbox::server::ApiServer;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::repeats::Repeats;
use super::rules::Rules;
use super::scenario::{Scenario, TARGETS, below};

static UPGRADE: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "ManagedClustersUpgrade",
    "managedclustersupgrades",
    true,
);

/// By how much a clock is off at most.
pub(super) const SKEW: Duration = Duration::from_mins(3);

/// For how long the hub is cut off at most.
const CUT: Duration = Duration::from_hours(3);

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Happening {
    /// `maxConcurrency` is edited.
    Limit(usize),
    Paused(bool),
    /// The target is edited.
    Target(&'static str),
    /// The placement selects so many of the clusters, and no others.
    Selects(BTreeSet<String>),
    /// A cluster is cut off from the hub, or comes back.
    Connected(String, bool),
    /// A cluster leaves the hub.
    Leaves(String),
    /// A cluster that had left, or was never there, joins the hub.
    Joins(String),
    /// The replicas are cut off from their API server, or come back.
    Partition(bool),
    /// The clocks of the replicas are ahead by so many milliseconds.
    Clock(i64),
}

/// What happens, and after which time.
#[derive(Clone, Debug, Default)]
pub(super) struct Events(Vec<(Duration, Happening)>);

/// The hub among those that are cut off; no cluster can have this name.
const HUB: &str = "*hub";

/// Who is cut off at present: clusters, and the hub.
#[derive(Clone, Debug, Default)]
pub(super) struct Offline(Arc<Mutex<BTreeSet<String>>>);

impl Offline {
    fn all(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, who: &str, cut: bool) {
        if cut {
            self.all().insert(who.to_owned());
        } else {
            self.all().remove(who);
        }
    }

    /// Whether the replicas are cut off.
    pub fn has_hub(&self) -> bool {
        self.all().contains(HUB)
    }

    pub fn has(&self, cluster: Option<&str>) -> bool {
        cluster.is_some_and(|cluster| self.all().contains(cluster))
    }
}

impl Events {
    /// Draws what happens within `troubled`; at its end everybody is there and nothing is paused.
    pub fn draw(rng: &mut ChaCha8Rng, scenario: &Scenario, troubled: Duration) -> Self {
        let mut events = Vec::new();
        let minutes = troubled.as_secs() / 60;
        let moment =
            |rng: &mut ChaCha8Rng| Duration::from_secs(60 * below(rng, minutes - 1) + below(rng, 60));
        for _ in 0..below(rng, 7) {
            let at = moment(rng);
            match below(rng, 8) {
                0 => events.push((at, Happening::Limit(1 + below(rng, 5) as usize))),
                1 => {
                    let until = at + Duration::from_secs(60 * (1 + below(rng, 240)));
                    events.push((at, Happening::Paused(true)));
                    events.push((until.min(troubled), Happening::Paused(false)));
                }
                2 if !scenario.real => {
                    let mut selected: BTreeSet<String> = scenario.names().into_iter().collect();
                    selected.retain(|_| below(rng, 4) > 0);
                    let mut first = scenario.names().into_iter().take(scenario.canaries.max(1));
                    if first.any(|name| selected.contains(&name)) {
                        events.push((at, Happening::Selects(selected)));
                    }
                }
                3 => {
                    let number = below(rng, scenario.clusters as u64);
                    let until = at + Duration::from_secs(60 * (1 + below(rng, 300)));
                    let name = format!("c{number}");
                    events.push((at, Happening::Connected(name.clone(), false)));
                    events.push((until.min(troubled), Happening::Connected(name, true)));
                }
                4 => {
                    let until = at + Duration::from_secs(60 + below(rng, CUT.as_secs() - 60));
                    events.push((at, Happening::Partition(true)));
                    events.push((until.min(troubled), Happening::Partition(false)));
                }
                5 if !scenario.real => events.push((at, Happening::Target(TARGETS[1]))),
                6 if !scenario.real => events.extend(absence(rng, scenario, at, troubled)),
                _ => {
                    let most = SKEW.as_millis() as u64;
                    let ahead = below(rng, 2 * most) as i64 - most as i64;
                    events.push((at, Happening::Clock(ahead)));
                }
            }
        }
        events.push((troubled, Happening::Paused(false)));
        events.push((troubled, Happening::Partition(false)));
        events.sort_by_key(|(at, _)| *at);
        Self(events)
    }

    pub fn count(&self) -> u64 {
        self.0.len() as u64
    }
}

/// A cluster that is neither the first nor a canary leaves for a while or for good, or joins only now.
fn absence(
    rng: &mut ChaCha8Rng,
    scenario: &Scenario,
    at: Duration,
    troubled: Duration,
) -> Vec<(Duration, Happening)> {
    let stay = scenario.canaries.max(1);
    let number = stay as u64 + below(rng, scenario.clusters.saturating_sub(stay) as u64);
    let name = format!("c{number}");
    // Long enough for the hub to see that it has left.
    let until = at + CUT + Duration::from_secs(60 * (20 + below(rng, 200)));
    let (leaves, joins) = (Happening::Leaves(name.clone()), Happening::Joins(name));
    match below(rng, 3) {
        _ if stay >= scenario.clusters => Vec::new(),
        0 => vec![(Duration::ZERO, leaves), (at, joins)],
        1 if until < troubled => vec![(at, leaves), (until, joins)],
        _ => vec![(at, leaves)],
    }
}

/// Cuts a cluster of a bed off (false), or restores it.
pub(super) type Connect = Box<dyn Fn(&str, bool) + Send + Sync>;

/// Where things happen.
pub(super) struct World {
    pub server: ApiServer,
    pub hub: Access,
    pub clock: Clock,
    pub skew: Arc<AtomicI64>,
    pub offline: Offline,
    pub rules: Arc<Rules>,
    pub repeats: Repeats,
    pub scenario: Scenario,
    pub connect: Connect,
    /// What the placement selects of the clusters that are there.
    pub fleet: Mutex<Present>,
}

/// Which clusters are there, and which of all the placement would select.
pub(super) struct Present {
    away: BTreeSet<String>,
    wanted: BTreeSet<String>,
}

impl Present {
    /// All clusters of a scenario, all of them wanted.
    pub fn all(scenario: &Scenario) -> Self {
        Self {
            away: BTreeSet::new(),
            wanted: scenario.names().into_iter().collect(),
        }
    }

    fn selected(&self) -> BTreeSet<String> {
        self.wanted.difference(&self.away).cloned().collect()
    }
}

impl World {
    /// Lets everything happen in its time.
    ///
    /// # Errors
    /// If an object cannot be written, which nothing in a simulation keeps from happening.
    pub async fn play(self, events: Events) -> anyhow::Result<()> {
        let begun = tokio::time::Instant::now();
        for (at, happening) in events.0 {
            tokio::time::sleep_until(begun + at).await;
            self.happen(&happening)
                .await
                .with_context(|| format!("letting happen {happening:?}"))?;
        }
        Ok(())
    }

    async fn happen(&self, happening: &Happening) -> anyhow::Result<()> {
        self.rules.note(&format!("{} {happening:?}", self.clock.now()));
        self.repeats.forget(self.clock.now());
        match happening {
            Happening::Limit(limit) => {
                self.rules.limit_is(*limit, self.clock.now());
                self.edit(json!({"upgradeStrategy": {"maxConcurrency": limit}}))
                    .await
            }
            Happening::Paused(paused) => {
                self.edit(json!({"paused": paused})).await?;
                self.rules.pause_is(*paused, self.clock.now());
                Ok(())
            }
            Happening::Target(version) => {
                self.rules.target_is(version, self.clock.now());
                self.edit(json!({"clusterVersion": {"version": version}})).await
            }
            Happening::Selects(selected) => {
                self.present().wanted.clone_from(selected);
                self.decide().await
            }
            Happening::Connected(cluster, _) if self.present().away.contains(cluster) => Ok(()),
            Happening::Connected(cluster, connected) => self.connect(cluster, *connected).await,
            Happening::Leaves(cluster) => {
                if !self.present().away.insert(cluster.clone()) {
                    return Ok(());
                }
                self.offline.set(cluster, true);
                self.rules.leaves(cluster);
                self.scenario.leave(&self.hub, cluster).await?;
                self.decide().await
            }
            Happening::Joins(cluster) => {
                if !self.present().away.remove(cluster) {
                    return Ok(());
                }
                self.offline.set(cluster, false);
                self.rules.joins(cluster);
                self.scenario.join(&self.hub, cluster).await?;
                self.decide().await
            }
            Happening::Partition(cut) => {
                self.offline.set(HUB, *cut);
                self.rules.partition_is(*cut, self.clock.now());
                self.server.cut_watches(|who, _| who.starts_with("replica"));
                Ok(())
            }
            Happening::Clock(ahead) => {
                self.skew.store(*ahead, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the placement select who is wanted and there.
    async fn decide(&self) -> anyhow::Result<()> {
        let selected = self.present().selected();
        self.rules.selection_is(selected.clone(), self.clock.now());
        self.scenario.decide(&self.hub, &selected).await
    }

    async fn edit(&self, spec: Value) -> anyhow::Result<()> {
        let key = Key::namespaced("default", "sim");
        self.hub
            .merge_patch(&UPGRADE, &key, json!({"spec": spec}))
            .await?;
        Ok(())
    }

    async fn connect(&self, cluster: &str, connected: bool) -> anyhow::Result<()> {
        self.offline.set(cluster, !connected);
        (self.connect)(cluster, connected);
        if self.scenario.real {
            return Ok(());
        }
        let key = Key::cluster(cluster);
        let mut object = self.hub.get(&MANAGED_CLUSTER, &key).await?.value().clone();
        let now = self.clock.now().as_second();
        let now = jiff::Timestamp::from_second(now)?.to_string();
        for condition in object["status"]["conditions"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            if condition["type"] == "ManagedClusterConditionAvailable" {
                condition["status"] = json!(if connected { "True" } else { "Unknown" });
                condition["lastTransitionTime"] = json!(now);
            }
        }
        self.hub.replace_status(&MANAGED_CLUSTER, object).await?;
        Ok(())
    }
}
