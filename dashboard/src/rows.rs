//! What is shown of a fleet: a row a cluster, and a summary an upgrade.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_objects::{ClusterDetails, Fleet, hint};
use drydock_rollout::{
    ClusterFacts, ClusterName, ClusterPreChecks, ClusterState, Entry, FindingLevel, Halt, RecordedEntry,
    RecordedOutcome, Report, UpgradeKey, bounded,
};
use jiff::Timestamp;

use crate::access::Scope;
use crate::hidden::hide_in;
use crate::upgrade::UpgradeSummary;

/// The longest message of a cluster, in bytes: clusters say what they want.
const LONGEST_MESSAGE: usize = 1024;

/// Texts of which each is kept once, however many clusters say it.
#[derive(Default)]
pub(crate) struct Words(HashSet<Arc<str>>);

impl Words {
    pub fn intern(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.0.get(text) {
            return Arc::clone(known);
        }
        let word: Arc<str> = text.into();
        self.0.insert(Arc::clone(&word));
        word
    }

    /// Forgets what no row says any more.
    pub fn forget_unused(&mut self) {
        self.0.retain(|word| Arc::strong_count(word) > 1);
    }
}

/// What is shown of one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub version: Arc<str>,
    /// Nothing if no upgrade concerns it.
    pub state: Option<ClusterState>,
    pub reason: Arc<str>,
    pub message: Arc<str>,
    /// `NAMESPACE/NAME`; empty if no upgrade concerns it.
    pub upgrade: Arc<str>,
    pub canary: bool,
    pub available: bool,
    pub since: Option<Timestamp>,
    pub deadline: Option<Timestamp>,
    pub opens: Option<Timestamp>,
    /// The worst finding that nobody has accepted, whichever upgrade it speaks against.
    pub finding: Option<FindingLevel>,
    pub labels: Arc<str>,
    /// What to do.
    pub todo: Arc<str>,
}

/// All that is shown of a fleet. A row that says the same as before is the same one: of a large fleet few change at a time.
#[derive(Default)]
pub(crate) struct View {
    pub upgrades: BTreeMap<String, UpgradeSummary>,
    pub rows: BTreeMap<ClusterName, Arc<Row>>,
}

/// An upgrade as it is seen now.
pub(crate) struct Seen<'a> {
    pub object: &'a ManagedClustersUpgrade,
    pub report: &'a Report,
}

impl View {
    /// What is shown of a fleet now to who may see this of it, after what was shown `before`.
    pub fn of(fleet: &mut Fleet, now: Timestamp, scope: &Scope, words: &mut Words, before: &Self) -> Self {
        let mut view = Self::default();
        let mut begun: BTreeMap<Arc<str>, Option<Timestamp>> = BTreeMap::new();
        for key in keys(fleet, scope) {
            let Some((object, looked)) = fleet.object(&key).zip(fleet.looked_at(&key, now)) else {
                continue;
            };
            let seen = Seen {
                object: &object,
                report: &looked.report,
            };
            let since = seen.report.rollout_since;
            for (name, mut details) in looked.clusters() {
                let known_precedence = |row: &Arc<Row>| {
                    let since = begun.get(&row.upgrade).copied().flatten();
                    row.state
                        .map(|state| Precedence::of(state, &row.reason, &row.todo, row.opens, since))
                };
                let precedence = || {
                    let todo = todo(&scope.named(&key), &details);
                    Some(Precedence::of(
                        details.state,
                        &details.reason,
                        &todo,
                        opens(&seen, &details),
                        since,
                    ))
                };
                let checks = looked.pre_checks(name);
                let finding = checks.as_ref().and_then(worst_finding);
                let known = view.rows.get_mut(name);
                // What speaks against another upgrade of the cluster is to be seen, too.
                let of_others = known.as_ref().and_then(|known| known.finding);
                let finding = finding.max(of_others);
                if let Some(known) = known.filter(|known| known_precedence(known) >= precedence()) {
                    if known.finding != finding {
                        let row = Row {
                            finding,
                            ..(**known).clone()
                        };
                        *known = before.same_row(name, row);
                    }
                    continue;
                }
                hide_in(&mut details, scope);
                let mut row = row_of(&key, &seen, &details, finding, scope, words);
                if let Some(facts) = looked.facts(name) {
                    row.add_facts(facts, words);
                }
                view.rows.insert(name.clone(), before.same_row(name, row));
            }
            let shown = UpgradeSummary::of(&key, &seen, scope);
            begun.insert(words.intern(&key.to_string()), since);
            view.upgrades.insert(key.to_string(), shown);
        }
        if scope.all_clusters {
            view.add_others(fleet, scope, words, before);
        }
        for key in fleet.upgrades().iter().filter(|key| !scope.shows(&key.namespace)) {
            // What it has is known from here on.
            fleet.looked_at(key, now);
        }
        view.show_what_was_left(fleet, scope, words, before);
        view
    }

    /// A cluster that an upgrade has left half done, or that has failed in one that has it no more, is not shown as if nothing were to be done:
    /// no upgrade says so, only the records do.
    fn show_what_was_left(&mut self, fleet: &Fleet, scope: &Scope, words: &mut Words, before: &Self) {
        for (name, row) in &mut self.rows {
            let last = fleet
                .last_attempt(name)
                .filter(|last| !is_hidden(fleet, last, name, scope));
            if let Some(left) = last.and_then(|last| Left::of(last, row)) {
                *row = before.same_row(name, left.row(row, scope, words));
            }
        }
    }

    /// The clusters that no upgrade concerns.
    fn add_others(&mut self, fleet: &Fleet, scope: &Scope, words: &mut Words, before: &Self) {
        for (name, facts) in fleet.clusters() {
            if !self.rows.contains_key(name) {
                let mut row = blank(words);
                if scope.namespaces.is_some() {
                    row.message = words.intern(NOT_SHOWN);
                }
                row.add_facts(facts, words);
                self.rows.insert(name.clone(), before.same_row(name, row));
            }
        }
    }

    /// The row of this view, if it says the same.
    fn same_row(&self, name: &ClusterName, row: Row) -> Arc<Row> {
        let same = self.rows.get(name).filter(|known| ***known == row);
        same.map_or_else(|| Arc::new(row), Arc::clone)
    }
}

impl Row {
    /// What the hub knows of the cluster, whichever upgrade concerns it.
    fn add_facts(&mut self, facts: &ClusterFacts, words: &mut Words) {
        self.available = facts.available;
        self.labels = words.intern(&labels_of(facts));
        if let Some(version) = facts.version.as_ref().filter(|_| self.version.is_empty()) {
            self.version = words.intern(&version.to_string());
        }
    }
}

/// What is said of a cluster of which an upgrade may know that is not shown: whether one does is not.
const NOT_SHOWN: &str = "no upgrade that is shown here has it";

/// Whether the newest attempt of a cluster is that of an upgrade that is not shown, and has the cluster.
fn is_hidden(fleet: &Fleet, last: &RecordedEntry, name: &ClusterName, scope: &Scope) -> bool {
    let upgrade = last.page.owner.upgrade.as_ref();
    upgrade.is_some_and(|upgrade| !scope.shows(&upgrade.namespace) && fleet.has(upgrade, name))
}

/// The newest attempt of a cluster, which has not come to its end, of an upgrade that does not have the cluster any more.
struct Left<'a> {
    entry: &'a Entry,
    upgrade: Option<&'a UpgradeKey>,
}

impl<'a> Left<'a> {
    fn of(last: &'a RecordedEntry, row: &Row) -> Option<Self> {
        let (entry, upgrade) = (&last.entry, last.page.owner.upgrade.as_ref());
        let is_unfinished = matches!(
            entry.outcome,
            RecordedOutcome::Failed | RecordedOutcome::Abandoned
        );
        // Whatever is shown of its own upgrade is newer, and what waits or moves says so itself.
        let is_of_shown = upgrade.is_some_and(|upgrade| *row.upgrade == *upgrade.to_string());
        let rests = row.state.is_none() || row.state == Some(ClusterState::Complete);
        let is_newer = row.since.is_none_or(|since| entry.completed > since);
        let version = |text: &str| semver::Version::parse(text).ok();
        let has_arrived = version(&row.version)
            .zip(version(&entry.to))
            .is_some_and(|(runs, to)| runs.cmp_precedence(&to).is_ge());
        (is_unfinished && rests && is_newer && !is_of_shown && !has_arrived)
            .then_some(Self { entry, upgrade })
    }

    fn row(&self, shown: &Row, scope: &Scope, words: &mut Words) -> Row {
        let upgrade = self.upgrade.filter(|upgrade| scope.shows(&upgrade.namespace));
        let upgrade = upgrade.map_or_else(|| "an upgrade".to_owned(), |key| format!("upgrade {key}"));
        let Entry { to, message, .. } = self.entry;
        let what = if self.entry.outcome == RecordedOutcome::Failed {
            format!("it failed in {upgrade}, which has it no more, on its way to {to}: {message}")
        } else {
            format!("{upgrade}, which has it no more, has left it on its way to {to}")
        };
        Row {
            state: None,
            reason: words.intern(&self.entry.reason),
            message: words.intern(bounded(&what, LONGEST_MESSAGE)),
            upgrade: words.intern(""),
            canary: false,
            since: Some(self.entry.completed),
            deadline: None,
            opens: None,
            todo: words.intern(hint::LEFT),
            ..shown.clone()
        }
    }
}

/// The upgrades that are shown.
pub(crate) fn keys(fleet: &Fleet, scope: &Scope) -> Vec<UpgradeKey> {
    let mut keys = fleet.upgrades();
    keys.retain(|key| scope.shows(&key.namespace));
    keys
}

/// A cluster of several upgrades shows where it is in the one in which most happens; of those that wait for it in the one that may start it
/// first, then in one of which that is not known, and last in one that does not before somebody has done something.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Precedence {
    state: u8,
    starts: Starts,
    opens: Reverse<Option<Timestamp>>,
    since: Option<Timestamp>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Starts {
    /// Not before somebody has done something, or it does not wait to start.
    Held,
    /// Some time: what it waits for has no known end.
    SomeTime,
    /// As soon as it is its turn, or at a known moment.
    Known,
}

/// What waits for no more than its turn.
const BY_TURN: [&str; 3] = ["WaitingForSlot", "ReadyToStart", "Starting"];

impl Precedence {
    fn of(
        state: ClusterState,
        reason: &str,
        todo: &str,
        opens: Option<Timestamp>,
        since: Option<Timestamp>,
    ) -> Self {
        let waits = state == ClusterState::NotStarted;
        let is_known = opens.is_some() || BY_TURN.contains(&reason);
        Self {
            state: match state {
                state if state.in_flight() => 3,
                ClusterState::Failed => 2,
                ClusterState::NotStarted => 1,
                _ => 0,
            },
            starts: match (waits && todo.is_empty(), is_known) {
                (false, _) => Starts::Held,
                (true, false) => Starts::SomeTime,
                (true, true) => Starts::Known,
            },
            opens: Reverse(opens.filter(|_| waits)),
            since,
        }
    }
}

/// When an upgrade may start a cluster, where that is known to be later.
fn opens(seen: &Seen<'_>, details: &ClusterDetails) -> Option<Timestamp> {
    let halt = seen.report.halt.as_ref();
    let is_halted = halt.is_some_and(|halt| halt.as_str() == details.reason);
    let opens_for_all = halt.filter(|_| is_halted).and_then(Halt::ends);
    details.opens_at.or(opens_for_all)
}

fn labels_of(facts: &ClusterFacts) -> String {
    let labels = facts.labels.iter();
    let pairs: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(",")
}

pub(crate) fn blank(words: &mut Words) -> Row {
    let nothing = words.intern("");
    Row {
        version: Arc::clone(&nothing),
        state: None,
        reason: Arc::clone(&nothing),
        message: Arc::clone(&nothing),
        upgrade: Arc::clone(&nothing),
        canary: false,
        available: false,
        since: None,
        deadline: None,
        opens: None,
        finding: None,
        labels: Arc::clone(&nothing),
        todo: nothing,
    }
}

fn row_of(
    key: &UpgradeKey,
    seen: &Seen<'_>,
    details: &ClusterDetails,
    finding: Option<FindingLevel>,
    scope: &Scope,
    words: &mut Words,
) -> Row {
    Row {
        version: words.intern(details.version.as_deref().unwrap_or_default()),
        state: Some(details.state),
        reason: words.intern(&details.reason),
        message: words.intern(bounded(&details.message, LONGEST_MESSAGE)),
        upgrade: words.intern(&key.to_string()),
        canary: details.canary,
        available: false,
        since: details.since,
        deadline: details.deadline,
        opens: opens(seen, details),
        finding,
        labels: words.intern(""),
        todo: words.intern(&todo(&scope.named(key), details)),
    }
}

/// The worst finding that nobody has accepted.
fn worst_finding(checks: &ClusterPreChecks) -> Option<FindingLevel> {
    let findings = checks.answer.iter().flat_map(|answer| answer.findings.iter());
    findings
        .filter(|finding| !finding.acceptance.is_accepted())
        .map(|finding| finding.level)
        .max()
}

/// What somebody has to do about a cluster of an upgrade that commands name so; empty where it goes on by itself.
pub(crate) fn todo(upgrade: &str, details: &ClusterDetails) -> String {
    hint::about(details, upgrade).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who reads when a cluster may start does not read of an upgrade that starts it days later, or never.
    #[test]
    fn of_upgrades_that_wait_the_one_goes_first_that_may_start_the_cluster_first() {
        let at = |second: i64| Some(Timestamp::from_second(second).unwrap());
        let waits =
            |reason, todo, opens, since| Precedence::of(ClusterState::NotStarted, reason, todo, opens, since);
        let in_order = [
            Precedence::of(ClusterState::Complete, "Upgraded", "", None, at(9)),
            waits("Paused", "resume it", None, at(9)),
            waits("AwaitingPreChecks", "", None, at(9)),
            waits("AwaitingStartWindow", "", at(200), at(9)),
            waits("CanarySoaking", "", at(100), at(1)),
            waits("WaitingForSlot", "", None, at(1)),
            waits("WaitingForSlot", "", None, at(2)),
            Precedence::of(ClusterState::Failed, "UpgradeTimedOut", "retry it", None, None),
            Precedence::of(ClusterState::PartialUpgrade, "Progressing", "", None, None),
        ];
        assert!(in_order.is_sorted());
        assert!(in_order.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn a_row_that_says_the_same_is_kept_once() {
        let (mut words, name) = (Words::default(), ClusterName::from("dev1"));
        let row = Arc::new(blank(&mut words));
        let view = View {
            rows: BTreeMap::from([(name.clone(), Arc::clone(&row))]),
            ..View::default()
        };
        let same = view.same_row(&name, blank(&mut words));
        assert!(Arc::ptr_eq(&same, &row));
        let other = Row {
            available: true,
            ..blank(&mut words)
        };
        assert_eq!(*view.same_row(&name, other.clone()), other);
        let of_another = view.same_row(&ClusterName::from("dev2"), blank(&mut words));
        assert_eq!(of_another, row);
        assert!(!Arc::ptr_eq(&of_another, &row));
    }
}
