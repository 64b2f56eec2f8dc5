//! `history`: how clusters ended, from the records; also of upgrades that are deleted.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordEntry, RecordedStages, RecordedUpgrade};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::accuracy::{self, Accuracy};
use super::arguments::{HistoryArguments, HistoryOutput};
use super::hub::Hub;
use super::{spreadsheet, table};

/// One attempt to upgrade one cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The upgrade.
    pub upgrade: String,
    /// Whether the upgrade is deleted.
    pub upgrade_deleted: bool,
    /// What it upgraded to.
    pub target: String,
    /// When the rollout began.
    pub rollout_since: Option<Timestamp>,
    /// Who started it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_by: Option<String>,
    /// The cluster.
    pub cluster: String,
    /// Whether it was a canary.
    pub canary: bool,
    /// How it ended.
    pub outcome: String,
    /// Why, in CamelCase.
    pub reason: String,
    /// Why, in a sentence.
    pub message: String,
    /// The version that the cluster ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The version that it was to come to.
    pub to: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// How long each stage took, in seconds.
    pub stages: RecordedStages,
    /// The retry under which it ended: the value of the annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// When the rollout was expected to end as it began, and when it did, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forecast: Option<RolloutForecast>,
}

/// How good the forecast of a rollout was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RolloutForecast {
    /// The times.
    #[serde(flatten)]
    pub times: Accuracy,
    /// By how many seconds it ended later than p50.
    pub error_seconds: i64,
    /// Whether it ended from p10 to p90.
    pub within_band: bool,
}

impl From<Accuracy> for RolloutForecast {
    fn from(times: Accuracy) -> Self {
        Self {
            error_seconds: times.error_seconds(),
            within_band: times.is_within_band(),
            times,
        }
    }
}

impl Attempt {
    /// An entry of a record. `forecast` is that of its rollout.
    pub fn of(upgrade: &RecordedUpgrade, entry: &RecordEntry, forecast: Option<Accuracy>) -> Self {
        let moment = |text: &str| text.parse::<Timestamp>().ok();
        Self {
            ended_at: moment(&entry.completed),
            upgrade: upgrade.name.clone(),
            upgrade_deleted: upgrade.deleted.unwrap_or(false),
            target: upgrade.target.clone(),
            rollout_since: moment(&upgrade.rollout_since),
            started_by: upgrade.started_by.clone().filter(|name| !name.is_empty()),
            cluster: entry.cluster.clone(),
            canary: entry.canary.unwrap_or(false),
            outcome: entry.outcome.clone(),
            reason: entry.reason.clone(),
            message: entry.message.clone(),
            from: entry.from.clone(),
            to: entry.to.clone(),
            started_at: entry.started.as_deref().and_then(moment),
            stages: entry.stages.unwrap_or_default(),
            retry: entry.retry.as_deref().map(|retry| retry.trim().to_owned()),
            forecast: forecast.map(RolloutForecast::from),
        }
    }

    fn took(&self) -> Option<SignedDuration> {
        // Between whole seconds, as the page has them.
        let seconds = self.ended_at?.as_second() - self.started_at?.as_second();
        Some(SignedDuration::from_secs(seconds))
    }
}

/// Lists how clusters ended, in the order of their ends.
///
/// # Errors
/// If the hub cannot be read, or has no records of the upgrade that is named.
pub async fn run(hub: &Hub, arguments: &HistoryArguments) -> anyhow::Result<()> {
    let records = hub.records().await?;
    let name = arguments.name.as_deref();
    if let Some(name) = name
        && !records.iter().any(|record| record.spec.upgrade.name == name)
    {
        // An upgrade none of whose clusters has ended has no records, which is no mistake.
        no_records(hub, name, &records).await?;
    }
    let since = arguments.since.map(|since| since.moment(hub.now()));
    let found = attempts(&records, name, since);
    match arguments.output {
        HistoryOutput::Json => {
            table::print(&serde_json::to_string_pretty(&found).context("writing JSON")?)?;
        }
        HistoryOutput::Yaml => table::print(&serde_saphyr::to_string(&found).context("writing YAML")?)?,
        HistoryOutput::Csv => table::print(spreadsheet::csv(&found)?.trim_end())?,
        HistoryOutput::Table => table::print(&render(&found, name.is_none()))?,
    }
    Ok(())
}

async fn no_records(hub: &Hub, name: &str, records: &[ManagedClustersUpgradeRecord]) -> anyhow::Result<()> {
    let found = hub.upgrades().get_opt(name).await;
    let found =
        found.with_context(|| format!("reading the ManagedClustersUpgrade {}/{name}", hub.namespace))?;
    if found.is_some() {
        return Ok(());
    }
    let mut names: Vec<&str> = records
        .iter()
        .map(|record| record.spec.upgrade.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        bail!(
            "namespace {} has no records of upgrades: choose another with -n",
            hub.namespace
        );
    }
    bail!(
        "namespace {} has no records of an upgrade {name}; it has some of: {}",
        hub.namespace,
        names.join(", ")
    )
}

/// The attempts that are asked for, in the order of their ends.
fn attempts(
    records: &[ManagedClustersUpgradeRecord],
    name: Option<&str>,
    since: Option<Timestamp>,
) -> Vec<Attempt> {
    let asked = records
        .iter()
        .filter(|record| name.is_none_or(|name| record.spec.upgrade.name == name));
    let forecasts = accuracy::of_rollouts(records);
    let mut found: Vec<Attempt> = asked
        .flat_map(|record| {
            let forecast = forecasts.get(&accuracy::rollout(record)).copied();
            let entries = record.spec.entries.iter();
            entries.map(move |entry| Attempt::of(&record.spec.upgrade, entry, forecast))
        })
        .filter(|attempt| since.is_none_or(|since| attempt.ended_at.is_some_and(|at| at >= since)))
        .collect();
    found.sort_by(|one, other| (one.ended_at, &one.cluster).cmp(&(other.ended_at, &other.cluster)));
    found
}

fn render(attempts: &[Attempt], with_upgrade: bool) -> String {
    if attempts.is_empty() {
        return "No cluster has ended.".to_owned();
    }
    let mut header = vec![
        "ENDED", "CLUSTER", "CANARY", "OUTCOME", "FROM", "TO", "TOOK", "MESSAGE",
    ];
    if with_upgrade {
        header.insert(1, "UPGRADE");
    }
    let mut shown = table::plain(&header);
    for attempt in attempts {
        let mut cells = vec![
            table::moment(attempt.ended_at),
            table::printable(&attempt.cluster),
            table::yes(attempt.canary).to_owned(),
            table::printable(&attempt.outcome),
            table::printable(attempt.from.as_deref().unwrap_or("-")),
            table::printable(&attempt.to),
            attempt.took().map_or_else(|| "-".to_owned(), table::short),
            table::printable(&attempt.message),
        ];
        if with_upgrade {
            let deleted = if attempt.upgrade_deleted { " (deleted)" } else { "" };
            cells.insert(1, format!("{}{deleted}", table::printable(&attempt.upgrade)));
        }
        shown.add_row(cells);
    }
    let mut lines = vec![table::text(&shown)];
    lines.extend(forecasts(attempts));
    lines.join("\n")
}

/// How good the forecasts of the rollouts were, and of how many.
fn forecasts(attempts: &[Attempt]) -> Vec<String> {
    let mut rollouts: BTreeMap<(Option<Timestamp>, &str), (&Attempt, Accuracy)> = BTreeMap::new();
    for attempt in attempts {
        if let Some(forecast) = &attempt.forecast {
            let rollout = (attempt.rollout_since, attempt.upgrade.as_str());
            rollouts.insert(rollout, (attempt, forecast.times));
        }
    }
    if rollouts.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "Forecasts:".to_owned()];
    lines.extend(rollouts.values().map(|(attempt, accuracy)| {
        format!(
            "  {} to {}, begun {}: {accuracy}",
            table::printable(&attempt.upgrade),
            table::printable(&attempt.target),
            table::moment(attempt.rollout_since)
        )
    }));
    lines.push(accuracy::summary(rollouts.values().map(|(_, accuracy)| accuracy)));
    lines
}

#[cfg(test)]
mod tests {
    use drydock_api::mcu::RecordedForecast;

    use super::*;

    fn page(rollout: &str, cluster: &str, forecast: Option<(&str, i64)>) -> ManagedClustersUpgradeRecord {
        let day = |time: &str| format!("2026-03-01T{time}Z");
        let mut record = ManagedClustersUpgradeRecord::default();
        record.spec.upgrade = RecordedUpgrade {
            name: "spring".to_owned(),
            uid: "spring-uid".to_owned(),
            target: "4.14.12".to_owned(),
            rollout_since: day(rollout),
            forecast: forecast.map(|(ended, error_seconds)| RecordedForecast {
                p10: day("11:00:00"),
                p50: day("12:00:00"),
                p90: day("13:00:00"),
                ended: day(ended),
                error_seconds,
                within_band: false,
            }),
            ..RecordedUpgrade::default()
        };
        record.spec.entries = vec![RecordEntry {
            cluster: cluster.to_owned(),
            outcome: "Complete".to_owned(),
            completed: day(rollout),
            ..RecordEntry::default()
        }];
        record
    }

    #[test]
    fn each_rollout_says_how_good_its_forecast_was() {
        let records = [
            page("10:00:00", "dev1", Some(("12:12:00", 720))),
            page("10:00:00", "dev2", None),
            page("10:30:00", "dev1", Some(("13:30:00", 5400))),
            page("10:45:00", "dev1", None),
        ];
        let found = attempts(&records, Some("spring"), None);
        let shown = render(&found, false);
        let forecasts = shown.split("Forecasts:\n").nth(1).unwrap();
        assert_eq!(
            forecasts,
            "  spring to 4.14.12, begun 2026-03-01T10:00:00Z: forecast 2026-03-01T12:00:00Z, ended 2026-03-01T12:12:00Z, 12 min later, within the band (p10 to p90)
  spring to 4.14.12, begun 2026-03-01T10:30:00Z: forecast 2026-03-01T12:00:00Z, ended 2026-03-01T13:30:00Z, 90 min later, after the band (p10 to p90)
1 of 2 rollouts ended within p10 to p90 of the forecast of their start; 8 in 10 should"
        );
        let of_dev2 = found.iter().find(|attempt| attempt.cluster == "dev2").unwrap();
        let json = serde_json::to_value(of_dev2).unwrap();
        assert_eq!(
            json["forecast"]["errorSeconds"], 720,
            "that of its rollout, which is on another page: {json}"
        );
        assert_eq!(json["forecast"]["withinBand"], true);
        let file = spreadsheet::csv(&found).unwrap();
        assert!(file.contains(",2026-03-01T12:12:00Z,720,true\n"), "{file}");
        assert!(!render(&found[3..], false).contains("Forecasts"), "none is known");
    }
}
