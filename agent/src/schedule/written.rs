//! What several controllers of maintenance schedules write.

use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeJobHook};
use k8s_openapi::api::batch::v1::Job;

use crate::reconcile::written::{Changed, Created};

/// What this program has written last of the kinds that several controllers write.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub configs: Changed<UpgradeConfig>,
    pub jobs: Changed<UpgradeJob>,
    pub hooks: Changed<UpgradeJobHook>,
    /// The Jobs of hooks, without their specs.
    pub hook_jobs: Changed<Job>,
    pub created_hook_jobs: Created<Job>,
    /// OpenShift's ClusterVersion.
    pub upstream: Changed<ClusterVersion>,
    pub pools: Changed<MachineConfigPool>,
}
