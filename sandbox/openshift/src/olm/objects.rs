//! The objects that the lifecycle manager sees, and what it wants written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use kube_sandbox::access::{Key, Kind, Object, WatchEvent};

/// The objects of one kind.
pub(super) type Objects = BTreeMap<Key, Arc<Object>>;

/// What there is.
#[derive(Clone, Debug, Default)]
pub(super) struct OlmObjects {
    pub(super) catalogs: Objects,
    pub(super) config_maps: Objects,
    pub(super) subscriptions: Objects,
    pub(super) plans: Objects,
    pub(super) versions: Objects,
}

/// Which of them a change is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum CatalogSource {
    Catalogs,
    ConfigMaps,
    Subscriptions,
    Plans,
    Versions,
}

/// One write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Write {
    /// An object is made.
    Create(&'static Kind, Value),
    /// The status of an object becomes this.
    Status(&'static Kind, Key, Value),
    /// An object is deleted.
    Delete(&'static Kind, Key),
}

impl OlmObjects {
    fn of(&mut self, source: CatalogSource) -> &mut Objects {
        match source {
            CatalogSource::Catalogs => &mut self.catalogs,
            CatalogSource::ConfigMaps => &mut self.config_maps,
            CatalogSource::Subscriptions => &mut self.subscriptions,
            CatalogSource::Plans => &mut self.plans,
            CatalogSource::Versions => &mut self.versions,
        }
    }

    /// Takes in a change.
    pub(super) fn take(&mut self, source: CatalogSource, event: WatchEvent) {
        let objects = self.of(source);
        match event {
            WatchEvent::Applied(object) => {
                objects.insert(object.key(), object);
            }
            WatchEvent::Deleted(object) => {
                objects.remove(&object.key());
            }
            WatchEvent::Resync(all) => {
                *objects = all.into_iter().map(|object| (object.key(), object)).collect();
            }
        }
    }
}

/// The objects of a namespace.
pub(super) fn in_namespace<'o>(
    objects: &'o Objects,
    namespace: &'o str,
) -> impl Iterator<Item = (&'o Key, &'o Arc<Object>)> {
    objects
        .iter()
        .filter(move |(key, _)| key.namespace.as_deref() == Some(namespace))
}
