//! `pre-checks`: what the clusters of an upgrade have answered before they start, grouped over the fleet; and of one cluster.

mod cluster;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use comfy_table::Cell;
use drydock_api::conditions::{UNKNOWN, find};
use drydock_api::mcu::{ManagedClustersUpgrade, condition, reason};
use drydock_objects::findings::{FleetFinding, grouped, is_held_by_agent, may_be_held};
use drydock_objects::{ClusterDetails, parse_spec, upgrade};
use drydock_rollout::{ClusterName, ClusterPreChecks, ClusterState, PreChecksMode, Reason};
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;

use super::arguments::{Output, PreChecksArguments};
use super::hub::Hub;
use super::{fleet, table};
use cluster::ClusterView;

/// How many clusters a finding names in a table, and how many of those that have not answered are shown.
const NAMED: usize = 3;

/// Shows them. The exit code says whether clusters are held: by their agents; and where an answer is required, by findings that nobody has
/// accepted, or because they have not answered yet or could not be asked; and whether the spec is invalid, by which nobody is asked. In the moment after an upgrade was applied nobody has been asked.
///
/// # Errors
/// If the hub cannot be read, or the named cluster takes no part in the upgrade.
pub async fn run(hub: &Hub, arguments: &PreChecksArguments) -> anyhow::Result<ExitCode> {
    let upgrade = hub.upgrade(&arguments.upgrade.name).await?;
    let found = read(hub, &upgrade).await?;
    let mut held_by_agent = !found.held_by_agent.is_empty();
    let (text, is_held) = if let Some(name) = &arguments.cluster {
        let checks = found
            .checks
            .get(name)
            .with_context(|| format!("cluster {name} takes no part in {}", arguments.upgrade.name))?;
        let unanswered = unanswered(&upgrade, &found.checks).remove(name);
        let named = hub.named(&upgrade.namespace().unwrap_or_default(), &upgrade.name_any());
        let shown = ClusterView::of(name, checks, unanswered.as_deref(), &named);
        let text = table::for_scripts(&shown, arguments.output)?;
        let is_held = shown.holds && found.may_be_held.contains(name) || found.is_awaited(name);
        held_by_agent = found.held_by_agent.contains(name);
        (text.unwrap_or_else(|| shown.text()), is_held)
    } else {
        let shown = FleetView::of(&upgrade, &found);
        let is_wide = arguments.output == Output::Wide;
        let text = table::for_scripts(&shown, arguments.output)?;
        let is_held =
            found.holds() || found.is_any_awaited() || shown.all_unanswered() > 0 || is_unknown(&upgrade);
        (text.unwrap_or_else(|| shown.text(is_wide)), is_held)
    };
    table::print(&text)?;
    Ok(match parse_spec(&upgrade).map(|spec| spec.pre_checks.mode) {
        // By an invalid spec nobody is asked, whatever its mode is.
        Err(_) => ExitCode::FAILURE,
        // Agents ask for no mode.
        Ok(_) if held_by_agent => ExitCode::FAILURE,
        Ok(PreChecksMode::Require) if is_held => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
    })
}

/// Whether the hub says that clusters are still to be asked: something else may keep them from that.
fn is_unknown(upgrade: &ManagedClustersUpgrade) -> bool {
    let conditions = upgrade
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_deref());
    let passed = find(conditions.unwrap_or_default(), condition::PRE_CHECKS_PASSED);
    passed.is_some_and(|passed| passed.status == UNKNOWN)
}

/// Whether a cluster is in a state in which it is held.
fn waits(state: &str) -> bool {
    [ClusterState::NotStarted, ClusterState::Initialized]
        .iter()
        .any(|waits| waits.as_str() == state)
}

/// The clusters that the upgrade says have not answered in time or could not be asked, and why: the hub alone knows what was refused to it,
/// and what those have found that it holds by an earlier answer.
fn unanswered(
    upgrade: &ManagedClustersUpgrade,
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> BTreeMap<ClusterName, String> {
    let status = upgrade.status.iter();
    let entries = status.flat_map(|status| status.clusters.iter().flatten());
    let has_answered = |name: &str| {
        let checks = found.get(&ClusterName::from(name));
        checks.is_some_and(|checks| checks.answer.is_some())
    };
    let unanswered = entries.filter(|entry| {
        let is_held = match entry.reason.as_deref() {
            Some(reason::PRE_CHECKS_UNANSWERED) => true,
            Some(reason::RISKS_NOT_ACCEPTED) => !has_answered(&entry.name),
            _ => false,
        };
        is_held && waits(&entry.state)
    });
    unanswered
        .map(|entry| {
            let message = entry.message.clone().unwrap_or_default();
            (entry.name.as_str().into(), message)
        })
        .collect()
}

/// The clusters that have not answered, and say why.
fn silent(
    found: &BTreeMap<ClusterName, ClusterPreChecks>,
) -> impl Iterator<Item = (ClusterName, String)> + use<'_> {
    let silent = found.iter().filter(|(_, one)| one.is_silent() && !one.is_unasked);
    silent.filter_map(|(name, one)| Some((name.clone(), one.trouble.as_deref()?.to_owned())))
}

/// How many there are of them that the upgrade does not list.
fn unanswered_not_listed(upgrade: &ManagedClustersUpgrade, listed: usize) -> usize {
    let status = upgrade.status.as_ref();
    let cut = status.filter(|status| status.clusters_not_listed.is_some());
    let counted = cut.and_then(|status| status.pre_checks);
    let counted = counted.map_or(0, |counted| {
        usize::try_from(counted.unanswered).unwrap_or_default()
    });
    counted.saturating_sub(listed)
}

/// What every cluster of an upgrade has answered.
///
/// # Errors
/// If the hub cannot be read.
pub async fn read(hub: &Hub, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<Found> {
    let mut fleet = fleet::read(hub).await?;
    let key = upgrade::key(upgrade);
    let (_, clusters) = fleet
        .look(&key, hub.now())
        .context("the upgrade was just read, and is not there")?;
    let may_be_held = clusters.iter().filter(|cluster| may_be_held(cluster));
    let is_to_be_asked = |cluster: &&ClusterDetails| cluster.reason == Reason::AwaitingPreChecks.as_str();
    let name = |cluster: &ClusterDetails| ClusterName::from(cluster.name.as_str());
    Ok(Found {
        has_target: upgrade.spec.cluster_version.is_some(),
        to_be_asked: may_be_held.clone().filter(is_to_be_asked).map(name).collect(),
        may_be_held: may_be_held.map(name).collect(),
        held_by_agent: clusters
            .iter()
            .filter(|cluster| is_held_by_agent(cluster))
            .map(name)
            .collect(),
        checks: fleet.pre_checks(&key, hub.now()),
    })
}

/// What the clusters of an upgrade have answered.
pub struct Found {
    /// By the cluster.
    pub checks: BTreeMap<ClusterName, ClusterPreChecks>,
    /// The upgrade leads to another release: of operators alone nobody is asked.
    has_target: bool,
    /// Those that are asked before they start, and have not answered. Others wait for something else, or have nothing to fear.
    to_be_asked: BTreeSet<ClusterName>,
    /// What others have said before they started holds them no more, nor what they say since.
    may_be_held: BTreeSet<ClusterName>,
    /// Those that have been started, and whose agents wait for findings that nobody has accepted.
    held_by_agent: BTreeSet<ClusterName>,
}

impl Found {
    /// Whether a cluster does not start for what it has found, where an answer is required.
    fn holds(&self) -> bool {
        let mut held = self
            .checks
            .iter()
            .filter(|(_, checks)| checks.holds() && !checks.is_unasked);
        held.any(|(name, _)| self.may_be_held.contains(name))
    }

    /// Whether one of them is, or nobody knows yet which clusters these are.
    fn is_any_awaited(&self) -> bool {
        let is_unknown = self.has_target && self.checks.is_empty();
        is_unknown || self.may_be_held.iter().any(|name| self.is_awaited(name))
    }

    /// Whether a cluster that may be held has not answered, or is not asked now.
    fn is_awaited(&self, name: &ClusterName) -> bool {
        let checks = self.checks.get(name).filter(|_| self.may_be_held.contains(name));
        let is_silent = checks.is_some_and(|checks| checks.is_unasked || checks.is_silent());
        is_silent || self.to_be_asked.contains(name)
    }
}

/// What the clusters of an upgrade have answered, together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetView {
    /// The upgrade.
    pub upgrade: String,
    /// Off, Report or Require.
    pub mode: &'static str,
    /// How many clusters have been asked.
    pub asked: usize,
    /// How many of them have answered.
    pub answered: usize,
    /// When the oldest answer of an agent was collected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_answer: Option<Timestamp>,
    /// How many of them have findings that nobody has accepted.
    pub held: usize,
    /// Those that have been started, and whose agents wait for findings that nobody has accepted.
    pub held_by_agent: Vec<String>,
    /// Those that are not asked now, though an answer is required, for something else keeps them from starting.
    pub not_asked: Vec<String>,
    /// Those that have not answered in time, say why they do not answer, or could not be asked, where an answer is required.
    pub unanswered: Vec<Unanswered>,
    /// How many of these are not listed: the status of an upgrade lists 100 clusters.
    pub unanswered_not_listed: usize,
    /// What they have found, the worst first.
    pub findings: Vec<FleetFinding>,
    /// How many findings that nobody has accepted are not among these: a cluster sends its worst alone.
    pub not_listed: usize,
}

/// A cluster that does not start because no answer is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unanswered {
    /// The cluster.
    pub cluster: String,
    /// Why there is none.
    pub message: String,
}

impl FleetView {
    /// Groups the findings of clusters. Where an answer is required, what they have found holds those alone that may be held.
    pub fn of(upgrade: &ManagedClustersUpgrade, all: &Found) -> Self {
        let mode = mode(upgrade);
        let found = &all.checks;
        let may_be_held = |name: &ClusterName| mode != REQUIRE || all.may_be_held.contains(name);
        let held = found
            .iter()
            .filter(|(name, one)| one.holds() && !one.is_unasked && may_be_held(name))
            .filter(|(name, _)| !all.held_by_agent.contains(*name));
        let not_asked = found.iter().filter(|(_, one)| one.is_unasked);
        let mut not_answered = unanswered(upgrade, found);
        if mode == REQUIRE {
            not_answered.extend(silent(found).filter(|(name, _)| may_be_held(name)));
        }
        let is_answered = |name: &ClusterName, one: &ClusterPreChecks| {
            one.is_answered() && !one.is_unasked && !not_answered.contains_key(name)
        };
        let asked = found.values().filter(|one| one.asked && !one.is_unasked);
        let answered = found.iter().filter(|(name, one)| is_answered(name, one)).count();
        let times = found.values().filter_map(ClusterPreChecks::collected_at);
        let unanswered: Vec<Unanswered> = not_answered
            .into_iter()
            .map(|(name, message)| Unanswered {
                cluster: name.to_string(),
                message,
            })
            .collect();
        Self {
            upgrade: upgrade::key(upgrade).to_string(),
            mode,
            asked: asked.count(),
            answered,
            oldest_answer: times.min(),
            held: held.count(),
            held_by_agent: all.held_by_agent.iter().map(ToString::to_string).collect(),
            not_asked: not_asked.map(|(name, _)| name.to_string()).collect(),
            unanswered_not_listed: unanswered_not_listed(upgrade, unanswered.len()),
            unanswered,
            findings: grouped(found, may_be_held),
            not_listed: found.values().map(ClusterPreChecks::unlisted).sum(),
        }
    }

    fn all_unanswered(&self) -> usize {
        self.unanswered.len() + self.unanswered_not_listed
    }

    /// As a table.
    pub fn text(&self, wide: bool) -> String {
        let mut text = self.summary();
        if self.findings.is_empty() {
            return text;
        }
        let _ = write!(text, "\n{}", self.table(wide));
        let unconfirmed: usize = self.findings.iter().map(|finding| finding.unconfirmed).sum();
        if unconfirmed > 0 {
            let _ = writeln!(
                text,
                "\nOf those that hold a cluster {unconfirmed} are accepted, and count when the agents of the clusters have confirmed it: \
                 see --cluster."
            );
        }
        if self.not_listed > 0 {
            let _ = writeln!(
                text,
                "\nNot listed, for a cluster sends its worst findings alone: {} that nobody has accepted. Accept what is listed to see them, or \
                 see kubectl drydock cluster pre-checks on the clusters.",
                self.not_listed
            );
        }
        text
    }

    /// How many clusters have answered, and what that means for them.
    fn summary(&self) -> String {
        let follows = match self.mode {
            REQUIRE => "such a cluster does not start",
            _ => "such a cluster starts nevertheless",
        };
        let oldest = self
            .oldest_answer
            .map(|at| format!(", the first of them at {at}"));
        let mut text = format!(
            "{}: {} of {} clusters that are asked have answered{} (preChecks.mode {})\n",
            table::printable(&self.upgrade),
            self.answered,
            self.asked,
            oldest.unwrap_or_default(),
            self.mode
        );
        self.write_unanswered(&mut text);
        self.write_not_asked(&mut text);
        self.write_held_by_agent(&mut text);
        let _ = match self.held {
            0 if !self.held_by_agent.is_empty() => Ok(()),
            0 if self.asked == 0 && self.all_unanswered() == 0 => {
                let why = match self.mode {
                    REPORT | REQUIRE => "a cluster is asked before it starts",
                    _ => "what would be found is not known",
                };
                writeln!(text, "Nobody is asked now: {why}.")
            }
            0 if !self.not_asked.is_empty() && self.findings.iter().any(|finding| finding.unaccepted > 0) => {
                writeln!(
                    text,
                    "No cluster is held by what it is asked now: those with findings that are not accepted are not asked, or have been started."
                )
            }
            0 if self.all_unanswered() > 0 || self.answered < self.asked || !self.not_asked.is_empty() => {
                writeln!(
                    text,
                    "No cluster that has answered has a finding that is not accepted."
                )
            }
            0 if self.findings.iter().any(|finding| finding.unaccepted > 0) => writeln!(
                text,
                "No cluster is held: those with findings that are not accepted have been started."
            ),
            0 => writeln!(text, "No cluster has a finding that is not accepted."),
            1 => writeln!(text, "1 cluster has findings that are not accepted: {follows}."),
            held => writeln!(
                text,
                "{held} clusters have findings that are not accepted: {follows}."
            ),
        };
        text
    }

    /// The clusters that no answer comes from, the first with why: without them it would seem that nothing is wrong.
    fn write_unanswered(&self, text: &mut String) {
        let _ = match self.all_unanswered() {
            0 => return,
            1 => writeln!(
                text,
                "1 cluster does not start, for it has not answered what it is asked now:"
            ),
            count => writeln!(
                text,
                "{count} clusters do not start, for they have not answered what they are asked now:"
            ),
        };
        for one in self.unanswered.iter().take(NAMED) {
            let (cluster, message) = (table::printable(&one.cluster), table::printable(&one.message));
            let _ = writeln!(text, "  {cluster}: {message}");
        }
        let more = self.unanswered.len().saturating_sub(NAMED) + self.unanswered_not_listed;
        if more > 0 {
            let _ = writeln!(
                text,
                "  and {more} more: -o json lists those that the upgrade names"
            );
        }
    }

    /// The clusters in which nothing has been asked for though they have been started.
    fn write_held_by_agent(&self, text: &mut String) {
        let named = some(&self.held_by_agent);
        let _ = match self.held_by_agent.len() {
            0 => return,
            1 => writeln!(
                text,
                "1 cluster has been started, and its agent waits for findings that are not accepted (checkUpdatePlan): {named}"
            ),
            count => writeln!(
                text,
                "{count} clusters have been started, and their agents wait for findings that are not accepted (checkUpdatePlan): {named}"
            ),
        };
    }

    /// The clusters that nothing is known of yet.
    fn write_not_asked(&self, text: &mut String) {
        let named = some(&self.not_asked);
        let _ = match self.not_asked.len() {
            0 => return,
            1 => writeln!(
                text,
                "1 cluster is not asked now, for something else keeps it from starting: {named}"
            ),
            count => writeln!(
                text,
                "{count} clusters are not asked now, for something else keeps them from starting: {named}"
            ),
        };
    }

    fn table(&self, wide: bool) -> String {
        let mut header = vec!["LEVEL", "CLUSTERS", "HOLDS", "FINDING", "UUID"];
        if wide {
            header.extend(["INFORMER/UID", "AMONG THEM"]);
        }
        let mut shown = table::plain(&header);
        for finding in &self.findings {
            let mut cells = vec![
                Cell::new(finding.level),
                Cell::new(finding.clusters.len()),
                Cell::new(finding.holds),
                Cell::new(table::printable(&finding.summary)),
                Cell::new(finding.uuid.as_deref().unwrap_or("-")),
            ];
            if wide {
                let first: Vec<&str> = finding.clusters.iter().take(NAMED).map(String::as_str).collect();
                let named = named(&finding.informer, finding.uid.as_deref());
                cells.extend([
                    Cell::new(table::printable(&named)),
                    Cell::new(table::printable(&first.join(", "))),
                ]);
            }
            shown.add_row(cells);
        }
        table::text(&shown)
    }
}

/// The first of some clusters, and how many more there are.
fn some(names: &[String]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let named = table::printable(&first.join(", "));
    match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Who reports a finding, and as what: so it can be accepted, too.
fn named(informer: &str, uid: Option<&str>) -> String {
    uid.map_or_else(|| informer.to_owned(), |uid| format!("{informer}/{uid}"))
}

/// The mode in which a cluster starts whatever it answers.
const REPORT: &str = "Report";
/// The mode in which a cluster waits for its answer.
const REQUIRE: &str = "Require";

fn mode(upgrade: &ManagedClustersUpgrade) -> &'static str {
    match parse_spec(upgrade).map(|spec| spec.pre_checks.mode) {
        Ok(PreChecksMode::Off) => "Off",
        Ok(PreChecksMode::Report) => REPORT,
        Ok(PreChecksMode::Require) => REQUIRE,
        Err(_) => "unknown: the spec is invalid",
    }
}

#[cfg(test)]
mod tests;
