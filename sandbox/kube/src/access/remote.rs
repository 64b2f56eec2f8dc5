//! Access to any API server through a `kube::Client`.

use std::sync::Arc;

use kube::Api;
use kube::api::{
    DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy,
};
use kube::core::GroupVersionKind;
use serde_json::Value;

use super::{AccessError, Key, Kind, Object, Propagation, Removal, Selection};
use crate::server::Status;

/// A server over HTTP, as one of its clients.
#[derive(Clone)]
pub struct Remote {
    client: kube::Client,
    name: String,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Remote({})", self.name)
    }
}

impl Remote {
    pub(super) fn new(client: kube::Client, name: impl Into<String>) -> Self {
        Self {
            client,
            name: name.into(),
        }
    }

    /// The client.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    pub(super) fn api(&self, kind: &Kind, namespace: Option<&str>) -> Api<DynamicObject> {
        let resource = kind.api_resource();
        match namespace {
            Some(namespace) if kind.namespaced => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub(super) async fn get(&self, kind: &Kind, key: &Key) -> Result<Arc<Object>, AccessError> {
        let api = self.api(kind, key.namespace.as_deref());
        let object = api
            .get(&key.name)
            .await
            .map_err(|error| failed(error, "get", kind, key))?;
        Ok(shared(&object))
    }

    pub(super) async fn list(
        &self,
        kind: &Kind,
        selection: &Selection,
    ) -> Result<Vec<Arc<Object>>, AccessError> {
        let params = ListParams {
            label_selector: selection.labels.clone(),
            field_selector: selection
                .name
                .as_ref()
                .map(|name| format!("metadata.name={name}")),
            ..ListParams::default()
        };
        let key = Key {
            namespace: selection.namespace.clone(),
            name: String::new(),
        };
        let list = self
            .api(kind, selection.namespace.as_deref())
            .list(&params)
            .await
            .map_err(|error| failed(error, "list", kind, &key))?;
        let resource = kind.api_resource();
        Ok(list
            .items
            .into_iter()
            .map(|mut object| {
                // The items of a built-in kind's list do not say what they are.
                object.types.get_or_insert_with(|| kube::core::TypeMeta {
                    api_version: resource.api_version.clone(),
                    kind: resource.kind.clone(),
                });
                shared(&object)
            })
            .collect())
    }

    pub(super) async fn create(&self, kind: &Kind, object: Value) -> Result<Arc<Object>, AccessError> {
        let (key, object) = dynamic(kind, object)?;
        let made = self
            .api(kind, key.namespace.as_deref())
            .create(&self.post(), &object)
            .await
            .map_err(|error| failed(error, "create", kind, &key))?;
        Ok(shared(&made))
    }

    pub(super) async fn replace(
        &self,
        kind: &Kind,
        object: Value,
        status: bool,
    ) -> Result<Arc<Object>, AccessError> {
        let (key, object) = dynamic(kind, object)?;
        let api = self.api(kind, key.namespace.as_deref());
        let replaced = if status {
            api.replace_status(&key.name, &self.post(), &object).await
        } else {
            api.replace(&key.name, &self.post(), &object).await
        };
        Ok(shared(
            &replaced.map_err(|error| failed(error, "update", kind, &key))?,
        ))
    }

    pub(super) async fn merge_patch(
        &self,
        kind: &Kind,
        key: &Key,
        patch: Value,
        status: bool,
    ) -> Result<Arc<Object>, AccessError> {
        let api = self.api(kind, key.namespace.as_deref());
        let params = PatchParams {
            field_manager: Some(self.name.clone()),
            ..PatchParams::default()
        };
        let patched = if status {
            api.patch_status(&key.name, &params, &Patch::Merge(&patch)).await
        } else {
            api.patch(&key.name, &params, &Patch::Merge(&patch)).await
        };
        Ok(shared(
            &patched.map_err(|error| failed(error, "patch", kind, key))?,
        ))
    }

    pub(super) async fn apply(
        &self,
        kind: &Kind,
        object: Value,
        manager: &str,
        force: bool,
    ) -> Result<Arc<Object>, AccessError> {
        let (key, _) = dynamic(kind, object.clone())?;
        let mut params = PatchParams::apply(manager);
        params.force = force;
        let applied = self
            .api(kind, key.namespace.as_deref())
            .patch(&key.name, &params, &Patch::Apply(&object))
            .await
            .map_err(|error| failed(error, "apply", kind, &key))?;
        Ok(shared(&applied))
    }

    pub(super) async fn delete(&self, kind: &Kind, key: &Key, removal: &Removal) -> Result<(), AccessError> {
        let params = DeleteParams {
            grace_period_seconds: removal
                .grace_period
                .map(|seconds| u32::try_from(seconds).unwrap_or(0)),
            propagation_policy: removal.propagation.map(|propagation| match propagation {
                Propagation::Orphan => PropagationPolicy::Orphan,
                Propagation::Background => PropagationPolicy::Background,
                Propagation::Foreground => PropagationPolicy::Foreground,
            }),
            preconditions: Some(Preconditions {
                uid: removal.uid.clone(),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        self.api(kind, key.namespace.as_deref())
            .delete(&key.name, &params)
            .await
            .map_err(|error| failed(error, "delete", kind, key))?;
        Ok(())
    }

    pub(super) async fn resolve(&self, api_version: &str, kind: &str) -> Result<Kind, AccessError> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let failed = |status: Status| AccessError::Refused {
            what: format!("finding the kind {kind} of {api_version}"),
            status: Box::new(status),
        };
        let list = if group.is_empty() {
            self.client.list_core_api_resources(version).await
        } else {
            self.client.list_api_group_resources(api_version).await
        };
        let list = list.map_err(|error| match error {
            kube::Error::Api(status) => failed(translated(&status)),
            other => AccessError::Unreachable {
                what: format!("finding the kind {kind} of {api_version}"),
                why: other.to_string(),
            },
        })?;
        let found = list
            .resources
            .into_iter()
            .find(|resource| resource.kind == gvk.kind && !resource.name.contains('/'));
        let Some(found) = found else {
            return Err(failed(Status::new(
                404,
                "NotFound",
                format!("no matches for kind \"{kind}\" in version \"{api_version}\""),
            )));
        };
        Ok(Kind {
            group: gvk.group.into(),
            version: gvk.version.into(),
            kind: gvk.kind.into(),
            plural: found.name.into(),
            namespaced: found.namespaced,
        })
    }

    fn post(&self) -> PostParams {
        PostParams {
            dry_run: false,
            field_manager: Some(self.name.clone()),
        }
    }
}

pub(super) fn shared(object: &DynamicObject) -> Arc<Object> {
    let value = serde_json::to_value(object).unwrap_or_default();
    Arc::new(Object::new(value, 0))
}

fn dynamic(kind: &Kind, object: Value) -> Result<(Key, DynamicObject), AccessError> {
    let parsed: DynamicObject = serde_json::from_value(object).map_err(|error| AccessError::Refused {
        what: format!("reading a {kind} before it is sent"),
        status: Box::new(Status::bad_request(error.to_string())),
    })?;
    let key = Key {
        namespace: parsed.metadata.namespace.clone().filter(|_| kind.namespaced),
        name: parsed.metadata.name.clone().unwrap_or_default(),
    };
    Ok((key, parsed))
}

fn failed(error: kube::Error, verb: &str, kind: &Kind, key: &Key) -> AccessError {
    let what = format!("{verb} of {kind} {key}");
    match error {
        kube::Error::Api(status) => AccessError::Refused {
            what,
            status: Box::new(translated(&status)),
        },
        other => AccessError::Unreachable {
            what,
            why: other.to_string(),
        },
    }
}

fn translated(status: &kube::core::Status) -> Status {
    Status::from_value(&serde_json::to_value(status).unwrap_or_default())
}
