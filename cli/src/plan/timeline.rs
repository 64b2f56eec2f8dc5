//! What rehearsals came to: when each cluster starts and ends, when nothing starts, and what does not start at all.

use drydock_api::conditions::{self, AnyCondition};
use drydock_api::mcu::{ManagedClustersUpgradeStatus, condition};
use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::upgrades::table;

/// A time in which nothing new starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// Why, in CamelCase.
    pub reason: &'static str,
    /// From when.
    pub from: Timestamp,
    /// Until when it was last so.
    pub until: Timestamp,
}

impl Pause {
    /// Notes what holds at `now`.
    pub fn note(halts: &mut Vec<Self>, reason: Option<&'static str>, now: Timestamp) {
        let open = halts.last_mut().filter(|halt| Some(halt.reason) == reason);
        match (open, reason) {
            (Some(open), _) => open.until = now,
            (None, Some(reason)) => halts.push(Self {
                reason,
                from: now,
                until: now,
            }),
            (None, None) => {}
        }
    }
}

/// A cluster that is upgraded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Whether it goes first.
    pub canary: bool,
    /// In which wave it starts: clusters that start within a minute are one.
    pub wave: usize,
    /// When it starts.
    pub starts_at: Timestamp,
    /// When it ends.
    pub ends_at: Option<Timestamp>,
}

/// A cluster that does not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// Its name.
    pub name: String,
    /// What it waits for.
    pub message: String,
}

/// One rehearsal.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timeline {
    /// When the upgrade is applied.
    pub begins_at: Timestamp,
    /// When the last cluster ends.
    pub ends_at: Option<Timestamp>,
    /// Clusters that are selected.
    pub selected: i64,
    /// Clusters that end upgraded, with those that are there already.
    pub complete: i64,
    /// The clusters, in the order of their starts.
    pub clusters: Vec<Entry>,
    /// When nothing starts, and why.
    pub halts: Vec<Pause>,
    /// Clusters that do not start; at most those that the status names.
    pub not_started: Vec<Waiting>,
    /// What is wrong with the upgrade or its selection, in the hub's words.
    pub problems: Vec<String>,
}

/// Starts that are so close are one wave.
const WAVE: SignedDuration = SignedDuration::from_mins(1);

impl Timeline {
    /// The end of a rehearsal.
    pub fn new(
        begins_at: Timestamp,
        details: &[ClusterDetails],
        halts: Vec<Pause>,
        status: &ManagedClustersUpgradeStatus,
    ) -> Self {
        let started = details.iter().filter_map(|details| {
            Some(Entry {
                name: details.name.clone(),
                canary: details.canary,
                wave: 0,
                starts_at: details.started_at?,
                ends_at: details
                    .ended_at
                    .filter(|_| details.state == ClusterState::Complete),
            })
        });
        let mut clusters: Vec<Entry> = started.collect();
        clusters.sort_by(|one, other| (one.starts_at, &one.name).cmp(&(other.starts_at, &other.name)));
        number_waves(&mut clusters);
        let summary = status.clusters_summery.unwrap_or_default();
        let waits = status
            .clusters
            .iter()
            .flatten()
            .filter(|cluster| cluster.state == "NotStarted");
        let found = status.conditions.as_deref().unwrap_or_default();
        let problems = [condition::SELECTED, condition::FAILED]
            .into_iter()
            .filter_map(|type_| {
                let found = conditions::find(found, type_)?;
                let is_bad = if type_ == condition::SELECTED {
                    !found.is_true()
                } else {
                    found.is_true()
                };
                is_bad.then(|| format!("{}: {}", found.reason, found.message))
            });
        Self {
            begins_at,
            ends_at: clusters.iter().filter_map(|entry| entry.ends_at).max(),
            selected: status.selected_clusters.unwrap_or_default(),
            complete: summary.complete,
            halts,
            not_started: waits
                .map(|cluster| Waiting {
                    name: cluster.name.clone(),
                    message: cluster.message.clone().unwrap_or_default(),
                })
                .collect(),
            problems: problems.collect(),
            clusters,
        }
    }

    fn took(&self) -> Option<SignedDuration> {
        Some(self.ends_at?.duration_since(self.begins_at))
    }

    /// The most clusters that are on their way at one time. One that ends makes room for one that starts.
    fn most_at_once(&self) -> i64 {
        let starts = self.clusters.iter().map(|entry| (entry.starts_at, 1));
        let ends = self
            .clusters
            .iter()
            .filter_map(|entry| Some((entry.ends_at?, -1)));
        let mut changes: Vec<(Timestamp, i64)> = starts.chain(ends).collect();
        changes.sort_unstable();
        let running = changes.into_iter().scan(0, |running, (_, change)| {
            *running += change;
            Some(*running)
        });
        running.max().unwrap_or(0)
    }
}

fn number_waves(clusters: &mut [Entry]) {
    let (mut wave, mut last) = (0, None::<Timestamp>);
    for entry in clusters {
        if last.is_none_or(|last| entry.starts_at.duration_since(last) > WAVE) {
            wave += 1;
        }
        last = Some(entry.starts_at);
        entry.wave = wave;
    }
}

/// When the last cluster ends, over all rehearsals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// How many rehearsals there were.
    pub runs: usize,
    /// Half of them end by then.
    pub half_by: Timestamp,
    /// Nine of ten do.
    pub nine_of_ten_by: Timestamp,
    /// All of them do.
    pub all_by: Timestamp,
}

/// What is to be expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The rehearsal whose end is the median.
    #[serde(flatten)]
    pub timeline: Timeline,
    /// Of several rehearsals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
}

impl Forecast {
    /// Of these rehearsals; none without any.
    pub fn of(mut runs: Vec<Timeline>) -> Option<Self> {
        runs.sort_by_key(|run| run.ends_at);
        let ends: Vec<Timestamp> = runs.iter().filter_map(|run| run.ends_at).collect();
        let by = |percent: usize| {
            ends.get((ends.len() * percent).div_ceil(100).saturating_sub(1))
                .copied()
        };
        let percentiles = (runs.len() > 1)
            .then(|| {
                Some(Percentiles {
                    runs: runs.len(),
                    half_by: by(50)?,
                    nine_of_ten_by: by(90)?,
                    all_by: by(100)?,
                })
            })
            .flatten();
        let median = runs.len().div_ceil(2).checked_sub(1)?;
        Some(Self {
            timeline: runs.into_iter().nth(median)?,
            percentiles,
        })
    }

    /// For people.
    pub fn render(&self, name: &str) -> String {
        let timeline = &self.timeline;
        let mut lines = vec![format!(
            "{name}: {} of {} selected clusters end upgraded; nothing was written to the hub",
            timeline.complete, timeline.selected
        )];
        lines.extend(
            timeline
                .problems
                .iter()
                .map(|problem| format!("  {}", table::printable(problem))),
        );
        if let (Some(ends), Some(took)) = (timeline.ends_at, timeline.took()) {
            lines.push(format!(
                "  the last ends at {}, {} from now; at most {} at once",
                minute(ends),
                table::short(took),
                timeline.most_at_once()
            ));
        }
        if let Some(all) = &self.percentiles {
            lines.push(format!(
                "  of {} rehearsals half end by {}, nine of ten by {}, all by {}",
                all.runs,
                minute(all.half_by),
                minute(all.nine_of_ten_by),
                minute(all.all_by)
            ));
        }
        for halt in &timeline.halts {
            lines.push(format!(
                "  nothing starts from {} to {}: {}",
                minute(halt.from),
                minute(halt.until),
                halt.reason
            ));
        }
        if !timeline.clusters.is_empty() {
            lines.extend([String::new(), self.clusters()]);
        }
        if !timeline.not_started.is_empty() {
            lines.extend([String::new(), "Not started:".to_owned()]);
            lines.extend(timeline.not_started.iter().map(|cluster| {
                format!(
                    "  {}: {}",
                    table::printable(&cluster.name),
                    table::printable(&cluster.message)
                )
            }));
        }
        lines.join("\n")
    }

    fn clusters(&self) -> String {
        let mut shown = table::plain(&["WAVE", "CLUSTER", "CANARY", "STARTS", "ENDS", "TAKES"]);
        for entry in &self.timeline.clusters {
            let took = entry.ends_at.map(|end| end.duration_since(entry.starts_at));
            shown.add_row([
                entry.wave.to_string(),
                table::printable(&entry.name),
                if entry.canary { "yes" } else { "" }.to_owned(),
                minute(entry.starts_at),
                entry.ends_at.map_or_else(|| "-".to_owned(), minute),
                took.map_or_else(|| "-".to_owned(), table::short),
            ]);
        }
        table::text(&shown)
    }
}

fn minute(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
