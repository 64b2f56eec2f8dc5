//! The two things the agent does with a work: apply it, and look at what became of it.

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    super::{kinds, names},
    agent::{Agent, Tracked, back_off},
    apply::{Attempt, key_of, kind_of},
    cleanup, manifest, merge,
    status::{self, ObservedResource},
    wire::{AppliedResource, WorkStatus},
};
use kube_sandbox::{
    access::{AccessError, Selection},
    store::Key,
};
use kube_sandbox::{
    condition,
    object::{self, Shared},
};

impl Agent {
    /// Looks at the objects of a work. One that is missing is only reported: it is applied again with the next resync.
    pub(super) async fn refresh(&mut self, name: &str) -> Result<(), AccessError> {
        self.sync_status(name).await.map(|_| ())
    }

    /// Writes what the objects on the spoke say into the work's status; true if that changed it.
    pub(super) async fn sync_status(&mut self, name: &str) -> Result<bool, AccessError> {
        let Some(work) = self.works.get_mut(name) else {
            return Ok(false);
        };
        let mut status = work.status();
        let managed = object::has_finalizer(&work.object, names::WORK_FINALIZER);
        if !managed || condition::find(&status.conditions, "Applied").is_none() {
            return Ok(false);
        }
        let object = work.object.clone();
        let mut seen = Vec::with_capacity(status.resource_status.manifests.len());
        for entry in &status.resource_status.manifests {
            let meta = &entry.resource_meta;
            if !meta.is_complete() {
                seen.push(ObservedResource::NotFound);
                continue;
            }
            let kind = kind_of(meta, !meta.namespace.is_empty());
            let look = match self.spoke.access.find(&kind, &key_of(meta)).await {
                Ok(Some(found)) => ObservedResource::Object(found),
                Ok(None) => ObservedResource::NotFound,
                Err(error) => ObservedResource::Failed(error.message().to_owned()),
            };
            if let Some(tracked) = work
                .resources
                .iter_mut()
                .find(|tracked| tracked.meta.is_same_resource(meta))
            {
                tracked.seen = match &look {
                    ObservedResource::Object(found) => object::resource_version(found),
                    _ => 0,
                };
            }
            seen.push(look);
        }
        let generation = object::generation(&object);
        status::observe(&mut status, &object["spec"], generation, &seen, self.clock.now());
        self.patch_work_status(name, &status).await
    }

    /// Writes the status of a work if it is another than the one it has.
    pub(super) async fn patch_work_status(
        &mut self,
        name: &str,
        status: &WorkStatus,
    ) -> Result<bool, AccessError> {
        let Some(work) = self.works.get_mut(name) else {
            return Ok(false);
        };
        if work.status() == *status {
            return Ok(false);
        }
        let key = Key::namespaced(self.settings.cluster.as_str(), name);
        let patch = json!({"status": status});
        match self
            .hub
            .merge_patch_status(&kinds::MANIFEST_WORK, &key, patch)
            .await
        {
            Ok(patched) => {
                work.object = patched;
                Ok(true)
            }
            Err(error) if error.is_not_found() => {
                self.works.remove(name);
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Applies every manifest of a work, deletes what it no longer has, and records both.
    pub(super) async fn sync_apply(&mut self, name: &str) -> Result<(), AccessError> {
        // What the agent's status controller does meanwhile: on the change, and after each step.
        self.sync_status(name).await?;
        let Some(work) = self.works.get_mut(name) else {
            return Ok(());
        };
        let revision = work.revision();
        let object = work.object.clone();
        let status = work.status();
        if object::is_deleting(&object) {
            return Ok(());
        }
        if condition::is_true(&status.conditions, "Complete") {
            work.applied_for = Some(revision);
            return Ok(());
        }
        let Some(applied_work) = self.ensure_applied_work(name).await? else {
            return Ok(());
        };
        let owner = merge::owner_reference(&applied_work);
        let attempts = self.apply_manifests(&object["spec"], &status, &owner).await;
        let again = self.track(name, &object["spec"], &attempts);
        self.sync_status(name).await?;
        let resources = self.prune(name, &applied_work, &attempts, &owner).await?;

        let Some(work) = self.works.get_mut(name) else {
            return Ok(());
        };
        let mut status = work.status();
        let results = attempts
            .iter()
            .map(|attempt| (attempt.meta.clone(), attempt.outcome()))
            .collect();
        status::record_apply(&mut status, results, revision.0, self.clock.now());
        work.applied_for = Some(revision);
        self.patch_work_status(name, &status).await?;
        let pending = match resources {
            Some((resources, pending)) => {
                self.record_applied(name, &applied_work, &resources).await?;
                pending
            }
            None => false,
        };
        self.schedule(name, &attempts, again, pending);
        self.sync_status(name).await.map(|_| ())
    }

    async fn apply_manifests(&mut self, spec: &Value, status: &WorkStatus, owner: &Value) -> Vec<Attempt> {
        let manifests = object::list(&spec["workload"]["manifests"]);
        let mut order: Vec<usize> = (0..manifests.len()).collect();
        order.sort_by_key(|&index| manifest::rank(manifests[index]["kind"].as_str().unwrap_or_default()));
        let mut attempts = Vec::with_capacity(manifests.len());
        for index in order {
            attempts.push(self.spoke.apply(index, spec, status, owner).await);
        }
        attempts.sort_by_key(|attempt| attempt.meta.ordinal);
        attempts
    }

    /// None if the work is gone.
    async fn ensure_applied_work(&mut self, name: &str) -> Result<Option<Shared>, AccessError> {
        let full_name = format!("{}-{name}", self.hub_hash);
        let key = Key::cluster(full_name.as_str());
        let Some(work) = self.works.get_mut(name) else {
            return Ok(None);
        };
        let labels = &work.object["metadata"]["labels"];
        let known = match work.record.take() {
            Some(known) => Some(known),
            None => {
                self.spoke
                    .access
                    .find(&kinds::APPLIED_MANIFEST_WORK, &key)
                    .await?
            }
        };
        let access = &self.spoke.access;
        let applied_work = match known {
            Some(known) if known["metadata"]["labels"] == *labels => known,
            Some(_) => {
                let patch = json!({"metadata": {"labels": labels}});
                access
                    .merge_patch(&kinds::APPLIED_MANIFEST_WORK, &key, patch)
                    .await?
            }
            None => {
                let mut body = json!({
                    "apiVersion": "work.open-cluster-management.io/v1",
                    "kind": "AppliedManifestWork",
                    "metadata": {"name": full_name, "finalizers": [names::APPLIED_WORK_FINALIZER]},
                    "spec": {
                        "hubHash": self.hub_hash, "agentID": self.settings.agent_id, "manifestWorkName": name,
                    },
                });
                if labels.is_object() {
                    body["metadata"]["labels"] = labels.clone();
                }
                access.create(&kinds::APPLIED_MANIFEST_WORK, body).await?
            }
        };
        work.record = Some(applied_work.clone());
        Ok(Some(applied_work))
    }

    /// Watches what was applied; true if applying again would write, as the server completed what was sent.
    fn track(&mut self, name: &str, spec: &Value, attempts: &[Attempt]) -> bool {
        let Some(work) = self.works.get_mut(name) else {
            return false;
        };
        let mut again = false;
        let mut old = std::mem::take(&mut work.resources);
        for attempt in attempts {
            let Some(kind) = &attempt.kind else {
                continue;
            };
            let left = attempt.result.as_ref().ok().cloned().flatten();
            let configuration = manifest::configuration(spec, &attempt.meta);
            let at_once = configuration.is_some_and(|config| config["feedbackScrapeType"] == "Watch");
            let known = old
                .iter()
                .position(|known| known.meta == attempt.meta)
                .map(|index| old.swap_remove(index));
            let was = known
                .as_ref()
                .and_then(|known| known.left.as_ref())
                .map(|left| object::resource_version(left));
            if let Some(left) = &left {
                let manifest = &spec["workload"]["manifests"][attempt.meta.ordinal as usize];
                let replaces = configuration.is_none_or(|config| {
                    matches!(config["updateStrategy"]["type"].as_str(), None | Some("Update"))
                });
                again |= replaces
                    && !merge::is_same(manifest, left)
                    && was != Some(object::resource_version(left));
            }
            let tracked = known.unwrap_or_else(|| {
                let (watch, registration) = stream::AbortHandle::new_pair();
                let target = (name.to_owned(), attempt.meta.clone());
                let changes = self
                    .spoke
                    .access
                    .watch(kind, &Selection::one(&key_of(&attempt.meta)));
                let changes = stream::Abortable::new(changes, registration);
                self.objects
                    .push(changes.map(move |change| (target.clone(), change)).boxed());
                Tracked {
                    meta: attempt.meta.clone(),
                    seen: 0,
                    left: None,
                    at_once,
                    watch,
                }
            });
            work.resources.push(Tracked::left(tracked, left, at_once));
        }
        again
    }

    /// Deletes what the work no longer has. The resources that it has now, and whether some are still going; none
    /// if they could not be determined, as a manifest's kind is unknown: then nothing is deleted.
    async fn prune(
        &mut self,
        name: &str,
        applied_work: &Value,
        attempts: &[Attempt],
        owner: &Value,
    ) -> Result<Option<(Vec<AppliedResource>, bool)>, AccessError> {
        let mut resources = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            let Some(kind) = &attempt.kind else {
                return Ok(None);
            };
            let uid = match &attempt.result {
                Ok(Some(object)) => object::uid(object).to_owned(),
                _ => match self.spoke.access.find(kind, &key_of(&attempt.meta)).await? {
                    Some(object) => object::uid(&object).to_owned(),
                    None => continue,
                },
            };
            resources.push(AppliedResource {
                group: attempt.meta.group.clone(),
                version: attempt.meta.version.clone(),
                resource: attempt.meta.resource.clone(),
                namespace: attempt.meta.namespace.clone(),
                name: attempt.meta.name.clone(),
                uid,
            });
        }
        let dropped: Vec<AppliedResource> = applied_resources(applied_work)
            .into_iter()
            .filter(|known| !resources.iter().any(|present| present.is_same_resource(known)))
            .collect();
        let deletion = cleanup::delete_applied(&self.spoke, &dropped, owner).await?;
        if deletion.asked {
            self.sync_status(name).await?;
        }
        let mut pending = Vec::new();
        for resource in deletion.pending {
            if cleanup::exists(&self.spoke, &resource).await? {
                pending.push(resource);
            }
        }
        let is_pending = !pending.is_empty();
        resources.extend(pending);
        resources.sort_by(|one, other| {
            (&one.group, &one.version, &one.resource, &one.namespace, &one.name).cmp(&(
                &other.group,
                &other.version,
                &other.resource,
                &other.namespace,
                &other.name,
            ))
        });
        Ok(Some((resources, is_pending)))
    }

    async fn record_applied(
        &mut self,
        name: &str,
        applied_work: &Value,
        resources: &[AppliedResource],
    ) -> Result<(), AccessError> {
        if applied_resources(applied_work) == resources {
            return Ok(());
        }
        let key = Key::cluster(object::name(applied_work));
        let patch = json!({"status": {"appliedResources": resources}});
        let access = &self.spoke.access;
        let patched = access
            .merge_patch_status(&kinds::APPLIED_MANIFEST_WORK, &key, patch)
            .await?;
        if let Some(work) = self.works.get_mut(name) {
            work.record = Some(patched);
        }
        Ok(())
    }

    /// When to apply again though nothing changes: soon after an error, at the next resync if that would write.
    fn schedule(&mut self, name: &str, attempts: &[Attempt], again: bool, pending: bool) {
        let Some(work) = self.works.get_mut(name) else {
            return;
        };
        let now = Instant::now();
        let failed: Vec<_> = attempts
            .iter()
            .filter_map(|attempt| attempt.result.as_ref().err())
            .collect();
        work.apply_due = if failed.iter().any(|failure| failure.retry) || pending {
            work.failures += 1;
            Some(now + back_off(Duration::from_millis(5), work.failures, Duration::from_secs(1000)))
        } else if again || !failed.is_empty() {
            work.failures = 0;
            Some(work.resyncs.after(now))
        } else {
            work.failures = 0;
            None
        };
    }
}

impl Tracked {
    fn left(mut self, left: Option<Shared>, at_once: bool) -> Self {
        if left.is_some() {
            self.left = left;
        }
        self.at_once = at_once;
        self
    }
}

/// `status.appliedResources` of an AppliedManifestWork.
pub(super) fn applied_resources(applied_work: &Value) -> Vec<AppliedResource> {
    object::list(&applied_work["status"]["appliedResources"])
        .iter()
        .filter_map(|resource| serde::Deserialize::deserialize(resource).ok())
        .collect()
}
