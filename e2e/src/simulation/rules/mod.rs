//! The rules of rollouts, checked from outside the hub after every write: from the works, the records, and what users had asked for.

mod attempt;
mod hub_inputs;
mod pre_checks;
mod settled;
mod start;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION};
use drydock_rollout::Spec;
use drydock_runtime::Clock;
use futures::StreamExt;
use jiff::Timestamp;
use kube_sandbox::access::{Access, Object, Selection, WatchEvent};
use ocm_sandbox::kinds::MANIFEST_WORK;
use ocm_sandbox::spokes::StubWorkAgent;
use serde_json::Value;

use super::moments::Moments;
use crate::hub_fleet::{RECORD, UPGRADE};
use attempt::{Attempt, ObservedWork};
pub(super) use hub_inputs::HubInputs;

/// How much of what happened is remembered.
const REMEMBERED: usize = 300;

/// A spec that an upgrade has had.
#[derive(Clone, Debug)]
struct SpecVersion {
    generation: i64,
    /// As the user wrote it.
    written: Value,
    /// As the hub reads it; absent if it is invalid.
    spec: Option<Arc<Spec>>,
}

/// An upgrade, by its uid.
#[derive(Clone, Debug, Default)]
struct ObservedUpgrade {
    namespace: String,
    /// `namespace/name`.
    key: String,
    specs: Moments<SpecVersion>,
    /// What retries it asks for.
    retries: Moments<String>,
    live: bool,
    deleting: bool,
    /// When it appeared.
    since: Timestamp,
}

impl ObservedUpgrade {
    fn at(&self, generation: i64) -> Option<&SpecVersion> {
        self.specs
            .since(Timestamp::MIN)
            .find(|asked| asked.generation == generation)
    }
}

#[derive(Debug, Default)]
struct RuleState {
    upgrades: BTreeMap<String, ObservedUpgrade>,
    /// The attempts at each cluster, in the order in which they began.
    attempts: BTreeMap<String, Vec<Attempt>>,
    works: BTreeMap<String, ObservedWork>,
    /// Cluster and beginning of each attempt that is on record.
    recorded: BTreeSet<(String, Timestamp)>,
    /// Works, as namespace and name, that the hub has asked to delete.
    deletions: BTreeSet<(String, String)>,
    inputs: Moments<Arc<HubInputs>>,
    /// Namespaces that are being deleted, or are gone.
    leaving: BTreeSet<String>,
    /// Since when the hub is cut off.
    cut: Option<Timestamp>,
    /// The hub's objects are being restored: what appears now is nobody's doing.
    restoring: bool,
    /// They have been at some time, so that uids identify nothing.
    was_restored: bool,
    /// The clusters, where they are no simulated ones: what really runs on them.
    spokes: Option<StubWorkAgent>,
    history: VecDeque<String>,
    broken: Option<String>,
    checks: u64,
    starts: u64,
    /// Starts of which it is not known yet whether their canaries were waited for: the cluster, which of its attempts, and when.
    unsettled: Vec<(String, usize, Timestamp)>,
}

/// What is checked. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Rules(Arc<Mutex<RuleState>>);

/// Checks after every change of a work. What is on record, and what is asked, is looked at first.
pub(super) async fn watch(hub: Access, clock: Clock, rules: Rules) {
    let everything = Selection::everything();
    let mut upgrades = hub.watch(&UPGRADE, &everything);
    let mut records = hub.watch(&RECORD, &everything);
    let mut works = hub.watch(&MANIFEST_WORK, &everything);
    loop {
        tokio::select! {
            biased;
            Some(event) = upgrades.next() => each(event, |upgrade, gone| rules.upgrade(upgrade, gone, clock.now())),
            Some(event) = records.next() => each(event, |page, _| rules.page(page, clock.now())),
            Some(event) = works.next() => each(event, |work, gone| {
                let mut seen = rules.state();
                if gone {
                    seen.work_gone(work, clock.now());
                } else {
                    seen.work(work, clock.now());
                }
            }),
            else => return,
        }
    }
}

fn each(event: WatchEvent, mut what: impl FnMut(&Object, bool)) {
    match event {
        WatchEvent::Resync(all) => all.iter().for_each(|object| what(object, false)),
        WatchEvent::Applied(object) => what(&object, false),
        WatchEvent::Deleted(object) => what(&object, true),
    }
}

impl Rules {
    /// Rules of rollouts of these clusters, if they are no simulated ones.
    pub fn new(spokes: Option<&StubWorkAgent>) -> Self {
        let rules = Self::default();
        rules.state().spokes = spokes.cloned();
        rules
    }

    fn state(&self) -> MutexGuard<'_, RuleState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn upgrade(&self, object: &Object, gone: bool, now: Timestamp) {
        let mut guard = self.state();
        let known = guard
            .upgrades
            .entry(object.uid().to_owned())
            .or_insert_with(|| ObservedUpgrade {
                since: now,
                ..ObservedUpgrade::default()
            });
        object
            .namespace()
            .unwrap_or_default()
            .clone_into(&mut known.namespace);
        known.key = format!("{}/{}", known.namespace, object.name());
        known.live = !gone;
        known.deleting = !object["metadata"]["deletionTimestamp"].is_null();
        let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
        if known
            .specs
            .latest()
            .is_none_or(|latest| latest.generation != generation)
        {
            let upgrade: Option<ManagedClustersUpgrade> =
                serde_json::from_value(object.complete().into_owned()).ok();
            let spec = upgrade.and_then(|upgrade| drydock_objects::parse_spec(&upgrade).ok());
            let asked = SpecVersion {
                generation,
                written: object["spec"].clone(),
                spec: spec.map(Arc::new),
            };
            known.specs.push(now, asked);
        }
        let annotation = |name: &str| object.annotation(name).unwrap_or_default().to_owned();
        let retries = format!(
            "{} {}",
            annotation(RETRY_ANNOTATION),
            annotation(RETRY_CLUSTERS_ANNOTATION)
        );
        if known.retries.latest() != Some(&retries) {
            known.retries.push(now, retries);
        }
    }

    fn page(&self, page: &Object, now: Timestamp) {
        let mut seen = self.state();
        let mut listed = BTreeSet::new();
        let upgrade = page["spec"]["upgrade"]["uid"].as_str().unwrap_or_default();
        let broken = repeated(page, |from, to| {
            let upgrade = seen.upgrades.get(upgrade);
            upgrade.is_some_and(|upgrade| upgrade.specs.has_changed_between(from, to))
        });
        seen.breaks(broken);
        for entry in page["spec"]["entries"].as_array().into_iter().flatten() {
            let started = entry["started"].as_str().and_then(|text| text.parse().ok());
            let cluster = entry["cluster"].as_str();
            if let (Some(cluster), Some(started)) = (cluster, started) {
                seen.recorded.insert((cluster.to_owned(), started));
                let broken = seen.breaks_by_charge(upgrade, cluster, started);
                seen.breaks(broken);
                seen.ends_by_record(cluster, started, &entry["outcome"], now);
                let is_new = listed.insert((cluster.to_owned(), started));
                let twice = || {
                    format!(
                        "the attempt at {cluster} of {started} is twice on {}: {}",
                        page.name(),
                        page["spec"]["entries"]
                    )
                };
                seen.breaks((!is_new).then(twice));
            }
        }
    }

    /// This is what users have written from now on.
    pub fn set_inputs(&self, inputs: HubInputs, now: Timestamp) {
        let mut seen = self.state();
        seen.inputs.push(now, Arc::new(inputs));
        seen.settle_starts(now);
    }

    /// The hub asks to delete a work.
    pub fn deletion_asked(&self, namespace: &str, name: &str) {
        self.state()
            .deletions
            .insert((namespace.to_owned(), name.to_owned()));
    }

    /// The hub is cut off from now on, or back.
    pub fn partition_is(&self, is_cut: bool, now: Timestamp) {
        let mut guard = self.state();
        let seen = &mut *guard;
        if is_cut {
            seen.cut.get_or_insert(now);
        } else if let Some(cut) = seen.cut.take() {
            seen.inputs.learned(cut, now);
            for upgrade in seen.upgrades.values_mut() {
                upgrade.specs.learned(cut, now);
            }
        }
    }

    /// The hub's objects are being restored from now on, or it is done. What ended since the backup need not be on record.
    pub fn restoring(&self, restoring: bool) {
        let mut seen = self.state();
        seen.restoring = restoring;
        seen.was_restored = true;
        for attempt in seen.attempts.values_mut().flatten() {
            attempt.exempt = true;
        }
    }

    /// Somebody has meddled with the works of a cluster, or it has left: what becomes of its attempts so far is not checked.
    pub fn meddled(&self, cluster: &str) {
        let mut seen = self.state();
        for attempt in seen.attempts.get_mut(cluster).into_iter().flatten() {
            attempt.exempt = true;
        }
    }

    /// Nothing says any more whose the works of a cluster are, or of which attempt.
    pub fn disowned(&self, cluster: &str) {
        self.meddled(cluster);
        let mut seen = self.state();
        for attempt in seen.attempts.get_mut(cluster).into_iter().flatten() {
            attempt.works.clear();
        }
    }

    /// A namespace of upgrades goes with its records, or is back.
    pub fn namespace_leaves(&self, namespace: &str, leaves: bool) {
        let prefix = format!("{namespace}/");
        let mut seen = self.state();
        if leaves {
            seen.leaving.insert(namespace.to_owned());
        } else {
            seen.leaving.remove(namespace);
        }
        let attempts = seen.attempts.values_mut().flatten();
        for attempt in attempts.filter(|attempt| attempt.key.starts_with(&prefix)) {
            attempt.exempt = true;
        }
    }

    /// Remembers something that happened.
    pub fn note(&self, what: String) {
        self.state().note(what);
    }

    /// The first rule that was broken.
    pub fn broken(&self) -> Option<String> {
        self.state().broken.clone()
    }

    pub fn checks(&self) -> u64 {
        self.state().checks
    }

    /// How often a cluster was started.
    pub fn starts(&self) -> u64 {
        self.state().starts
    }

    /// What happened last.
    pub fn history(&self) -> String {
        let seen = self.state();
        seen.history.iter().cloned().collect::<Vec<_>>().join("\n")
    }
}

/// A page has no cluster twice that needed nothing, unless the upgrade was edited in between, and of each attempt at most one drift:
/// what a cluster says makes no page grow.
fn repeated(page: &Object, edited_between: impl Fn(Timestamp, Timestamp) -> bool) -> Option<String> {
    let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
    let mut needed_nothing: BTreeMap<&str, Timestamp> = BTreeMap::new();
    let mut entries = page["spec"]["entries"].as_array().into_iter().flatten();
    entries.find_map(|entry| {
        let (cluster, outcome) = (entry["cluster"].as_str()?, entry["outcome"].as_str()?);
        let completed: Timestamp = entry["completed"].as_str()?.parse().ok()?;
        let is_second_drift = newest.insert(cluster, outcome) == Some("Drifted") && outcome == "Drifted";
        let is_without_work = outcome == "Complete" && entry["started"].is_null();
        let before = is_without_work
            .then(|| needed_nothing.insert(cluster, completed))
            .flatten();
        let is_second = is_second_drift || before.is_some_and(|before| !edited_between(before, completed));
        is_second.then(|| {
            format!(
                "{cluster} is {outcome} twice without an attempt on {}: {}",
                page.name(),
                page["spec"]
            )
        })
    })
}

impl RuleState {
    fn note(&mut self, what: String) {
        self.history.push_back(what);
        while self.history.len() > REMEMBERED {
            self.history.pop_front();
        }
    }

    fn breaks(&mut self, rule: Option<String>) {
        self.checks += 1;
        if let Some(rule) = rule
            && self.broken.is_none()
        {
            self.note(format!("BROKEN: {rule}"));
            self.broken = Some(rule);
        }
    }

    /// Where a work cannot be changed, the outcome of the attempt is committed on a page of records alone.
    fn ends_by_record(&mut self, cluster: &str, started: Timestamp, outcome: &Value, now: Timestamp) {
        let Some(outcome) = outcome
            .as_str()
            .filter(|text| ["Complete", "Failed"].contains(text))
        else {
            return;
        };
        let attempts = self.attempts.get_mut(cluster).into_iter().flatten();
        let mut of_record =
            attempts.filter(|attempt| attempt.started == started && attempt.outcome.is_none());
        if let Some(attempt) = of_record.next() {
            attempt.outcome = Some((outcome.to_owned(), now));
            self.note(format!("{now} {cluster}: the record says {outcome}"));
        }
    }

    /// An upgrade that was created again under its name has on record what another has begun and had left before it was there.
    fn breaks_by_charge(&self, uid: &str, cluster: &str, started: Timestamp) -> Option<String> {
        let upgrade = self.upgrades.get(uid)?;
        let mut attempts = self.attempts.get(cluster)?.iter();
        let charged = attempts.find(|attempt| {
            let had_left = attempt.left.is_some_and(|left| left < upgrade.since);
            attempt.key == upgrade.key && attempt.started == started && had_left
        })?;
        (charged.uid != uid && !self.was_restored).then(|| {
            format!(
                "{cluster}: the attempt of {started} by {} is charged to {uid}, which was made after it",
                charged.uid
            )
        })
    }

    fn is_recorded(&self, cluster: &str, attempt: &Attempt) -> bool {
        self.recorded.contains(&(cluster.to_owned(), attempt.started))
    }
}
