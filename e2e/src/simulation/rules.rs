//! The rules of a rollout, read from the works alone, after every write (hub 2).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::ensure;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{KIND_LABEL, REVISION_ANNOTATION, STATE_LABEL, UPGRADE_UID_LABEL};
use drydock_runtime::Clock;
use drydock_sandbox::access::{Access, Object, Selection, WatchEvent};
use drydock_sandbox::ocm::kinds::MANIFEST_WORK;
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::events::SKEW;
use super::scenario::{Scenario, TARGETS};

/// How old the hub's view of an edit may be: its watches break, and its requests fail.
const STALE: SignedDuration = SignedDuration::from_mins(20);
/// How much of what happened is remembered.
const REMEMBERED: usize = 200;

/// What is known of one cluster.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// Kind and uid of its works.
    works: BTreeMap<String, String>,
    /// The version that its newest works are for.
    target: String,
    /// How often an upgrade work was made for it, by version.
    upgrades: BTreeMap<String, usize>,
    /// `Complete` or `Failed`, once recorded, and when.
    ended: Option<(String, Timestamp)>,
}

impl Cluster {
    fn in_flight(&self) -> bool {
        !self.works.is_empty() && self.ended.is_none()
    }

    fn has_ended(&self, state: &str) -> bool {
        self.ended.as_ref().is_some_and(|(ended, _)| ended == state)
    }
}

/// Something that was asked, and since when; the newest last.
type Asked<T> = Vec<(Timestamp, T)>;

/// What was asked while the hub was cut off it learns only afterwards.
fn learned<T>(asked: &mut Asked<T>, cut: Timestamp, now: Timestamp) {
    for (since, _) in asked.iter_mut().filter(|(since, _)| *since >= cut) {
        *since = now;
    }
}

/// What the hub may believe that is asked.
fn believed<T>(asked: &Asked<T>, now: Timestamp) -> impl Iterator<Item = &T> {
    let first = asked
        .iter()
        .rposition(|(since, _)| *since + STALE <= now)
        .unwrap_or(0);
    asked[first..].iter().map(|(_, what)| what)
}

#[derive(Debug, Default)]
struct Seen {
    limits: Asked<usize>,
    pauses: Asked<bool>,
    selections: Asked<BTreeSet<String>>,
    targets: Asked<&'static str>,
    clusters: BTreeMap<String, Cluster>,
    /// Since when the hub is cut off.
    cut: Option<Timestamp>,
    /// The clusters that have left.
    away: BTreeSet<String>,
    /// How often a cluster left that was complete.
    complete_left: i64,
    history: VecDeque<String>,
    broken: Option<String>,
    checks: u64,
}

/// What is checked.
pub(super) struct Rules {
    scenario: Scenario,
    seen: Mutex<Seen>,
}

/// The version that a work is for.
fn target(work: &Object) -> String {
    let revision = work.annotation(REVISION_ANNOTATION).unwrap_or_default();
    let revision: Value = serde_json::from_str(revision).unwrap_or_default();
    revision["target"]["version"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Checks after every change of a work.
pub(super) async fn watch(hub: Access, clock: Clock, rules: Arc<Rules>) {
    let mut works = hub.watch(&MANIFEST_WORK, &Selection::everything());
    while let Some(event) = works.next().await {
        let now = clock.now();
        match event {
            WatchEvent::Resync(all) => all.iter().for_each(|work| rules.changed(work, now)),
            WatchEvent::Applied(work) => rules.changed(&work, now),
            WatchEvent::Deleted(work) => rules.gone(&work, now),
        }
    }
}

impl Rules {
    pub fn new(scenario: &Scenario) -> Self {
        let seen = Seen {
            limits: vec![(Timestamp::MIN, scenario.limit)],
            pauses: vec![(Timestamp::MIN, false)],
            selections: vec![(Timestamp::MIN, scenario.names().into_iter().collect())],
            targets: vec![(Timestamp::MIN, TARGETS[0])],
            ..Seen::default()
        };
        Self {
            scenario: scenario.clone(),
            seen: Mutex::new(seen),
        }
    }

    /// `maxConcurrency` is this from now on.
    pub fn limit_is(&self, limit: usize, now: Timestamp) {
        self.seen().limits.push((now, limit));
    }

    /// `paused` is this from now on.
    pub fn pause_is(&self, paused: bool, now: Timestamp) {
        self.seen().pauses.push((now, paused));
    }

    /// The placement selects these from now on.
    pub fn selection_is(&self, selected: BTreeSet<String>, now: Timestamp) {
        self.seen().selections.push((now, selected));
    }

    /// The clusters shall come to this version from now on.
    pub fn target_is(&self, target: &'static str, now: Timestamp) {
        self.seen().targets.push((now, target));
    }

    /// The hub is cut off from now on, or back.
    pub fn partition_is(&self, is_cut: bool, now: Timestamp) {
        let mut guard = self.seen();
        let seen = &mut *guard;
        if is_cut {
            seen.cut.get_or_insert(now);
        } else if let Some(cut) = seen.cut.take() {
            learned(&mut seen.limits, cut, now);
            learned(&mut seen.pauses, cut, now);
            learned(&mut seen.selections, cut, now);
            learned(&mut seen.targets, cut, now);
        }
    }

    /// The cluster leaves, and its works go with it.
    pub fn leaves(&self, cluster: &str) {
        let mut seen = self.seen();
        seen.away.insert(cluster.to_owned());
        let was_complete = seen
            .clusters
            .get(cluster)
            .is_some_and(|entry| entry.has_ended("Complete"));
        seen.complete_left += i64::from(was_complete);
    }

    /// A cluster that nobody has upgraded joins.
    pub fn joins(&self, cluster: &str) {
        self.seen().away.remove(cluster);
    }

    /// Remembers something that happened.
    pub fn note(&self, what: &str) {
        self.seen().note(what.to_owned());
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first rule that was broken.
    pub fn broken(&self) -> Option<String> {
        self.seen().broken.clone()
    }

    pub fn checks(&self) -> u64 {
        self.seen().checks
    }

    /// What happened last.
    pub fn history(&self) -> String {
        let seen = self.seen();
        seen.history.iter().cloned().collect::<Vec<_>>().join("\n")
    }

    fn changed(&self, work: &Object, now: Timestamp) {
        let mut seen = self.seen();
        let cluster = work.namespace().unwrap_or_default().to_owned();
        let kind = work.label(KIND_LABEL).unwrap_or_default().to_owned();
        let is_canary = self.scenario.is_canary(&cluster);
        let canaries_done = self.canaries_done(&seen, now);
        let budget_left = self.budget_left(&seen, now);
        let entry = seen.clusters.entry(cluster.clone()).or_default();
        let starts = !entry.in_flight();
        let is_new = entry.works.get(&kind).map(String::as_str) != Some(work.uid());
        if is_new {
            entry.works.insert(kind.clone(), work.uid().to_owned());
            entry.target = target(work);
            let times = entry.upgrades.entry(entry.target.clone()).or_default();
            *times += usize::from(kind == "cluster");
        }
        if let Some(state) = work.label(STATE_LABEL) {
            entry.ended.get_or_insert_with(|| (state.to_owned(), now));
        }
        let twice = entry.upgrades.values().any(|times| *times > 1);
        let follows = is_new && matches!(kind.as_str(), "post" | "operators");
        let has_upgrade = entry.works.contains_key("cluster");
        let running = seen
            .clusters
            .values()
            .filter(|cluster| cluster.in_flight())
            .count();
        if is_new {
            seen.note(format!("{now} {cluster}: {kind} work made, {running} in flight"));
        } else if let Some(state) = work.label(STATE_LABEL) {
            seen.note(format!("{now} {cluster}: {kind} work says {state}"));
        }
        seen.checks += 1;
        let is_start = is_new && starts;
        let limit = believed(&seen.limits, now).max().copied().unwrap_or_default();
        seen.check(!is_start || running <= limit, || {
            format!("{running} clusters in flight, {limit} may be")
        });
        seen.check(!is_start || is_canary || canaries_done, || {
            format!("{cluster} starts before the canaries are complete and have soaked")
        });
        seen.check(!is_start || is_canary || budget_left, || {
            format!("{cluster} starts although the failure budget is spent")
        });
        let is_paused = believed(&seen.pauses, now).all(|paused| *paused);
        seen.check(!is_start || !is_paused, || format!("{cluster} starts in a pause"));
        let is_selected = believed(&seen.selections, now).any(|selected| selected.contains(&cluster));
        seen.check(!is_start || is_selected, || {
            format!("{cluster} starts and is not selected")
        });
        seen.check(!follows || has_upgrade, || {
            format!("{cluster}: {kind} before the platform was upgraded")
        });
        seen.check(!twice, || format!("{cluster} was started twice"));
        seen.check(work.label(UPGRADE_UID_LABEL).is_some(), || {
            format!("{cluster}: the work {} has no owner", work.name())
        });
    }

    fn gone(&self, work: &Object, now: Timestamp) {
        let mut seen = self.seen();
        let cluster = work.namespace().unwrap_or_default().to_owned();
        let kind = work.label(KIND_LABEL).unwrap_or_default().to_owned();
        seen.note(format!("{now} {cluster}: {kind} work is gone"));
        let is_away = seen.away.contains(&cluster);
        if let Some(entry) = seen.clusters.get_mut(&cluster)
            && entry.works.get(&kind).map(String::as_str) == Some(work.uid())
        {
            entry.works.remove(&kind);
            if kind == "cluster" {
                entry.ended = None;
            }
            if is_away && entry.works.is_empty() {
                *entry = Cluster::default();
            }
        }
        // It makes room for another target.
        let is_outdated = believed(&seen.targets, now).any(|asked| *asked != target(work));
        seen.check(kind != "cluster" || is_outdated || is_away, || {
            format!("{cluster}: the record of its upgrade was deleted")
        });
    }

    /// Whether all canaries that are asked for are complete, for as long as they must soak.
    fn canaries_done(&self, seen: &Seen, now: Timestamp) -> bool {
        let soak = SignedDuration::from_mins(i64::try_from(self.scenario.soak_minutes).unwrap_or(i64::MAX));
        let off = SignedDuration::try_from(SKEW * 2).unwrap_or(SignedDuration::MAX);
        let names = self.scenario.names();
        let canaries = names.iter().take(self.scenario.canaries);
        let mut asked =
            canaries.filter(|name| believed(&seen.selections, now).all(|selected| selected.contains(*name)));
        asked.all(|name| {
            let cluster = seen.clusters.get(name);
            let is_asked = |version: &str| believed(&seen.targets, now).any(|asked| *asked == version);
            let done = cluster.filter(|cluster| cluster.has_ended("Complete") && is_asked(&cluster.target));
            let done = done.and_then(|cluster| cluster.ended.as_ref());
            done.is_some_and(|(_, since)| *since + soak <= now + off)
        })
    }

    fn budget_left(&self, seen: &Seen, now: Timestamp) -> bool {
        // Who is no longer selected and was for another target takes no part.
        let takes_part = |name: &str, cluster: &Cluster| {
            believed(&seen.targets, now).all(|asked| *asked == cluster.target)
                || believed(&seen.selections, now).all(|selected| selected.contains(name))
        };
        let failed = seen.clusters.iter().filter(|(name, cluster)| {
            !self.scenario.is_canary(name) && cluster.has_ended("Failed") && takes_part(name, cluster)
        });
        let failed = failed.count() as u64;
        self.scenario
            .max_failures
            .is_none_or(|budget| failed < budget.max(1))
    }

    /// How many members have ended so; only the newest target counts as complete.
    fn count(&self, state: &str) -> i64 {
        let seen = self.seen();
        let ended = seen.clusters.iter().filter(|(name, cluster)| {
            let is_current = seen.is_current(cluster);
            cluster.has_ended(state) && (is_current || state == "Failed" && seen.is_selected(name))
        });
        i64::try_from(ended.count()).unwrap_or(i64::MAX)
    }

    /// How many clusters take part: the selected ones, and those that have started and are not done with another target.
    fn members(&self) -> usize {
        let seen = self.seen();
        let selected = seen.selections.last().map(|(_, selected)| selected.clone());
        let mut members = selected.unwrap_or_default();
        let started = seen.clusters.iter().filter(|(_, cluster)| {
            !cluster.works.is_empty() && (cluster.ended.is_none() || seen.is_current(cluster))
        });
        members.extend(started.map(|(name, _)| name.clone()));
        members.len()
    }

    /// Whether nothing is on its way, and the status says so.
    pub fn is_settled(&self, upgrade: &ManagedClustersUpgrade, scenario: &Scenario) -> bool {
        let running = self.seen().clusters.values().any(Cluster::in_flight);
        let summary = upgrade
            .status
            .as_ref()
            .and_then(|status| status.clusters_summery)
            .unwrap_or_default();
        let total = i64::try_from(self.members()).unwrap_or(i64::MAX);
        let pending = total - self.count("Complete") - self.count("Failed");
        let halted = self.must_halt(scenario);
        if is_complete(upgrade) {
            // It is frozen: what the placement selects later is none of its business.
            let complete = self.count("Complete") + self.seen().complete_left;
            return !running && summary.complete == summary.total && summary.complete <= complete;
        }
        !running
            && summary.complete == self.count("Complete")
            && summary.failed == self.count("Failed")
            && summary.total == total
            && (pending == 0 || halted)
    }

    /// Whether the rollout must stand still.
    fn must_halt(&self, scenario: &Scenario) -> bool {
        let seen = self.seen();
        let failed = |canary: bool| {
            let failed = seen
                .clusters
                .iter()
                .filter(|(name, cluster)| scenario.is_canary(name) == canary && cluster.has_ended("Failed"));
            failed.count() as u64
        };
        failed(true) > 0
            || scenario
                .max_failures
                .is_some_and(|budget| failed(false) >= budget)
    }

    /// Whether the end is the right one: the summaries equal the works, and nobody waits without a reason.
    pub fn right_end(&self, upgrade: &ManagedClustersUpgrade, scenario: &Scenario) -> anyhow::Result<()> {
        let status = upgrade.status.clone().unwrap_or_default();
        let summary = status.clusters_summery.unwrap_or_default();
        ensure!(
            summary.complete + summary.failed + summary.pending == summary.total,
            "the summary does not add up: {summary:?}"
        );
        ensure!(
            summary.pending == 0 || self.must_halt(scenario),
            "clusters wait and nothing keeps them: {summary:?}"
        );
        let is_complete = is_complete(upgrade);
        ensure!(
            is_complete == (summary.complete == summary.total),
            "Complete says {is_complete}, the works {summary:?}"
        );
        Ok(())
    }
}

fn is_complete(upgrade: &ManagedClustersUpgrade) -> bool {
    let status = upgrade.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition.type_ == "Complete" && condition.status == "True")
}

impl Seen {
    /// Whether a cluster's works are for the version that is asked for now.
    fn is_current(&self, cluster: &Cluster) -> bool {
        let asked = self.targets.last();
        asked.is_some_and(|(_, target)| *target == cluster.target)
    }

    fn is_selected(&self, name: &str) -> bool {
        let selected = self.selections.last();
        selected.is_some_and(|(_, selected)| selected.contains(name))
    }

    fn note(&mut self, what: String) {
        self.history.push_back(what);
        while self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
    }

    fn check(&mut self, holds: bool, rule: impl FnOnce() -> String) {
        if !holds && self.broken.is_none() {
            let rule = rule();
            self.note(format!("BROKEN: {rule}"));
            self.broken = Some(rule);
        }
    }
}
