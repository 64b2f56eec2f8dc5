//! Plays the model on an API server: what is read goes in, what is to be written comes out.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll};
use kube_sandbox::Clock;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Fault;
use super::kinds::{
    CLUSTER_OPERATOR, CLUSTER_VERSION, JOB, MACHINE, MACHINE_SET, NODE, POD, POD_DISRUPTION_BUDGET, POOL,
};
use super::model::{
    self, BLOCKS_DRAIN, Change, Input, JobKey, JobSpec, MachineSetSpec, MachineSpec, MaxUnavailable, Model,
    ObjectRef, PodKey, Shape, VersionSpec, Write,
};
use super::program::{Program, ProgramContext, Programs};
use kube_sandbox::access::{Access, AccessError, Key, Kind, Removal, Selection, WatchEvent};
use kube_sandbox::sleep::{duration_until, sleep_until_some};
use kube_sandbox::store::Object;

/// How often a status is written again when somebody else wrote in between.
const ATTEMPTS: usize = 5;
/// How long to wait before a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Cuts the cluster's control plane off (false), or restores it.
pub type Outage = Box<dyn Fn(bool) + Send + Sync>;

#[derive(Clone, Copy, Debug)]
enum EventSource {
    Version,
    Pools,
    Jobs,
    MachineSets,
    Machines,
    /// The pod that blocks a drain.
    Blocker,
}

/// What a cluster is played with.
pub struct ClusterSimulator {
    /// Its API server.
    pub access: Access,
    /// The same, for the programs that its pods run.
    pub client: kube::Client,
    /// What time it is.
    pub clock: Clock,
    /// What cuts its control plane off.
    pub outage: Outage,
    /// What its pods can run.
    pub programs: Programs,
}

struct Actor {
    model: Model,
    access: Access,
    client: kube::Client,
    clock: Clock,
    outage: Outage,
    programs: Programs,
    /// Jobs whose pods run programs.
    runnable: BTreeMap<JobKey, (Program, BTreeMap<String, String>)>,
    running: JoinSet<(PodKey, bool)>,
    reachable: bool,
    /// Writes that are still to be made, in their order.
    pending: VecDeque<Write>,
    retry_at: Option<Instant>,
}

/// Installs a cluster on an API server that has OpenShift's kinds, and returns what plays it.
///
/// # Errors
/// If one of its objects cannot be made.
pub async fn install(shape: &Shape, player: ClusterSimulator) -> Result<RunningCluster, AccessError> {
    let now = player.clock.now();
    let mut model = Model::installed(shape, now);
    let mut actor = Actor {
        pending: model.install(now).into(),
        model,
        access: player.access,
        client: player.client,
        clock: player.clock,
        outage: player.outage,
        programs: player.programs,
        runnable: BTreeMap::new(),
        running: JoinSet::new(),
        reachable: true,
        retry_at: None,
    };
    while let Some(write) = actor.pending.pop_front() {
        actor.write(&write).await?;
    }
    Ok(RunningCluster(actor))
}

/// An installed cluster.
pub struct RunningCluster(Actor);

impl RunningCluster {
    /// Plays the cluster until `shutdown`, with the failure modes that `faults` says at each time.
    pub async fn run(self, mut faults: watch::Receiver<BTreeSet<Fault>>, shutdown: CancellationToken) {
        let mut actor = self.0;
        let mut events = actor.watches();
        let mut blocker_is_watched = false;
        loop {
            actor.step().await;
            if actor.model.watches_blocker() && !std::mem::replace(&mut blocker_is_watched, true) {
                events.push(actor.blocker());
            }
            let wake = actor.wake();
            tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                Ok(()) = faults.changed() => {
                    let faults = faults.borrow_and_update().clone();
                    actor.set_faults(&faults).await;
                }
                Some((source, event)) = events.next() => actor.on_event(source, event),
                Some(ended) = actor.running.join_next() => actor.on_program(ended),
                () = sleep_until_some(wake) => {}
            }
        }
    }
}

impl Actor {
    fn watches(&self) -> SelectAll<BoxStream<'static, (EventSource, WatchEvent)>> {
        let mut events = SelectAll::new();
        let version = Selection::one(&Key::cluster("version"));
        for (source, kind, selection) in [
            (EventSource::Version, &CLUSTER_VERSION, version),
            (EventSource::Pools, &POOL, Selection::everything()),
            (EventSource::Jobs, &JOB, Selection::everything()),
            (EventSource::MachineSets, &MACHINE_SET, Selection::everything()),
            (EventSource::Machines, &MACHINE, Selection::everything()),
        ] {
            let watch = self.access.watch(kind, &selection);
            events.push(watch.map(move |event| (source, event)).boxed());
        }
        events
    }

    /// Few clusters have such a pod, so it is watched only where there is one.
    fn blocker(&self) -> BoxStream<'static, (EventSource, WatchEvent)> {
        let selection = Selection::everything().with_labels(BLOCKS_DRAIN);
        let watch = self.access.watch(&POD, &selection);
        watch.map(|event| (EventSource::Blocker, event)).boxed()
    }

    /// Lets happen what is due, and writes what came of it.
    async fn step(&mut self) {
        let writes = self.model.run(self.clock.now());
        self.pending.extend(writes);
        for pod in self.model.take_to_run() {
            self.start_program(pod);
        }
        if self.model.is_reachable() != self.reachable {
            self.reachable = self.model.is_reachable();
            (self.outage)(self.reachable);
        }
        self.retry_at = None;
        while self.reachable && self.retry_at.is_none() {
            let Some(write) = self.pending.pop_front() else {
                return;
            };
            match self.write(&write).await {
                Ok(()) => {}
                Err(error) if error.is_unreachable() || error.code() >= 500 || error.code() == 429 => {
                    tracing::debug!(%error, "the cluster's write is tried again");
                    self.pending.push_front(write);
                    self.retry_at = Some(Instant::now() + RETRY);
                }
                // Somebody deleted the object, or it is there already: the cluster lives with it.
                Err(error) => tracing::debug!(%error, "the cluster's write was refused"),
            }
        }
    }

    async fn set_faults(&mut self, faults: &BTreeSet<Fault>) {
        let was_paused = self.model.has(Fault::PausedPool);
        self.model.set_faults(faults, self.clock.now());
        let is_paused = self.model.has(Fault::PausedPool);
        if is_paused == was_paused {
            return;
        }
        // Whoever pauses a pool sets its spec, and so does this failure mode.
        let patch = json!({"spec": {"paused": is_paused}});
        if let Err(error) = self
            .access
            .merge_patch(&POOL, &Key::cluster("worker"), patch)
            .await
        {
            tracing::debug!(%error, "the worker pool could not be paused or resumed");
        }
    }

    fn start_program(&mut self, pod: PodKey) {
        let Some((program, environment)) = self.runnable.get(&pod.job) else {
            return;
        };
        let run = program(ProgramContext {
            environment: environment.clone(),
            client: self.client.clone(),
            clock: self.clock.clone(),
        });
        self.running.spawn(async move { (pod, run.await) });
    }

    /// A program that panicked has failed; which one is not known any more, so its Job ends by its deadline.
    fn on_program(&mut self, ended: Result<(PodKey, bool), JoinError>) {
        match ended {
            Ok((pod, succeeded)) => {
                let input = Input::ProgramEnded(pod, succeeded);
                self.model.observe(input, self.clock.now());
            }
            Err(error) => tracing::error!(%error, "a program of the simulated cluster panicked"),
        }
    }

    /// When something happens by itself.
    fn wake(&self) -> Option<Instant> {
        let now = self.clock.now();
        let event = self
            .model
            .next()
            .map(|at| Instant::now() + duration_until(now, at));
        [event, self.retry_at].into_iter().flatten().min()
    }

    fn on_event(&mut self, source: EventSource, event: WatchEvent) {
        match event {
            WatchEvent::Applied(object) => self.on_object(source, &object),
            WatchEvent::Resync(objects) => {
                for object in objects {
                    self.on_object(source, &object);
                }
            }
            WatchEvent::Deleted(object) => self.on_deletion(source, &object),
        }
    }

    fn on_deletion(&mut self, source: EventSource, object: &Object) {
        let name = object.name().to_owned();
        let input = match source {
            EventSource::Version | EventSource::Pools => return,
            EventSource::MachineSets => Input::MachineSetGone(name),
            EventSource::Machines => Input::MachineGone(name),
            EventSource::Blocker => Input::BlockerGone,
            EventSource::Jobs => {
                let key = JobKey {
                    namespace: object.namespace().unwrap_or_default().to_owned(),
                    name,
                };
                self.runnable.remove(&key);
                Input::JobGone(key)
            }
        };
        self.model.observe(input, self.clock.now());
    }

    fn on_object(&mut self, source: EventSource, object: &Object) {
        let input = match source {
            EventSource::Version => Input::Version(VersionSpec::read(object)),
            EventSource::Pools => Input::Pool {
                name: object.name().to_owned(),
                generation: object.generation(),
                paused: object["spec"]["paused"].as_bool().unwrap_or_default(),
                max_unavailable: MaxUnavailable::parse(&object["spec"]["maxUnavailable"]),
            },
            EventSource::Jobs => Input::Job(self.job(object)),
            EventSource::MachineSets => Input::MachineSet(MachineSetSpec::read(object)),
            EventSource::Machines => Input::Machine(MachineSpec::read(object)),
            EventSource::Blocker if is_killed(object) => Input::BlockerKilled,
            EventSource::Blocker => return,
        };
        self.model.observe(input, self.clock.now());
    }

    fn job(&mut self, object: &Object) -> JobSpec {
        let mut job = JobSpec::read(object);
        if let Some(runnable) = self.programs.of_job(object) {
            job.runs_program = true;
            self.runnable.insert(job.key.clone(), runnable);
        }
        job
    }

    async fn write(&self, write: &Write) -> Result<(), AccessError> {
        let (kind, key) = place(&write.object);
        match &write.change {
            Change::Create(object) => match self.access.create(kind, object.clone()).await {
                Err(error) if !error.is_already_exists() => Err(error),
                _ => Ok(()),
            },
            Change::Patch(patch) => self.access.merge_patch(kind, &key, patch.clone()).await.map(drop),
            Change::Status(status) => self.replace_status(kind, &key, status).await,
            Change::Delete => {
                let at_once = Removal {
                    grace_period: Some(0),
                    ..Removal::default()
                };
                self.access.delete(kind, &key, &at_once).await
            }
        }
    }
}

/// Is a pod to end without any time for its containers?
fn is_killed(pod: &Object) -> bool {
    let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64();
    pod["metadata"]["deletionTimestamp"].is_string() && grace.is_some_and(|grace| grace <= 1)
}

impl Actor {
    /// A merge patch could not say `null`, which ClusterVersion's history has to.
    async fn replace_status(&self, kind: &Kind, key: &Key, status: &Value) -> Result<(), AccessError> {
        for _ in 1..ATTEMPTS {
            match self.replace_status_once(kind, key, status).await {
                Err(error) if error.is_conflict() => {}
                other => return other,
            }
        }
        self.replace_status_once(kind, key, status).await
    }

    async fn replace_status_once(&self, kind: &Kind, key: &Key, status: &Value) -> Result<(), AccessError> {
        let object = self.access.get(kind, key).await?.with_status(status.clone());
        self.access.replace_status(kind, object).await.map(drop)
    }
}

fn place(object: &ObjectRef) -> (&'static Kind, Key) {
    let kind = match object.kind {
        model::Kind::ClusterVersion => &CLUSTER_VERSION,
        model::Kind::ClusterOperator => &CLUSTER_OPERATOR,
        model::Kind::MachineConfigPool => &POOL,
        model::Kind::Node => &NODE,
        model::Kind::Job => &JOB,
        model::Kind::Pod => &POD,
        model::Kind::PodDisruptionBudget => &POD_DISRUPTION_BUDGET,
        model::Kind::Machine => &MACHINE,
        model::Kind::MachineSet => &MACHINE_SET,
    };
    let key = if kind.namespaced {
        Key::namespaced(object.namespace.as_str(), object.name.as_str())
    } else {
        Key::cluster(object.name.as_str())
    };
    (kind, key)
}
