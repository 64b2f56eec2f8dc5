//! The forecast against the hub: a rollout whose clusters take as long as it is drawn, carried out by the real hub in the sandbox, and
//! run by [`drydock_forecast::Simulation`] with the same draws, from its start and from a moment in its middle.
//!
//! The hub is later than the simulation, which takes no time between events: the work agent applies a work 5 s after it was created,
//! and the hub looks up to a second after a change, once to commit the end of a stage and once more to start what follows on it. So each
//! stage takes from [`SHORTEST`] to [`LONGEST`] longer than its draw, and what the hub does lies between a simulation in which each
//! stage is lengthened by the one and a simulation in which it is lengthened by the other: the bound grows with the number of stages
//! before an event by itself. Where the two differ in more than times, seconds decide, and the draw says nothing.

mod compare;
mod observed;
mod scenario;

use std::time::Duration;

use anyhow::Context;
use drydock_forecast::{Simulation, StageSample, StageSampler};
use drydock_rollout::{ClusterName, ForecastInput, Position, Stage, UpgradeKey};
use jiff::{SignedDuration, Timestamp};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, MANAGED_CLUSTER_ADD_ON, PLACEMENT};
use ocm_sandbox::spokes::StubWorkAgentSettings;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde_json::json;

use crate::hub_fleet::{HubFleet, Joining, PLACE, minutes};
use compare::{Prediction, Predictions, compare};
use scenario::{ClusterPlan, Scenario, below, chance};

/// How much longer than its draw each stage takes at least: as long as works take to be applied.
const SHORTEST: i64 = APPLIES;
/// And at most: two looks of the hub, a second after a change each, and the rounding of both to the second that works have.
const LONGEST: i64 = APPLIES + 4;
/// How long works take to be applied.
const APPLIES: i64 = 5;
/// A direct upgrade whose target is refused counts as failed after this time.
const REFUSED: i64 = 600;
/// How long it is watched that nothing happens after the end.
const AFTERWARDS: SignedDuration = SignedDuration::from_hours(2);
/// The name of the upgrade.
const NAME: &str = "spring";

/// What a seed came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Rollouts that were compared: one or two of a seed, or none, if seconds decide.
    pub compared: usize,
    /// Clusters whose starts and ends were compared.
    pub clusters: usize,
    /// Clusters of them that failed.
    pub failed: usize,
    /// Rollouts that stop before their end.
    pub stopped: usize,
    /// The most seconds by which the hub was later than the simulation that is not lengthened by looks.
    pub latest: i64,
}

/// Runs one seed.
///
/// # Errors
/// If the hub and the forecast differ: with what was drawn.
pub async fn run(seed: u64) -> anyhow::Result<Summary> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let scenario = Scenario::draw(&mut rng);
    let mut light = start(&scenario, seed).await?;
    let compared = follow(&mut light, &scenario, &mut rng).await;
    light.shut_down().await;
    compared.with_context(|| format!("seed {seed}: {scenario:#?}"))
}

async fn start(scenario: &Scenario, seed: u64) -> anyhow::Result<HubFleet> {
    let settings = StubWorkAgentSettings {
        seed,
        applies: Duration::from_secs(APPLIES.unsigned_abs()),
        ..StubWorkAgentSettings::default()
    };
    let mut light = HubFleet::beginning_at(scenario.begin, 0, settings).await?;
    light.forecast_runs = 0;
    for plan in &scenario.clusters {
        join(&light, plan).await?;
    }
    if let Some(placement) = &scenario.placement {
        light.user.create(&PLACEMENT, placement.clone()).await?;
    }
    light.start_hub()?;
    // Paused at first, so that the hub's own Placement has its decisions when the rollout begins.
    let mut spec = scenario.spec.clone();
    spec["paused"] = true.into();
    light.upgrade(NAME, spec).await?;
    minutes(2).await;
    if !scenario.paused {
        light.edit(NAME, json!({"spec": {"paused": false}})).await?;
    }
    Ok(light)
}

async fn join(light: &HubFleet, plan: &ClusterPlan) -> anyhow::Result<()> {
    light.spokes.with(&plan.name, |cluster, _| {
        cluster.has_agent(plan.agent);
        plan.carry_over(cluster);
    });
    light
        .join(&Joining {
            labels: plan.labels.clone(),
            claims: plan.claims,
            version: plan.version,
            ..Joining::new(&plan.name)
        })
        .await?;
    let condition = |type_: &str, status: &str| {
        json!({
            "type": type_, "status": status, "reason": type_, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    if !plan.available {
        let conditions = [
            condition("HubAcceptedManagedCluster", "True"),
            condition("ManagedClusterJoined", "True"),
            condition("ManagedClusterConditionAvailable", "Unknown"),
        ];
        let key = kube_sandbox::access::Key::cluster(&plan.name);
        let patch = json!({"status": {"conditions": conditions}});
        light
            .user
            .merge_patch_status(&MANAGED_CLUSTER, &key, patch)
            .await?;
    }
    if plan.agent {
        let add_on = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
            "metadata": {"name": drydock_api::names::AGENT_ADDON, "namespace": plan.name}, "spec": {},
        });
        let created = light.user.create(&MANAGED_CLUSTER_ADD_ON, add_on).await?;
        let mut add_on = created.value().clone();
        add_on["status"] = json!({"conditions": [condition("Available", "True")]});
        light.user.replace_status(&MANAGED_CLUSTER_ADD_ON, add_on).await?;
    }
    Ok(())
}

async fn follow(light: &mut HubFleet, scenario: &Scenario, rng: &mut ChaCha8Rng) -> anyhow::Result<Summary> {
    let mut predictions = vec![predict(light, scenario).await?];
    let mut end = predictions[0].end();
    if chance(rng, 50) {
        let whole = end.duration_since(light.now()).as_secs().unsigned_abs();
        tokio::time::sleep(Duration::from_secs(below(rng, whole.max(60)))).await;
        if chance(rng, 25) {
            // What was forecast before it was paused does not count any more.
            light.edit(NAME, json!({"spec": {"paused": true}})).await?;
            predictions.clear();
        }
        predictions.push(predict(light, scenario).await?);
        end = predictions.iter().map(Predictions::end).max().unwrap_or(end);
    }
    let left = end.duration_since(light.now()).saturating_add(AFTERWARDS);
    tokio::time::sleep(left.unsigned_abs()).await;
    let mut summary = Summary::default();
    let entries = light.entries().await?;
    for prediction in &predictions {
        if prediction.is_sure() {
            compare(prediction, &entries, &mut summary)
                .with_context(|| format!("forecast at {}", prediction.now))?;
        }
    }
    Ok(summary)
}

/// What two simulations say of where the rollout is now: one in which the hub is as quick as it can be, and one in which it is as slow.
async fn predict(light: &HubFleet, scenario: &Scenario) -> anyhow::Result<Predictions> {
    let now = light.now();
    let mut fleet = observed::read(&light.server, now).await?;
    let key = UpgradeKey::new(PLACE, NAME);
    let forecast_input = fleet.forecast_input(&key, now).context("there is no upgrade")?;
    let forecast_input = match forecast_input {
        Ok(forecast_input) => forecast_input,
        Err(drydock_rollout::ForecastUnavailable::Complete) => return Ok(Predictions::over(now)),
        Err(other) => return Err(other).context("there is no forecast_input"),
    };
    Ok(Predictions {
        now,
        quick: simulate(&forecast_input, scenario, SHORTEST)?,
        slow: simulate(&forecast_input, scenario, LONGEST)?,
    })
}

fn simulate(forecast_input: &ForecastInput, scenario: &Scenario, longer: i64) -> anyhow::Result<Prediction> {
    let plans = forecast_input
        .clusters
        .iter()
        .map(|cluster| scenario.plan(&cluster.name).context("an unknown cluster"))
        .collect::<Result<_, _>>()?;
    let draws = GivenDraws { plans, longer };
    let mut simulation = Simulation::new(forecast_input);
    let outcome = simulation.run(&draws);
    let clusters = forecast_input.clusters.iter().zip(simulation.times());
    let is_over = |position: &Position| matches!(position, Position::Ended { .. });
    Ok(Prediction {
        stop: outcome.stop,
        end: outcome.end,
        clusters: clusters
            .filter(|(cluster, _)| !is_over(&cluster.position))
            .map(|(cluster, times)| (cluster.name.clone(), times))
            .collect(),
    })
}

/// What a scenario has drawn, for the clusters of a forecast's input.
struct GivenDraws<'a> {
    plans: Vec<&'a ClusterPlan>,
    longer: i64,
}

impl StageSampler for GivenDraws<'_> {
    fn stage(&self, cluster: usize, stage: Stage, elapsed: i64) -> StageSample {
        let drawn = self.plans[cluster].draw(stage);
        StageSample {
            seconds: (drawn.seconds + self.longer).max(elapsed + 1),
            end: drawn.end,
        }
    }
}

/// A cluster's name and when it starts and ends.
type Times = (ClusterName, drydock_forecast::ClusterTimes);

/// A moment in whole seconds, as objects have it.
fn seconds(moment: Timestamp) -> i64 {
    moment.as_second()
}
