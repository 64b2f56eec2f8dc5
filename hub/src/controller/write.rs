//! Each action is one idempotent write. There is no decision here.

use drydock_api::ClusterName;
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord};
use drydock_api::names::{HUB_MANAGER, UPGRADE_FINALIZER, WorkKind};
use drydock_api::ocm::{ManifestWork, Placement};
use drydock_objects::works::{self, CommittedOutcome, PartialManifestWork, WorkTemplate};
use drydock_objects::{Planned, placement, record};
use drydock_rollout::{
    Action, Finish, NewWork, PlacementKey, PreCheckAsk, RecordPageWrite, RefusalCause, Stage, Uid,
    pre_checks_work_name,
};
use drydock_runtime::follow::version_of;
use drydock_runtime::object_key::ObjectKey;
use http::HeaderValue;
use http::header::ACCEPT;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, Request};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thiserror::Error;

use super::Context;
use super::answer::{WriteOutcome, WrittenObject, of_error};

/// How an object's metadata are asked for.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// A write that did not succeed, and is to be tried again soon.
#[derive(Debug, Error)]
#[error("{doing}: it is tried again")]
pub(crate) struct WriteError {
    doing: String,
    #[source]
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl WriteError {
    /// An action failed so.
    pub fn of(action: &Action, source: kube::Error) -> Self {
        Self {
            doing: describe(action),
            source: Box::new(source),
        }
    }

    /// An action was refused with these words.
    pub fn refused(action: &Action, words: String) -> Self {
        Self {
            doing: describe(action),
            source: words.into(),
        }
    }

    /// Whether somebody else wrote first: to look again at once is all it takes.
    pub fn is_conflict(&self) -> bool {
        let source = self.source.downcast_ref::<kube::Error>();
        matches!(source, Some(kube::Error::Api(status)) if status.code == 409)
    }
}

/// What an action does, for messages.
pub(super) fn describe(action: &Action) -> String {
    let work = |what: &str, cluster: &ClusterName, kind: WorkKind| {
        let stage = Stage::of(kind).label();
        format!(
            "{what} the ManifestWork of the {stage} ({cluster}/{})",
            kind.work_name(cluster)
        )
    };
    match action {
        Action::AddFinalizer => "adding the finalizer to the upgrade".to_owned(),
        Action::RemoveFinalizer => "removing the finalizer from the upgrade".to_owned(),
        Action::ApplyPlacement(key) => format!("applying the Placement {key}"),
        Action::DeletePlacement(key) => format!("deleting the Placement {key}"),
        Action::CreateWork(new) => work("creating", &new.cluster, new.kind),
        Action::EnforceWork { cluster, .. } => work("requesting the target in", cluster, WorkKind::Cluster),
        Action::SetChannel { cluster, .. } => work("setting the channel in", cluster, WorkKind::Cluster),
        Action::FinishWork(finish) => work("recording the outcome on", &finish.cluster, finish.kind),
        Action::ReopenWork { cluster, .. } => work("removing the outcome from", cluster, WorkKind::Cluster),
        Action::DeleteWork { cluster, kind, .. } => work("deleting", cluster, *kind),
        Action::LabelWork { cluster, kind, .. } => work("labelling", cluster, *kind),
        Action::ConfirmWork { cluster, kind } => work("reading", cluster, *kind),
        Action::AskPreChecks(ask) => {
            format!("applying the ManifestWork of the pre-checks of {}", ask.cluster)
        }
        Action::DeletePreChecks { cluster, .. } => {
            format!("deleting the ManifestWork of the pre-checks of {cluster}")
        }
        Action::WritePage(write) => format!("writing the record {}", write.name),
        Action::MarkPage { name, .. } => format!("marking the record {name}"),
    }
}

/// Writes for one upgrade.
pub(super) struct Writer<'a> {
    pub context: &'a Context,
    pub planned: &'a Planned,
}

impl Writer<'_> {
    /// Carries out one action.
    pub async fn write(&self, action: &Action) -> WriteOutcome {
        match action {
            Action::AddFinalizer => self.set_finalizer(true).await,
            Action::RemoveFinalizer => self.set_finalizer(false).await,
            Action::ApplyPlacement(_) => self.apply_placement().await,
            Action::DeletePlacement(key) => self.delete_placement(key).await,
            Action::CreateWork(new) => self.create_work(new).await,
            Action::FinishWork(finish) => self.finish_work(finish).await,
            Action::ReopenWork {
                cluster,
                uid,
                revision,
            } => {
                let patch = Patch::Merge(works::reopening(uid, revision));
                self.patch_work(cluster, WorkKind::Cluster, &patch).await
            }
            Action::EnforceWork {
                cluster,
                uid,
                revision,
            } => {
                self.change_work(cluster, uid, |work| works::enforcement(work, revision))
                    .await
            }
            Action::SetChannel {
                cluster,
                uid,
                revision,
                channel,
            } => {
                self.change_work(cluster, uid, |work| {
                    works::channel(work, revision, channel.as_deref())
                })
                .await
            }
            Action::LabelWork {
                cluster,
                kind,
                uid,
                has_ended,
            } => {
                let upgrade = &self.planned.rollout.upgrade;
                let patch = Patch::Merge(works::labels(uid, &upgrade.key, &upgrade.uid, *kind, *has_ended));
                self.patch_work(cluster, *kind, &patch).await
            }
            Action::DeleteWork { cluster, kind, uid } => self.delete_work(cluster, *kind, uid).await,
            Action::ConfirmWork { cluster, kind } => self.confirm_work(cluster, *kind).await,
            Action::AskPreChecks(ask) => self.ask_pre_checks(ask).await,
            Action::DeletePreChecks { cluster, uid } => {
                let name = pre_checks_work_name(cluster, &self.planned.rollout.upgrade.key);
                self.delete_named(cluster, &name, uid).await
            }
            Action::WritePage(write) => self.write_page(write).await,
            Action::MarkPage { name, closed } => self.mark_page(name, *closed).await,
        }
    }

    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(self.context.client.clone(), namespace)
    }

    fn parameters() -> PatchParams {
        PatchParams {
            field_manager: Some(HUB_MANAGER.to_owned()),
            ..PatchParams::default()
        }
    }

    /// The whole list is replaced, if the object still is the one that was read. The status that was just written is another version
    /// of it.
    async fn set_finalizer(&self, wanted: bool) -> WriteOutcome {
        let key = &self.planned.rollout.upgrade.key;
        let latest = self.context.cache.fleet().object(key);
        let Some(upgrade) = latest else {
            return WriteOutcome::Gone;
        };
        let others = upgrade
            .finalizers()
            .iter()
            .filter(|name| *name != UPGRADE_FINALIZER)
            .cloned();
        let list: Vec<String> = others
            .chain(wanted.then(|| UPGRADE_FINALIZER.to_owned()))
            .collect();
        let patch = json!({"metadata": {
            "uid": upgrade.metadata.uid,
            "resourceVersion": upgrade.metadata.resource_version,
            "finalizers": list,
        }});
        let api: Api<ManagedClustersUpgrade> = self.api(&key.namespace);
        let answer = api
            .patch(&key.name, &Self::parameters(), &Patch::Merge(patch))
            .await;
        match answer {
            Ok(_) => made(),
            Err(kube::Error::Api(status)) if status.is_not_found() && !wanted => WriteOutcome::Gone,
            Err(error) => of_error(error),
        }
    }

    async fn apply_placement(&self) -> WriteOutcome {
        let Some(selector) = &self.planned.object.spec.cluster_selector else {
            return made();
        };
        let placement = placement::own_placement(&self.planned.object, selector);
        let api: Api<Placement> = self.api(&placement.namespace().unwrap_or_default());
        let parameters = PatchParams::apply(HUB_MANAGER).force();
        let answer = api
            .patch(&placement.name_any(), &parameters, &Patch::Apply(&placement))
            .await;
        answer.map_or_else(of_error, |_| made())
    }

    async fn delete_placement(&self, key: &PlacementKey) -> WriteOutcome {
        let api: Api<Placement> = self.api(&key.namespace);
        match api.delete(&key.name, &DeleteParams::default()).await {
            Ok(_) => made(),
            Err(kube::Error::Api(status)) if status.is_not_found() => WriteOutcome::Gone,
            Err(error) => of_error(error),
        }
    }

    async fn create_work(&self, new: &NewWork) -> WriteOutcome {
        let upgrade = &self.planned.rollout.upgrade;
        let template = WorkTemplate {
            upgrade: &upgrade.key,
            uid: &upgrade.uid,
            grant_cluster_admin: self.context.grant_cluster_admin,
            agent_image: &self.context.agent_image,
        };
        let work = works::build(&template, new, self.context.clock.now());
        let parameters = PostParams {
            field_manager: Some(HUB_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let url = ManifestWork::url_path(&(), Some(new.cluster.namespace()));
        let request = Request::new(url).create(&parameters, work.to_string().into_bytes());
        match self
            .send::<WrittenObject>("create", request.map_err(kube::Error::BuildRequest))
            .await
        {
            Ok(created) => created.outcome(),
            Err(kube::Error::Api(status)) if status.is_already_exists() => self.adopt(new).await,
            Err(error) => of_error(error),
        }
    }

    /// A work that exists is ours if an earlier request came through whose answer was lost.
    async fn adopt(&self, new: &NewWork) -> WriteOutcome {
        let key = ObjectKey::new(new.cluster.namespace(), new.kind.work_name(&new.cluster));
        let found: PartialManifestWork = match self.read_work(&key).await {
            Ok(found) => found,
            Err(error) => return of_error(error),
        };
        let upgrade = &self.planned.rollout.upgrade;
        let digest = works::digest(&found, self.context.clock.now());
        match digest {
            Some(digest) if upgrade.owns_work(&digest.work) && digest.work.labelled => {
                WriteOutcome::Written {
                    uid: Some(digest.work.uid.clone()),
                    version: Some(version_of(&found)),
                }
            }
            // Its labels were taken off, or it is another upgrade's that the watch has not brought yet.
            Some(digest) if upgrade.live.has(&digest.work.owner) => {
                let work = Some(digest.work);
                let cache = &self.context.cache;
                cache.change(|fleet| fleet.confirm_work(&new.cluster, new.kind, work));
                WriteOutcome::AlreadyCached
            }
            _ => WriteOutcome::Refused {
                cause: RefusalCause::NameTaken,
                words: format!("the ManifestWork {key} is not Drydock's: delete or rename it"),
            },
        }
    }

    async fn read_work(&self, key: &ObjectKey) -> Result<PartialManifestWork, kube::Error> {
        let url = ManifestWork::url_path(&(), Some(&key.namespace));
        let request = Request::new(url).get(&key.name, &kube::api::GetParams::default());
        let mut request = request.map_err(kube::Error::BuildRequest)?;
        request.extensions_mut().insert("get");
        self.context.client.request(request).await
    }

    /// Sends a write of a work, to be answered with its metadata.
    async fn send<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        request: Result<http::Request<Vec<u8>>, kube::Error>,
    ) -> Result<T, kube::Error> {
        let mut request = request?;
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static(METADATA));
        request.extensions_mut().insert(verb);
        self.context.client.request(request).await
    }

    /// Commits the outcome on the work and, in the same write, stops enforcing what it holds.
    async fn finish_work(&self, finish: &Finish) -> WriteOutcome {
        let Finish {
            cluster, kind, uid, ..
        } = finish;
        let operations = works::outcome(CommittedOutcome(finish), *kind, uid);
        let patch: json_patch::Patch = match serde_json::from_value(operations) {
            Ok(patch) => patch,
            Err(error) => return WriteOutcome::Unknown(kube::Error::SerdeError(error)),
        };
        match self.patch_work(cluster, *kind, &Patch::Json(patch)).await {
            // The usual patch does not fit: somebody edited the work.
            WriteOutcome::Refused { .. } => {
                self.change_kind(cluster, *kind, uid, |work| {
                    works::outcome_of_edited(CommittedOutcome(finish), work, *kind)
                })
                .await
            }
            other => other,
        }
    }

    /// Changes a cluster's upgrade work by what it is.
    async fn change_work(
        &self,
        cluster: &ClusterName,
        uid: &Uid,
        change: impl Fn(&ManifestWork) -> Value,
    ) -> WriteOutcome {
        self.change_kind(cluster, WorkKind::Cluster, uid, change).await
    }

    /// Changes the very version of a work that is read, if it is the observed one.
    async fn change_kind(
        &self,
        cluster: &ClusterName,
        kind: WorkKind,
        uid: &Uid,
        change: impl Fn(&ManifestWork) -> Value,
    ) -> WriteOutcome {
        let api: Api<ManifestWork> = self.api(cluster.namespace());
        let found = match api.get_opt(&kind.work_name(cluster)).await {
            Ok(found) => found,
            Err(error) => return of_error(error),
        };
        match found.filter(|work| work.uid().as_deref() == Some(uid.as_str())) {
            Some(work) => self.patch_work(cluster, kind, &Patch::Merge(change(&work))).await,
            // It is gone, or it is another one by now.
            None => WriteOutcome::Gone,
        }
    }

    /// Patches a work. One that is gone needs no patch.
    async fn patch_work(&self, cluster: &ClusterName, kind: WorkKind, patch: &Patch<Value>) -> WriteOutcome {
        let url = ManifestWork::url_path(&(), Some(cluster.namespace()));
        let request = Request::new(url).patch(&kind.work_name(cluster), &Self::parameters(), patch);
        match self
            .send::<WrittenObject>("patch", request.map_err(kube::Error::BuildRequest))
            .await
        {
            Ok(written) => written.outcome(),
            Err(kube::Error::Api(status)) if status.is_not_found() => WriteOutcome::Gone,
            Err(error) => of_error(error),
        }
    }

    /// One request, whether the work is there or not: it is the same each time.
    async fn ask_pre_checks(&self, ask: &PreCheckAsk) -> WriteOutcome {
        let upgrade = &self.planned.rollout.upgrade;
        let work = works::pre_checks::build(&upgrade.key, &upgrade.uid, ask);
        let name = pre_checks_work_name(&ask.cluster, &upgrade.key);
        let url = ManifestWork::url_path(&(), Some(ask.cluster.namespace()));
        let parameters = PatchParams::apply(HUB_MANAGER).force();
        let request = Request::new(url).patch(&name, &parameters, &Patch::Apply(work));
        match self
            .send::<WrittenObject>("patch", request.map_err(kube::Error::BuildRequest))
            .await
        {
            Ok(written) => written.outcome(),
            Err(error) => of_error(error),
        }
    }

    async fn delete_work(&self, cluster: &ClusterName, kind: WorkKind, uid: &Uid) -> WriteOutcome {
        self.delete_named(cluster, &kind.work_name(cluster), uid).await
    }

    async fn delete_named(&self, cluster: &ClusterName, name: &str, uid: &Uid) -> WriteOutcome {
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_string()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let api: Api<ManifestWork> = self.api(cluster.namespace());
        match api.delete(name, &parameters).await {
            // A work that waits for the work agent comes back; one that is gone at once does not.
            Ok(answer) => answer
                .left()
                .map_or(WriteOutcome::Gone, |work| WriteOutcome::Written {
                    uid: None,
                    version: Some(version_of(&work)),
                }),
            Err(kube::Error::Api(status)) if status.is_not_found() => WriteOutcome::Gone,
            // If it is another one by now, the next look shows it; if it is not, it must go.
            Err(error) => of_error(error),
        }
    }

    /// Reads a work by name, and updates the cache with it.
    async fn confirm_work(&self, cluster: &ClusterName, kind: WorkKind) -> WriteOutcome {
        let key = ObjectKey::new(cluster.namespace(), kind.work_name(cluster));
        let work = match self.read_work(&key).await {
            Ok(found) => works::digest(&found, self.context.clock.now()).map(|digest| digest.work),
            Err(kube::Error::Api(status)) if status.is_not_found() => None,
            Err(error) => return WriteOutcome::Unknown(error),
        };
        self.context
            .cache
            .change(|fleet| fleet.confirm_work(cluster, kind, work));
        WriteOutcome::AlreadyCached
    }

    /// A page belongs to the namespace of the upgrade whose rollout it is about.
    fn records(&self, write: &RecordPageWrite) -> Api<ManagedClustersUpgradeRecord> {
        let own = &self.planned.rollout.upgrade.key;
        self.api(&write.header.owner.upgrade.as_ref().unwrap_or(own).namespace)
    }

    /// The upgrade that another one's entry is about, if it exists after all: the watch may be behind that of the works.
    async fn find_other(
        &self,
        write: &RecordPageWrite,
    ) -> Result<Option<ManagedClustersUpgrade>, kube::Error> {
        let owner = &write.header.owner;
        match &owner.upgrade {
            Some(key) if !self.planned.rollout.upgrade.owns(owner) => {
                let api: Api<ManagedClustersUpgrade> = self.api(&key.namespace);
                api.get_opt(&key.name).await
            }
            _ => Ok(None),
        }
    }

    async fn write_page(&self, write: &RecordPageWrite) -> WriteOutcome {
        match self.find_other(write).await {
            Err(error) => return of_error(error),
            Ok(Some(other)) => {
                let other = std::sync::Arc::new(other);
                self.context.cache.change(|fleet| fleet.set_upgrade(&other));
                return WriteOutcome::AlreadyCached;
            }
            Ok(None) => {}
        }
        let api = self.records(write);
        let answer = match &write.append_to {
            None => {
                let own = &self.planned.rollout.upgrade.key;
                let namespace = &write.header.owner.upgrade.as_ref().unwrap_or(own).namespace;
                let page = serde_json::from_value(record::new_page(namespace, write));
                let parameters = PostParams {
                    field_manager: Some(HUB_MANAGER.to_owned()),
                    ..PostParams::default()
                };
                match page {
                    Ok(page) => api.create(&parameters, &page).await,
                    Err(error) => Err(kube::Error::SerdeError(error)),
                }
            }
            Some(version) => match serde_json::from_value(record::appended(version, write)) {
                Ok(patch) => {
                    let patch: Patch<Value> = Patch::Json(patch);
                    api.patch(&write.name, &Self::parameters(), &patch).await
                }
                Err(error) => Err(kube::Error::SerdeError(error)),
            },
        };
        self.page_answer(answer)
    }

    async fn mark_page(&self, name: &str, closed: bool) -> WriteOutcome {
        let upgrade = &self.planned.rollout.upgrade;
        let api: Api<ManagedClustersUpgradeRecord> = self.api(&upgrade.key.namespace);
        let patch = Patch::Merge(record::marked(&upgrade.uid, closed));
        let answer = api.patch(name, &Self::parameters(), &patch).await;
        self.page_answer(answer)
    }

    /// What was written counts as seen.
    fn page_answer(&self, answer: Result<ManagedClustersUpgradeRecord, kube::Error>) -> WriteOutcome {
        match answer {
            Ok(page) => {
                let (namespace, name) = (page.namespace().unwrap_or_default(), page.name_any());
                self.context
                    .cache
                    .change(|fleet| fleet.set_record(&namespace, &name, record::digest(&page)));
                made()
            }
            Err(kube::Error::Api(status))
                if status.is_not_found() && !status.message.contains("namespaces \"") =>
            {
                WriteOutcome::Gone
            }
            // A page that is another version by now does not take the patch; the watch brings it.
            Err(kube::Error::Api(status)) if status.code == 422 && status.reason != "Invalid" => {
                WriteOutcome::Conflict(kube::Error::Api(status))
            }
            Err(error) => of_error(error),
        }
    }
}

/// A write that nobody waits for to come back.
fn made() -> WriteOutcome {
    WriteOutcome::Written {
        uid: None,
        version: None,
    }
}
