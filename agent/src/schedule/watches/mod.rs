//! The watches of maintenance schedules. A kind that the cluster does not have is as one without objects, and is watched once it is there.

mod nodes;

use std::collections::BTreeSet;
use std::fmt::Debug;

use drydock_api::machine_api::Machine;
use drydock_api::names::HOOK_UPGRADE_JOB_LABEL;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{
    ManagedClusterVersion, NodeForceDrain, UpgradeConfig, UpgradeJob, UpgradeJobHook, UpgradeSuspensionWindow,
};
use drydock_runtime::Clock;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Node;
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::settings::{ScheduleNamespace, SchedulePart, ScheduleSettings};
use crate::reconcile::changes::Wakers;
use crate::reconcile::follow::{Reports, follow_other, follow_own};
use crate::reconcile::presence::Presence;
use crate::watched::{Watched, watched, watched_in_part};

/// What is seen. Cheap to clone.
#[derive(Clone)]
pub(super) struct Seen {
    pub configs: Watched<UpgradeConfig>,
    pub jobs: Watched<UpgradeJob>,
    pub hooks: Watched<UpgradeJobHook>,
    /// The Jobs of hooks, without their specs.
    pub hook_jobs: Watched<Job>,
    pub windows: Watched<UpgradeSuspensionWindow>,
    /// No more than the one that is acted on.
    pub managed: Watched<ManagedClusterVersion>,
    /// OpenShift's.
    pub upstream: Watched<ClusterVersion>,
    pub pools: Watched<MachineConfigPool>,
    pub drains: Watched<NodeForceDrain>,
    /// Of nodes no more than what tells which are drained, and what selects them.
    pub nodes: Watched<Node>,
    /// For metrics only.
    pub machines: Watched<Machine>,
}

/// Who depends on which objects.
#[derive(Clone, Debug, Default)]
pub(super) struct WokenBy {
    pub configs: Wakers,
    pub jobs: Wakers,
    pub hooks: Wakers,
    pub hook_jobs: Wakers,
    pub windows: Wakers,
    pub managed: Wakers,
    pub upstream: Wakers,
    pub pools: Wakers,
    pub drains: Wakers,
    pub nodes: Wakers,
}

/// The parts that depend on a kind of maintenance schedules.
const CONFIGS: &[SchedulePart] = &[SchedulePart::UpgradeConfigs];
const JOBS: &[SchedulePart] = &[SchedulePart::UpgradeConfigs, SchedulePart::UpgradeJobs];
const HOOKS: &[SchedulePart] = &[SchedulePart::UpgradeJobs];
const MANAGED: &[SchedulePart] = &[SchedulePart::ClusterVersion];
const DRAINS: &[SchedulePart] = &[SchedulePart::NodeForceDrains];

/// The kinds that are watched, by their plurals.
pub(super) fn kinds(settings: &ScheduleSettings) -> BTreeSet<String> {
    let kinds = [
        (UpgradeConfig::plural(&()), CONFIGS),
        (UpgradeJob::plural(&()), JOBS),
        (UpgradeSuspensionWindow::plural(&()), JOBS),
        (UpgradeJobHook::plural(&()), HOOKS),
        (ManagedClusterVersion::plural(&()), MANAGED),
        (NodeForceDrain::plural(&()), DRAINS),
    ];
    let watched = kinds.into_iter().filter(|(_, parts)| settings.is_any_on(parts));
    watched.map(|(plural, _)| plural.into_owned()).collect()
}

/// Watches everything that the settings ask for: the second part has to be polled.
pub(super) struct Watching<'a> {
    pub client: &'a Client,
    pub clock: &'a Clock,
    /// The agent's own namespace.
    pub namespace: &'a str,
    pub settings: &'a ScheduleSettings,
    pub presence: &'a Presence,
    watches: Vec<BoxFuture<'static, ()>>,
}

fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

fn plural<K: Resource<DynamicType = ()>>() -> BTreeSet<String> {
    BTreeSet::from([K::plural(&()).into_owned()])
}

impl<'a> Watching<'a> {
    /// Nothing is watched yet.
    pub fn new(
        client: &'a Client,
        clock: &'a Clock,
        namespace: &'a str,
        settings: &'a ScheduleSettings,
        presence: &'a Presence,
    ) -> Self {
        Self {
            client,
            clock,
            namespace,
            settings,
            presence,
            watches: Vec::new(),
        }
    }

    /// Starts.
    pub fn start(mut self, woken_by: WokenBy) -> (Seen, Vec<BoxFuture<'static, ()>>) {
        let all = watcher::Config::default;
        let managed: Api<ManagedClusterVersion> = {
            let namespace = self.settings.managed_namespace.as_deref();
            Api::namespaced(self.client.clone(), namespace.unwrap_or(self.namespace))
        };
        let seen = Seen {
            configs: self.own(CONFIGS, self.objects(), all(), woken_by.configs),
            jobs: self.own(JOBS, self.objects(), all(), woken_by.jobs),
            hooks: self.own(HOOKS, self.objects(), all(), woken_by.hooks),
            windows: self.own(JOBS, self.objects(), all(), woken_by.windows),
            managed: self.own(
                MANAGED,
                managed,
                named(&self.settings.managed_name),
                woken_by.managed,
            ),
            drains: self.own(DRAINS, self.objects(), all(), woken_by.drains),
            upstream: self.upstream(woken_by.upstream),
            pools: self.pools(woken_by.pools),
            hook_jobs: self.hook_jobs(woken_by.hook_jobs),
            nodes: self.nodes(woken_by.nodes),
            machines: self.machines(),
        };
        (seen, self.watches)
    }

    fn objects<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        match &self.settings.namespace {
            ScheduleNamespace::Own => Api::namespaced(self.client.clone(), self.namespace),
            ScheduleNamespace::Named(namespace) => Api::namespaced(self.client.clone(), namespace),
            ScheduleNamespace::All => Api::all(self.client.clone()),
        }
    }

    /// Watches a kind of maintenance schedules, unless all parts that depend on it are off.
    fn own<K>(
        &mut self,
        parts: &[SchedulePart],
        api: Api<K>,
        config: watcher::Config,
        wakers: Wakers,
    ) -> Watched<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (watched, mut sink) = watched(self.clock.clone());
        if self.settings.is_any_on(parts) {
            let presence = self.presence.clone();
            self.watches
                .push(follow_own(sink, api, config, presence, wakers).boxed());
        } else {
            sink.clear();
        }
        watched
    }

    /// Watches another kind, as long as there is one of the kinds that depend on it. Of the objects `trim` leaves what is needed.
    fn other<K>(
        &mut self,
        parts: &[SchedulePart],
        dependent: BTreeSet<String>,
        reports: Reports<K>,
        trim: fn(&mut K),
        wakers: Wakers,
    ) -> Watched<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (watched, mut sink) = watched_in_part(self.clock.clone(), trim);
        if self.settings.is_any_on(parts) {
            let presence = self.presence.clone();
            self.watches
                .push(follow_other(sink, reports, presence, dependent, wakers).boxed());
        } else {
            sink.clear();
        }
        watched
    }

    fn upstream(&mut self, wakers: Wakers) -> Watched<ClusterVersion> {
        let api = Api::all(self.client.clone());
        let reports = watcher(api, named(&self.settings.upstream_name)).boxed();
        let parts = [JOBS, MANAGED].concat();
        self.other(&parts, kinds(self.settings), reports, |_| {}, wakers)
    }

    fn pools(&mut self, wakers: Wakers) -> Watched<MachineConfigPool> {
        let reports = watcher(Api::all(self.client.clone()), watcher::Config::default()).boxed();
        self.other(HOOKS, plural::<UpgradeJob>(), reports, |_| {}, wakers)
    }

    fn hook_jobs(&mut self, wakers: Wakers) -> Watched<Job> {
        let config = watcher::Config::default().labels(HOOK_UPGRADE_JOB_LABEL);
        let reports = watcher(self.objects(), config).boxed();
        // What was run is no longer needed, and is long: the whole UpgradeJob, for each container.
        let trim = |job: &mut Job| job.spec = None;
        self.other(HOOKS, plural::<UpgradeJob>(), reports, trim, wakers)
    }

    fn machines(&mut self) -> Watched<Machine> {
        let api = Api::namespaced(self.client.clone(), &self.settings.machine_namespace);
        let reports = watcher(api, watcher::Config::default()).boxed();
        let trim = |machine: &mut Machine| machine.spec.retain(|name, _| name == "providerID");
        self.other(HOOKS, plural::<UpgradeJob>(), reports, trim, Wakers::default())
    }

    fn nodes(&mut self, wakers: Wakers) -> Watched<Node> {
        let reports = nodes::watch(Api::all(self.client.clone()));
        self.other(DRAINS, plural::<NodeForceDrain>(), reports, nodes::trim, wakers)
    }
}
