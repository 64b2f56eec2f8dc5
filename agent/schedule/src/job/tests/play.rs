//! Histories, step by step, and what has to hold after each.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::conditions::is_true;
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{HookEvent, HookRun, UpgradeJob, UpgradeJobHook};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::fixture::*;
use super::world::World;
use crate::job::lock::{HolderState, JobRef, ObservedHolder, free_if_stale};
use crate::job::pausing_job::{self, PausingJob};
use crate::job::write::WrittenKind;
use crate::job::{JobDecision, Need, hooks};

pub const JOBS: [&str; 3] = ["one", "two", "noop"];
pub const POOLS: [&str; 2] = ["master", "worker"];
const OTHER: &str = "upgradeconfig.upgrade.managed.openshift.io/config";

/// Something that happens.
#[derive(Clone, Debug)]
pub enum Step {
    Reconcile(usize, Option<usize>),
    Settle(usize),
    Wait(i64),
    WaitForWake(usize),
    EndHook(usize, bool),
    DeleteHookJob(usize),
    AddHook(HookEvent, bool, bool),
    DeleteHook(usize),
    Update,
    BeginUpdate,
    CompleteUpdate,
    UpdateNodes,
    SetPaused(usize, bool),
    Window(bool),
    Unhealthy(bool),
    Withdraw,
    DeleteJob(usize),
    CreateAnew(usize),
    /// What a person does after a maintenance that failed: unpauses, deletes, pauses for reasons of his own, and tries again.
    CleanUp(usize, usize),
    OtherUpgrade(bool),
    /// A person takes the lock off.
    TakeOffLock,
    Refuse(WrittenKind),
    Unreadable(Need),
    Recover,
}

/// What a pass may change only in some ways.
struct Before {
    jobs: BTreeMap<String, UpgradeJob>,
    cluster: ClusterVersion,
    pools: BTreeMap<String, MachineConfigPool>,
}

/// A world, and what has to hold in it.
pub struct Play {
    world: World,
    /// The pools that a person has paused.
    by_person: BTreeSet<String>,
    /// How UpgradeJobs have ended, by UID.
    ends: BTreeMap<String, String>,
    made: usize,
}

impl Play {
    pub fn new() -> Self {
        let mut two = job("two");
        two.spec.start_after = Time(START + minutes(30));
        two.spec.start_before = Time(START + hours(3));
        let mut noop = job("noop");
        noop.spec.desired_version = None;
        let mut world = World::new([job("one"), two, noop]).with_pools(POOLS.map(pool));
        for (name, max) in [("one", None), ("two", Some("5h"))] {
            let config = &mut world.jobs.get_mut(name).unwrap().spec.config;
            config.machine_config_pools = Some(vec![delay("worker", Some("3h"), max)]);
            config.pause_machine_config_pools_on_failure = max.map(|_| pause_on_failure());
            config.notifications = Some(vec![receiver()]);
        }
        world.now = START - minutes(45);
        Self {
            world,
            by_person: BTreeSet::new(),
            ends: BTreeMap::new(),
            made: 0,
        }
    }

    fn reconcile(&mut self, job: &str, crash_after: Option<usize>) {
        let Some(before) = self.world.jobs.get(job).cloned() else {
            return;
        };
        let world = Before {
            jobs: self.world.jobs.clone(),
            cluster: self.world.cluster.clone(),
            pools: self.world.pools.clone(),
        };
        let decision = match crash_after {
            Some(writes) => self.world.reconcile_until(job, writes),
            None => self.world.reconcile(job),
        };
        self.take_off_marks();
        self.check_end(job);
        self.check_lock(&world, job);
        self.check_pools(&world);
        self.check_hooks();
        assert_eq!(before.metadata.uid, self.world.jobs[job].metadata.uid);
        if crash_after.is_none() {
            self.check_deadline(job, &decision);
        }
    }

    /// It ends once, and never otherwise.
    fn check_end(&mut self, job: &str) {
        let uid = self.world.jobs[job].uid().unwrap();
        let status = self.world.jobs[job].status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let ends = ["Succeeded", "Failed"].map(|end| is_true(&conditions, end));
        assert_ne!(ends, [true, true]);
        let end = self.world.end(job);
        if let Some(before) = self.ends.get(&uid) {
            assert_eq!(end.as_ref(), Some(before), "{job} ends twice");
        } else if let Some(end) = end {
            self.ends.insert(uid, end);
        }
    }

    /// Who acts has the lock, and takes it only from those that are no longer there.
    fn check_lock(&self, before: &Before, job: &str) {
        let own = format!("{NAMESPACE}/{job}");
        let had = before.cluster.annotations().get(UPGRADE_LOCK_ANNOTATION);
        let (had, has) = (had.map(String::as_str), self.world.lock());
        if had != has && had != Some(&own) {
            if let Some(holder) = had {
                let holder = JobRef::parse(holder).expect("the lock of another engine was taken");
                let state = HolderState::of(before.jobs.get(&holder.name));
                let owner = &before.cluster.annotations()["drydock.dev/upgrade-lock-owner"];
                let is_there = matches!(
                    &state,
                    HolderState::Present { uid, has_ended: false } if owner.ends_with(uid)
                );
                assert!(!is_there, "{job} took the lock of {holder}");
            }
            assert_eq!(has, Some(own.as_str()));
        }
        let acted = before.cluster.spec.desired_update != self.world.cluster.spec.desired_update;
        let marked = self.world.pools.iter().any(|(name, pool)| {
            let mark = |pool: &MachineConfigPool| pool.annotations().get(UPGRADE_LOCK_ANNOTATION).cloned();
            mark(pool) == Some(own.clone()) && mark(&before.pools[name]) != mark(pool)
        });
        if acted || marked {
            assert_eq!(had, Some(own.as_str()), "{job} acts without the lock");
        }
    }

    /// What a person has paused stays paused.
    fn check_pools(&self, before: &Before) {
        for name in &self.by_person {
            assert_eq!(
                self.world.pools[name].spec.paused,
                Some(true),
                "{name} was unpaused"
            );
        }
        for (name, pool) in &self.world.pools {
            let was_paused = before.pools[name].spec.paused == Some(true);
            let was_marked = before.pools[name]
                .annotations()
                .contains_key(UPGRADE_LOCK_ANNOTATION);
            if was_paused && !was_marked {
                assert_eq!(pool.spec.paused, Some(true), "{name} was unpaused without a mark");
            }
        }
    }

    /// No hook runs twice for the same.
    fn check_hooks(&self) {
        let created = &self.world.created;
        let distinct: BTreeSet<_> = created.iter().collect();
        assert_eq!(distinct.len(), created.len(), "{created:?}");
    }

    /// Whoever has not ended has a deadline, and after it an end.
    fn check_deadline(&self, job: &str, decision: &JobDecision) {
        let object = &self.world.jobs[job];
        if self.world.end(job).is_some() {
            return;
        }
        let wake = decision.wake.expect("it waits for ever");
        assert!(wake >= self.world.now);
        let has_started = self.world.condition(job, "Started").is_some();
        let deadline = if has_started {
            object.spec.start_after.0 + hours(12)
        } else {
            object.spec.start_before.0
        };
        assert!(self.world.now <= deadline, "{job} is late");
        assert!(wake <= deadline + minutes(1), "{job} wakes late");
    }

    fn settle(&mut self, job: &str) {
        for _ in 0..20 {
            let before = (self.world.version, self.world.jobs.get(job).cloned());
            self.reconcile(job, None);
            if before == (self.world.version, self.world.jobs.get(job).cloned()) {
                return;
            }
        }
        // Writes that are refused are tried again and again.
        assert!(!self.world.refused.is_empty(), "{job} does not settle");
    }

    pub fn take(&mut self, step: &Step) {
        let world = &mut self.world;
        match step {
            Step::Reconcile(job, writes) => self.reconcile(JOBS[*job], *writes),
            Step::Settle(job) => self.settle(JOBS[*job]),
            Step::Wait(time) => world.now += minutes(*time),
            Step::WaitForWake(job) if world.jobs.contains_key(JOBS[*job]) => {
                let wake = world.decide(JOBS[*job]).wake;
                world.now = wake.unwrap_or(world.now);
            }
            Step::WaitForWake(_) => {}
            Step::EndHook(index, good) => {
                let end = if *good { "Complete" } else { "Failed" };
                if let Some(name) = hook_job(world, *index) {
                    world.end_hooks(&name, end);
                }
            }
            Step::DeleteHookJob(index) => {
                if let Some(name) = hook_job(world, *index) {
                    world.delete_hook_jobs(&name);
                }
            }
            Step::AddHook(event, aborts, next) => self.add_hook(*event, *aborts, *next),
            Step::DeleteHook(index) => {
                let name = world.hooks.keys().nth(*index).cloned();
                world.hooks.remove(&name.unwrap_or_default());
            }
            Step::Update => {
                world.begin_update();
                world.complete_update();
                world.update_nodes();
            }
            Step::BeginUpdate => world.begin_update(),
            Step::CompleteUpdate => world.complete_update(),
            Step::UpdateNodes => world.update_nodes(),
            Step::SetPaused(index, paused) => self.set_paused(POOLS[*index], *paused),
            Step::Window(on) => world.windows = on.then(|| window("w")).into_iter().collect(),
            Step::Unhealthy(on) => {
                world.operators = on
                    .then(|| operator("dns", "Degraded", "True"))
                    .into_iter()
                    .collect();
            }
            Step::Withdraw => {
                world.cluster.status.as_mut().unwrap().available_updates = Vec::new().into();
                world.touch_cluster();
            }
            Step::DeleteJob(job) => self.delete_job(JOBS[*job]),
            Step::CreateAnew(job) => self.create_anew(JOBS[*job]),
            Step::CleanUp(job, pool) => {
                self.set_paused(POOLS[*pool], false);
                self.delete_job(JOBS[*job]);
                self.set_paused(POOLS[*pool], true);
                self.create_anew(JOBS[*job]);
            }
            Step::OtherUpgrade(on) => other_upgrade(world, *on),
            Step::TakeOffLock => world.take_off_lock(),
            Step::Refuse(kind) => world.refused.push(*kind),
            Step::Unreadable(need) => world.unreadable.push(need.clone()),
            Step::Recover => {
                world.refused.clear();
                world.unreadable.clear();
            }
        }
    }

    pub fn add_hook(&mut self, event: HookEvent, aborts: bool, next: bool) {
        self.made += 1;
        let mut new: UpgradeJobHook = hook(&format!("h{}", self.made), &[event]);
        new.metadata.creation_timestamp = Some(Time(self.world.now));
        new.spec.run = next.then_some(HookRun::Next);
        let new = if aborts { aborting(new) } else { new };
        self.world.hooks.insert(new.name_any(), new);
    }

    fn set_paused(&mut self, pool: &str, paused: bool) {
        let was_paused = self.world.pools[pool].spec.paused == Some(true);
        // An UpgradeJob that delays the pool would pause it again anyway.
        let by = PausingJob::of(&self.world.pools[pool]);
        let state = by.map(|by| by.state(&HolderState::of(self.world.jobs.get(&by.job.name))));
        let is_delayed = matches!(state, Some(HolderState::Present { has_ended: false, .. }));
        // Where the server refuses to take the mark off, who pauses the pool then cannot be known from the UpgradeJob.
        let is_marked = pausing_job::mark(&self.world.pools[pool]).is_some()
            && self.world.refused.contains(&WrittenKind::MachineConfigPool);
        if paused && !was_paused && !is_delayed && !is_marked {
            self.by_person.insert(pool.to_owned());
        } else if !paused {
            self.by_person.remove(pool);
        }
        self.world.set_paused(pool, paused);
        self.take_off_marks();
    }

    /// What the controller of marks does as soon as a pool is unpaused, or an UpgradeJob has ended or is gone.
    fn take_off_marks(&mut self) {
        for pool in self.world.pools.clone().values() {
            let Some(by) = pausing_job::unpaused_of(pool) else {
                continue;
            };
            let state = HolderState::of(self.world.jobs.get(&by.job.name));
            if let Some(write) = pausing_job::take_off_mark(pool, &Ok(state)) {
                self.world.apply(&write);
            }
        }
    }

    /// Its hooks' Jobs follow it, as soon as they are let go.
    fn delete_job(&mut self, job: &str) {
        self.world.jobs.remove(job);
        self.take_off_marks();
        let now = self.world.now;
        let uids: Vec<_> = self.world.jobs.values().filter_map(ResourceExt::uid).collect();
        for hook_job in self.world.hook_jobs.values_mut() {
            if !uids.contains(&hook_job.owner_references()[0].uid) {
                hook_job.metadata.deletion_timestamp = Some(Time(now));
            }
        }
        let jobs: Vec<_> = self.world.jobs.values().cloned().collect();
        for write in hooks::orphans(self.world.hook_jobs.values(), &jobs) {
            self.world.apply(&write);
        }
    }

    fn create_anew(&mut self, name: &str) {
        self.delete_job(name);
        self.made += 1;
        let mut new = job(name);
        new.metadata.uid = Some(format!("uid-{name}-{}", self.made));
        new.metadata.creation_timestamp = Some(Time(self.world.now));
        new.spec.start_after = Time(self.world.now);
        new.spec.start_before = Time(self.world.now + hours(1));
        self.world.jobs.insert(name.to_owned(), new);
    }

    /// From now on nothing is in the way but time: everything ends, and leaves nothing behind.
    pub fn end(&mut self) {
        self.world.refused.clear();
        self.world.unreadable.clear();
        other_upgrade(&mut self.world, false);
        for _ in 0..200 {
            let mut wakes = Vec::new();
            for job in JOBS {
                if self.world.jobs.contains_key(job) {
                    self.settle(job);
                    wakes.extend(self.world.decide(job).wake);
                }
            }
            let Some(wake) = wakes.into_iter().min() else {
                break;
            };
            self.world.now = wake.max(self.world.now + minutes(20));
        }
        self.free_lock();
        for job in self.world.jobs.keys() {
            assert!(self.world.end(job).is_some(), "{job} has not ended");
        }
        assert_eq!(self.world.lock(), None);
        for pool in self.world.pools.values() {
            let mark = pool.annotations().get(UPGRADE_LOCK_ANNOTATION);
            let job = mark.and_then(|mark| JobRef::parse(mark)).map(|job| job.name);
            let end = job.filter(|job| self.world.jobs.contains_key(job));
            let end = end.and_then(|job| self.world.end(&job));
            assert_ne!(
                end.as_deref(),
                Some("Succeeded"),
                "{} is left behind",
                pool.name_any()
            );
        }
    }

    /// What the controller does when an UpgradeJob is deleted.
    fn free_lock(&mut self) {
        let Some(job) = self.world.lock().and_then(JobRef::parse) else {
            return;
        };
        let state = HolderState::of(self.world.jobs.get(&job.name));
        let holder = Ok(ObservedHolder { job, state });
        if let Ok(Some(write)) = free_if_stale(&self.world.cluster, &holder) {
            self.world.apply(&write);
        }
    }
}

fn hook_job(world: &World, index: usize) -> Option<String> {
    world.hook_jobs.keys().nth(index).cloned()
}

fn other_upgrade(world: &mut World, on: bool) {
    let is_free = world.lock().is_none();
    let is_theirs = world.lock() == Some(OTHER);
    if on && is_free {
        world.cluster.metadata.annotations = Some(labels(UPGRADE_LOCK_ANNOTATION, OTHER));
        world.touch_cluster();
    } else if !on && is_theirs {
        world.cluster.metadata.annotations = None;
        world.touch_cluster();
    }
}
