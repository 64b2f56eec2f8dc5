//! ClusterServiceVersion: one version of an operator, installed in a namespace.

use serde::{Deserialize, Serialize};

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// One version of an operator.
    ClusterServiceVersion, "operators.coreos.com", "v1alpha1", "clusterserviceversions", NamespaceResourceScope,
    spec: ClusterServiceVersionSpec, status: ClusterServiceVersionStatus
);

/// What the version is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterServiceVersionSpec {
    /// The operator's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The name of the ClusterServiceVersion that it replaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}

/// How its installation is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterServiceVersionStatus {
    /// `Pending`, `InstallReady`, `Installing`, `Succeeded`, `Failed`, `Replacing`, `Deleting`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Why, in CamelCase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
