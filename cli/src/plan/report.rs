//! What `plan` says, as one structure: `-o json` and `-o yaml` print it, the tables show it.

use drydock_forecast::{EndedClusters, Forecast, Percentiles};
use drydock_rollout::{ForecastInput, Position};
use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::clusters::{BlockedGroup, ClusterEntry, Wave};

/// What is to be expected of an upgrade.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanReport {
    /// The namespace of the upgrade.
    pub namespace: String,
    /// The name of the upgrade.
    pub upgrade: String,
    /// How a command names it.
    #[serde(skip)]
    pub named: String,
    /// What the clusters are upgraded to.
    pub target: String,
    /// The moment of the forecast, on the clock of the hub.
    #[serde(serialize_with = "to_the_second")]
    pub computed_at: Timestamp,
    /// When the rollout began, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout_since: Option<Timestamp>,
    /// The API server has said that it accepts the upgrade, or has it already.
    pub checked_by_server: bool,
    /// The upgrade is paused: it comes to no end.
    pub paused: bool,
    /// Where the clusters are now.
    pub counts: Counts,
    /// How many rollouts were simulated.
    pub runs: usize,
    /// From which seed.
    pub seed: u64,
    /// The share of the runs in which the rollout must complete.
    pub confidence: f64,
    /// Whether it does in that many, by the time that is asked for if one is. If not, the exit code is 1.
    pub confident: bool,
    /// Other upgrades in which clusters wait that wait in this one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<Shared>,
    /// What is to be expected.
    #[serde(flatten)]
    pub figures: Figures,
    /// What it is based on.
    pub basis: String,
    /// What `--finish-by` asks for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finish_by: Option<FinishBy>,
    /// Strategies beside each other, of `--sweep` and `--compare`; the first is that of the upgrade.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub strategies: Vec<StrategyFigures>,
    /// The clusters by when they start.
    pub waves: Vec<Wave>,
    /// Each cluster.
    pub clusters: Vec<ClusterEntry>,
    /// How many have ended by when, for a chart.
    #[serde(skip)]
    pub ended: Vec<EndedClusters>,
    /// Clusters that do not start before something else happens, by why.
    pub blocked: Vec<BlockedGroup>,
}

/// Another upgrade, whose rollout began earlier, in which clusters of the planned one wait: each is left to the planned one when it starts there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shared {
    /// Which, as `NAMESPACE/NAME`.
    pub upgrade: String,
    /// How many clusters.
    pub clusters: usize,
}

/// Where the clusters of a rollout are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All of them.
    pub total: usize,
    /// Those that are done.
    pub complete: usize,
    /// Those that have failed.
    pub failed: usize,
    /// Those that are on their way.
    pub in_flight: usize,
    /// Those that start when it is their turn.
    pub waiting: usize,
    /// Those that do not start before something else happens.
    pub blocked: usize,
}

impl Counts {
    /// Of a forecast's input.
    pub fn of(forecast_input: &ForecastInput) -> Self {
        let mut counts = Self::default();
        for cluster in &forecast_input.clusters {
            counts.total += 1;
            *match &cluster.position {
                Position::Waits { .. } => &mut counts.waiting,
                Position::Blocked(_) => &mut counts.blocked,
                Position::UnderWay { .. } | Position::Advances { .. } | Position::Ends { .. } => {
                    &mut counts.in_flight
                }
                Position::Ended { failed: true, .. } => &mut counts.failed,
                Position::Ended { failed: false, .. } => &mut counts.complete,
            } += 1;
        }
        counts
    }
}

/// A moment by how probable it is that it is not later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Times {
    /// One in ten runs is not later.
    #[serde(serialize_with = "to_the_second")]
    pub p10: Timestamp,
    /// Half of the runs are not later.
    #[serde(serialize_with = "to_the_second")]
    pub p50: Timestamp,
    /// Nine in ten runs are not later.
    #[serde(serialize_with = "to_the_second")]
    pub p90: Timestamp,
}

impl From<Percentiles> for Times {
    fn from(band: Percentiles) -> Self {
        Self {
            p10: band.p10,
            p50: band.p50,
            p90: band.p90,
        }
    }
}

/// What is to be expected of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// When all clusters have ended that can start, in the runs that come so far; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<Times>,
    /// The share of the runs in which the rollout completes: no cluster is left, and no more fail than the spec allows.
    pub completes: f64,
    /// By when it is complete in the share of all runs that the confidence asks for; absent if it is in fewer.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_to_the_second"
    )]
    pub ends_with_confidence: Option<Timestamp>,
    /// The share of the runs in which it is complete by the time that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_time: Option<f64>,
    /// The share of the runs that stop, and why; the most frequent cause first.
    pub stops: Vec<StopShare>,
    /// What the next cluster waits for, as shares of the time in which one waits; the longest first.
    pub waits: Vec<WaitShare>,
    /// Clusters that fail.
    pub failed_clusters: FailedClusters,
    /// The most clusters in flight at once.
    pub most_in_flight: MostInFlight,
}

/// Runs that stop for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StopShare {
    /// The cause, in CamelCase.
    pub cause: &'static str,
    /// The cause, in words.
    pub message: &'static str,
    /// The share of all runs.
    pub share: f64,
}

/// Time in which the next cluster waits for one thing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitShare {
    /// `slots`, `windows`, `soak` or `canaries`.
    pub waits_for: &'static str,
    /// The share of the time.
    pub share: f64,
}

/// Clusters that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FailedClusters {
    /// In half of the runs no more.
    pub p50: usize,
    /// In nine of ten runs no more.
    pub p90: usize,
}

/// The most clusters in flight at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MostInFlight {
    /// In half of the runs no more.
    pub p50: usize,
    /// In any run.
    pub max: usize,
}

impl Figures {
    /// Of a forecast. `by` is the time by which the rollout must have ended.
    pub fn of(forecast: &Forecast, confidence: f64, by: Option<Timestamp>) -> Self {
        let mut stops: Vec<StopShare> = forecast
            .stops
            .iter()
            .map(|(cause, share)| StopShare {
                cause: cause.reason(),
                message: cause.as_str(),
                share: rounded(*share),
            })
            .collect();
        stops.sort_by(|one, other| other.share.total_cmp(&one.share));
        let mut waits: Vec<WaitShare> = forecast
            .waits
            .iter()
            .map(|(wait, share)| WaitShare {
                waits_for: wait.as_str(),
                share: rounded(*share),
            })
            .collect();
        waits.sort_by(|one, other| other.share.total_cmp(&one.share));
        Self {
            ends: forecast.ends.map(Times::from),
            completes: rounded(forecast.completes()),
            ends_with_confidence: forecast.completion_at(confidence),
            in_time: by.map(|by| rounded(forecast.completes_by(by))),
            stops,
            waits,
            failed_clusters: FailedClusters {
                p50: forecast.failed.0,
                p90: forecast.failed.1,
            },
            most_in_flight: MostInFlight {
                p50: forecast.most_in_flight.0,
                max: forecast.most_in_flight.1,
            },
        }
    }

    /// The share of the runs in which the rollout completes, in time if a time is asked for.
    pub fn as_asked(&self) -> f64 {
        self.in_time.unwrap_or(self.completes)
    }

    /// The share of the runs that stop.
    pub fn stopped(&self) -> f64 {
        rounded(self.stops.iter().map(|stop| stop.share).sum())
    }
}

/// What `--finish-by` asks for, and what it takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FinishBy {
    /// When the rollout must have ended.
    pub time: Timestamp,
    /// The share of the runs of the present spec in which the rollout is complete by then.
    pub in_time: f64,
    /// The least `maxConcurrency` with which enough do, if any has that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_concurrency: Option<u32>,
    /// The share with that, or with all clusters at once if none suffices.
    pub in_time_with: f64,
    /// By when enough runs have ended with all clusters at once.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "maybe_to_the_second"
    )]
    pub earliest: Option<Timestamp>,
    /// What stands in the way, if no `maxConcurrency` suffices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub obstacles: Vec<Obstacle>,
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Obstacle {
    /// `paused`, `startWindows`, `freezes`, `startOnlyIfItFits`, `soakTime`, `canaryClusters` or `failures`.
    pub what: &'static str,
    /// The share of the runs that end in time without it, with all clusters at once.
    pub in_time_without: f64,
}

/// One strategy of several.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StrategyFigures {
    /// What is different.
    pub strategy: String,
    /// What is to be expected.
    #[serde(flatten)]
    pub figures: Figures,
}

/// A share as it is shown: that of 200 runs has no more digits.
pub fn rounded(share: f64) -> f64 {
    (share * 100_000.0).round() / 100_000.0
}

/// Without what is smaller than a second.
pub fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

fn to_the_second<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    whole_seconds(*moment).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "the signature is serde's")]
fn maybe_to_the_second<S: Serializer>(moment: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    moment.map(whole_seconds).serialize(serializer)
}
