//! The rules of a rollout, read from the works alone, after every write (hub 2).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::ensure;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{KIND_LABEL, STATE_LABEL, UPGRADE_UID_LABEL};
use drydock_runtime::Clock;
use drydock_sandbox::access::{Access, Object, Selection, WatchEvent};
use drydock_sandbox::ocm::kinds::MANIFEST_WORK;
use futures::StreamExt;

use super::scenario::Scenario;

/// How much of what happened is remembered.
const REMEMBERED: usize = 200;

/// What is known of one cluster.
#[derive(Clone, Debug, Default)]
struct Cluster {
    /// Kind and uid of its works.
    works: BTreeMap<String, String>,
    /// How often an upgrade work was made for it.
    upgrades: usize,
    /// `Complete` or `Failed`, once recorded.
    ended: Option<String>,
}

impl Cluster {
    fn in_flight(&self) -> bool {
        !self.works.is_empty() && self.ended.is_none()
    }
}

#[derive(Debug, Default)]
struct Seen {
    clusters: BTreeMap<String, Cluster>,
    history: VecDeque<String>,
    broken: Option<String>,
    checks: u64,
}

/// What is checked.
pub(super) struct Rules {
    scenario: Scenario,
    seen: Mutex<Seen>,
}

/// Checks after every change of a work.
pub(super) async fn watch(hub: Access, clock: Clock, rules: Arc<Rules>) {
    let mut works = hub.watch(&MANIFEST_WORK, &Selection::everything());
    while let Some(event) = works.next().await {
        let now = clock.now().to_string();
        match event {
            WatchEvent::Resync(all) => all.iter().for_each(|work| rules.changed(work, &now)),
            WatchEvent::Applied(work) => rules.changed(&work, &now),
            WatchEvent::Deleted(work) => rules.gone(&work, &now),
        }
    }
}

impl Rules {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            scenario: scenario.clone(),
            seen: Mutex::default(),
        }
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

    fn changed(&self, work: &Object, now: &str) {
        let mut seen = self.seen();
        let cluster = work.namespace().unwrap_or_default().to_owned();
        let kind = work.label(KIND_LABEL).unwrap_or_default().to_owned();
        let is_canary = self.scenario.is_canary(&cluster);
        let canaries_done = self.canaries_done(&seen);
        let entry = seen.clusters.entry(cluster.clone()).or_default();
        let starts = entry.works.is_empty();
        let is_new = entry.works.get(&kind).map(String::as_str) != Some(work.uid());
        if is_new {
            entry.works.insert(kind.clone(), work.uid().to_owned());
            entry.upgrades += usize::from(kind == "cluster");
        }
        if let Some(state) = work.label(STATE_LABEL) {
            entry.ended = Some(state.to_owned());
        }
        let twice = entry.upgrades > 1;
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
        seen.check(running <= self.scenario.limit, || {
            format!("{running} clusters in flight, {} may be", self.scenario.limit)
        });
        seen.check(!(is_new && starts && !is_canary) || canaries_done, || {
            format!("{cluster} starts before the canaries are complete")
        });
        seen.check(!twice, || format!("{cluster} was started twice"));
        seen.check(work.label(UPGRADE_UID_LABEL).is_some(), || {
            format!("{cluster}: the work {} has no owner", work.name())
        });
    }

    fn gone(&self, work: &Object, now: &str) {
        let mut seen = self.seen();
        let cluster = work.namespace().unwrap_or_default().to_owned();
        let kind = work.label(KIND_LABEL).unwrap_or_default().to_owned();
        seen.note(format!("{now} {cluster}: {kind} work is gone"));
        seen.check(kind != "cluster", || {
            format!("{cluster}: the record of its upgrade was deleted")
        });
    }

    fn canaries_done(&self, seen: &Seen) -> bool {
        let mut canaries = self.scenario.names().into_iter().take(self.scenario.canaries);
        canaries.all(|name| {
            let cluster = seen.clusters.get(&name);
            cluster.is_some_and(|cluster| cluster.ended.as_deref() == Some("Complete"))
        })
    }

    fn count(&self, state: &str) -> i64 {
        let seen = self.seen();
        let ended = seen
            .clusters
            .values()
            .filter(|cluster| cluster.ended.as_deref() == Some(state));
        i64::try_from(ended.count()).unwrap_or(i64::MAX)
    }

    /// Whether nothing is on its way, and the status says so.
    pub fn is_settled(&self, upgrade: &ManagedClustersUpgrade, scenario: &Scenario) -> bool {
        let running = self.seen().clusters.values().any(Cluster::in_flight);
        let summary = upgrade
            .status
            .as_ref()
            .and_then(|status| status.clusters_summery)
            .unwrap_or_default();
        let total = i64::try_from(scenario.clusters).unwrap_or(i64::MAX);
        let pending = total - self.count("Complete") - self.count("Failed");
        let halted = self.must_halt(scenario);
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
            let failed = seen.clusters.iter().filter(|(name, cluster)| {
                scenario.is_canary(name) == canary && cluster.ended.as_deref() == Some("Failed")
            });
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
        let is_complete = status
            .conditions
            .iter()
            .flatten()
            .any(|condition| condition.type_ == "Complete" && condition.status == "True");
        ensure!(
            is_complete == (summary.complete == summary.total),
            "Complete says {is_complete}, the works {summary:?}"
        );
        Ok(())
    }
}

impl Seen {
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
