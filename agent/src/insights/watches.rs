//! The watches of update insights. A kind that the cluster does not have is as one without objects, and is watched once it is there.

use std::collections::BTreeSet;
use std::fmt::Debug;

use drydock_api::insights::{UPDATE_STATUS, UpdateInformer, UpdatePlan, UpdatePlanInsight, UpdateStatus};
use drydock_api::names::CLUSTER_VERSION;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_runtime::Clock;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::core::ClusterResourceScope;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::settings::{InsightsPart, InsightsSettings};
use crate::reconcile::changes::Wakers;
use crate::reconcile::follow::{follow_other, follow_own};
use crate::reconcile::presence::Presence;
use crate::watched::{Watched, watched};

/// What is seen. Cheap to clone.
#[derive(Clone)]
pub(super) struct Seen {
    pub informers: Watched<UpdateInformer>,
    /// No more than the one.
    pub status: Watched<UpdateStatus>,
    pub plans: Watched<UpdatePlan>,
    pub parts: Watched<UpdatePlanInsight>,
    pub cluster: Watched<ClusterVersion>,
    pub pools: Watched<MachineConfigPool>,
}

/// Who depends on which objects.
#[derive(Clone, Debug, Default)]
pub(super) struct WokenBy {
    pub informers: Wakers,
    pub status: Wakers,
    pub plans: Wakers,
    pub parts: Wakers,
    pub cluster: Wakers,
    pub pools: Wakers,
}

const INFORMERS: &[InsightsPart] = &[
    InsightsPart::UpdateInformers,
    InsightsPart::UpdateStatus,
    InsightsPart::UpdatePlans,
];
const STATUS: &[InsightsPart] = &[InsightsPart::UpdateStatus];
const PLANS: &[InsightsPart] = &[InsightsPart::UpdatePlans];

/// The kinds that are watched, by their plurals.
pub(super) fn kinds(settings: &InsightsSettings) -> BTreeSet<String> {
    let kinds = [
        (UpdateInformer::plural(&()), INFORMERS),
        (UpdateStatus::plural(&()), STATUS),
        (UpdatePlan::plural(&()), PLANS),
        (UpdatePlanInsight::plural(&()), PLANS),
    ];
    let watched = kinds
        .into_iter()
        .filter(|(_, parts)| parts.iter().any(|part| settings.is_on(*part)));
    watched.map(|(plural, _)| plural.into_owned()).collect()
}

/// Watches everything that the settings ask for: the futures have to be polled.
pub(super) struct Watching<'a> {
    pub client: &'a Client,
    pub clock: &'a Clock,
    pub settings: &'a InsightsSettings,
    pub presence: &'a Presence,
    pub watches: Vec<BoxFuture<'static, ()>>,
}

fn named(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}

impl Watching<'_> {
    /// Starts.
    pub fn start(mut self, woken_by: WokenBy) -> (Seen, Vec<BoxFuture<'static, ()>>) {
        let all = watcher::Config::default;
        let seen = Seen {
            informers: self.own(all(), woken_by.informers),
            status: self.own(named(UPDATE_STATUS), woken_by.status),
            plans: self.own(all(), woken_by.plans),
            parts: self.own(all(), woken_by.parts),
            cluster: self.other(named(CLUSTER_VERSION), woken_by.cluster),
            pools: self.other(all(), woken_by.pools),
        };
        (seen, self.watches)
    }

    /// Watches a kind of update insights, unless all parts that depend on it are off.
    fn own<K>(&mut self, config: watcher::Config, wakers: Wakers) -> Watched<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + 'static,
    {
        let (watched, mut sink) = watched(self.clock.clone());
        if kinds(self.settings).contains(K::plural(&()).as_ref()) {
            let api = Api::all(self.client.clone());
            let presence = self.presence.clone();
            self.watches
                .push(follow_own(sink, api, config, presence, wakers).boxed());
        } else {
            sink.clear();
        }
        watched
    }

    /// Watches another kind, as long as there is one of update insights.
    fn other<K>(&mut self, config: watcher::Config, wakers: Wakers) -> Watched<K>
    where
        K: Resource<DynamicType = (), Scope = ClusterResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + 'static,
    {
        let (watched, sink) = watched(self.clock.clone());
        let reports = watcher(Api::all(self.client.clone()), config).boxed();
        let presence = self.presence.clone();
        self.watches
            .push(follow_other(sink, reports, presence, kinds(self.settings), wakers).boxed());
        watched
    }
}
