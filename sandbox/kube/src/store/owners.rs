//! Who names whom in `metadata.ownerReferences`, so that garbage collection need not search.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{CollectionId, Key, Object};

#[derive(Debug, Default)]
pub(super) struct Owners(BTreeMap<String, BTreeSet<(CollectionId, Key)>>);

impl Owners {
    pub(super) fn record(
        &mut self,
        collection: &CollectionId,
        key: &Key,
        before: Option<&Object>,
        after: Option<&Object>,
    ) {
        let old: BTreeSet<&str> = before.map(owner_uids).unwrap_or_default();
        let new: BTreeSet<&str> = after.map(owner_uids).unwrap_or_default();
        for gone in old.difference(&new) {
            if let Some(dependents) = self.0.get_mut(*gone) {
                dependents.remove(&(collection.clone(), key.clone()));
                if dependents.is_empty() {
                    self.0.remove(*gone);
                }
            }
        }
        for added in new.difference(&old) {
            self.0
                .entry((*added).to_owned())
                .or_default()
                .insert((collection.clone(), key.clone()));
        }
    }

    pub(super) fn dependents(&self, uid: &str) -> Vec<(CollectionId, Key)> {
        self.0
            .get(uid)
            .map(|dependents| dependents.iter().cloned().collect())
            .unwrap_or_default()
    }
}

fn owner_uids(object: &Object) -> BTreeSet<&str> {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get("ownerReferences"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|reference| reference.get("uid").and_then(Value::as_str))
        .collect()
}
