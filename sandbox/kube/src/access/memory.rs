//! Access to the in-memory server: its typed operations, behind the same gate for faults and counts as HTTP.

use std::sync::Arc;

use serde_json::Value;

use super::{AccessError, Kind, Removal, Selection};
use crate::server::{
    ApiServer, Call, DeleteOptions, FaultOutcome, FieldSelector, Identity, LabelSelector, ListOptions, Patch,
    Refusal, RequestInfo, ServedKind, Status, Subresource, Verb, Watch, WatchOptions, WriteOptions,
};
use crate::store::{Key, Object};

/// The in-memory server, as one of its clients.
#[derive(Clone, Debug)]
pub struct InMemoryClient {
    server: ApiServer,
    identity: Identity,
}

impl InMemoryClient {
    pub(super) fn new(server: ApiServer, identity: Identity) -> Self {
        Self { server, identity }
    }

    /// The server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    pub(super) async fn get(&self, kind: &Kind, key: &Key) -> Result<Arc<Object>, AccessError> {
        self.run(kind, key, None, Verb::Get, ApiServer::get).await
    }

    pub(super) async fn list(
        &self,
        kind: &Kind,
        selection: &Selection,
    ) -> Result<Vec<Arc<Object>>, AccessError> {
        let key = selection_key(selection);
        self.run(kind, &key, None, Verb::List, |server, call| {
            let options = ListOptions {
                labels: labels(selection)?,
                fields: fields(selection),
                ..ListOptions::default()
            };
            Ok(server.list(&over(call), &options)?.items)
        })
        .await
    }

    /// The objects, and a watch that continues from there.
    pub(super) async fn list_and_watch(
        &self,
        kind: &Kind,
        selection: &Selection,
    ) -> Result<(Vec<Arc<Object>>, Watch), AccessError> {
        let key = selection_key(selection);
        self.run(kind, &key, None, Verb::Watch, |server, call| {
            let call = over(call);
            let list = ListOptions {
                labels: labels(selection)?,
                fields: fields(selection),
                ..ListOptions::default()
            };
            let present = server.list(&call, &list)?;
            let watch = WatchOptions {
                labels: list.labels,
                fields: list.fields,
                resource_version: Some(present.revision.to_string()),
                ..WatchOptions::default()
            };
            Ok((present.items, server.watch(&call, &watch)?))
        })
        .await
    }

    pub(super) async fn create(&self, kind: &Kind, object: Value) -> Result<Arc<Object>, AccessError> {
        let key = key_of(kind, &object);
        self.run(kind, &key, None, Verb::Create, |server, call| {
            Ok(server.create(call, object, &WriteOptions::default())?.object)
        })
        .await
    }

    pub(super) async fn replace(
        &self,
        kind: &Kind,
        object: Value,
        status: bool,
    ) -> Result<Arc<Object>, AccessError> {
        let key = key_of(kind, &object);
        self.run(kind, &key, part(status), Verb::Update, |server, call| {
            Ok(server.update(call, object, &WriteOptions::default())?.object)
        })
        .await
    }

    pub(super) async fn merge_patch(
        &self,
        kind: &Kind,
        key: &Key,
        patch: Value,
        status: bool,
    ) -> Result<Arc<Object>, AccessError> {
        self.run(kind, key, part(status), Verb::Patch, |server, call| {
            Ok(server
                .patch(call, &Patch::Merge(patch), &WriteOptions::default())?
                .object)
        })
        .await
    }

    pub(super) async fn apply(
        &self,
        kind: &Kind,
        object: Value,
        manager: &str,
        force: bool,
    ) -> Result<Arc<Object>, AccessError> {
        let key = key_of(kind, &object);
        self.run(kind, &key, None, Verb::Patch, |server, call| {
            let options = WriteOptions {
                field_manager: Some(manager.to_owned()),
                force,
                ..WriteOptions::default()
            };
            Ok(server.patch(call, &Patch::Apply(object), &options)?.object)
        })
        .await
    }

    pub(super) async fn delete(&self, kind: &Kind, key: &Key, removal: &Removal) -> Result<(), AccessError> {
        self.run(kind, key, None, Verb::Delete, |server, call| {
            let options = DeleteOptions {
                grace_period: removal.grace_period,
                propagation: removal.propagation,
                uid: removal.uid.clone(),
                ..DeleteOptions::default()
            };
            server.delete(call, &options).map(|_| ())
        })
        .await
    }

    pub(super) async fn resolve(&self, api_version: &str, kind: &str) -> Result<Kind, AccessError> {
        let what = || format!("finding the kind {kind} of {api_version}");
        let asked = RequestInfo {
            identity: &self.identity,
            verb: Verb::Get,
            kind: None,
            namespace: None,
            name: "",
            subresource: None,
        };
        self.server
            .pass(&asked)
            .await
            .map_err(|refusal| refused(refusal, what()))?;
        let found = self
            .server
            .find_kind(api_version, kind)
            .ok_or_else(|| AccessError::Refused {
                what: what(),
                status: Box::new(Status::new(
                    404,
                    "NotFound",
                    format!("no matches for kind \"{kind}\" in version \"{api_version}\""),
                )),
            })?;
        Ok(Kind {
            group: found.group.clone().into(),
            version: found.version.clone().into(),
            kind: found.kind.clone().into(),
            plural: found.plural.clone().into(),
            namespaced: found.namespaced,
        })
    }

    /// Passes the gate, runs the operation, and says what was being done if it fails.
    async fn run<T>(
        &self,
        kind: &Kind,
        key: &Key,
        subresource: Option<Subresource>,
        verb: Verb,
        operation: impl FnOnce(&ApiServer, &Call) -> Result<T, Status>,
    ) -> Result<T, AccessError> {
        let what = || format!("{} of {kind} {key}", verb.as_str());
        let refused_by = |status: Status| AccessError::Refused {
            what: what(),
            status: Box::new(status),
        };
        let found: Result<Arc<ServedKind>, Status> =
            self.server.kind(&kind.group, &kind.version, &kind.plural);
        let asked = RequestInfo {
            identity: &self.identity,
            verb,
            kind: found.as_deref().ok(),
            namespace: key.namespace.as_deref(),
            name: &key.name,
            subresource,
        };
        let outcome = self
            .server
            .pass(&asked)
            .await
            .map_err(|refusal| refused(refusal, what()))?;
        let mut call = Call::on_object(self.identity.clone(), found.map_err(refused_by)?, key);
        call.subresource = subresource;
        let answer = operation(&self.server, &call);
        match outcome {
            FaultOutcome::Answered => answer.map_err(refused_by),
            FaultOutcome::AnsweredLate(time) => {
                tokio::time::sleep(time).await;
                answer.map_err(refused_by)
            }
            FaultOutcome::Dropped => Err(AccessError::Unreachable {
                what: what(),
                why: "the connection broke before the answer".to_owned(),
            }),
        }
    }
}

fn refused(refusal: Refusal, what: String) -> AccessError {
    match refusal {
        Refusal::Unreachable => AccessError::Unreachable {
            what,
            why: "connection refused".to_owned(),
        },
        Refusal::Status(status) => AccessError::Refused { what, status },
    }
}

fn part(status: bool) -> Option<Subresource> {
    status.then_some(Subresource::Status)
}

fn key_of(kind: &Kind, object: &Value) -> Key {
    let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
    Key {
        namespace: text("namespace").filter(|_| kind.namespaced),
        name: text("name").unwrap_or_default(),
    }
}

fn selection_key(selection: &Selection) -> Key {
    Key {
        namespace: selection.namespace.clone(),
        name: selection.name.clone().unwrap_or_default(),
    }
}

/// The same call, about many: the name is in the field selector.
fn over(call: &Call) -> Call {
    Call {
        name: String::new(),
        ..call.clone()
    }
}

fn labels(selection: &Selection) -> Result<LabelSelector, Status> {
    selection
        .labels
        .as_deref()
        .map_or_else(|| Ok(LabelSelector::default()), LabelSelector::parse)
}

fn fields(selection: &Selection) -> FieldSelector {
    selection
        .name
        .as_deref()
        .map_or_else(FieldSelector::default, FieldSelector::name)
}
