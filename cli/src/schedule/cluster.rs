//! What is read of a cluster: everything that the decisions about its maintenances look at, as the agent reads it. What cannot be read
//! is a fact, too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use anyhow::{Context, bail};
use drydock_agent::update_plan;
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{PlannedUpdate, UpdatePlanState};
use drydock_api::names::{HOOK_UPGRADE_JOB_LABEL, UPGRADE_LOCK_ANNOTATION};
use drydock_api::openshift::cluster_version::Release;
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{
    UpgradeConfig, UpgradeJob, UpgradeJobConfig, UpgradeJobHook, UpgradeSuspensionWindow,
};
use drydock_insights::cluster::completed;
use drydock_runtime::pages::list_all;
use drydock_schedule::config::Observed;
use drydock_schedule::job::JobObservation;
use drydock_schedule::job::lock::{HolderState, JobRef, ObservedHolder};
use drydock_schedule::job::pausing_job::PausingJob;
use drydock_schedule::version;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use k8s_openapi::api::batch::v1::Job;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::outlook::has_ended;
use crate::server::{Server, unread};

/// OpenShift's ClusterVersion.
const CLUSTER_VERSION: &str = "version";

/// Where schedules are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everywhere.
    All,
    /// In a namespace.
    Namespace(String),
}

/// What has been read of a cluster.
#[derive(Clone, Debug)]
pub struct ObservedCluster {
    /// What time it was there.
    pub now: Timestamp,
    /// Where schedules were looked for.
    pub scope: Scope,
    /// What `location: Local` means.
    pub local_zone: TimeZone,
    /// The UpgradeConfigs, by namespace and name.
    pub configs: Vec<UpgradeConfig>,
    /// The UpgradeJobs.
    pub jobs: Fact<Vec<UpgradeJob>>,
    /// The UpgradeSuspensionWindows.
    pub windows: Fact<Vec<UpgradeSuspensionWindow>>,
    /// The UpgradeJobHooks.
    pub hooks: Fact<Vec<UpgradeJobHook>>,
    /// The Jobs of hooks.
    pub hook_jobs: Fact<Vec<Job>>,
    /// OpenShift's ClusterVersion.
    pub cluster_version: Fact<ClusterVersion>,
    /// The cluster operators.
    pub operators: Fact<Vec<ClusterOperator>>,
    /// The machine config pools.
    pub pools: Fact<Vec<MachineConfigPool>>,
    /// What has become of the UpgradeJob that has the lock of the cluster.
    pub holder: Fact<ObservedHolder>,
    /// What has become of those that have paused machine config pools.
    pub pausing_jobs: BTreeMap<JobRef, Fact<HolderState>>,
    /// What the UpdatePlans say of the releases to which UpgradeJobs upgrade, or would, that look at them.
    pub update_plans: BTreeMap<PlannedUpdate, Fact<UpdatePlanState>>,
}

impl ObservedCluster {
    /// Reads a cluster.
    ///
    /// # Errors
    /// If its UpgradeConfigs cannot be listed.
    pub async fn read(server: &Server, scope: Scope, local_zone: &TimeZone) -> anyhow::Result<Self> {
        Box::pin(Self::read_all(server, scope, local_zone)).await
    }

    async fn read_all(server: &Server, scope: Scope, local_zone: &TimeZone) -> anyhow::Result<Self> {
        let client = &server.client;
        let everything = ListParams::default;
        let of_hooks = ListParams::default().labels(HOOK_UPGRADE_JOB_LABEL);
        let (configs, jobs, windows, hooks, hook_jobs, operators, pools, cluster_version) = futures::join!(
            configs(client, &scope),
            listed(scoped::<UpgradeJob>(client, &scope), everything()),
            listed(scoped::<UpgradeSuspensionWindow>(client, &scope), everything()),
            listed(scoped::<UpgradeJobHook>(client, &scope), everything()),
            listed(scoped::<Job>(client, &scope), of_hooks),
            listed(Api::<ClusterOperator>::all(client.clone()), everything()),
            listed(Api::<MachineConfigPool>::all(client.clone()), everything()),
            cluster_version(client),
        );
        let mut cluster = Self {
            now: whole_seconds(server.now()),
            scope,
            local_zone: local_zone.clone(),
            configs: configs?,
            jobs,
            windows,
            hooks,
            hook_jobs,
            cluster_version,
            operators,
            pools,
            holder: Err(Unread::NotAsked),
            pausing_jobs: BTreeMap::new(),
            update_plans: BTreeMap::new(),
        };
        cluster.holder = cluster.read_holder(client).await;
        cluster.pausing_jobs = cluster.read_pausing_jobs(client).await;
        cluster.update_plans = cluster.read_update_plans(client).await;
        Ok(cluster)
    }

    async fn read_holder(&self, client: &Client) -> Fact<ObservedHolder> {
        let locked = self.cluster_version.as_ref().ok();
        let holder = locked.and_then(|version| version.annotations().get(UPGRADE_LOCK_ANNOTATION));
        let Some(job) = holder.and_then(|holder| JobRef::parse(holder)) else {
            return Err(Unread::NotAsked);
        };
        let state = self.read_state(client, &job).await?;
        Ok(ObservedHolder { job, state })
    }

    async fn read_pausing_jobs(&self, client: &Client) -> BTreeMap<JobRef, Fact<HolderState>> {
        let marks = self.pools.iter().flatten().filter_map(PausingJob::of);
        let jobs: BTreeSet<JobRef> = marks.map(|by| by.job).collect();
        let mut states = BTreeMap::new();
        for job in jobs {
            let state = self.read_state(client, &job).await;
            states.insert(job, state);
        }
        states
    }

    async fn read_update_plans(&self, client: &Client) -> BTreeMap<PlannedUpdate, Fact<UpdatePlanState>> {
        let looks =
            |config: &UpgradeJobConfig| config.pre_upgrade_health_checks.check_update_plan == Some(true);
        let unfinished = self.jobs.iter().flatten().filter(|job| !has_ended(job));
        let of_jobs = unfinished
            .filter(|job| looks(&job.spec.config))
            .filter_map(|job| job.spec.desired_version.clone());
        let next = self.available_updates().and_then(version::highest);
        let mut configs = self.configs.iter();
        let is_next = configs.any(|config| looks(&config.spec.job_template.spec.config));
        let releases = of_jobs.chain(next.filter(|_| is_next));
        let Ok(cluster) = &self.cluster_version else {
            return BTreeMap::new();
        };
        let updates: BTreeSet<PlannedUpdate> =
            releases.filter_map(|release| release.planned(cluster)).collect();
        let current = self.cluster_version.as_ref().ok().and_then(completed);
        let mut plans = BTreeMap::new();
        for update in updates {
            let state = update_plan::read(client, current.as_deref(), &update, self.now).await;
            plans.insert(update, state);
        }
        plans
    }

    async fn read_state(&self, client: &Client, job: &JobRef) -> Fact<HolderState> {
        let known = self.jobs.iter().flatten();
        if let Some(known) = known.into_iter().find(|known| JobRef::of(known) == *job) {
            return Ok(HolderState::of(Some(known)));
        }
        let api: Api<UpgradeJob> = Api::namespaced(client.clone(), &job.namespace);
        let found = api.get_opt(&job.name).await;
        Ok(HolderState::of(found.map_err(|error| unread(&error))?.as_ref()))
    }

    /// The UpgradeConfig of this name.
    ///
    /// # Errors
    /// If there is none, with the names that there are.
    pub fn config(&self, name: &str) -> anyhow::Result<&UpgradeConfig> {
        let found = self.configs.iter().find(|config| config.name_any() == name);
        if let Some(found) = found {
            return Ok(found);
        }
        let names: Vec<String> = self.configs.iter().map(ResourceExt::name_any).collect();
        if names.is_empty() {
            bail!("{}", self.nothing());
        }
        bail!(
            "there is no UpgradeConfig {name} {}; there are: {}",
            self.place(),
            names.join(", ")
        )
    }

    /// That there are no schedules, for people.
    pub fn nothing(&self) -> String {
        match &self.scope {
            Scope::All => "there is no UpgradeConfig of managedupgrade.appuio.io in any namespace".to_owned(),
            Scope::Namespace(namespace) => format!(
                "there is no UpgradeConfig of managedupgrade.appuio.io in namespace {namespace}: choose another with -n, or look into all with -A"
            ),
        }
    }

    fn place(&self) -> String {
        match &self.scope {
            Scope::All => "in any namespace".to_owned(),
            Scope::Namespace(namespace) => format!("in namespace {namespace}"),
        }
    }

    /// The available updates, if ClusterVersion was read.
    pub fn available_updates(&self) -> Option<&[Release]> {
        let status = self.cluster_version.as_ref().ok()?.status.as_ref()?;
        Some(&status.available_updates)
    }

    /// What an UpgradeConfig decides by.
    pub fn observed<'a>(&'a self, config: &'a UpgradeConfig) -> Observed<'a> {
        Observed {
            config,
            jobs: self.jobs.iter().flatten().collect(),
            windows: self.windows.iter().flatten().collect(),
            available_updates: self.available_updates(),
            local_zone: &self.local_zone,
        }
    }

    /// What an UpgradeJob decides by at a moment, as things are. Alerts are not looked at: the cluster's monitoring is not asked.
    pub fn observe(&self, job: UpgradeJob, moment: Timestamp) -> JobObservation {
        let namespace = job.namespace();
        let release = job.spec.desired_version.as_ref();
        let update_plan = release.and_then(|release| {
            let update = release.planned(self.cluster_version.as_ref().ok()?)?;
            self.update_plans.get(&update)
        });
        JobObservation {
            update_plan: update_plan.cloned().unwrap_or(Err(Unread::NotAsked)),
            hooks: near(&self.hooks, namespace.as_ref()),
            hook_jobs: near(&self.hook_jobs, namespace.as_ref()),
            windows: near(&self.windows, namespace.as_ref()),
            cluster_version: self.cluster_version.clone(),
            pools: self.pools.clone(),
            operators: self.operators.clone(),
            alerts: Ok(Vec::new()),
            holder: self.holder.clone(),
            pausing_jobs: self.pausing_jobs.clone(),
            ..JobObservation::new(job, moment)
        }
    }

    /// What could not be read, and why, in words.
    pub fn not_read(&self) -> Vec<String> {
        fn why<T>(fact: &Fact<T>) -> Option<&Unread> {
            fact.as_ref().err().filter(|unread| **unread != Unread::NotAsked)
        }
        let all = [
            ("UpgradeJobs", why(&self.jobs)),
            ("UpgradeSuspensionWindows", why(&self.windows)),
            ("UpgradeJobHooks", why(&self.hooks)),
            ("the Jobs of hooks", why(&self.hook_jobs)),
            ("ClusterVersion", why(&self.cluster_version)),
            ("cluster operators", why(&self.operators)),
            ("machine config pools", why(&self.pools)),
            (
                "the UpgradeJob that has the lock of the cluster",
                why(&self.holder),
            ),
        ];
        all.into_iter()
            .filter_map(|(what, why)| Some(format!("{what}: {}", why?)))
            .collect()
    }
}

/// The second in which a moment is, as it is written on objects.
fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

/// Those of a namespace.
fn near<K: ResourceExt + Clone>(all: &Fact<Vec<K>>, namespace: Option<&String>) -> Fact<Vec<K>> {
    let is_near = |object: &&K| object.namespace().as_ref() == namespace;
    all.as_ref()
        .map(|all| all.iter().filter(is_near).cloned().collect())
        .map_err(Clone::clone)
}

fn scoped<K>(client: &Client, scope: &Scope) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match scope {
        Scope::All => Api::all(client.clone()),
        Scope::Namespace(namespace) => Api::namespaced(client.clone(), namespace),
    }
}

async fn configs(client: &Client, scope: &Scope) -> anyhow::Result<Vec<UpgradeConfig>> {
    let api: Api<UpgradeConfig> = scoped(client, scope);
    match list_all(&api, ListParams::default()).await {
        Ok(mut configs) => {
            configs.sort_by_key(|config| (config.namespace(), config.name_any()));
            Ok(configs)
        }
        Err(kube::Error::Api(status)) if status.code == 404 => bail!(
            "the cluster does not have the kinds of maintenance schedules (managedupgrade.appuio.io): use the kubeconfig of a cluster that has them, or install them with kubectl apply -k manifests/agent"
        ),
        Err(error) => Err(error).context("listing the UpgradeConfigs of managedupgrade.appuio.io"),
    }
}

async fn listed<K>(api: Api<K>, parameters: ListParams) -> Fact<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    match list_all(&api, parameters).await {
        Ok(all) => Ok(all),
        Err(kube::Error::Api(status)) if status.code == 404 => Err(Unread::Failed(format!(
            "the cluster has no kind {} of {}",
            K::kind(&()),
            K::api_version(&())
        ))),
        Err(error) => Err(unread(&error)),
    }
}

async fn cluster_version(client: &Client) -> Fact<ClusterVersion> {
    let api: Api<ClusterVersion> = Api::all(client.clone());
    api.get(CLUSTER_VERSION).await.map_err(|error| unread(&error))
}
