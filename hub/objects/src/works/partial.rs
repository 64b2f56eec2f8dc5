//! A ManifestWork as the hub watches it. Most of what a work holds is never read again by who wrote it: of ten thousand works
//! that change several times a minute, only what decisions need is unpacked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use drydock_api::List;
use drydock_api::ocm::ManifestWork;
use drydock_api::ocm::manifest_work::{Manifest, ManifestWorkStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer};

/// A work without who manages its fields, and with no more of its manifestConfigs than how each object is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartialManifestWork {
    /// Name, labels and the like.
    #[serde(deserialize_with = "without_managers")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: PartialSpec,
    /// What became of it.
    pub status: Option<ManifestWorkStatus>,
}

/// What is wanted, as far as it is read.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PartialSpec {
    /// The objects.
    pub workload: Option<PartialWorkload>,
    /// How they are written.
    pub manifest_configs: List<PartialConfig>,
}

/// How one object is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PartialConfig {
    /// The object.
    pub resource_identifier: PartialIdentifier,
    /// How it is written; absent means that its whole spec is replaced.
    pub update_strategy: Option<PartialStrategy>,
}

/// What kind of object a configuration is about.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartialIdentifier {
    /// The resource, in the plural.
    pub resource: String,
}

/// How an object is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartialStrategy {
    /// The name of the strategy.
    #[serde(rename = "type")]
    pub type_: String,
}

/// The objects of a work.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PartialWorkload {
    /// The objects.
    pub manifests: List<Manifest>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    resource_version: Option<String>,
    generation: Option<i64>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
}

fn without_managers<'a, D: Deserializer<'a>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let metadata = Metadata::deserialize(deserializer)?;
    Ok(ObjectMeta {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        labels: metadata.labels,
        annotations: metadata.annotations,
        resource_version: metadata.resource_version,
        generation: metadata.generation,
        creation_timestamp: metadata.creation_timestamp,
        deletion_timestamp: metadata.deletion_timestamp,
        ..ObjectMeta::default()
    })
}

impl Resource for PartialManifestWork {
    type DynamicType = ();
    type Scope = <ManifestWork as Resource>::Scope;

    fn kind(&(): &()) -> Cow<'_, str> {
        ManifestWork::kind(&())
    }

    fn group(&(): &()) -> Cow<'_, str> {
        ManifestWork::group(&())
    }

    fn version(&(): &()) -> Cow<'_, str> {
        ManifestWork::version(&())
    }

    fn plural(&(): &()) -> Cow<'_, str> {
        ManifestWork::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
