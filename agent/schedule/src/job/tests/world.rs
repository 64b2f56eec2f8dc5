//! A cluster in a few maps: it takes the writes of decisions as a server does, and its controllers are methods.

use std::collections::BTreeMap;

use drydock_api::fact::Unread;
use drydock_api::insights::{PlanAsker, UpdatePlanState};
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{HookStatus, UpgradeJob, UpgradeJobHook, UpgradeSuspensionWindow};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job, JobCondition as JobEnd};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::fixture::{NAMESPACE, START, history, hours};
use crate::job::health::Alert;
use crate::job::lock::{HolderState, ObservedHolder};
use crate::job::write::WrittenKind;
use crate::job::{JobDecision, JobEvent, JobObservation, JobStep, JobWrite, Need, decide};

/// A cluster, its objects by name.
#[derive(Clone, Debug)]
pub struct World {
    pub now: Timestamp,
    pub jobs: BTreeMap<String, UpgradeJob>,
    pub hooks: BTreeMap<String, UpgradeJobHook>,
    pub hook_jobs: BTreeMap<String, Job>,
    pub windows: Vec<UpgradeSuspensionWindow>,
    pub cluster: ClusterVersion,
    pub pools: BTreeMap<String, MachineConfigPool>,
    pub operators: Vec<ClusterOperator>,
    pub alerts: Vec<Alert>,
    pub update_plan: UpdatePlanState,
    /// What cannot be read.
    pub unreadable: Vec<Need>,
    /// Writes whose answer is an error.
    pub refused: Vec<WrittenKind>,
    /// Jobs of hooks that were refused as invalid, and why.
    pub refused_hook_jobs: BTreeMap<String, String>,
    /// Each Job that was created for a hook: UID of the UpgradeJob, and the name of the Job.
    pub created: Vec<(String, String)>,
    /// Every write that was taken.
    pub written: Vec<JobWrite>,
    /// Everything that was said.
    pub said: Vec<JobEvent>,
    pub version: u64,
    /// After how many writes the process ends.
    pub crash_after: Option<usize>,
}

impl World {
    /// A cluster with these UpgradeJobs, at their start.
    pub fn new(jobs: impl IntoIterator<Item = UpgradeJob>) -> Self {
        Self {
            now: START,
            jobs: jobs.into_iter().map(|job| (job.name_any(), job)).collect(),
            hooks: BTreeMap::new(),
            hook_jobs: BTreeMap::new(),
            windows: Vec::new(),
            cluster: super::fixture::cluster_version(),
            pools: BTreeMap::new(),
            operators: Vec::new(),
            alerts: Vec::new(),
            update_plan: UpdatePlanState::Outdated(PlanAsker::Cluster),
            unreadable: Vec::new(),
            refused: Vec::new(),
            refused_hook_jobs: BTreeMap::new(),
            created: Vec::new(),
            written: Vec::new(),
            said: Vec::new(),
            version: 1,
            crash_after: None,
        }
    }

    pub fn with_hooks(mut self, hooks: impl IntoIterator<Item = UpgradeJobHook>) -> Self {
        self.hooks
            .extend(hooks.into_iter().map(|hook| (hook.name_any(), hook)));
        self
    }

    pub fn with_pools(mut self, pools: impl IntoIterator<Item = MachineConfigPool>) -> Self {
        self.pools
            .extend(pools.into_iter().map(|pool| (pool.name_any(), pool)));
        self
    }

    fn fact<T>(&self, need: &Need, value: T) -> Result<T, Unread> {
        if self.unreadable.contains(need) {
            return Err(Unread::Failed("the server does not answer".to_owned()));
        }
        Ok(value)
    }

    /// What a pass sees that has read what it needs.
    pub fn observe(&self, name: &str, needs: &[Need]) -> JobObservation {
        let mut seen = JobObservation::new(self.jobs[name].clone(), self.now);
        seen.refused_hook_jobs = self.refused_hook_jobs.clone();
        for need in needs {
            match need {
                Need::Hooks => seen.hooks = self.fact(need, self.hooks.values().cloned().collect()),
                Need::HookJobs => {
                    seen.hook_jobs = self.fact(need, self.hook_jobs.values().cloned().collect());
                }
                Need::Windows => seen.windows = self.fact(need, self.windows.clone()),
                Need::ClusterVersion => seen.cluster_version = self.fact(need, self.cluster.clone()),
                Need::Pools => seen.pools = self.fact(need, self.pools.values().cloned().collect()),
                Need::Operators => seen.operators = self.fact(need, self.operators.clone()),
                Need::Alerts => seen.alerts = self.fact(need, self.alerts.clone()),
                Need::Holder(job) => {
                    let found = self.jobs.get(&job.name).filter(|_| job.namespace == NAMESPACE);
                    let holder = ObservedHolder {
                        job: job.clone(),
                        state: HolderState::of(found),
                    };
                    seen.holder = self.fact(need, holder);
                }
                Need::UpdatePlan(_) => seen.update_plan = self.fact(need, self.update_plan.clone()),
                Need::PausingJob(job) => {
                    let found = self.jobs.get(&job.name).filter(|_| job.namespace == NAMESPACE);
                    let state = self.fact(need, HolderState::of(found));
                    seen.pausing_jobs.insert(job.clone(), state);
                }
            }
        }
        seen
    }

    /// Decides, and reads what that needs.
    pub fn decide(&self, name: &str) -> JobDecision {
        let mut needs: Vec<Need> = Vec::new();
        loop {
            let decision = decide(&self.observe(name, &needs));
            if decision.needs.is_empty() {
                return decision;
            }
            assert!(
                decision.needs.iter().all(|need| !needs.contains(need)),
                "{:?} was read and is needed again",
                decision.needs
            );
            needs.extend(decision.needs);
        }
    }

    /// One pass of the controller.
    pub fn reconcile(&mut self, name: &str) -> JobDecision {
        let decision = self.decide(name);
        let job = &self.jobs[name];
        if job.status.as_ref() != Some(&decision.status) {
            let mut job = job.clone();
            if self.crashes() {
                return decision;
            }
            self.version += 1;
            job.status = Some(decision.status.clone());
            job.metadata.resource_version = Some(self.version.to_string());
            // On the wire times are shorter than in memory.
            self.jobs.insert(name.to_owned(), reread(&job));
        }
        for write in &decision.writes {
            if self.crashes() {
                return decision;
            }
            self.apply(write);
        }
        self.said.extend(decision.events.iter().cloned());
        decision
    }

    /// One pass of a controller that ends after so many writes, that of the status included.
    pub fn reconcile_until(&mut self, name: &str, writes: usize) -> JobDecision {
        self.crash_after = Some(writes);
        let decision = self.reconcile(name);
        self.crash_after = None;
        decision
    }

    /// Passes of the controller before the one that asks for a write: that write.
    pub fn reconcile_before(&mut self, name: &str, is_it: impl Fn(&JobWrite) -> bool) -> JobWrite {
        for _ in 0..50 {
            let decision = self.decide(name);
            if let Some(write) = decision.writes.into_iter().find(&is_it) {
                return write;
            }
            self.reconcile(name);
        }
        panic!("{name} never asks for it: {:?}", self.jobs[name].status);
    }

    /// Does the process end now? It is started again for the next pass.
    fn crashes(&mut self) -> bool {
        match self.crash_after {
            Some(0) => {
                self.crash_after = None;
                true
            }
            Some(left) => {
                self.crash_after = Some(left - 1);
                false
            }
            None => false,
        }
    }

    /// Passes of the controller, until one changes nothing.
    pub fn settle(&mut self, name: &str) -> JobDecision {
        for _ in 0..50 {
            let before = (self.version, self.jobs[name].clone());
            let was_to_crash = self.crash_after.is_some();
            let decision = self.reconcile(name);
            let has_crashed = was_to_crash && self.crash_after.is_none();
            if !has_crashed && (self.version, &self.jobs[name]) == (before.0, &before.1) {
                return decision;
            }
        }
        panic!("{name} does not settle: {:?}", self.jobs[name].status);
    }

    /// Ends the Jobs of hooks whose name contains this.
    pub fn end_hooks(&mut self, part: &str, end: &str) {
        for job in self
            .hook_jobs
            .values_mut()
            .filter(|job| job.name_any().contains(part))
        {
            let status = job.status.get_or_insert_default();
            status.conditions.get_or_insert_default().push(JobEnd {
                type_: end.to_owned(),
                status: "True".to_owned(),
                message: Some("the reason why".to_owned()),
                ..JobEnd::default()
            });
        }
    }

    /// Somebody deletes the Jobs of hooks whose name contains this.
    pub fn delete_hook_jobs(&mut self, part: &str) {
        for job in self
            .hook_jobs
            .values_mut()
            .filter(|job| job.name_any().contains(part))
        {
            job.metadata.deletion_timestamp = Some(Time(self.now));
        }
        self.collect();
    }

    /// The cluster-version operator begins what it is asked for.
    pub fn begin_update(&mut self) {
        let Some(asked) = self.cluster.spec.desired_update.clone() else {
            return;
        };
        let status = self.cluster.status.get_or_insert_default();
        let is_new = status
            .history
            .first()
            .is_none_or(|entry| entry.version != asked.version);
        if is_new {
            let mut entry = history(asked.version.as_deref().unwrap_or_default(), "Partial", self.now);
            entry.image = asked.image;
            status.history.insert(0, entry);
            status.available_updates = Vec::new().into();
            self.touch_cluster();
        }
    }

    /// It completes what it has begun, and all pools are outdated.
    pub fn complete_update(&mut self) {
        let now = self.now;
        let status = self.cluster.status.get_or_insert_default();
        let newest = status.history.first_mut().filter(|entry| !entry.is_completed());
        let Some(newest) = newest else {
            return;
        };
        newest.state = "Completed".to_owned();
        newest.completion_time = now.to_string().into();
        for pool in self.pools.values_mut() {
            pool.status.get_or_insert_default().updated_machine_count = Some(0);
        }
        self.touch_cluster();
        self.touch_pools();
    }

    /// The machine-config operator updates the nodes of the pools that are not paused.
    pub fn update_nodes(&mut self) {
        for pool in self.pools.values_mut() {
            let status = pool.status.get_or_insert_default();
            if pool.spec.paused != Some(true) {
                status.updated_machine_count = status.machine_count;
            }
        }
        self.touch_pools();
    }

    /// A person pauses a pool, or unpauses it.
    pub fn set_paused(&mut self, pool: &str, paused: bool) {
        self.pools.get_mut(pool).unwrap().spec.paused = Some(paused);
        self.touch_pools();
    }

    pub fn touch_cluster(&mut self) {
        self.version += 1;
        self.cluster.metadata.resource_version = Some(self.version.to_string());
    }

    fn touch_pools(&mut self) {
        self.version += 1;
        for pool in self.pools.values_mut() {
            pool.metadata.resource_version = Some(self.version.to_string());
        }
    }

    /// The whole update, as it goes when nothing is in the way.
    pub fn update(&mut self) {
        self.begin_update();
        self.now += hours(1);
        self.complete_update();
        self.update_nodes();
    }

    /// `status/reason` of a condition.
    pub fn condition(&self, job: &str, type_: &str) -> Option<String> {
        let conditions = self.jobs[job].status.as_ref()?.conditions.as_ref()?;
        let condition = drydock_api::conditions::find(conditions, type_)?;
        Some(format!("{}/{}", condition.status, condition.reason))
    }

    pub fn message(&self, job: &str, type_: &str) -> String {
        let conditions = self.jobs[job]
            .status
            .as_ref()
            .unwrap()
            .conditions
            .as_ref()
            .unwrap();
        drydock_api::conditions::find(conditions, type_)
            .unwrap()
            .message
            .clone()
    }

    /// The reason for which it has failed, or succeeded.
    pub fn end(&self, job: &str) -> Option<String> {
        let conditions = self.jobs[job].status.as_ref()?.conditions.as_ref()?;
        crate::job::condition::end(conditions).map(|end| end.reason.clone())
    }

    pub fn tracker(&self, job: &str) -> Vec<HookStatus> {
        let status = self.jobs[job].status.clone().unwrap_or_default();
        status.hook_tracker.unwrap_or_default()
    }

    pub fn names_of_hook_jobs(&self) -> Vec<&str> {
        self.hook_jobs.keys().map(String::as_str).collect()
    }

    /// Somebody else has the lock of the cluster.
    pub fn hold_lock(&mut self, holder: &str) {
        let annotations = BTreeMap::from([(UPGRADE_LOCK_ANNOTATION.to_owned(), holder.to_owned())]);
        self.cluster.metadata.annotations = Some(annotations);
    }

    /// A person takes the lock off.
    pub fn take_off_lock(&mut self) {
        self.cluster.metadata.annotations = None;
        self.touch_cluster();
    }

    pub fn lock(&self) -> Option<&str> {
        let lock = self
            .cluster
            .annotations()
            .get(drydock_api::names::UPGRADE_LOCK_ANNOTATION);
        lock.map(String::as_str)
    }

    pub fn has_said(&self, step: JobStep) -> bool {
        self.said.iter().any(|event| event.step == step)
    }
}

fn reread<T: Serialize + DeserializeOwned>(object: &T) -> T {
    serde_json::from_value(json!(object)).unwrap()
}
