//! What the demo says at its end: a table for people, one JSON object for scripts.

use comfy_table::{ContentArrangement, Table, presets};
use drydock_objects::ClusterDetails;
use drydock_rollout::ClusterState;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// The width of the table where standard output is no terminal.
const WIDTH: u16 = 120;

fn terminal_width() -> u16 {
    // comfy-table finds the terminal's width by itself, but not that there is none.
    Table::new().width().unwrap_or(WIDTH)
}

/// The end of a demo.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DemoOutcome {
    clusters: Vec<ClusterOutcome>,
    /// The most clusters that were in flight at one time.
    max_in_flight: usize,
    /// Virtual seconds from the start of the upgrade to its end.
    virtual_duration: f64,
    /// Real seconds.
    wall_duration: f64,
    #[serde(skip)]
    begun: Timestamp,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterOutcome {
    name: String,
    canary: bool,
    started_at: Option<Timestamp>,
    completed_at: Option<Timestamp>,
    state: &'static str,
    reason: String,
    message: String,
}

impl DemoOutcome {
    /// The outcome of `fleet`, whose upgrade was asked for at `begun` and over at `ended`, both virtual.
    pub fn new(
        clusters: &[ClusterDetails],
        begun: Timestamp,
        ended: Timestamp,
        wall: std::time::Duration,
    ) -> Self {
        Self {
            clusters: clusters.iter().map(cluster).collect(),
            max_in_flight: max_in_flight(clusters),
            virtual_duration: ended.duration_since(begun).as_secs_f64(),
            wall_duration: wall.as_secs_f64(),
            begun,
        }
    }

    /// Whether every cluster is complete.
    pub fn complete(&self) -> bool {
        self.count(ClusterState::Complete) == self.clusters.len()
    }

    /// One JSON object.
    ///
    /// # Errors
    /// Never for the values it holds; the writer's error is passed on.
    pub fn json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// A table of the clusters, those that failed first, and a line that sums up. What goes beyond `rows` is counted.
    pub fn table(&self, rows: usize) -> String {
        let order = |state: &str| match ClusterState::parse(state) {
            Some(ClusterState::Failed) => 0,
            Some(ClusterState::NotStarted) => 2,
            Some(ClusterState::Complete) => 3,
            _ => 1,
        };
        let mut clusters: Vec<&ClusterOutcome> = self.clusters.iter().collect();
        clusters.sort_by_key(|cluster| order(cluster.state));
        let hidden = clusters.split_off(rows.min(clusters.len()));
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for cluster in &hidden {
            match counts.last_mut() {
                Some((state, count)) if *state == cluster.state => *count += 1,
                _ => counts.push((cluster.state, 1)),
            }
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|(state, count)| format!("{count} {state}"))
            .collect();
        let hidden = if counts.is_empty() {
            String::new()
        } else {
            format!(
                "\n… and {} more: {}; -o json names them all",
                hidden.len(),
                counts.join(", ")
            )
        };
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(terminal_width())
            .set_header(["CLUSTER", "CANARY", "START", "DURATION", "OUTCOME"]);
        for cluster in clusters {
            table.add_row([
                cluster.name.clone(),
                if cluster.canary {
                    "yes".to_owned()
                } else {
                    String::new()
                },
                cluster.started_at.map_or_else(
                    || "-".to_owned(),
                    |at| format!("+{}", clock(at.duration_since(self.begun))),
                ),
                duration(cluster).map_or_else(|| "-".to_owned(), clock),
                outcome(cluster),
            ]);
        }
        format!(
            "{table}{hidden}\n\n{} of {} clusters complete, {} failed; at most {} in flight; {} of cluster time in {:.1} s",
            self.count(ClusterState::Complete),
            self.clusters.len(),
            self.count(ClusterState::Failed),
            self.max_in_flight,
            clock(SignedDuration::from_secs(self.virtual_duration as i64)),
            self.wall_duration,
        )
    }

    fn count(&self, state: ClusterState) -> usize {
        self.clusters
            .iter()
            .filter(|cluster| cluster.state == state.as_str())
            .count()
    }
}

fn cluster(details: &ClusterDetails) -> ClusterOutcome {
    ClusterOutcome {
        name: details.name.clone(),
        canary: details.canary,
        started_at: details.started_at,
        completed_at: details.ended_at,
        state: details.state.as_str(),
        reason: details.reason.clone(),
        message: details.message.clone(),
    }
}

/// The most clusters whose times overlap. One that starts when another ends takes its place.
fn max_in_flight(clusters: &[ClusterDetails]) -> usize {
    let starts = clusters
        .iter()
        .filter_map(|details| Some((details.started_at?, 1)));
    let ends = clusters.iter().filter(|details| details.started_at.is_some());
    let ends = ends.filter_map(|details| Some((details.ended_at?, -1)));
    let mut moments: Vec<(Timestamp, i64)> = starts.chain(ends).collect();
    moments.sort_unstable();
    let mut in_flight = 0;
    let counts = moments.into_iter().map(|(_, change)| {
        in_flight += change;
        in_flight
    });
    counts
        .max()
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(0)
}

fn duration(cluster: &ClusterOutcome) -> Option<SignedDuration> {
    Some(cluster.completed_at?.duration_since(cluster.started_at?))
}

fn outcome(cluster: &ClusterOutcome) -> String {
    if cluster.message.is_empty() || cluster.state == ClusterState::Complete.as_str() {
        cluster.state.to_owned()
    } else {
        format!("{}: {}", cluster.state, cluster.message)
    }
}

/// `1:02:03`.
pub fn clock(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_fleet_shows_what_failed_first_and_counts_what_does_not_fit() {
        let details = |number: usize| ClusterDetails {
            name: format!("dev{number}"),
            canary: false,
            selected: true,
            state: if number == 70 {
                ClusterState::Failed
            } else {
                ClusterState::Complete
            },
            reason: String::new(),
            message: String::new(),
            version: None,
            since: None,
            started_at: None,
            ended_at: None,
            deadline: None,
            opens_at: None,
            is_blocked: false,
            afterwards: None,
        };
        let clusters: Vec<_> = (1..=100).map(details).collect();
        let now = Timestamp::UNIX_EPOCH;
        let outcome = DemoOutcome::new(&clusters, now, now, std::time::Duration::ZERO);
        let table = outcome.table(10);
        let second = table.lines().nth(1).unwrap_or_default();
        assert!(second.contains("dev70"), "{table}");
        assert!(table.contains("… and 90 more: 90 Complete; -o json"), "{table}");
        assert_eq!(outcome.table(usize::MAX).matches("Complete").count(), 99);
    }
}
