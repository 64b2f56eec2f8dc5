//! Carrying out a plan: each action is one idempotent write. There is no decision here.

use drydock_api::ClusterName;
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{
    HUB_MANAGER, RETRY_ANNOTATION, STATE_LABEL, STATE_MESSAGE_ANNOTATION, STATE_REASON_ANNOTATION,
    STATE_SINCE_ANNOTATION, UPGRADE_FINALIZER, UPGRADE_UID_LABEL, WorkKind,
};
use drydock_api::ocm::{ManifestWork, Placement};
use drydock_rollout::{Action, Uid, UpgradeKey, WorkOrder};
use drydock_runtime::Clock;
use drydock_runtime::digest_index::ObjectKey;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::HeaderValue;
use http::header::ACCEPT;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, Request};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::record::Record;
use crate::view::{View, own_placement};
use crate::works::{BuildError, Template, build};

/// Writes under way at once for one upgrade.
const WRITES_AT_ONCE: usize = 16;
/// How an object's metadata are asked for.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// An answer to a write, as far as it is read: who manages which field is the greater part of an object's metadata.
#[derive(Debug, Deserialize)]
struct Written {
    metadata: WrittenMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenMetadata {
    resource_version: Option<String>,
}

/// A write that did not succeed.
#[derive(Debug, Error)]
pub(crate) enum WriteError {
    /// The server refused it or could not be reached.
    #[error("{doing} {object}")]
    Request {
        /// What was being done.
        doing: &'static str,
        /// To which object.
        object: String,
        /// Why not.
        #[source]
        source: Box<kube::Error>,
    },
    /// The name of a work is taken by an object that is not ours.
    #[error(
        "creating ManifestWork {object}: an object that is not Drydock's has this name: delete or rename it"
    )]
    NameTaken {
        /// The work.
        object: String,
        /// Its cluster.
        cluster: ClusterName,
        /// Its kind.
        kind: WorkKind,
    },
    /// The work cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl WriteError {
    fn request(doing: &'static str, object: impl std::fmt::Display, source: kube::Error) -> Self {
        Self::Request {
            doing,
            object: object.to_string(),
            source: Box::new(source),
        }
    }

    /// Whether somebody else wrote first: to look again at once is all it takes.
    pub fn is_conflict(&self) -> bool {
        self.has_code(409)
    }

    /// Whether the object is not what the write presumes.
    fn is_unprocessable(&self) -> bool {
        self.has_code(422)
    }

    fn has_code(&self, code: u16) -> bool {
        matches!(self, Self::Request { source, .. } if matches!(&**source, kube::Error::Api(status) if status.code == code))
    }
}

/// Writes for one upgrade.
pub(crate) struct Writer<'a> {
    pub client: &'a Client,
    pub clock: &'a Clock,
    pub view: &'a View,
    pub upgrade: &'a ManagedClustersUpgrade,
    pub grant_cluster_admin: bool,
    pub agent_image: &'a str,
}

impl Writer<'_> {
    /// Carries out the actions, some at once: a plan is safe whichever of its writes succeed. Returns all errors.
    /// `carried_out` is told each that did.
    pub async fn carry_out(&self, actions: &[Action], carried_out: impl Fn(&Action)) -> Vec<WriteError> {
        let mut waiting = actions.iter();
        let mut under_way: FuturesUnordered<_> = waiting
            .by_ref()
            .take(WRITES_AT_ONCE)
            .map(|action| self.attempt(action))
            .collect();
        let mut errors = Vec::new();
        while let Some((action, outcome)) = under_way.next().await {
            under_way.extend(waiting.next().map(|action| self.attempt(action)));
            match outcome {
                Ok(()) => carried_out(action),
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    async fn attempt<'a>(&self, action: &'a Action) -> (&'a Action, Result<(), WriteError>) {
        (action, self.write(action).await)
    }

    async fn write(&self, action: &Action) -> Result<(), WriteError> {
        match action {
            Action::AddFinalizer => self.set_finalizer(true).await,
            Action::RemoveFinalizer => self.set_finalizer(false).await,
            Action::ApplyPlacement => self.apply_placement().await,
            Action::DeletePlacement => self.delete_placement().await,
            Action::CreateWork(order) => self.create_work(order).await,
            Action::FinishWork {
                cluster,
                kind,
                uid,
                outcome,
                reason,
                message,
                at,
                ..
            } => {
                let record = Record {
                    outcome: *outcome,
                    reason,
                    message,
                    at: *at,
                };
                self.finish_work(cluster, *kind, uid, &record).await
            }
            Action::ReopenWork { cluster, uid } => self.reopen_work(cluster, uid).await,
            Action::DeleteWork { cluster, kind, uid } => self.delete_work(cluster, *kind, uid).await,
        }
    }

    fn upgrades(&self) -> Api<ManagedClustersUpgrade> {
        Api::namespaced(self.client.clone(), &self.upgrade.namespace().unwrap_or_default())
    }

    fn works(&self, cluster: &ClusterName) -> Api<ManifestWork> {
        Api::namespaced(self.client.clone(), cluster.as_str())
    }

    fn key(&self) -> UpgradeKey {
        UpgradeKey::new(
            self.upgrade.namespace().unwrap_or_default(),
            self.upgrade.name_any(),
        )
    }

    /// The whole list is replaced, if the object still is the one that was read.
    async fn set_finalizer(&self, wanted: bool) -> Result<(), WriteError> {
        let others = self
            .upgrade
            .finalizers()
            .iter()
            .filter(|name| *name != UPGRADE_FINALIZER)
            .cloned();
        let list: Vec<String> = others
            .chain(wanted.then(|| UPGRADE_FINALIZER.to_owned()))
            .collect();
        let patch = json!({"metadata": {
            "uid": self.upgrade.metadata.uid,
            "resourceVersion": self.upgrade.metadata.resource_version,
            "finalizers": list,
        }});
        let doing = if wanted {
            "adding the finalizer to"
        } else {
            "removing the finalizer from"
        };
        let parameters = PatchParams {
            field_manager: Some(HUB_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        match self
            .upgrades()
            .patch(&self.upgrade.name_any(), &parameters, &Patch::Merge(patch))
            .await
        {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() && !wanted => Ok(()),
            Err(error) => Err(WriteError::request(doing, self.key(), error)),
        }
    }

    async fn apply_placement(&self) -> Result<(), WriteError> {
        let Some(selector) = &self.upgrade.spec.cluster_selector else {
            return Ok(());
        };
        let placement = own_placement(self.upgrade, selector);
        let api: Api<Placement> =
            Api::namespaced(self.client.clone(), &placement.namespace().unwrap_or_default());
        let name = placement.name_any();
        api.patch(
            &name,
            &PatchParams::apply(HUB_MANAGER).force(),
            &Patch::Apply(&placement),
        )
        .await
        .map(|_| ())
        .map_err(|error| WriteError::request("applying Placement", name, error))
    }

    async fn delete_placement(&self) -> Result<(), WriteError> {
        let placement = own_placement(self.upgrade, &drydock_api::mcu::ClusterSelector::default());
        let api: Api<Placement> =
            Api::namespaced(self.client.clone(), &placement.namespace().unwrap_or_default());
        let name = placement.name_any();
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(WriteError::request("deleting Placement", name, error)),
        }
    }

    async fn create_work(&self, order: &WorkOrder) -> Result<(), WriteError> {
        let uid = Uid::new(self.upgrade.uid().unwrap_or_default());
        let template = Template {
            upgrade: &self.key(),
            uid: &uid,
            spec: &self.upgrade.spec,
            grant_cluster_admin: self.grant_cluster_admin,
            agent_image: self.agent_image,
        };
        let work = build(&template, order, self.clock.now())?;
        let key = ObjectKey::of(&work);
        let parameters = PostParams {
            field_manager: Some(HUB_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match self.create(&parameters, &work).await {
            Ok(created) => {
                let version = created.metadata.resource_version.as_deref();
                self.view.works.wrote(key, version);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => self.adopt(order, key, &uid).await,
            Err(error) => Err(WriteError::request("creating ManifestWork", key, error)),
        }
    }

    async fn create(&self, parameters: &PostParams, work: &ManifestWork) -> Result<Written, kube::Error> {
        let url = ManifestWork::url_path(&(), work.namespace().as_deref());
        let body = serde_json::to_vec(work).map_err(kube::Error::SerdeError)?;
        let request = Request::new(url).create(parameters, body);
        self.send("create", request.map_err(kube::Error::BuildRequest)?)
            .await
    }

    /// Sends a write of a work, to be answered with its metadata.
    async fn send(
        &self,
        verb: &'static str,
        mut request: http::Request<Vec<u8>>,
    ) -> Result<Written, kube::Error> {
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static(METADATA));
        request.extensions_mut().insert(verb);
        self.client.request(request).await
    }

    /// A work that exists is ours if an earlier request came through whose answer was lost.
    async fn adopt(&self, order: &WorkOrder, key: ObjectKey, uid: &Uid) -> Result<(), WriteError> {
        let found = self
            .works(&order.cluster)
            .get_metadata(&key.name)
            .await
            .map_err(|error| WriteError::request("reading ManifestWork", &key, error))?;
        if found.labels().get(UPGRADE_UID_LABEL).map(String::as_str) == Some(uid.as_str()) {
            self.view
                .works
                .wrote(key, found.metadata.resource_version.as_deref());
            return Ok(());
        }
        Err(WriteError::NameTaken {
            object: key.to_string(),
            cluster: order.cluster.clone(),
            kind: order.kind,
        })
    }

    /// Records the outcome on the work and, in the same write, stops enforcing what it holds (hub 2).
    async fn finish_work(
        &self,
        cluster: &ClusterName,
        kind: WorkKind,
        uid: &Uid,
        record: &Record<'_>,
    ) -> Result<(), WriteError> {
        let key = ObjectKey::new(cluster.as_str(), kind.work_name(cluster));
        let patch: json_patch::Patch =
            serde_json::from_value(record.operations(kind, uid)).map_err(|error| {
                WriteError::request(
                    "recording the outcome on ManifestWork",
                    &key,
                    kube::Error::SerdeError(error),
                )
            })?;
        let doing = "recording the outcome on ManifestWork";
        match self.patch_work(key.clone(), doing, &Patch::Json(patch)).await {
            Err(error) if error.is_unprocessable() => self.finish_edited_work(key, kind, uid, record).await,
            other => other,
        }
    }

    /// Records the outcome on a work that somebody edited, so that the usual patch does not fit.
    async fn finish_edited_work(
        &self,
        key: ObjectKey,
        kind: WorkKind,
        uid: &Uid,
        record: &Record<'_>,
    ) -> Result<(), WriteError> {
        let works: Api<ManifestWork> = Api::namespaced(self.client.clone(), &key.namespace);
        let found = works.get_opt(&key.name).await;
        let found = found.map_err(|error| WriteError::request("reading ManifestWork", &key, error))?;
        let Some(work) = found.filter(|work| work.uid().as_deref() == Some(uid.as_str())) else {
            // It is gone, or it is another one by now.
            return Ok(());
        };
        let patch = Patch::Merge(record.patch_of(&work, kind));
        self.patch_work(key, "recording the outcome on an edited ManifestWork", &patch)
            .await
    }

    /// Takes the outcome off a work, if it still is the observed one.
    async fn reopen_work(&self, cluster: &ClusterName, uid: &Uid) -> Result<(), WriteError> {
        let key = ObjectKey::new(cluster.as_str(), WorkKind::Cluster.work_name(cluster));
        let patch = json!({"metadata": {
            "uid": uid.as_str(),
            "labels": {STATE_LABEL: null},
            "annotations": {
                STATE_REASON_ANNOTATION: null,
                STATE_MESSAGE_ANNOTATION: null,
                STATE_SINCE_ANNOTATION: null,
                RETRY_ANNOTATION: null,
            },
        }});
        self.patch_work(key, "taking the outcome off ManifestWork", &Patch::Merge(patch))
            .await
    }

    /// Patches a work. One that is gone needs no patch.
    async fn patch_work(
        &self,
        key: ObjectKey,
        doing: &'static str,
        patch: &Patch<Value>,
    ) -> Result<(), WriteError> {
        let parameters = PatchParams {
            field_manager: Some(HUB_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let url = ManifestWork::url_path(&(), Some(&key.namespace));
        let request = Request::new(url).patch(&key.name, &parameters, patch);
        let request = request.map_err(kube::Error::BuildRequest);
        let request = request.map_err(|error| WriteError::request(doing, &key, error))?;
        match self.send("patch", request).await {
            Ok(written) => {
                let version = written.metadata.resource_version.as_deref();
                self.view.works.wrote(key, version);
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(WriteError::request(doing, key, error)),
        }
    }

    async fn delete_work(&self, cluster: &ClusterName, kind: WorkKind, uid: &Uid) -> Result<(), WriteError> {
        let key = ObjectKey::new(cluster.as_str(), kind.work_name(cluster));
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_string()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.works(cluster).delete(&key.name, &parameters).await {
            Ok(answer) => {
                // A work that waits for the work agent comes back; one that is gone at once does not.
                if let Some(work) = answer.left() {
                    self.view
                        .works
                        .wrote(key, work.metadata.resource_version.as_deref());
                }
                Ok(())
            }
            // A conflict is no such answer: if it is another one by now, the next look shows it, and if it is not, it must go.
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            Err(error) => Err(WriteError::request("deleting ManifestWork", key, error)),
        }
    }
}
