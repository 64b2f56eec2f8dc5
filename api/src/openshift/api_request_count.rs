//! APIRequestCount: how often an API is used, and whether a later release has it.

use serde::{Deserialize, Serialize};

use crate::{Fields, foreign::foreign_kind};

foreign_kind!(
    /// How often an API is used.
    APIRequestCount, "apiserver.openshift.io", "v1", "apirequestcounts", ClusterResourceScope,
    spec: Fields, status: ApiRequestCountStatus
);

/// How often an API is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ApiRequestCountStatus {
    /// The release of Kubernetes that no longer has it, such as `1.29`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removed_in_release: Option<String>,
    /// How often it was used in the last 24 hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_count: Option<i64>,
    /// All other fields.
    #[serde(flatten)]
    pub other: Fields,
}
