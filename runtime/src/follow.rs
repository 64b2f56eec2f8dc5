//! A watch of a kind whose objects are passed on one by one and not kept: the receiver keeps what it needs of each, since 10,000
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
use crate::watch_backoff::with_backoff;
use crate::watch_doubts::DoubtedWatch;

/// What a watch reports about an object.
#[derive(Debug)]
pub enum ObjectChange<'a, K> {
    /// It exists, in this version.
    Applied(&'a K),
    /// It is gone; its last version.
    Deleted(&'a K),
    /// A list lacks it: it was deleted while the watch was interrupted.
    Missing(&'a ObjectKey),
}

/// The version of an object. Versions are numbers that grow (Kubernetes KEP-5504); 0 for what is none.
pub fn version_of(object: &impl Resource) -> u64 {
    let version = object.meta().resource_version.as_ref();
    version.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Lists and watches `api` until `shutdown`, and passes each object to `seen`. `synced` is called once, when the first list is complete;
/// `answered` after each answer, with the error if it was one; not after an attempt to list, which says nothing yet. Where it may be `doubted` it
/// is begun anew then.
pub async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    doubted: Option<DoubtedWatch>,
    seen: impl FnMut(ObjectChange<'_, K>),
    synced: impl FnOnce(),
    answered: impl Fn(Option<&watcher::Error>),
    shutdown: CancellationToken,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let make = move || with_backoff(watcher::watcher(api.clone(), config.clone()));
    let events = match doubted {
        Some(doubted) => doubted.events(make).left_stream(),
        None => make().right_stream(),
    };
    let events = events.inspect(|event| {
        if !matches!(event, Ok(Event::Init)) {
            answered(event.as_ref().err());
        }
    });
    Follower::new(seen, synced).feed(events, shutdown).await;
}

/// The objects that have been passed on so far.
struct Follower<F, S> {
    seen: F,
    synced: Option<S>,
    known: BTreeSet<ObjectKey>,
    /// While a list runs: what it has brought so far.
    listed: BTreeSet<ObjectKey>,
}

impl<F, S: FnOnce()> Follower<F, S> {
    fn new(seen: F, synced: S) -> Self {
        Self {
            seen,
            synced: Some(synced),
            known: BTreeSet::new(),
            listed: BTreeSet::new(),
        }
    }

    async fn feed<K>(
        mut self,
        events: impl Stream<Item = watcher::Result<Event<K>>>,
        shutdown: CancellationToken,
    ) where
        K: Resource<DynamicType = ()>,
        F: FnMut(ObjectChange<'_, K>),
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
                        kind = &*K::kind(&()),
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
        F: FnMut(ObjectChange<'_, K>),
    {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(ObjectKey::of(object));
                (self.seen)(ObjectChange::Applied(object));
            }
            Event::Apply(object) => {
                self.known.insert(ObjectKey::of(object));
                (self.seen)(ObjectChange::Applied(object));
            }
            Event::Delete(object) => {
                self.known.remove(&ObjectKey::of(object));
                (self.seen)(ObjectChange::Deleted(object));
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let before = std::mem::replace(&mut self.known, listed);
                for key in before.difference(&self.known) {
                    (self.seen)(ObjectChange::Missing(key));
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
        let mut passed_on = Vec::new();
        let mut synced = 0;
        let mut follower = Follower::new(
            |seen: ObjectChange<'_, ConfigMap>| {
                passed_on.push(match seen {
                    ObjectChange::Applied(object) => format!("{} is", ObjectKey::of(object)),
                    ObjectChange::Deleted(object) => format!("{} was", ObjectKey::of(object)),
                    ObjectChange::Missing(key) => format!("{key} is missing"),
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
        assert_eq!(passed_on, expected);
        assert_eq!(synced, 1);
    }
}
