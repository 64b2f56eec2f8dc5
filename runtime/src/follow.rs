//! A watch of a kind whose objects are told one by one and not kept: who is told keeps what it needs of each, since 10,000
//! ManifestWorks are 5.7 MiB of digests and 435 MiB of objects.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;

use futures::{Stream, StreamExt};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::object_key::ObjectKey;
use crate::watch_backoff::patient;

/// What a watch tells of an object.
#[derive(Debug)]
pub enum Seen<'a, K> {
    /// It is so.
    Applied(&'a K),
    /// It is gone, and was so at its end.
    Deleted(&'a K),
    /// A list lacks it that had been told before: it went unseen.
    Missing(&'a ObjectKey),
}

/// The version of an object. Versions are numbers that grow (Kubernetes KEP-5504); 0 for what is none.
pub fn version_of(object: &impl Resource) -> u64 {
    let version = object.meta().resource_version.as_ref();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Lists and watches `api` until `shutdown`, and tells `seen` of each object. `synced` is called once, when the first list is complete;
/// `failed` after each answer, with whether it was an error.
pub async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    seen: impl FnMut(Seen<'_, K>),
    synced: impl FnOnce(),
    failed: impl Fn(bool),
    shutdown: CancellationToken,
) where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let events = patient(watcher::watcher(api, config)).inspect(|event| failed(event.is_err()));
    Follower::new(seen, synced).feed(events, shutdown).await;
}

/// What has been told so far.
struct Follower<F, S> {
    seen: F,
    synced: Option<S>,
    told: BTreeSet<ObjectKey>,
    /// While a list runs: what it has brought so far.
    listed: BTreeSet<ObjectKey>,
}

impl<F, S: FnOnce()> Follower<F, S> {
    fn new(seen: F, synced: S) -> Self {
        Self {
            seen,
            synced: Some(synced),
            told: BTreeSet::new(),
            listed: BTreeSet::new(),
        }
    }

    async fn feed<K>(
        mut self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        shutdown: CancellationToken,
    ) where
        K: Resource,
        F: FnMut(Seen<'_, K>),
    {
        let mut events = pin!(events);
        loop {
            let event = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                event = events.next() => event,
            };
            match event {
                Some(Ok(event)) => self.apply(&event),
                Some(Err(error)) => {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "a watch was interrupted and continues"
                    );
                }
                None => return,
            }
        }
    }

    fn apply<K>(&mut self, event: &Event<K>)
    where
        K: Resource,
        F: FnMut(Seen<'_, K>),
    {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(ObjectKey::of(object));
                (self.seen)(Seen::Applied(object));
            }
            Event::Apply(object) => {
                self.told.insert(ObjectKey::of(object));
                (self.seen)(Seen::Applied(object));
            }
            Event::Delete(object) => {
                self.told.remove(&ObjectKey::of(object));
                (self.seen)(Seen::Deleted(object));
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let told = std::mem::replace(&mut self.told, listed);
                for key in told.difference(&self.told) {
                    (self.seen)(Seen::Missing(key));
                }
                if let Some(synced) = self.synced.take() {
                    synced();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;

    fn object(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.namespace = Some("dev1".to_owned());
        object.metadata.name = Some(name.to_owned());
        object
    }

    #[test]
    fn what_a_new_list_lacks_is_missing() {
        let mut told = Vec::new();
        let mut synced = 0;
        let mut follower = Follower::new(
            |seen: Seen<'_, ConfigMap>| {
                told.push(match seen {
                    Seen::Applied(object) => format!("{} is", ObjectKey::of(object)),
                    Seen::Deleted(object) => format!("{} was", ObjectKey::of(object)),
                    Seen::Missing(key) => format!("{key} is missing"),
                });
            },
            || synced += 1,
        );
        for event in [
            Event::Init,
            Event::InitApply(object("a")),
            Event::InitApply(object("b")),
            Event::InitDone,
            Event::Apply(object("c")),
            Event::Delete(object("a")),
            Event::Init,
            Event::InitApply(object("c")),
            Event::InitDone,
        ] {
            follower.apply(&event);
        }
        drop(follower);
        let expected = [
            "dev1/a is",
            "dev1/b is",
            "dev1/c is",
            "dev1/a was",
            "dev1/c is",
            "dev1/b is missing",
        ];
        assert_eq!(told, expected);
        assert_eq!(synced, 1);
    }
}
