//! `history`: how clusters ended, from the records; also of upgrades that are deleted.

use anyhow::{Context, bail};
use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordEntry, RecordedStages, RecordedUpgrade};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::arguments::{HistoryArguments, HistoryOutput};
use super::hub::Hub;
use super::table;

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
}

impl Attempt {
    fn of(upgrade: &RecordedUpgrade, entry: &RecordEntry) -> Self {
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
            retry: entry.retry.clone(),
        }
    }

    fn took(&self) -> Option<SignedDuration> {
        Some(self.ended_at?.duration_since(self.started_at?))
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
            table::print(&serde_json::to_string_pretty(&found).context("writing JSON")?);
        }
        HistoryOutput::Yaml => table::print(&serde_saphyr::to_string(&found).context("writing YAML")?),
        HistoryOutput::Csv => table::print(csv(&found)?.trim_end()),
        HistoryOutput::Table => table::print(&render(&found, name.is_none())),
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
    let mut found: Vec<Attempt> = asked
        .flat_map(|record| {
            let entries = record.spec.entries.iter();
            entries.map(|entry| Attempt::of(&record.spec.upgrade, entry))
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
    table::text(&shown)
}

/// One line of the file for spreadsheets.
#[derive(Default, Serialize)]
struct Line {
    ended_at: String,
    upgrade: String,
    upgrade_deleted: bool,
    target: String,
    rollout_since: String,
    started_by: String,
    cluster: String,
    canary: bool,
    outcome: String,
    reason: String,
    message: String,
    from: String,
    to: String,
    started_at: String,
    pre_action_seconds: Option<i64>,
    upgrade_seconds: Option<i64>,
    operators_seconds: Option<i64>,
    post_action_seconds: Option<i64>,
    retry: String,
}

fn csv(attempts: &[Attempt]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let moment = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let text = |text: &str| inert(&table::printable(text));
    for attempt in attempts {
        let line = Line {
            ended_at: moment(attempt.ended_at),
            upgrade: text(&attempt.upgrade),
            upgrade_deleted: attempt.upgrade_deleted,
            target: text(&attempt.target),
            rollout_since: moment(attempt.rollout_since),
            started_by: text(attempt.started_by.as_deref().unwrap_or_default()),
            cluster: text(&attempt.cluster),
            canary: attempt.canary,
            outcome: text(&attempt.outcome),
            reason: text(&attempt.reason),
            message: text(&attempt.message),
            from: text(attempt.from.as_deref().unwrap_or_default()),
            to: text(&attempt.to),
            started_at: moment(attempt.started_at),
            pre_action_seconds: attempt.stages.pre_action,
            upgrade_seconds: attempt.stages.upgrade,
            operators_seconds: attempt.stages.operators,
            post_action_seconds: attempt.stages.post_action,
            retry: text(attempt.retry.as_deref().unwrap_or_default()),
        };
        writer.serialize(line).context("writing CSV")?;
    }
    if attempts.is_empty() {
        // The names of the columns come with the first line.
        writer.serialize(Line::default()).context("writing CSV")?;
    }
    let bytes = writer.into_inner().context("writing CSV")?;
    let mut text = String::from_utf8(bytes).context("writing CSV")?;
    if attempts.is_empty() {
        // Who reads the file goes by them, also where nothing follows.
        text.truncate(text.find('\n').map_or(text.len(), |end| end + 1));
    }
    Ok(text)
}

/// A text that a spreadsheet does not take for a formula.
fn inert(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_for_spreadsheets_has_its_header_and_the_retry_of_each_attempt() {
        let header = csv(&[]).unwrap();
        assert!(
            header.starts_with("ended_at,upgrade,") && header.ends_with(",retry\n"),
            "{header:?}"
        );
        assert_eq!(header.lines().count(), 1);
        let entry = RecordEntry {
            cluster: "dev1".to_owned(),
            retry: Some("=again".to_owned()),
            ..RecordEntry::default()
        };
        let file = csv(&[Attempt::of(&RecordedUpgrade::default(), &entry)]).unwrap();
        let line = file.strip_prefix(header.as_str()).unwrap();
        assert!(
            line.contains(",dev1,") && line.ends_with(",'=again\n"),
            "{line:?}"
        );
    }
}
