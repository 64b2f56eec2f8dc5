//! Applies one manifest on the spoke, by its update strategy.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    super::names,
    manifest, merge,
    status::ApplyOutcome,
    wire::{ResourceMeta, WorkStatus},
};
use kube_sandbox::{
    access::{Access, AccessError, Kind},
    store::Key,
};
use kube_sandbox::{
    condition,
    object::{self, Shared},
};

/// How often a write is tried again when somebody else wrote in between.
const CONFLICT_ATTEMPTS: u32 = 5;

/// Why a manifest is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason of its condition.
    pub reason: &'static str,
    /// The error.
    pub message: String,
    /// False for a conflict of field managers, which no retry resolves.
    pub retry: bool,
}

/// A manifest, and how applying it went.
#[derive(Debug)]
pub struct Attempt {
    /// Which resource it is.
    pub meta: ResourceMeta,
    /// The resource's kind, if the spoke knows it.
    pub kind: Option<Kind>,
    /// The resource as it is now; none if it was not read.
    pub result: Result<Option<Shared>, Failure>,
}

impl Attempt {
    /// For the status.
    pub fn outcome(&self) -> ApplyOutcome {
        match &self.result {
            Ok(_) => ApplyOutcome::Applied,
            Err(failure) => ApplyOutcome::Failed {
                reason: failure.reason,
                message: failure.message.clone(),
            },
        }
    }
}

/// The spoke, with the kinds that were looked up on it.
#[derive(Debug)]
pub struct Spoke {
    /// Its API.
    pub access: Access,
    kinds: BTreeMap<(String, String), Kind>,
}

/// What a manifest is applied with.
struct Order<'a> {
    kind: &'a Kind,
    key: Key,
    manifest: Value,
    owner: &'a Value,
    owned: bool,
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        Self {
            reason: "AppliedManifestFailed",
            message: error.message().to_owned(),
            retry: true,
        }
    }
}

impl Spoke {
    /// A spoke whose kinds are looked up when they are needed.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            kinds: BTreeMap::new(),
        }
    }

    async fn resolve(&mut self, api_version: &str, kind: &str) -> Result<Kind, Failure> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(known) = self.kinds.get(&key) {
            return Ok(known.clone());
        }
        match self.access.resolve(api_version, kind).await {
            Ok(found) => {
                self.kinds.insert(key, found.clone());
                Ok(found)
            }
            Err(error) if error.is_not_found() => Err(Failure {
                reason: "AppliedManifestFailed",
                message: format!("the server doesn't have a resource type \"{kind}\""),
                retry: true,
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// Applies the manifest at `index` of a work.
    pub async fn apply(&mut self, index: usize, spec: &Value, status: &WorkStatus, owner: &Value) -> Attempt {
        let manifest = &spec["workload"]["manifests"][index];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (api_version, kind_name) = (text(&manifest["apiVersion"]), text(&manifest["kind"]));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let mut meta = ResourceMeta {
            ordinal: index as i32,
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind_name.clone(),
            resource: String::new(),
            name: object::name(manifest).to_owned(),
            namespace: object::namespace(manifest).to_owned(),
        };
        let kind = match self.resolve(&api_version, &kind_name).await {
            Ok(kind) => kind,
            Err(failure) => {
                return Attempt {
                    meta,
                    kind: None,
                    result: Err(failure),
                };
            }
        };
        meta.resource = kind.plural.to_string();
        if !kind.namespaced {
            meta.namespace.clear();
        }
        let result = self
            .apply_resolved(&kind, &meta, manifest, (spec, status), owner)
            .await;
        Attempt {
            meta,
            kind: Some(kind),
            result,
        }
    }

    async fn apply_resolved(
        &self,
        kind: &Kind,
        meta: &ResourceMeta,
        manifest: &Value,
        (spec, status): (&Value, &WorkStatus),
        owner: &Value,
    ) -> Result<Option<Shared>, Failure> {
        let complete = status
            .manifest(meta)
            .is_some_and(|known| condition::is_true(&known.conditions, "Complete"));
        if complete {
            return Ok(None);
        }
        let strategy =
            manifest::configuration(spec, meta).map_or(&Value::Null, |config| &config["updateStrategy"]);
        let mut body = manifest.clone();
        if let Some(metadata) = body["metadata"].as_object_mut() {
            metadata.remove("uid");
            metadata.remove("creationTimestamp");
            if !kind.namespaced {
                metadata.remove("namespace");
            }
        }
        let order = Order {
            kind,
            key: key_of(meta),
            manifest: body,
            owner,
            owned: manifest::is_owned(spec, meta),
        };
        match strategy["type"].as_str() {
            Some("ReadOnly") => Ok(None),
            Some("CreateOnly") => self.create_only(&order).await,
            Some("ServerSideApply") => self.server_side_apply(&order, &strategy["serverSideApply"]).await,
            _ => self.update(&order).await,
        }
    }

    async fn create(&self, order: &Order<'_>) -> Result<Shared, AccessError> {
        let body = merge::created(&order.manifest, order.owner, order.owned);
        self.access.create(order.kind, body).await
    }

    async fn create_only(&self, order: &Order<'_>) -> Result<Option<Shared>, Failure> {
        match self.access.find(order.kind, &order.key).await? {
            Some(existing) => Ok(Some(existing)),
            None => Ok(Some(self.create(order).await?)),
        }
    }

    /// Replaces everything but metadata and status: what the manifest does not name is gone.
    async fn update(&self, order: &Order<'_>) -> Result<Option<Shared>, Failure> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let written = match self.access.find(order.kind, &order.key).await? {
                None => self.create(order).await,
                Some(existing) => {
                    match merge::updated(&order.manifest, &existing, order.owner, order.owned) {
                        None => return Ok(Some(existing)),
                        Some(body) => self.access.replace(order.kind, body).await,
                    }
                }
            };
            match written {
                Ok(object) => return Ok(Some(object)),
                Err(error) if error.code() == 409 && attempt < CONFLICT_ATTEMPTS => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn server_side_apply(
        &self,
        order: &Order<'_>,
        settings: &Value,
    ) -> Result<Option<Shared>, Failure> {
        let force = settings["force"].as_bool().unwrap_or_default();
        let manager = settings["fieldManager"]
            .as_str()
            .filter(|manager| !manager.is_empty())
            .unwrap_or(names::DEFAULT_FIELD_MANAGER);
        let body = order.manifest.clone();
        match self.access.apply(order.kind, body, manager, force).await {
            Ok(applied) => Ok(Some(self.own(order, applied).await?)),
            Err(error) => Err(Failure {
                retry: error.code() != 409,
                ..Failure::from(error)
            }),
        }
    }

    /// Adds or removes our owner reference.
    async fn own(&self, order: &Order<'_>, existing: Shared) -> Result<Shared, AccessError> {
        match merge::owners(&existing, order.owner, order.owned) {
            None => Ok(existing),
            Some(owners) => {
                let patch = json!({"metadata": {
                    "uid": object::uid(&existing),
                    "resourceVersion": existing["metadata"]["resourceVersion"],
                    "ownerReferences": owners,
                }});
                self.access.merge_patch(order.kind, &order.key, patch).await
            }
        }
    }
}

/// Where the resource is.
pub fn key_of(meta: &ResourceMeta) -> Key {
    if meta.namespace.is_empty() {
        Key::cluster(meta.name.clone())
    } else {
        Key::namespaced(meta.namespace.clone(), meta.name.clone())
    }
}

/// The kind that a complete meta names.
pub fn kind_of(meta: &ResourceMeta, namespaced: bool) -> Kind {
    Kind {
        group: meta.group.clone().into(),
        version: meta.version.clone().into(),
        kind: meta.kind.clone().into(),
        plural: meta.resource.clone().into(),
        namespaced,
    }
}
