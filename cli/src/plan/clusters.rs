//! When clusters start and end: each by itself, and folded into waves; and clusters that do not start.

use std::collections::{BTreeMap, BTreeSet};

use drydock_forecast::{ClusterForecast, Forecast};
use drydock_rollout::{ForecastInput, Position, Reason};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::report::{Times, rounded, whole_seconds};

/// Starts that are so close are one wave.
const CLOSE: SignedDuration = SignedDuration::from_mins(1);
/// Clusters that start in more waves are folded into so many of the same size.
const MOST_WAVES: usize = 12;

/// What is to be expected of one cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterEntry {
    /// Its name.
    pub name: String,
    /// Whether it goes first.
    pub canary: bool,
    /// `Waiting`, `InFlight`, `Complete`, `Failed` or `Blocked`.
    pub state: &'static str,
    /// The version from which it is upgraded, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// When it starts, in the runs in which it does; when it did, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts: Option<Times>,
    /// When it ends, in the runs in which it starts; when it did, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<Times>,
    /// The share of the runs in which it does not come to its end.
    pub left: f64,
    /// The share of the runs in which it fails.
    pub fails: f64,
}

/// Clusters that start together.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wave {
    /// The number; 0 is what is in flight already.
    pub number: usize,
    /// They are canaries.
    pub canaries: bool,
    /// How many clusters.
    pub clusters: usize,
    /// Their names, in the order of their starts.
    pub names: Vec<String>,
    /// When the first of them starts in half of the runs; absent if none of them starts in any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_p50: Option<Timestamp>,
    /// By when the first of them starts in nine of ten runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_p90: Option<Timestamp>,
    /// By when the last of them ends in half of the runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_p50: Option<Timestamp>,
    /// By when the last of them ends in nine of ten runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends_p90: Option<Timestamp>,
}

/// Clusters that do not start for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedGroup {
    /// Why, in CamelCase.
    pub reason: String,
    /// Why, in a sentence: that of the first.
    pub message: String,
    /// Their names.
    pub clusters: Vec<String>,
}

/// Every cluster, as people read names.
pub fn entries(forecast_input: &ForecastInput, forecast: &Forecast) -> Vec<ClusterEntry> {
    let clusters = forecast_input.clusters.iter().zip(&forecast.clusters);
    clusters
        .map(|(cluster, expected)| ClusterEntry {
            name: cluster.name.to_string(),
            canary: cluster.canary,
            state: state(&cluster.position),
            from: cluster.from.as_ref().map(ToString::to_string),
            starts: expected.starts.map(Times::from),
            ends: expected.ends.map(Times::from),
            left: rounded(expected.left),
            fails: rounded(expected.fails),
        })
        .collect()
}

fn state(position: &Position) -> &'static str {
    match position {
        Position::Waits { .. } => "Waiting",
        Position::Blocked(_) => "Blocked",
        Position::UnderWay { .. } | Position::Advances { .. } | Position::Ends { .. } => "InFlight",
        Position::Ended { failed: true, .. } => "Failed",
        Position::Ended { failed: false, .. } => "Complete",
    }
}

/// Clusters that do not start, or not once more, by why, in the words of the first where others have other words; those whose windows are too short also by how long they take, and how long their windows are.
pub fn blocked(forecast_input: &ForecastInput) -> Vec<BlockedGroup> {
    let mut groups: BTreeMap<(&str, Option<String>), BlockedGroup> = BTreeMap::new();
    let mut differing: BTreeSet<&str> = BTreeSet::new();
    for cluster in &forecast_input.clusters {
        let Some(reason) = cluster.blocked_by() else {
            continue;
        };
        let words = matches!(reason, Reason::NeverFits { .. }).then(|| reason.to_string());
        let group = groups
            .entry((reason.as_str(), words))
            .or_insert_with(|| BlockedGroup {
                reason: reason.as_str().to_owned(),
                message: reason.to_string(),
                clusters: Vec::new(),
            });
        if !group.clusters.is_empty() && group.message != reason.to_string() {
            differing.insert(reason.as_str());
        }
        group.clusters.push(cluster.name.to_string());
    }
    let mut groups: Vec<BlockedGroup> = groups.into_values().collect();
    for group in &mut groups {
        if let Some(first) = group
            .clusters
            .first()
            .filter(|_| differing.contains(&*group.reason))
        {
            group.message = format!("{first}: {} (of others something else)", group.message);
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.clusters.len()));
    groups
}

/// A cluster that starts in some run, or is in flight.
#[derive(Clone, Copy)]
struct Starter<'a> {
    index: usize,
    name: &'a str,
    canary: bool,
    expected: &'a ClusterForecast,
}

impl Starter<'_> {
    fn starts(&self) -> Option<Timestamp> {
        self.expected.starts.map(|starts| starts.p50)
    }
}

/// The clusters that are in flight or start, by when they do: few clusters by themselves, many in equal parts; at the end those that
/// start in no run.
pub fn waves(forecast_input: &ForecastInput, forecast: &Forecast) -> Vec<Wave> {
    let names: Vec<String> = forecast_input
        .clusters
        .iter()
        .map(|cluster| cluster.name.to_string())
        .collect();
    let (mut in_flight, mut starting, mut never) = (Vec::new(), Vec::new(), Vec::new());
    let clusters = forecast_input.clusters.iter().zip(&forecast.clusters);
    for (index, ((cluster, expected), name)) in clusters.zip(&names).enumerate() {
        let starter = Starter {
            index,
            name,
            canary: cluster.canary,
            expected,
        };
        match cluster.position {
            Position::UnderWay { .. } | Position::Advances { .. } | Position::Ends { .. } => {
                in_flight.push(starter);
            }
            Position::Waits { .. } if expected.starts.is_some() => starting.push(starter),
            Position::Waits { .. } => never.push(starter),
            Position::Blocked(_) | Position::Ended { .. } => {}
        }
    }
    // The names are sorted already.
    starting.sort_by_key(|starter| (!starter.canary, starter.starts()));
    let mut waves = Vec::new();
    if !in_flight.is_empty() {
        waves.push(wave(0, &in_flight, forecast));
    }
    let mut parts = close_together(&starting);
    if parts.len() > MOST_WAVES {
        parts = equal_parts(&starting);
    }
    waves.extend(
        (1..)
            .zip(&parts)
            .map(|(number, part)| wave(number, part, forecast)),
    );
    if !never.is_empty() {
        waves.push(wave(parts.len() + 1, &never, forecast));
    }
    waves
}

fn close_together<'a, 'b>(starting: &'b [Starter<'a>]) -> Vec<&'b [Starter<'a>]> {
    let is_close = |one: &Starter<'_>, next: &Starter<'_>| {
        let apart = one
            .starts()
            .zip(next.starts())
            .map(|(one, next)| next.duration_since(one));
        one.canary == next.canary && apart.is_some_and(|apart| apart <= CLOSE)
    };
    starting.chunk_by(is_close).collect()
}

fn equal_parts<'a, 'b>(starting: &'b [Starter<'a>]) -> Vec<&'b [Starter<'a>]> {
    let canaries = starting.partition_point(|starter| starter.canary);
    let (canaries, others) = starting.split_at(canaries);
    let size = others.len().div_ceil(MOST_WAVES - 1).max(1);
    let canaries = Some(canaries).filter(|canaries| !canaries.is_empty());
    canaries.into_iter().chain(others.chunks(size)).collect()
}

fn wave(number: usize, part: &[Starter<'_>], forecast: &Forecast) -> Wave {
    let indexes: Vec<usize> = part.iter().map(|starter| starter.index).collect();
    let (starts, ends) = forecast.of_clusters(&indexes);
    Wave {
        number,
        canaries: part.iter().all(|starter| starter.canary),
        clusters: part.len(),
        names: part.iter().map(|starter| starter.name.to_owned()).collect(),
        starts_p50: starts.map(|starts| whole_seconds(starts.p50)),
        starts_p90: starts.map(|starts| whole_seconds(starts.p90)),
        ends_p50: ends.map(|ends| whole_seconds(ends.p50)),
        ends_p90: ends.map(|ends| whole_seconds(ends.p90)),
    }
}
