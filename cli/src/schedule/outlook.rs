//! The runs of a schedule, and what would come of them as things are. What would come of it is what the decisions of `drydock-schedule`
//! say; here they are only put together.

use drydock_api::conditions::{self, Condition, FALSE, is_true};
use drydock_api::fact::Fact;
use drydock_api::schedule::condition as condition_type;
use drydock_api::schedule::{DesiredVersion, UpgradeConfig, UpgradeJob};
use drydock_schedule::config::{
    NextDecision, PlannedMaintenance, Settings, WRITE_REFUSED, asked_by, decide, outlook, upgrade_job,
};
use drydock_schedule::job::condition;
use drydock_schedule::job::simulation::{Simulation, simulate};
use drydock_schedule::version;
use jiff::Timestamp;
use kube::ResourceExt;

use super::cluster::ObservedCluster;
use super::would::Would;

/// A run of a schedule, or beside it: one that has not ended, or the next.
#[derive(Clone, Debug)]
pub struct Run {
    /// When it starts; nothing if it never does.
    pub start: Option<Timestamp>,
    /// How far it is.
    pub stage: Stage,
    /// The release that is pinned, or would be if that were now; nothing if there is no update.
    pub version: Option<DesiredVersion>,
    /// What would come of it.
    pub would: Would,
    /// How that was found, if it is up to an UpgradeJob.
    pub simulation: Option<Simulation>,
}

/// How far a run is.
#[derive(Clone, Debug)]
pub enum Stage {
    /// It has no UpgradeJob yet.
    Planned(Option<PlannedMaintenance>),
    /// It has one, which has not ended.
    Job {
        /// The UpgradeJob.
        job: Box<UpgradeJob>,
        /// Was it made beside the schedule?
        is_beside: bool,
    },
}

impl Run {
    /// The UpgradeJob, if it has one.
    pub fn job(&self) -> Option<&UpgradeJob> {
        match &self.stage {
            Stage::Planned(_) => None,
            Stage::Job { job, .. } => Some(job),
        }
    }

    /// Has it started?
    pub fn is_started(&self) -> bool {
        self.job().is_some_and(has_started)
    }

    fn without_job(start: Option<Timestamp>, would: Would) -> Self {
        Self {
            start,
            stage: Stage::Planned(None),
            version: None,
            would,
            simulation: None,
        }
    }

    /// An UpgradeJob that exists: what it does at its start, or now if that has come.
    fn existing(cluster: &ObservedCluster, job: &UpgradeJob, is_beside: bool) -> Self {
        let start = job.spec.start_after.0;
        let simulation = simulate(cluster.observe(job.clone(), cluster.now.max(start)));
        let asks_for_none = match job.spec.desired_version {
            Some(_) => None,
            None => Some("the UpgradeJob asks for no release"),
        };
        Self {
            start: Some(start),
            version: job.spec.desired_version.clone(),
            would: Would::simulated(&simulation, asks_for_none),
            stage: Stage::Job {
                job: Box::new(job.clone()),
                is_beside,
            },
            simulation: Some(simulation),
        }
    }

    /// A maintenance that has no UpgradeJob yet: what the one would do that was created as things are.
    fn planned(
        cluster: &ObservedCluster,
        config: &UpgradeConfig,
        settings: &Settings,
        maintenance: PlannedMaintenance,
        after: Option<&UpgradeJob>,
    ) -> Self {
        let start = maintenance.start;
        let stage = |maintenance| Stage::Planned(Some(maintenance));
        let Some(available) = cluster.available_updates() else {
            let why = match &cluster.cluster_version {
                Err(why) => why.to_string(),
                Ok(_) => "it has no status".to_owned(),
            };
            let why = format!("ClusterVersion is not read: {why}");
            return Self {
                stage: stage(maintenance),
                ..Self::without_job(Some(start), Would::NotKnown(why))
            };
        };
        let version = version::highest(available);
        if let Some(after) = after
            && maintenance.left_out.is_none()
        {
            let would = Would::AwaitEnd(after.name_any());
            return Self {
                version,
                stage: stage(maintenance),
                ..Self::without_job(Some(start), would)
            };
        }
        let job = upgrade_job(config, settings, start, version.clone());
        let simulation = simulate(cluster.observe(job, cluster.now.max(start)));
        let none_available = version.is_none().then_some("no update is available");
        let would = maintenance
            .left_out
            .as_ref()
            .map_or_else(|| Would::simulated(&simulation, none_available), Would::left_out);
        Self {
            version,
            simulation: Some(simulation),
            stage: stage(maintenance),
            ..Self::without_job(Some(start), would)
        }
    }
}

/// The runs of an UpgradeConfig that have not ended, by their start, and the next one; there is at least one.
pub fn runs(cluster: &ObservedCluster, config: &UpgradeConfig) -> Vec<Run> {
    let controlled = current_job(cluster, config);
    let is_controlled =
        |job: &UpgradeJob| controlled.is_some_and(|known| known.metadata.uid == job.metadata.uid);
    let unfinished = asked_by(config, cluster.jobs.iter().flatten()).filter(|job| !has_ended(job));
    let mut runs: Vec<Run> = unfinished
        .map(|job| Run::existing(cluster, job, !is_controlled(job)))
        .collect();
    // The schedule has one run at a time: as long as that has not started, it is the next one.
    if controlled.is_none_or(has_started) {
        runs.push(next(cluster, config, controlled));
    }
    runs.sort_by_key(|run| run.start.unwrap_or(Timestamp::MAX));
    runs
}

/// The runs of UpgradeJobs that have not ended and are of none of the UpgradeConfigs, by their start, with their namespaces.
pub fn runs_of_no_schedule(cluster: &ObservedCluster) -> Vec<(String, Run)> {
    let is_of = |config: &UpgradeConfig, job: &UpgradeJob| asked_by(config, [job]).next().is_some();
    let jobs = cluster.jobs.iter().flatten();
    let others =
        jobs.filter(|job| !has_ended(job) && !cluster.configs.iter().any(|config| is_of(config, job)));
    let runs = others.map(|job| {
        let namespace = job.namespace().unwrap_or_default();
        (namespace, Run::existing(cluster, job, true))
    });
    let mut runs: Vec<(String, Run)> = runs.collect();
    runs.sort_by_key(|(_, run)| run.start);
    runs
}

/// The UpgradeJob of the schedule that has not ended.
pub fn current_job<'a>(cluster: &'a ObservedCluster, config: &'a UpgradeConfig) -> Option<&'a UpgradeJob> {
    let plan = decide(&cluster.observed(config), cluster.now);
    let NextDecision::AwaitEnd { job } = plan.next else {
        return None;
    };
    let mut jobs = cluster.jobs.iter().flatten();
    jobs.find(|known| known.name_any() == job && known.namespace() == config.namespace())
}

/// The next maintenance, after an UpgradeJob of the schedule that runs.
fn next(cluster: &ObservedCluster, config: &UpgradeConfig, after: Option<&UpgradeJob>) -> Run {
    let not_run = |next: &NextDecision| {
        let (_, reason) = next.readiness();
        let message = next.to_string();
        Run::without_job(None, Would::NotRun { reason, message })
    };
    if config.metadata.deletion_timestamp.is_some() {
        return not_run(&NextDecision::Deleting);
    }
    let outlook = match outlook(&cluster.observed(config), cluster.now, 1) {
        Ok(outlook) => outlook,
        Err(invalid) => return not_run(&NextDecision::Correct(invalid)),
    };
    let Some(first) = outlook.maintenances.into_iter().next() else {
        return not_run(&NextDecision::Never);
    };
    if let Some(why) = unread(cluster) {
        return Run::without_job(Some(first.start), Would::NotKnown(why));
    }
    let refused = refusal(config).filter(|_| after.is_none() && first.left_out.is_none());
    let run = Run::planned(cluster, config, &outlook.settings, first, after);
    match refused {
        Some(refused) => Run {
            would: Would::NotRun {
                reason: WRITE_REFUSED,
                message: refused.message.clone(),
            },
            simulation: None,
            ..run
        },
        None => run,
    }
}

/// What the API server has said of the last UpgradeJob that the agent was to create by this spec: the next would fare no better.
fn refusal(config: &UpgradeConfig) -> Option<&Condition> {
    let conditions = config.status.as_ref()?.conditions.as_deref()?;
    let ready = conditions::find(conditions, condition_type::READY)?;
    let is_refused = ready.reason == WRITE_REFUSED && ready.status == FALSE;
    (is_refused && ready.observed_generation == config.metadata.generation).then_some(ready)
}

/// Why nothing can be said about any run.
fn unread(cluster: &ObservedCluster) -> Option<String> {
    fn why<T>(what: &str, fact: &Fact<T>) -> Option<String> {
        let why = fact.as_ref().err()?;
        Some(format!("{what} are not read: {why}"))
    }
    why("UpgradeJobs", &cluster.jobs).or_else(|| why("UpgradeSuspensionWindows", &cluster.windows))
}

/// Has an UpgradeJob succeeded or failed?
pub fn has_ended(job: &UpgradeJob) -> bool {
    end_of(job).is_some()
}

/// The condition with which an UpgradeJob has ended.
pub fn end_of(job: &UpgradeJob) -> Option<&Condition> {
    condition::end(conditions(job))
}

/// Has an UpgradeJob started?
pub fn has_started(job: &UpgradeJob) -> bool {
    is_true(conditions(job), condition::JobCondition::Started.name())
}

fn conditions(job: &UpgradeJob) -> &[Condition] {
    let status = job.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_deref());
    conditions.unwrap_or_default()
}
