//! Deletes what a work applied: on removal of a manifest, and on deletion of the work.

use serde_json::{Value, json};
use tokio::time::Instant;

use std::time::Duration;

use super::{
    super::{kinds, names},
    agent::{Agent, back_off},
    apply::Spoke,
    merge,
    sync::applied_resources,
    wire::AppliedResource,
};
use kube_sandbox::{
    access::{AccessError, Kind, Propagation, Removal},
    store::Key,
};
use kube_sandbox::{
    condition::{self, Condition},
    object,
};

/// What became of the resources.
#[derive(Debug, Default)]
pub struct Deletion {
    /// Those that are not gone yet.
    pub pending: Vec<AppliedResource>,
    /// True if a deletion was asked for just now.
    pub asked: bool,
}

/// Deletes the resources that only this AppliedManifestWork owns; where another one is an owner too, only the
/// owner reference goes. A resource that is not owned, or not the one that was applied, is left alone.
pub async fn delete_applied(
    spoke: &Spoke,
    resources: &[AppliedResource],
    owner: &Value,
) -> Result<Deletion, AccessError> {
    let mut deletion = Deletion::default();
    for resource in resources {
        let (kind, key) = locate(resource);
        let Some(existing) = spoke.access.find(&kind, &key).await? else {
            continue;
        };
        let owners = object::list(&existing["metadata"]["ownerReferences"]);
        if !owners.iter().any(|present| present["uid"] == owner["uid"]) {
            continue;
        }
        let shared = owners.iter().any(|present| {
            present["apiVersion"] == owner["apiVersion"]
                && present["kind"] == owner["kind"]
                && present["uid"] != owner["uid"]
        });
        if shared {
            if let Some(owners) = merge::owners(&existing, owner, false) {
                let patch = json!({"metadata": {"ownerReferences": owners}});
                spoke.access.merge_patch(&kind, &key, patch).await?;
            }
            continue;
        }
        if resource.uid != object::uid(&existing) {
            continue;
        }
        if !object::is_deleting(&existing) {
            let options = Removal {
                uid: Some(resource.uid.clone()),
                propagation: Some(Propagation::Background),
                ..Removal::default()
            };
            match spoke.access.delete(&kind, &key, &options).await {
                Ok(()) => deletion.asked = true,
                Err(error) if matches!(error.code(), 404 | 409) => continue,
                Err(error) => return Err(error),
            }
        }
        deletion.pending.push(resource.clone());
    }
    Ok(deletion)
}

/// True if the very resource that was applied is still there.
pub async fn exists(spoke: &Spoke, resource: &AppliedResource) -> Result<bool, AccessError> {
    let (kind, key) = locate(resource);
    let found = spoke.access.find(&kind, &key).await?;
    Ok(found.is_some_and(|found| object::uid(&found) == resource.uid))
}

fn locate(resource: &AppliedResource) -> (Kind, Key) {
    let namespaced = !resource.namespace.is_empty();
    let kind = Kind {
        group: resource.group.clone().into(),
        version: resource.version.clone().into(),
        kind: "".into(),
        plural: resource.resource.clone().into(),
        namespaced,
    };
    let key = if namespaced {
        Key::namespaced(resource.namespace.clone(), resource.name.clone())
    } else {
        Key::cluster(resource.name.clone())
    };
    (kind, key)
}

impl Agent {
    /// One step of a work's deletion: announces it, deletes what was applied, waits until that is gone, and then
    /// gives up the finalizers. Called again until nothing is left.
    pub(super) async fn clean_up(&mut self, name: &str) -> Result<(), AccessError> {
        let Some(work) = self.works.get_mut(name) else {
            return Ok(());
        };
        work.apply_due = None;
        work.resources.clear();
        let generation = object::generation(&work.object);
        let mut status = work.status();
        let deleting = Condition::new(
            "Deleting",
            condition::Status::True,
            "WorkDeleting",
            "ManifestWork is being deleted",
        );
        condition::set(
            &mut status.conditions,
            deleting.observed(generation),
            self.clock.now(),
        );
        self.patch_work_status(name, &status).await?;
        if !self.delete_applied_work(name).await? {
            return Ok(());
        }
        let Some(work) = self.works.get(name) else {
            return Ok(());
        };
        let finalizers = object::finalizers_without(&work.object, names::WORK_FINALIZER);
        let patch = json!({"metadata": {"finalizers": finalizers}});
        let key = self.work_key(name);
        match self.hub.merge_patch(&kinds::MANIFEST_WORK, &key, patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => {
                self.works.remove(name);
                Ok(())
            }
        }
    }

    /// True once the AppliedManifestWork is gone.
    async fn delete_applied_work(&mut self, name: &str) -> Result<bool, AccessError> {
        let kind = &kinds::APPLIED_MANIFEST_WORK;
        let key = Key::cluster(format!("{}-{name}", self.hub_hash));
        let Some(mut applied_work) = self.spoke.access.find(kind, &key).await? else {
            return Ok(true);
        };
        if !object::is_deleting(&applied_work) {
            self.spoke.access.delete(kind, &key, &Removal::default()).await?;
        }
        self.sync_status(name).await?;
        let owner = merge::owner_reference(&applied_work);
        let resources = applied_resources(&applied_work);
        let deletion = delete_applied(&self.spoke, &resources, &owner).await?;
        if deletion.asked {
            self.sync_status(name).await?;
        }
        if deletion.pending != resources {
            let list = if deletion.pending.is_empty() {
                Value::Null
            } else {
                json!(deletion.pending)
            };
            let patch = json!({"status": {"appliedResources": list}});
            applied_work = self.spoke.access.merge_patch_status(kind, &key, patch).await?;
        }
        if !deletion.pending.is_empty() {
            if let Some(work) = self.works.get_mut(name) {
                work.cleanups += 1;
                let wait = back_off(Duration::from_millis(50), work.cleanups, Duration::from_mins(1));
                work.cleanup_due = Some(Instant::now() + wait);
            }
            return Ok(false);
        }
        let finalizers = object::finalizers_without(&applied_work, names::APPLIED_WORK_FINALIZER);
        let patch = json!({"metadata": {"finalizers": finalizers}});
        match self.spoke.access.merge_patch(kind, &key, patch).await {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(true),
        }
    }
}
