//! Follows an upgrade from the outside, as any user could: its works, its status, its Events.

use std::sync::Arc;

use anyhow::Context;
use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names;
use drydock_api::ocm::manifest_work::ManifestWork;
use drydock_runtime::digest_index::DigestIndex;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::progress::WorkDigest;

/// Something about the upgrade changed.
pub enum Seen {
    /// A work of a cluster.
    Work(ClusterName, WorkDigest),
    /// The upgrade itself.
    Upgrade(Arc<ManagedClustersUpgrade>),
    /// The hub told something.
    Event(String),
}

/// The watches behind; dropping it ends them.
pub struct Follower {
    seen: mpsc::UnboundedReceiver<Seen>,
    _stop: DropGuard,
}

impl Follower {
    /// Begins to follow `upgrade`.
    ///
    /// # Errors
    /// If the upgrade has no uid or namespace, which the server gives every object.
    pub fn start(client: Client, upgrade: &ManagedClustersUpgrade) -> anyhow::Result<Self> {
        let uid = upgrade.uid().context("the upgrade has no uid")?;
        let namespace = upgrade.namespace().context("the upgrade has no namespace")?;
        let name = upgrade.name_any();
        let (sender, seen) = mpsc::unbounded_channel();
        let stop = CancellationToken::new();
        follow_works(client.clone(), &uid, sender.clone(), stop.clone());
        let itself = watcher::Config::default().fields(&format!("metadata.name={name}"));
        follow(
            Api::namespaced(client.clone(), &namespace),
            itself,
            sender.clone(),
            stop.clone(),
            |upgrade| Seen::Upgrade(Arc::new(upgrade)),
        );
        let about = watcher::Config::default().fields(&format!("involvedObject.name={name}"));
        follow(
            Api::<Event>::namespaced(client, &namespace),
            about,
            sender,
            stop.clone(),
            |event| Seen::Event(event.message.unwrap_or_default()),
        );
        Ok(Self {
            seen,
            _stop: stop.drop_guard(),
        })
    }

    /// What was seen next; `None` when the watches have ended.
    pub async fn next(&mut self) -> Option<Seen> {
        self.seen.recv().await
    }
}

fn follow_works(client: Client, uid: &str, sender: mpsc::UnboundedSender<Seen>, stop: CancellationToken) {
    let config = watcher::Config::default().labels(&format!("{}={uid}", names::UPGRADE_UID_LABEL));
    let api: Api<ManifestWork> = Api::all(client);
    tokio::spawn(DigestIndex::new().follow(
        api,
        config,
        WorkDigest::of,
        move |change| {
            if let Some(work) = change.new {
                let cluster = ClusterName::from(change.key.namespace.as_str());
                // A closed channel means that nobody looks any more.
                let _nobody_looks = sender.send(Seen::Work(cluster, work.clone()));
            }
        },
        || (),
        stop,
    ));
}

fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    sender: mpsc::UnboundedSender<Seen>,
    stop: CancellationToken,
    seen: impl Fn(K) -> Seen + Send + 'static,
) where
    K: kube::Resource + Clone + serde::de::DeserializeOwned + std::fmt::Debug + Send + 'static,
{
    let objects = watcher(api, config)
        .default_backoff()
        .applied_objects()
        .take_until(stop.cancelled_owned());
    tokio::spawn(objects.for_each(move |object| {
        if let Ok(object) = object {
            let _nobody_looks = sender.send(seen(object));
        }
        std::future::ready(())
    }));
}

/// Whether nothing will happen any more to this upgrade: it is complete, or stopped with nothing in flight.
pub fn is_over(upgrade: &ManagedClustersUpgrade) -> bool {
    let Some(status) = &upgrade.status else {
        return false;
    };
    let condition = |kind: &str| {
        status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == kind)
    };
    let current = status.observed_generation == upgrade.metadata.generation;
    let summary = status.clusters_summery.unwrap_or_default();
    let in_flight = summary.initialized - summary.complete - summary.failed;
    let complete = condition("Complete").is_some_and(|condition| condition.status == "True");
    let refused = condition("Failed").is_some_and(|c| c.status == "True" && c.reason == "InvalidSpec");
    let stopped = condition("InProgress").is_some_and(|condition| {
        condition.status == "False"
            && (matches!(
                condition.reason.as_str(),
                "CanaryFailed" | "NoCanaryMatched" | "FailureBudgetSpent"
            ) || (summary.total > 0 && summary.complete + summary.failed >= summary.total))
    });
    current && (complete || refused || (stopped && in_flight <= 0))
}
