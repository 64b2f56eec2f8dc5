//! The watches of maintenance schedules. A kind that the cluster does not have is as one without objects, and is watched once it is there.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;

use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::{ManagedClusterVersion, UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use drydock_runtime::Clock;
use drydock_runtime::watch_backoff::with_backoff;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::core::NamespaceResourceScope;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::changes::Wakers;
use super::presence::Presence;
use super::settings::{ScheduleNamespace, SchedulePart, ScheduleSettings};
use crate::watched::{Report, WatchSink, Watched, watched};

/// What is seen. Cheap to clone.
#[derive(Clone)]
pub(super) struct Seen {
    pub configs: Watched<UpgradeConfig>,
    pub jobs: Watched<UpgradeJob>,
    pub windows: Watched<UpgradeSuspensionWindow>,
    /// No more than the one that is acted on.
    pub managed: Watched<ManagedClusterVersion>,
    /// OpenShift's.
    pub upstream: Watched<ClusterVersion>,
}

/// Who depends on which objects.
#[derive(Clone, Debug, Default)]
pub(super) struct WokenBy {
    pub configs: Wakers,
    pub jobs: Wakers,
    pub windows: Wakers,
    pub managed: Wakers,
    pub upstream: Wakers,
}

/// The kinds that are watched, by their plurals.
pub(super) fn kinds(settings: &ScheduleSettings) -> BTreeSet<String> {
    let mut kinds = BTreeSet::new();
    if settings.is_on(SchedulePart::UpgradeConfigs) {
        kinds.insert(UpgradeConfig::plural(&()).into_owned());
        kinds.insert(UpgradeJob::plural(&()).into_owned());
        kinds.insert(UpgradeSuspensionWindow::plural(&()).into_owned());
    }
    if settings.is_on(SchedulePart::ClusterVersion) {
        kinds.insert(ManagedClusterVersion::plural(&()).into_owned());
    }
    kinds
}

/// Watches everything that the settings ask for: the second part has to be polled.
pub(super) struct Watching<'a> {
    pub client: &'a Client,
    pub clock: &'a Clock,
    /// The agent's own namespace.
    pub namespace: &'a str,
    pub settings: &'a ScheduleSettings,
    pub presence: &'a Presence,
}

impl Watching<'_> {
    /// Starts.
    pub fn start(&self, woken_by: WokenBy) -> (Seen, Vec<BoxFuture<'static, ()>>) {
        let mut watches = Vec::new();
        let all = watcher::Config::default();
        let named = |name: &str| all.clone().fields(&format!("metadata.name={name}"));
        let part = SchedulePart::UpgradeConfigs;
        let configs = self.own(part, self.objects(), all.clone(), woken_by.configs, &mut watches);
        let jobs = self.own(part, self.objects(), all.clone(), woken_by.jobs, &mut watches);
        let windows = self.own(part, self.objects(), all.clone(), woken_by.windows, &mut watches);
        let namespace = self.settings.managed_namespace.as_deref();
        let managed = self.own(
            SchedulePart::ClusterVersion,
            Api::namespaced(self.client.clone(), namespace.unwrap_or(self.namespace)),
            named(&self.settings.managed_name),
            woken_by.managed,
            &mut watches,
        );
        let (upstream, sink) = watched(self.clock.clone());
        watches.push(
            follow_upstream(
                sink,
                Api::all(self.client.clone()),
                named(&self.settings.upstream_name),
                self.presence.clone(),
                kinds(self.settings),
                woken_by.upstream,
            )
            .boxed(),
        );
        let seen = Seen {
            configs,
            jobs,
            windows,
            managed,
            upstream,
        };
        (seen, watches)
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

    /// Watches a kind of maintenance schedules, unless its part is off.
    fn own<K>(
        &self,
        part: SchedulePart,
        api: Api<K>,
        config: watcher::Config,
        wakers: Wakers,
        watches: &mut Vec<BoxFuture<'static, ()>>,
    ) -> Watched<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let (watched, mut sink) = watched(self.clock.clone());
        if self.settings.is_on(part) {
            let presence = self.presence.clone();
            watches.push(follow_own(sink, api, config, presence, wakers).boxed());
        } else {
            sink.clear();
        }
        watched
    }
}

/// Watches a kind of maintenance schedules whenever there is such a kind.
async fn follow_own<K>(
    mut sink: WatchSink<K>,
    api: Api<K>,
    config: watcher::Config,
    presence: Presence,
    wakers: Wakers,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let plural = K::plural(&()).into_owned();
    loop {
        if !presence.is_served(&plural).await {
            sink.clear();
            wakers.wake();
            presence.wait_for_any(&BTreeSet::from([plural.clone()])).await;
        }
        follow(&mut sink, &api, &config, &wakers).await;
        sink.clear();
        wakers.wake();
        presence.lost().await;
    }
}

/// Watches OpenShift's ClusterVersion once there is one of the kinds that depend on it.
async fn follow_upstream(
    mut sink: WatchSink<ClusterVersion>,
    api: Api<ClusterVersion>,
    config: watcher::Config,
    presence: Presence,
    dependent: BTreeSet<String>,
    wakers: Wakers,
) {
    presence.wait_for_any(&dependent).await;
    let mut events = pin!(with_backoff(watcher(api, config)));
    while let Some(event) = events.next().await {
        if sink.apply(event) == Report::Changed {
            wakers.wake();
        }
    }
}

/// Watches until the server says that there is no such kind.
async fn follow<K>(sink: &mut WatchSink<K>, api: &Api<K>, config: &watcher::Config, wakers: &Wakers)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let mut events = pin!(with_backoff(watcher(api.clone(), config.clone())));
    let mut fails = false;
    while let Some(event) = events.next().await {
        match sink.apply(event) {
            Report::Changed => {
                fails = false;
                wakers.wake();
            }
            Report::Incomplete => {}
            Report::Failed(why) => {
                // Once: it is tried again for as long as it takes.
                if !std::mem::replace(&mut fails, true) {
                    let url = api.resource_url();
                    tracing::warn!(url, why, "a watch fails; it is tried again");
                }
            }
            Report::NoSuchKind => return,
        }
    }
}
