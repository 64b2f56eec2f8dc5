//! What alerts follow from.

use std::sync::Arc;

use crate::cluster::kinds::{CLUSTER_OPERATOR, CLUSTER_VERSION, NODE, POD_DISRUPTION_BUDGET};
use kube_sandbox::access::{Access, AccessError, Kind, Selection};
use kube_sandbox::store::Object;

static RULE: Kind = Kind::new(
    "monitoring.coreos.com",
    "v1",
    "PrometheusRule",
    "prometheusrules",
    true,
);

/// The objects of one moment.
pub(super) struct Objects {
    pub(super) versions: Vec<Arc<Object>>,
    pub(super) operators: Vec<Arc<Object>>,
    pub(super) nodes: Vec<Arc<Object>>,
    pub(super) budgets: Vec<Arc<Object>>,
    pub(super) rules: Vec<Arc<Object>>,
}

impl Objects {
    pub(super) async fn read(access: &Access) -> Result<Self, AccessError> {
        let all = Selection::everything();
        Ok(Self {
            versions: access.list(&CLUSTER_VERSION, &all).await?,
            operators: access.list(&CLUSTER_OPERATOR, &all).await?,
            nodes: access.list(&NODE, &all).await?,
            budgets: access.list(&POD_DISRUPTION_BUDGET, &all).await?,
            rules: access.list(&RULE, &all).await?,
        })
    }
}
