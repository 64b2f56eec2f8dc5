//! How a kind is watched that may be missing.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;
use std::time::Duration;

use drydock_runtime::watch_backoff::with_backoff;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

use super::changes::Wakers;
use super::presence::Presence;
use crate::watched::{Report, WatchSink};

/// How often it is looked for another kind that the cluster does not have: it hardly gets one in its life.
const LOOK_AGAIN: Duration = Duration::from_hours(1);

/// Watches a kind of a group whenever there is such a kind.
pub(crate) async fn follow_own<K>(
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
        let events = watcher(api.clone(), config.clone());
        follow(&mut sink, events, api.resource_url(), &wakers).await;
        sink.clear();
        wakers.wake();
        presence.lost().await;
    }
}

/// The reports of the watch of another kind.
pub(crate) type Reports<K> = BoxStream<'static, watcher::Result<Event<K>>>;

/// Watches another kind once there is one of the kinds that depend on it.
pub(crate) async fn follow_other<K>(
    mut sink: WatchSink<K>,
    reports: Reports<K>,
    presence: Presence,
    dependent: BTreeSet<String>,
    wakers: Wakers,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    presence.wait_for_any(&dependent).await;
    let mut reports = pin!(with_backoff(reports));
    while let Some(report) = reports.next().await {
        match sink.apply(report) {
            Report::Changed => wakers.wake(),
            Report::NoSuchKind => {
                wakers.wake();
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Report::Incomplete | Report::Failed(_) => {}
        }
    }
}

/// Watches until the server says that there is no such kind.
async fn follow<K>(
    sink: &mut WatchSink<K>,
    events: impl Stream<Item = watcher::Result<Event<K>>> + Send + 'static,
    url: &str,
    wakers: &Wakers,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let mut events = pin!(with_backoff(events));
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
                    tracing::warn!(url, why, "a watch fails; it is tried again");
                }
            }
            Report::NoSuchKind => return,
        }
    }
}
