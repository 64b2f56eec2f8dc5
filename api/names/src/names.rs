//! Names on the wire: labels, annotations, finalizers, field managers, and the names of the objects that Drydock
//! makes or looks for.

/// Label on every work: the UID of the ManagedClustersUpgrade that made it.
pub const UPGRADE_UID_LABEL: &str = "drydock.dev/upgrade-uid";
/// Label on every work: what it is for, one of [`WorkKind`]'s names.
pub const KIND_LABEL: &str = "drydock.dev/kind";
/// The value of [`KIND_LABEL`] on a work that asks a cluster what would be a problem with its upgrade.
pub const PRE_CHECKS_KIND: &str = "pre-checks";
/// Annotation on such a work: what it asks, as JSON.
pub const QUESTION_ANNOTATION: &str = "drydock.dev/question";
/// On ConfigMaps that have a calendar of freezes, whatever its value.
pub const FREEZE_CALENDAR_LABEL: &str = "drydock.dev/freeze-calendar";
/// Label on a cluster-upgrade work that has ended: one of [`EndState`]'s names.
pub const STATE_LABEL: &str = "drydock.dev/state";
/// Annotation on every work: `namespace/name` of the ManagedClustersUpgrade that made it.
pub const UPGRADE_ANNOTATION: &str = "drydock.dev/upgrade";
/// Annotation on a work that has ended: why, as one CamelCase word.
pub const STATE_REASON_ANNOTATION: &str = "drydock.dev/state-reason";
/// Annotation on a cluster-upgrade work that has ended: why, in words.
pub const STATE_MESSAGE_ANNOTATION: &str = "drydock.dev/state-message";
/// Annotation on a cluster-upgrade work that has ended: when (RFC 3339).
pub const STATE_SINCE_ANNOTATION: &str = "drydock.dev/state-since";
/// Annotation on every work: what it was made for (target, way, timeout, start), as JSON.
pub const REVISION_ANNOTATION: &str = "drydock.dev/revision";
/// Annotation on every work: the cluster was a canary of its upgrade (`true`).
pub const CANARY_ANNOTATION: &str = "drydock.dev/canary";
/// Annotation on a ManagedClustersUpgrade: any new value starts all failed clusters over, once. On a work that has ended: the
/// retry under which it ended.
pub const RETRY_ANNOTATION: &str = "drydock.dev/retry";
/// Annotation on a ManagedClustersUpgrade: `cluster=value` pairs, joined by commas; a new value starts that cluster over, once,
/// if it has failed.
pub const RETRY_CLUSTERS_ANNOTATION: &str = "drydock.dev/retry-clusters";
/// Annotation on a ManagedClustersUpgrade: who wrote its spec, where an admission policy says so.
pub const STARTED_BY_ANNOTATION: &str = "drydock.dev/started-by";
/// Annotation on each Job and Pod of an action: the attempt that it belongs to.
pub const ATTEMPT_ANNOTATION: &str = "drydock.dev/attempt";
/// Label on an UpgradeConfig or UpgradeJob of `managedupgrade.appuio.io`: its name, or its UID where that is too long for a label, so that
/// an UpgradeSuspensionWindow can select it alone.
pub const NAME_LABEL: &str = "drydock.dev/name";
/// On an UpgradeConfig: the provider for whose policy it was made.
pub const PROVIDER_ANNOTATION: &str = "drydock.dev/provider";
/// On an UpgradeConfig: the image whose version `spec.desired.version` is, where the agent found it.
pub const VERSION_OF_ANNOTATION: &str = "drydock.dev/version-of";
/// On a FileIntegrity: the version for which the agent last had its operator reinitialize.
pub const REINITIALIZED_ANNOTATION: &str = "drydock.dev/reinitialized-for";
/// Finalizer on a ManagedClustersUpgrade: its works are deleted before it goes.
pub const UPGRADE_FINALIZER: &str = "drydock.dev/upgrade-works";
/// Finalizer on an UpgradeConfig whose upgrade is under way: silences and extra workers go before it does.
pub const CLEANUP_FINALIZER: &str = "drydock.dev/upgrade-cleanup";

/// Field manager of the hub's writes.
pub const HUB_MANAGER: &str = "drydock-hub";
/// Field manager of the hub's status writes.
pub const HUB_STATUS_MANAGER: &str = "drydock-hub-status";
/// Field manager of the agent's writes.
pub const AGENT_MANAGER: &str = "drydock-agent";
/// Field manager that the klusterlet's work agent uses for our manifests; it must begin with `work-agent`.
pub const WORK_AGENT_MANAGER: &str = "work-agent-drydock";

/// The ManagedClusterAddOn whose condition `Available` says that a cluster runs the agent.
pub const AGENT_ADDON: &str = "drydock-agent";
/// The command by which the agent's image approves upgrades of operators, as the hub's Job runs it.
pub const APPROVE_COMMAND: [&str; 2] = ["drydock-agent", "approve-installplans"];
/// The only UpgradeConfig that the agent acts on.
pub const UPGRADE_CONFIG: &str = "managed-upgrade-config";
/// The namespace of the agent and of its UpgradeConfig, if none is given.
pub const AGENT_NAMESPACE: &str = "openshift-managed-upgrade-operator";
/// The one ClusterVersion of a cluster.
pub const CLUSTER_VERSION: &str = "version";
/// The MachineConfigPool of the worker nodes.
pub const WORKER_POOL: &str = "worker";

/// Label of ManagedClusters: the one ManagedClusterSet to which a cluster belongs.
pub const CLUSTER_SET_LABEL: &str = "cluster.open-cluster-management.io/clusterset";
/// Label of PlacementDecisions: the Placement to which a page belongs.
pub const PLACEMENT_LABEL: &str = "cluster.open-cluster-management.io/placement";
/// Label of PlacementDecisions: the index of the page's decision group.
pub const DECISION_GROUP_INDEX_LABEL: &str = "cluster.open-cluster-management.io/decision-group-index";
/// Label of PlacementDecisions: the name of the page's decision group.
pub const DECISION_GROUP_NAME_LABEL: &str = "cluster.open-cluster-management.io/decision-group-name";
/// Taint of ManagedClusters whose condition Available is False.
pub const UNAVAILABLE_TAINT: &str = "cluster.open-cluster-management.io/unavailable";
/// Taint of ManagedClusters whose condition Available is Unknown.
pub const UNREACHABLE_TAINT: &str = "cluster.open-cluster-management.io/unreachable";
/// Finalizer of the work agent on a ManifestWork.
pub const WORK_CLEANUP_FINALIZER: &str = "cluster.open-cluster-management.io/manifest-work-cleanup";
/// Cluster claim: the ClusterVersion's `spec.clusterID`.
pub const CLUSTER_ID_CLAIM: &str = "id.openshift.io";
/// Cluster claim: the OpenShift version that the cluster runs.
pub const CLUSTER_VERSION_CLAIM: &str = "version.openshift.io";
/// Cluster claim: the product that the cluster is, such as `OpenShift` or `EKS`.
pub const PRODUCT_CLAIM: &str = "product.open-cluster-management.io";
/// Annotation of Placements whose decisions another controller writes.
pub const SCHEDULING_DISABLED_ANNOTATION: &str =
    "cluster.open-cluster-management.io/experimental-scheduling-disable";
/// Label of ManagedClusters: the ClusterVersion's `spec.clusterID`, where no claim says it.
pub const CLUSTER_ID_LABEL: &str = "clusterID";
/// Condition of a ManagedCluster: the hub accepts it.
pub const HUB_ACCEPTED: &str = "HubAcceptedManagedCluster";
/// Condition of a ManagedCluster: its klusterlet has joined.
pub const JOINED: &str = "ManagedClusterJoined";
/// Condition of a ManagedCluster: its klusterlet renews its lease.
pub const AVAILABLE: &str = "ManagedClusterConditionAvailable";

/// Annotation on OpenShift's ClusterVersion: who upgrades the cluster. `<namespace>/<name>` is an UpgradeJob of
/// `managedupgrade.appuio.io`; anything else is an upgrade that is not one. On a MachineConfigPool: the UpgradeJob that paused it.
pub const UPGRADE_LOCK_ANNOTATION: &str = "managedupgrade.appuio.io/upgrade-job";
/// Annotation on OpenShift's ClusterVersion, beside [`UPGRADE_LOCK_ANNOTATION`]: its value and, behind a space, the UID of who
/// upgrades the cluster.
pub const UPGRADE_LOCK_OWNER_ANNOTATION: &str = "drydock.dev/upgrade-lock-owner";
/// Annotation on a MachineConfigPool: the UID of the UpgradeJob that paused it because it failed.
pub const PAUSED_ON_FAILURE_ANNOTATION: &str = "drydock.dev/paused-on-failure";
/// Finalizer on the Jobs of hooks: what became of them has not been recorded yet.
pub const HOOK_JOB_FINALIZER: &str = "upgradejobs.managedupgrade.appuio.io/hook-job-tracker";
/// Label, or annotation where the name is too long for a label, on the Jobs of hooks: the UpgradeJobHook.
pub const HOOK_LABEL: &str = "upgradejobs.managedupgrade.appuio.io/upgradejobhook";
/// Label on the Jobs of hooks: the UpgradeJob. The key is as the original has it.
pub const HOOK_UPGRADE_JOB_LABEL: &str = "upgradejobs.managedupgrade.appuio.io/upgradejobk";
/// Label on the Jobs of hooks: the event.
pub const HOOK_EVENT_LABEL: &str = "upgradejobs.managedupgrade.appuio.io/event";
/// Label, or annotation where it is too long for a label, on the Jobs of hooks: what tells events apart that happen several times.
pub const HOOK_TRACKING_KEY_LABEL: &str = "upgradejobs.managedupgrade.appuio.io/tracking-key";

/// What a work of an upgrade is for: the value of [`KIND_LABEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// The pre-upgrade action.
    Pre,
    /// The upgrade of the platform.
    Cluster,
    /// The upgrade of installed operators.
    Operators,
    /// The post-upgrade action.
    Post,
}

impl WorkKind {
    /// Every kind, in the order in which works are made.
    pub const ALL: [Self; 4] = [Self::Pre, Self::Cluster, Self::Operators, Self::Post];

    /// The value of the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pre => "pre",
            Self::Cluster => "cluster",
            Self::Operators => "operators",
            Self::Post => "post",
        }
    }

    /// The kind that a label's value names.
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == label)
    }

    /// The name of the work for `cluster`, such as `dev1-cluster-upgrade`.
    pub fn work_name(self, cluster: &crate::ClusterName) -> String {
        let suffix = match self {
            Self::Pre => "pre-upgrade",
            Self::Cluster => "cluster-upgrade",
            Self::Operators => "operators-upgrade",
            Self::Post => "post-upgrade",
        };
        format!("{cluster}-{suffix}")
    }
}

/// How a cluster's upgrade has ended: the value of [`STATE_LABEL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndState {
    /// The cluster runs the target and its post action has succeeded.
    Complete,
    /// The upgrade of the cluster has failed.
    Failed,
}

impl EndState {
    /// The value of the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "Complete",
            Self::Failed => "Failed",
        }
    }

    /// The end that a label's value names.
    pub fn parse(label: &str) -> Option<Self> {
        [Self::Complete, Self::Failed]
            .into_iter()
            .find(|state| state.as_str() == label)
    }
}

/// What makes a finding about ClusterVersion another one, among the resources of its scope: no such objects are there, and the name is a
/// digest. The agent and the hub call findings alike.
pub mod cause {
    /// What a condition says.
    pub const CONDITION: &str = "ConditionCause";
    /// The release that the cluster is on its way to.
    pub const DESIRED: &str = "DesiredRelease";
    /// The release that somebody has requested.
    pub const REQUESTED: &str = "RequestedRelease";
    /// The image of a release.
    pub const IMAGE: &str = "ReleaseImage";
    /// All of them.
    pub const ALL: [&str; 4] = [CONDITION, DESIRED, REQUESTED, IMAGE];
    /// How many digits of the digest the name has.
    pub const DIGITS: usize = 16;
}
