//! Update insights: what an upgrade waits for, what would go wrong, and who accepted it. The kinds of `config.openshift.io/v1beta1`
//! (insights.md, section 1), and the bodies of the hooks that update informers serve.
//!
//! Upstream drafted these kinds and never shipped them, so no cluster has definitions of its own.

mod acceptance;
pub mod hooks;
mod impact;
mod insight;
mod scope;
mod update_informer;
mod update_plan;
mod update_plan_insight;
mod update_status;

pub use acceptance::{AcceptanceState, AcceptedInsight};
pub use impact::{Impact, ImpactType, Level};
pub use insight::{Insight, Remediation};
pub use scope::{PoolReference, ResourceReference, Scope, ScopeType};
pub use update_informer::{
    ClientConfig, FailurePolicy, Handler, InformerCondition, ServiceReference, UpdateInformer,
    UpdateInformerSpec, UpdateInformerStatus,
};
pub use update_plan::{
    InsightCounts, LevelCounts, PlanAcceptedRisk, PlanAsker, PlanInformer, PlanPhase, PlannedUpdate,
    SeenRisk, UpdatePlan, UpdatePlanSpec, UpdatePlanState, UpdatePlanStatus, Verdict, VerdictReason,
    plan_name,
};
pub use update_plan_insight::{
    PlanInsight, UpdatePlanInsight, UpdatePlanInsightSpec, UpdatePlanInsightStatus,
};
pub use update_status::{
    ControlPlaneStatus, InformerInsights, InformerState, InformerSummary, OngoingUpdate, UpdateStatus,
    UpdateStatusSpec, UpdateStatusStatus, WorkerPoolStatus,
};

/// The group of all kinds. It has other kinds of OpenShift, too, in other versions.
pub const GROUP: &str = "config.openshift.io";
/// The version of all kinds, and of the bodies of the hooks.
pub const VERSION: &str = "v1beta1";
/// The API level of the hooks that is spoken: part of their path, and versioned on its own (insights.md, section 1.9, row 2).
pub const API_LEVEL: &str = "v1alpha";
/// The name of the one UpdateStatus.
pub const UPDATE_STATUS: &str = "cluster";
/// What a text says of what holds an update: a reader of the text knows by it what to do.
pub const NOT_ACCEPTED: &str = "findings that nobody has accepted";
/// The most insights of one response (insights.md, section 1.3).
pub const MAX_INSIGHTS: usize = 1024;

/// On an UpdateInformer: the Secret (`namespace/name`) whose key `ca.crt` has the authorities that sign the informer's certificate.
pub const INJECT_CA_ANNOTATION: &str = "runtime.cluster.x-k8s.io/inject-ca-from-secret";

/// Types of conditions.
pub mod condition {
    /// Of an UpdateInformer: does it answer?
    pub const ONLINE: &str = "Online";
    /// Of the control plane or a pool: is it not yet what it should be?
    pub const UPDATE_PENDING: &str = "UpdatePending";
    /// Of the control plane or a pool: can its update make progress?
    pub const UPDATE_ACTIVE: &str = "UpdateActive";
    /// Of the control plane: are there insights about pools that do not exist?
    pub const SCOPE_UNRESOLVED: &str = "ScopeUnresolved";
    /// Of the UpdateStatus: is it up to date and complete?
    pub const COMPLETE: &str = "Complete";
    /// Of an UpdatePlan: has every informer been asked?
    pub const POPULATED: &str = "Populated";
    /// Of an UpdatePlan: is everything accepted that has to be?
    pub const ACCEPTED: &str = "Accepted";
    /// Of an UpdatePlan: may the update start?
    pub const STARTABLE: &str = "Startable";
}
