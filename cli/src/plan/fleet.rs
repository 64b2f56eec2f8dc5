//! The fleet of the hub, on which an upgrade is forecast.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_forecast::{Forecast, Model, PastUpgrade, SimulationSettings};
use drydock_objects::{ClusterDetails, Fleet, upgrade};
use drydock_rollout::{ClusterState, ForecastInput, Position, left_to_later};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;

use super::arguments::PlanArguments;
use super::report::Shared;
use crate::upgrades::table;

/// A bar is shown after this time.
const SHOW_AFTER: Duration = Duration::from_secs(1);

/// A fleet as it was read, and what is on record of it.
pub struct PlannedFleet<'a> {
    arguments: &'a PlanArguments,
    fleet: Fleet,
    past: Vec<PastUpgrade>,
    now: Timestamp,
}

impl<'a> PlannedFleet<'a> {
    /// The fleet at this moment.
    pub fn new(mut fleet: Fleet, now: Timestamp, arguments: &'a PlanArguments) -> Self {
        fleet.presume_selections();
        Self {
            past: fleet.past_upgrades(&arguments.group_by()),
            arguments,
            fleet,
            now,
        }
    }

    /// Where the clusters of an upgrade are.
    ///
    /// # Errors
    /// If there is nothing to forecast.
    pub fn forecast_input(&mut self, planned: &ManagedClustersUpgrade) -> anyhow::Result<ForecastInput> {
        let key = upgrade::key(planned);
        let _no_one_waits = self.fleet.set_upgrade(&Arc::new(planned.clone()));
        let forecast_input = self.fleet.forecast_input(&key, self.now);
        let forecast_input = forecast_input.context("the upgrade was just read, and is not there")?;
        let forecast_input = forecast_input.map_err(|error| {
            let name = table::printable(&key.to_string());
            anyhow::anyhow!("{name}: {}", table::printable(&error.to_string()))
        })?;
        if forecast_input.clusters.is_empty() {
            let looked = self.fleet.look(&key, self.now);
            let left = looked
                .map(|(report, _)| left_to_later(&report))
                .unwrap_or_default();
            ensure!(
                left.is_empty(),
                "{key}: no cluster takes part{left}: an upgrade of another name would have them"
            );
            bail!(
                "{key}: no cluster is selected: check the placements' predicates, the cluster sets bound to their namespaces, and \
                 the labels of the clusters"
            );
        }
        Ok(forecast_input)
    }

    /// In which upgrades that have begun earlier clusters wait that wait in this one.
    pub fn shared(
        &mut self,
        planned: &ManagedClustersUpgrade,
        forecast_input: &ForecastInput,
    ) -> Vec<Shared> {
        let waits = |position: &Position| matches!(position, Position::Waits { .. });
        let waiting = forecast_input
            .clusters
            .iter()
            .filter(|cluster| waits(&cluster.position));
        let waiting: BTreeSet<&str> = waiting.map(|cluster| cluster.name.as_str()).collect();
        let own = upgrade::key(planned);
        let others = self.fleet.upgrades().into_iter().filter(|key| *key != own);
        let mut shared = Vec::new();
        for other in others {
            let Some((report, clusters)) = self.fleet.look(&other, self.now) else {
                continue;
            };
            let is_earlier = |since| forecast_input.since.is_none_or(|own| since < own);
            let waits = |cluster: &&ClusterDetails| {
                cluster.selected
                    && cluster.state == ClusterState::NotStarted
                    && waiting.contains(cluster.name.as_str())
            };
            let clusters = clusters.iter().filter(waits).count();
            if clusters > 0 && report.rollout_since.is_some_and(is_earlier) {
                let upgrade = other.to_string();
                shared.push(Shared { upgrade, clusters });
            }
        }
        shared
    }

    /// How clusters behave, by what is on record.
    pub fn model(&self, forecast_input: &ForecastInput) -> Model {
        Model::new(
            forecast_input,
            &self.past,
            &self.arguments.group_by(),
            self.arguments.failure_rate(),
        )
    }

    /// The same where no cluster fails.
    pub fn model_without_failures(&self, forecast_input: &ForecastInput) -> Model {
        let never = drydock_forecast::FailureRate::Fixed(0.0);
        Model::new(forecast_input, &self.past, &self.arguments.group_by(), never)
    }
}

/// Forecasts, and shows how far that is where it takes a while and somebody looks on.
pub fn forecast(forecast_input: &ForecastInput, model: &Model, runs: SimulationSettings) -> Forecast {
    let bar = ProgressBar::with_draw_target(Some(u64::from(runs.count)), ProgressDrawTarget::hidden());
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} runs") {
        bar.set_style(style);
    }
    let is_shown = AtomicBool::new(false);
    let forecast = Forecast::of_with(forecast_input, model, runs, &|| {
        bar.inc(1);
        if bar.elapsed() > SHOW_AFTER && !is_shown.swap(true, Ordering::Relaxed) {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
    bar.finish_and_clear();
    forecast
}
