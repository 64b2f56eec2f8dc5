//! One cluster: its few objects, the works that it has seen, and its writes to the hub.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::names::WORK_FINALIZER;
use super::super::work::manifest;
use super::super::work::status::{self, ApplyOutcome as Applied, ObservedResource};
use super::super::work::wire::{FeedbackValue, FieldValue, ResourceMeta, WorkStatus};
use super::apply;
use super::plan::{self, PlanAnswer, PlanLevel};
use super::release::image_of;
use super::settings::{JOBS, Stage, StageOutcome, StagePlan, StubWorkAgentSettings};
use super::update::{self, Step};
use kube_sandbox::access::Object;
use kube_sandbox::object::{self, Shared};

/// How long the objects of a deleted work take to go.
const CLEANS_UP: Duration = Duration::from_secs(5);
/// How long nonsense stands before it is corrected.
const CORRECTS: Duration = Duration::from_secs(40);

/// The kind, namespace and name of an object on a cluster.
pub(super) type Id = (&'static str, String, String);

/// That a cluster was asked to upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeRequest {
    /// When.
    pub at: Timestamp,
    /// To which version.
    pub version: String,
    /// Which version it ran, or was on its way to.
    pub from: String,
    /// By which work's uid, or by whom.
    pub by: String,
}

/// What happens on a cluster by the time alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// A work is applied, of this uid and generation.
    Apply(String, i64),
    /// What a deleted work has made goes.
    CleanUp(String),
    /// The cluster corrects what it said of a work.
    Correct(String),
    /// A Job or Pod ends.
    Ends(Id, u64),
    /// The agent answers about a plan of this generation.
    Answers(Id, i64),
    /// The acceptances of a plan of this generation end.
    Expires(Id, i64),
    /// An upgrade continues.
    Update(Step),
}

/// A work as it was last seen.
#[derive(Clone, Debug)]
struct Work {
    object: Shared,
    status: WorkStatus,
    /// What the hub has of it.
    reported: WorkStatus,
    /// The generation that was applied.
    applied: Option<i64>,
    /// An object that upgrades the cluster was applied, and not only read.
    has_asked: bool,
    /// What is said of it is nonsense.
    nonsense: bool,
    /// Its objects are gone.
    cleaned_up: bool,
    finalizer: bool,
}

/// A write of a cluster to the hub.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Status { uid: String, status: Box<WorkStatus> },
    Finalizers { uid: String, present: bool },
    Claim(String),
}

/// One cluster.
#[derive(Clone, Debug)]
pub struct ClusterTimeline {
    pub(super) name: String,
    pub(super) settings: Arc<StubWorkAgentSettings>,
    pub(super) objects: BTreeMap<Id, Value>,
    /// What each field manager has applied to which object.
    pub(super) applied_by: BTreeMap<(Id, String), Value>,
    works: BTreeMap<String, Work>,
    pub(super) asked: Vec<UpgradeRequest>,
    timers: BTreeMap<(Instant, u64), Timer>,
    /// How much has been drawn so far.
    drawn: u64,
    /// Whether it claims its version, and what the hub has of it.
    claims: bool,
    claimed: Option<String>,
    /// Whether it has an agent that carries out an UpgradeConfig.
    pub(super) agent: bool,
    /// What was last asked of it, as version and image.
    pub(super) desired: Option<(String, String)>,
    /// The number of the attempt, and whether it comes to nothing.
    pub(super) attempt: u64,
    pub(super) is_stuck: bool,
    forced: BTreeMap<Stage, StageOutcome>,
    /// How its upgrade goes, and since when the work is applied that asks for it.
    update_plan: Option<StagePlan>,
    update_applied: Option<Instant>,
    /// How Jobs go, by name.
    job_plans: BTreeMap<String, StagePlan>,
    pub(super) verifies: bool,
    /// What its agent has said of plans.
    pub(super) answers: Vec<PlanAnswer>,
}

pub(super) const CLUSTER_VERSION: &str = "ClusterVersion";
pub(super) const UPGRADE_CONFIG: &str = "UpgradeConfig";
pub(super) const UPDATE_PLAN: &str = "UpdatePlan";

/// Where the ClusterVersion is.
pub(super) fn version_id() -> Id {
    (CLUSTER_VERSION, String::new(), "version".to_owned())
}

impl ClusterTimeline {
    pub(super) fn new(name: &str, settings: Arc<StubWorkAgentSettings>, now: Timestamp) -> Self {
        let version = settings.version.clone();
        let mut cluster = Self {
            name: name.to_owned(),
            settings,
            objects: BTreeMap::new(),
            applied_by: BTreeMap::new(),
            works: BTreeMap::new(),
            asked: Vec::new(),
            timers: BTreeMap::new(),
            drawn: 0,
            claims: true,
            claimed: None,
            agent: true,
            desired: None,
            attempt: 0,
            is_stuck: false,
            forced: BTreeMap::new(),
            update_plan: None,
            update_applied: None,
            job_plans: BTreeMap::new(),
            verifies: true,
            answers: Vec::new(),
        };
        cluster.runs(&version, now);
        cluster.claimed = Some(version);
        cluster
    }

    /// The cluster is installed again with this version.
    pub fn runs(&mut self, version: &str, now: Timestamp) {
        let entry = json!({
            "state": "Completed", "version": version, "image": image_of(version), "verified": true,
            "startedTime": now.to_string(), "completionTime": now.to_string(),
        });
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": CLUSTER_VERSION,
            "metadata": {"name": "version", "generation": 1},
            "spec": {"clusterID": self.name, "channel": "stable-4.14"},
            "status": {
                "observedGeneration": 1, "history": [entry],
                "conditions": [{"type": "RetrievedUpdates", "status": "True", "message": ""}],
                "availableUpdates": self.settings.offers.iter().map(|version| json!({"version": version, "image": image_of(version)})).collect::<Vec<_>>(),
            },
        });
        self.objects.insert(version_id(), object);
        self.claimed = Some(version.to_owned());
    }

    /// Somebody upgrades it without the hub.
    pub fn upgraded_outside(&mut self, version: &str, now: Timestamp) {
        let image = image_of(version);
        self.attempt += 1;
        self.desired = Some((version.to_owned(), image.clone()));
        if let Some(object) = self.objects.get_mut(&version_id()) {
            object["spec"]["desiredUpdate"] = json!({"version": version, "image": image});
        }
        update::begin(self, version, &image, now);
        update::complete(self, now);
        self.observe(now);
    }

    /// Whether it claims its version on the hub.
    pub fn claims(&mut self, claims: bool) {
        self.claims = claims;
    }

    /// A stage ends so from now on, whatever the seed says.
    pub fn always(&mut self, stage: Stage, outcome: StageOutcome) {
        self.forced.insert(stage, outcome);
    }

    /// Its upgrade goes so from now on.
    pub fn plan_update(&mut self, plan: StagePlan) {
        self.update_plan = Some(plan);
    }

    /// The Job of this name goes so from now on.
    pub fn plan_job(&mut self, name: &str, plan: StagePlan) {
        self.job_plans.insert(name.to_owned(), plan);
    }

    /// Whether the signatures of releases can be verified.
    pub fn verifies(&mut self, verifies: bool) {
        self.verifies = verifies;
    }

    /// What its agent has said of plans; nothing where it has none.
    pub fn answers(&self) -> Option<&[PlanAnswer]> {
        self.agent.then_some(self.answers.as_slice())
    }

    /// What would go wrong with an update now, as drawn; of a hundred findings, this many are errors.
    pub(super) fn finds(&mut self, errors: u64) -> Option<PlanLevel> {
        let is_error = self.chance("level", errors);
        let level = if is_error {
            PlanLevel::Error
        } else {
            PlanLevel::Warning
        };
        self.chance("finding", self.settings.findings).then_some(level)
    }

    /// Whether it has an agent.
    pub fn has_agent(&mut self, agent: bool) {
        self.agent = agent;
    }

    /// The version that it has come to.
    pub fn version(&self) -> &str {
        update::completed_version(&self.objects[&version_id()])
    }

    /// An object on it, for example `("Job", "default", "before")`.
    pub fn object(&self, kind: &'static str, namespace: &str, name: &str) -> Option<&Value> {
        self.objects.get(&(kind, namespace.to_owned(), name.to_owned()))
    }

    /// Puts an object on it, as if it had always been there.
    pub fn put(&mut self, kind: &'static str, object: Value) {
        let id = (
            kind,
            object::namespace(&object).to_owned(),
            object::name(&object).to_owned(),
        );
        self.objects.insert(id, object);
    }

    /// Somebody deletes an object.
    pub fn remove_object(&mut self, kind: &'static str, namespace: &str, name: &str) {
        self.objects
            .remove(&(kind, namespace.to_owned(), name.to_owned()));
    }

    /// A Job that hangs succeeds after all.
    pub fn end_job(&mut self, namespace: &str, name: &str) {
        let id = ("Job", namespace.to_owned(), name.to_owned());
        if let Some(draw) = self
            .objects
            .get(&id)
            .and_then(|job| job["metadata"]["uid"].as_u64())
        {
            self.forced.insert(Stage::Job, StageOutcome::Succeeds);
            self.after(Duration::ZERO, Timer::Ends(id, draw));
        }
    }

    /// What it was asked to upgrade to.
    pub fn asked(&self) -> &[UpgradeRequest] {
        &self.asked
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((at, _), _)| *at)
    }

    /// A number that no other draw of this cluster gives.
    pub(super) fn draw(&mut self, purpose: &str) -> u64 {
        self.drawn += 1;
        self.settings.draw(&self.name, purpose, self.drawn)
    }

    /// How the upgrade ends, by its plan or else as it is drawn.
    pub(super) fn update_outcome(&mut self, stage: Stage) -> StageOutcome {
        if let Some(plan) = self.update_plan {
            return plan.outcome;
        }
        let draw = self.draw("outcome");
        self.outcome(stage, draw)
    }

    /// How long it is until the upgrade ends so by its plan; nothing if it does not, or has none.
    pub(super) fn planned_update(&self, outcome: StageOutcome) -> Option<Duration> {
        let plan = self.update_plan.filter(|plan| plan.outcome == outcome)?;
        let lasted = self
            .update_applied
            .map_or(Duration::ZERO, |since| since.elapsed());
        Some(plan.takes.saturating_sub(lasted))
    }

    /// How long a Job or Pod takes.
    pub(super) fn job_takes(&self, id: &Id) -> Duration {
        self.job_plans.get(&id.2).map_or(JOBS, |plan| plan.takes)
    }

    /// How a Job or Pod ends.
    pub(super) fn job_outcome(&self, id: &Id, draw: u64) -> StageOutcome {
        let plan = self.job_plans.get(&id.2);
        plan.map_or_else(|| self.outcome(Stage::Job, draw), |plan| plan.outcome)
    }

    pub(super) fn outcome(&self, stage: Stage, draw: u64) -> StageOutcome {
        let forced = self.forced.get(&stage).copied();
        forced.unwrap_or_else(|| self.settings.outcome(draw))
    }

    fn chance(&mut self, purpose: &str, of_hundred: u64) -> bool {
        of_hundred > 0 && self.draw(purpose) % 100 < of_hundred
    }

    pub(super) fn after(&mut self, wait: Duration, timer: Timer) {
        self.drawn += 1;
        self.timers.insert((Instant::now() + wait, self.drawn), timer);
    }

    /// The hub has a work, or another version of it.
    pub(super) fn see(&mut self, object: &Shared) {
        let uid = object.uid().to_owned();
        let generation = object::generation(object);
        let finalizer = object::has_finalizer(object, WORK_FINALIZER);
        let known = self.works.get_mut(&uid);
        let is_new = known
            .as_ref()
            .is_none_or(|known| object::generation(&known.object) != generation);
        match known {
            Some(known) if object::resource_version(&known.object) > object::resource_version(object) => {
                return;
            }
            Some(known) => {
                known.object = Arc::clone(object);
                known.finalizer = finalizer;
            }
            None => {
                let reported = WorkStatus::parse(object);
                let work = Work {
                    object: Arc::clone(object),
                    status: reported.clone(),
                    reported,
                    applied: None,
                    has_asked: false,
                    nonsense: false,
                    cleaned_up: false,
                    finalizer,
                };
                self.works.insert(uid.clone(), work);
            }
        }
        if object::is_deleting(object) {
            self.after(CLEANS_UP, Timer::CleanUp(uid));
        } else if is_new {
            let late = self.chance("late", self.settings.late);
            let minutes = if late { 1 + self.draw("lateness") % 150 } else { 0 };
            self.after(
                self.settings.applies + Duration::from_mins(minutes),
                Timer::Apply(uid, generation),
            );
        }
    }

    /// A work that has the name of one which is not there any more continues it.
    pub(super) fn take_for_the_same(&mut self, object: &Shared, present: &BTreeSet<&str>) {
        let mut known = self.works.iter();
        let before = known.find(|(uid, work)| {
            work.object.name() == object.name()
                && uid.as_str() != object.uid()
                && !present.contains(uid.as_str())
        });
        let Some(before) = before.map(|(uid, _)| uid.clone()) else {
            return;
        };
        if let Some(mut work) = self.works.remove(&before) {
            work.object = Arc::clone(object);
            work.reported = WorkStatus::parse(object);
            self.works.insert(object.uid().to_owned(), work);
        }
        for other in self.objects.values_mut() {
            for owner in other["metadata"]["ownerReferences"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                if owner["uid"] == before.as_str() {
                    owner["uid"] = object.uid().into();
                }
            }
        }
        let generation = object::generation(object);
        self.after(
            self.settings.applies,
            Timer::Apply(object.uid().to_owned(), generation),
        );
    }

    /// A work is gone from the hub.
    pub(super) fn forget(&mut self, uid: &str, now: Timestamp) {
        self.clean_up(uid, now);
        self.works.remove(uid);
    }

    /// Only these works are left on the hub.
    pub(super) fn forget_all_but(&mut self, present: &BTreeSet<&str>, now: Timestamp) {
        let gone = self.works.keys().filter(|uid| !present.contains(uid.as_str()));
        for uid in gone.cloned().collect::<Vec<_>>() {
            self.forget(&uid, now);
        }
    }

    fn clean_up(&mut self, uid: &str, now: Timestamp) {
        let Some(work) = self.works.get_mut(uid).filter(|work| !work.cleaned_up) else {
            return;
        };
        work.cleaned_up = true;
        let object = Arc::clone(&work.object);
        let metas = work.status.resource_status.manifests.iter();
        let metas: Vec<ResourceMeta> = metas.map(|manifest| manifest.resource_meta.clone()).collect();
        for meta in metas
            .iter()
            .filter(|meta| manifest::is_owned(&object["spec"], meta))
        {
            apply::remove(self, meta, uid);
        }
        self.observe(now);
    }

    /// Does what is due.
    pub(super) fn act(&mut self, instant: Instant, now: Timestamp) {
        while let Some(entry) = self.timers.first_entry() {
            if entry.key().0 > instant {
                return;
            }
            match entry.remove() {
                Timer::Apply(uid, generation) => self.apply(&uid, generation, now),
                Timer::CleanUp(uid) => self.clean_up(&uid, now),
                Timer::Correct(uid) => {
                    if let Some(work) = self.works.get_mut(&uid) {
                        work.nonsense = false;
                    }
                }
                Timer::Ends(id, draw) => update::end_run(self, &id, draw),
                Timer::Answers(id, generation) => plan::answer(self, &id, generation, now),
                Timer::Expires(id, generation) => plan::expire(self, &id, generation, now),
                Timer::Update(step) => update::step(self, step, now),
            }
            self.observe(now);
        }
    }

    fn apply(&mut self, uid: &str, generation: i64, now: Timestamp) {
        let Some(work) = self.works.get(uid) else {
            return;
        };
        let object = Arc::clone(&work.object);
        if object::generation(&object) != generation || object::is_deleting(&object) {
            return;
        }
        let (is_first, has_asked) = (work.applied.is_none(), work.has_asked);
        if is_first && self.chance("refused", self.settings.late / 2) {
            self.refuse(uid, &object, now);
            let minutes = 1 + self.draw("refusal") % 20;
            self.after(
                Duration::from_mins(minutes),
                Timer::Apply(uid.to_owned(), generation),
            );
            return;
        }
        let (metas, upgrades) = apply::apply(self, &object);
        let asks = upgrades && !has_asked;
        // The stage begins with the work, which may only read at first.
        let is_of_upgrade =
            |(meta, _): &(ResourceMeta, Applied)| matches!(&*meta.kind, CLUSTER_VERSION | UPGRADE_CONFIG);
        if is_first && metas.iter().any(is_of_upgrade) {
            self.update_applied = Some(Instant::now());
        }
        let nonsense = self.chance("nonsense", self.settings.nonsense);
        if let Some(work) = self.works.get_mut(uid) {
            status::record_apply(&mut work.status, metas, generation, now);
            work.applied = Some(generation);
            work.has_asked |= upgrades;
            work.nonsense = nonsense;
        }
        if nonsense {
            self.after(CORRECTS, Timer::Correct(uid.to_owned()));
        }
        plan::consider(self);
        update::consider(self, uid, asks, now);
    }

    /// The cluster does not let the work agent apply the work for now.
    fn refuse(&mut self, uid: &str, object: &Object, now: Timestamp) {
        let message = format!(
            "{} is forbidden: the work agent may not do that yet",
            object.name()
        );
        let results = apply::metas(object).map(|meta| {
            let failed = Applied::Failed {
                reason: "AppliedManifestFailed",
                message: message.clone(),
            };
            (meta, failed)
        });
        let results = results.collect();
        if let Some(work) = self.works.get_mut(uid) {
            status::record_apply(&mut work.status, results, object::generation(object), now);
        }
    }

    /// Looks at the objects of all works.
    pub(super) fn observe(&mut self, now: Timestamp) {
        for work in self.works.values_mut() {
            let Some(generation) = work.applied else { continue };
            let seen: Vec<ObservedResource> = work
                .status
                .resource_status
                .manifests
                .iter()
                .map(
                    |manifest| match self.objects.get(&apply::id(&manifest.resource_meta)) {
                        Some(object) => ObservedResource::Object(Arc::new(Object::new(object.clone(), 0))),
                        None => ObservedResource::NotFound,
                    },
                )
                .collect();
            status::observe(&mut work.status, &work.object["spec"], generation, &seen, now);
            if work.nonsense {
                spoil(&mut work.status);
            }
        }
    }

    /// The writes to the hub that are due.
    pub(super) fn wanted_writes(&self) -> Vec<(String, Write)> {
        let mut wanted = Vec::new();
        for (uid, work) in &self.works {
            let name = work.object.name().to_owned();
            let uid = uid.clone();
            if object::is_deleting(&work.object) {
                if work.finalizer && work.cleaned_up {
                    wanted.push((name, Write::Finalizers { uid, present: false }));
                }
            } else if self.settings.finalizers && !work.finalizer && work.applied.is_some() {
                wanted.push((name, Write::Finalizers { uid, present: true }));
            } else if work.status != work.reported {
                let status = Box::new(work.status.clone());
                wanted.push((name, Write::Status { uid, status }));
            }
        }
        let version = self.version();
        if self.claims && self.claimed.as_deref() != Some(version) {
            wanted.push((String::new(), Write::Claim(version.to_owned())));
        }
        wanted
    }

    /// The status of a work was written to the hub, or refused for good.
    pub(super) fn status_written(&mut self, name: &str, status: WorkStatus) {
        if let Some(work) = self.works.values_mut().find(|work| work.object.name() == name) {
            work.reported = status;
        }
    }

    pub(super) fn finalized(&mut self, name: &str, done: bool) {
        let mut works = self.works.values_mut();
        if let Some(work) = works.find(|work| work.object.name() == name) {
            // What was refused is not tried again: the work is another one, or gone.
            work.finalizer = !object::is_deleting(&work.object) || !done && !work.finalizer;
        }
    }

    pub(super) fn claimed(&mut self, version: String) {
        self.claimed = Some(version);
    }
}

/// Feedback that makes no sense.
fn spoil(status: &mut WorkStatus) {
    for manifest in &mut status.resource_status.manifests {
        for FeedbackValue { field_value, .. } in &mut manifest.status_feedback.values {
            *field_value = FieldValue::String {
                string: "\u{1b}[31m\u{0}, no value at all ".repeat(40),
            };
        }
    }
}
