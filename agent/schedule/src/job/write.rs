//! The writes that a decision asks for. Each says which version of its object the decision has seen: the controller writes with that
//! as a precondition, and a conflict means that the decision is made anew.

use drydock_api::insights::{PlanAsker, PlannedUpdate, plan_name};
use drydock_api::lock::LockKey;
use drydock_api::names::{
    HOOK_JOB_FINALIZER, PAUSED_ON_FAILURE_ANNOTATION, UPGRADE_LOCK_ANNOTATION, UPGRADE_LOCK_OWNER_ANNOTATION,
};
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::{DesiredVersion, HookClaim};
use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::DynamicObject;
use serde_json::{Map, Value, json};

/// An object as a decision has seen it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedVersion {
    /// Its namespace; none if it is cluster-scoped.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its version.
    pub resource_version: String,
}

impl ObservedVersion {
    /// That of an object.
    pub fn of(object: &impl ResourceExt) -> Self {
        Self {
            namespace: object.namespace(),
            name: object.name_any(),
            uid: object.uid().unwrap_or_default(),
            resource_version: object.resource_version().unwrap_or_default(),
        }
    }

    /// The body of a JSON merge patch that only this version of the object takes.
    fn patch(&self, mut metadata: Map<String, Value>, mut rest: Map<String, Value>) -> Value {
        metadata.insert("uid".to_owned(), json!(self.uid));
        metadata.insert("resourceVersion".to_owned(), json!(self.resource_version));
        rest.insert("metadata".to_owned(), Value::Object(metadata));
        Value::Object(rest)
    }
}

/// Why a pool is paused: the annotation that it gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolMark {
    /// To be upgraded later, by this UpgradeJob.
    Delay(LockKey),
    /// Because the UpgradeJob with this UID has failed. Nobody unpauses it but a person.
    Failure(String),
}

/// A write. All of them are safe to repeat.
#[derive(Clone, Debug, PartialEq)]
pub enum JobWrite {
    /// The lock of the cluster becomes that of the UpgradeJob.
    TakeLock {
        /// OpenShift's ClusterVersion.
        cluster_version: ObservedVersion,
        /// Whose it becomes.
        key: LockKey,
    },
    /// The lock of the cluster becomes nobody's.
    ReleaseLock(ObservedVersion),
    /// The cluster is asked for a release.
    SetDesiredUpdate {
        /// OpenShift's ClusterVersion, which has the lock.
        cluster_version: ObservedVersion,
        /// The release.
        update: DesiredVersion,
        /// What an earlier desired update has beside it, which goes.
        stale_fields: Vec<String>,
    },
    /// A machine config pool is paused, and marked.
    PausePool {
        /// The pool.
        pool: ObservedVersion,
        /// Why.
        mark: PoolMark,
    },
    /// A machine config pool is unpaused, and its mark removed.
    UnpausePool(ObservedVersion),
    /// The Job of a hook. That it exists already is success, if the UpgradeJob owns it.
    CreateHookJob(Box<DynamicObject>),
    /// A hook that runs only once becomes that of the UpgradeJob: its status.
    ClaimHook {
        /// The UpgradeJobHook.
        hook: ObservedVersion,
        /// Whose it becomes.
        claim: HookClaim,
    },
    /// The informers of update insights are asked about an update: its UpdatePlan is created, or refreshed.
    RequestUpdatePlan {
        /// The update.
        update: PlannedUpdate,
        /// Whose plan it is.
        asker: PlanAsker,
        /// When that was found to be necessary.
        at: Timestamp,
    },
    /// The Job of a hook may go: its finalizers become these.
    RemoveHookFinalizer {
        /// The Job.
        job: ObservedVersion,
        /// The finalizers of others.
        remaining: Vec<String>,
    },
}

/// The kind of the object that a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WrittenKind {
    /// OpenShift's ClusterVersion.
    ClusterVersion,
    /// A machine config pool.
    MachineConfigPool,
    /// A Job (batch/v1).
    Job,
    /// The subresource `status` of an UpgradeJobHook.
    UpgradeJobHookStatus,
    /// An UpdatePlan.
    UpdatePlan,
}

/// What the controller sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Request<'a> {
    /// A new object, under its own name.
    Create(&'a DynamicObject),
    /// What this program wants of an object, by server-side apply: no version of it has to be seen before.
    Apply {
        /// Its name.
        name: String,
        /// All of its fields that are wanted.
        body: Value,
    },
    /// A JSON merge patch. Its metadata has UID and resourceVersion, so that a server refuses it for any other version of the object.
    Patch {
        /// The object.
        object: &'a ObservedVersion,
        /// The patch.
        body: Value,
    },
}

impl JobWrite {
    /// Of which kind the object is that is written.
    pub fn kind(&self) -> WrittenKind {
        match self {
            Self::TakeLock { .. } | Self::ReleaseLock(_) | Self::SetDesiredUpdate { .. } => {
                WrittenKind::ClusterVersion
            }
            Self::PausePool { .. } | Self::UnpausePool(_) => WrittenKind::MachineConfigPool,
            Self::CreateHookJob(_) | Self::RemoveHookFinalizer { .. } => WrittenKind::Job,
            Self::ClaimHook { .. } => WrittenKind::UpgradeJobHookStatus,
            Self::RequestUpdatePlan { .. } => WrittenKind::UpdatePlan,
        }
    }

    /// What the controller sends.
    pub fn request(&self) -> Request<'_> {
        let (object, metadata, rest) = match self {
            Self::CreateHookJob(job) => return Request::Create(job),
            Self::RequestUpdatePlan { update, asker, at } => {
                return Request::Apply {
                    name: plan_name(&update.version),
                    body: update.plan_request(*asker, *at),
                };
            }
            Self::TakeLock { cluster_version, key } => (
                cluster_version,
                lock(&json!(key.holder), &json!(key.owner())),
                Map::new(),
            ),
            Self::ReleaseLock(cluster_version) => {
                (cluster_version, lock(&Value::Null, &Value::Null), Map::new())
            }
            Self::SetDesiredUpdate {
                cluster_version,
                update,
                stale_fields,
            } => (cluster_version, Map::new(), desired(update, stale_fields)),
            Self::PausePool { pool, mark } => {
                let metadata = match mark {
                    PoolMark::Delay(key) => lock(&json!(key.holder), &json!(key.owner())),
                    PoolMark::Failure(uid) => {
                        field("annotations", json!({ PAUSED_ON_FAILURE_ANNOTATION: uid }))
                    }
                };
                (pool, metadata, paused(true))
            }
            Self::UnpausePool(pool) => (pool, lock(&Value::Null, &Value::Null), paused(false)),
            Self::ClaimHook { hook, claim } => {
                let status = field("claimedBy", json!(claim));
                (hook, Map::new(), field("status", status.into()))
            }
            Self::RemoveHookFinalizer { job, remaining } => {
                (job, field("finalizers", json!(remaining)), Map::new())
            }
        };
        Request::Patch {
            object,
            body: object.patch(metadata, rest),
        }
    }
}

fn field(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

fn lock(holder: &Value, owner: &Value) -> Map<String, Value> {
    let annotations = json!({ UPGRADE_LOCK_ANNOTATION: holder, UPGRADE_LOCK_OWNER_ANNOTATION: owner });
    field("annotations", annotations)
}

fn paused(paused: bool) -> Map<String, Value> {
    field("spec", json!({ "paused": paused }))
}

/// The whole desired update: what is not given is removed.
fn desired(update: &DesiredVersion, stale_fields: &[String]) -> Map<String, Value> {
    let mut fields: Map<String, Value> = stale_fields
        .iter()
        .map(|name| (name.clone(), Value::Null))
        .collect();
    let text = |field: &Option<String>| json!(field.as_ref().filter(|text| !text.is_empty()));
    fields.insert("architecture".to_owned(), text(&update.architecture));
    fields.insert("version".to_owned(), text(&update.version));
    fields.insert("image".to_owned(), text(&update.image));
    fields.insert("force".to_owned(), json!(update.force));
    field("spec", json!({ "desiredUpdate": fields }))
}

/// The fields of ClusterVersion's desired update that no UpgradeJob sets.
pub(super) fn stale_fields(cluster: &ClusterVersion) -> Vec<String> {
    let update = cluster.spec.desired_update.iter();
    update.flat_map(|update| update.other.keys().cloned()).collect()
}

/// The finalizers of others on the Job of a hook.
pub(super) fn other_finalizers(job: &impl ResourceExt) -> Vec<String> {
    let all = job.finalizers().iter();
    all.filter(|finalizer| *finalizer != HOOK_JOB_FINALIZER)
        .cloned()
        .collect()
}
