//! From a ManifestWork to what decisions need of it. What cannot be read is a reason to wait, never to fail: works are
//! written by the hub, but anybody may have edited them.

use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition, ForeignCondition};
use drydock_api::names::{
    EndState, KIND_LABEL, RETRY_ANNOTATION, REVISION_ANNOTATION, STATE_LABEL, STATE_MESSAGE_ANNOTATION,
    STATE_REASON_ANNOTATION, STATE_SINCE_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL, WorkKind,
};
use drydock_api::ocm::manifest_work::ManifestStatus;
use drydock_rollout::{ClusterState, ConditionStatus, Owner, Record, Revision, Uid, Via, Work, WorkFeedback};
use jiff::Timestamp;
use kube::ResourceExt;

use super::seen::SeenWork;
use super::{action, cluster_version, operators, upgrade_config};

/// One of our works and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkDigest {
    /// For which cluster.
    pub cluster: ClusterName,
    /// Which of its works.
    pub kind: WorkKind,
    /// The work.
    pub work: Arc<Work>,
}

/// Reads a work that has our labels; `None` if it has not the name that ours have.
pub fn digest(work: &SeenWork) -> Option<WorkDigest> {
    let label = |name: &str| work.labels().get(name).map(String::as_str);
    let cluster = ClusterName::from(work.namespace()?.as_str());
    let kind = WorkKind::parse(label(KIND_LABEL)?)?;
    if work.name_any() != kind.work_name(&cluster) {
        return None;
    }
    let annotation = |name: &str| work.annotations().get(name).cloned();
    let revision: Option<Revision> =
        annotation(REVISION_ANNOTATION).and_then(|text| serde_json::from_str(&text).ok());
    let feedback = feedback(work, kind, revision.as_ref());
    Some(WorkDigest {
        cluster,
        kind,
        work: Arc::new(Work {
            uid: Uid::new(work.uid().unwrap_or_default()),
            owner: Owner {
                uid: Uid::new(label(UPGRADE_UID_LABEL).unwrap_or_default()),
                upgrade: annotation(UPGRADE_ANNOTATION).unwrap_or_default(),
            },
            created: work
                .creation_timestamp()
                .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            deleting: work.metadata.deletion_timestamp.is_some(),
            revision,
            record: record(work),
            applied: condition(work, "Applied"),
            available: condition(work, "Available"),
            degraded: degraded(work),
            feedback,
        }),
    })
}

fn record(work: &SeenWork) -> Option<Record> {
    let annotation = |name: &str| work.annotations().get(name).cloned();
    let state = match EndState::parse(work.labels().get(STATE_LABEL)?)? {
        EndState::Complete => ClusterState::Complete,
        EndState::Failed => ClusterState::Failed,
    };
    Some(Record {
        state,
        reason: annotation(STATE_REASON_ANNOTATION).unwrap_or_default(),
        message: annotation(STATE_MESSAGE_ANNOTATION).unwrap_or_default(),
        at: annotation(STATE_SINCE_ANNOTATION).and_then(|text| text.parse().ok()),
        retry: annotation(RETRY_ANNOTATION).and_then(|text| text.parse().ok()),
    })
}

fn conditions_of(work: &SeenWork) -> &[ForeignCondition] {
    work.status.as_ref().map_or(&[], |status| &status.conditions)
}

/// A condition about an older generation says nothing.
fn is_current(work: &SeenWork, condition: &ForeignCondition) -> bool {
    condition
        .observed_generation
        .is_none_or(|generation| Some(generation) == work.metadata.generation)
}

fn condition(work: &SeenWork, type_: &str) -> ConditionStatus {
    match conditions::find(conditions_of(work), type_) {
        Some(condition) if !is_current(work, condition) => ConditionStatus::Absent,
        None => ConditionStatus::Absent,
        Some(condition) if condition.is_true() => ConditionStatus::True,
        Some(condition) => ConditionStatus::NotTrue(condition.message().to_owned()),
    }
}

/// A rule of the user's own says that an object, or all of them, is degraded.
fn degraded(work: &SeenWork) -> Option<String> {
    let status = work.status.as_ref()?;
    let manifests = status
        .resource_status
        .iter()
        .flat_map(|resources| resources.manifests.iter());
    let of_manifests = manifests.flat_map(|manifest| manifest.conditions.iter());
    status
        .conditions
        .iter()
        .chain(of_manifests)
        .find(|condition| {
            condition.type_() == "Degraded" && condition.is_true() && is_current(work, condition)
        })
        .map(|condition| condition.message().to_owned())
}

fn feedback(work: &SeenWork, kind: WorkKind, revision: Option<&Revision>) -> WorkFeedback {
    match (kind, revision.map(|revision| revision.via)) {
        (WorkKind::Pre | WorkKind::Post, _) => WorkFeedback::Action(action::runs(work)),
        (WorkKind::Operators, _) => WorkFeedback::Action(operators::runs(work)),
        (WorkKind::Cluster, Some(Via::Agent)) => {
            WorkFeedback::Agent(upgrade_config::read(work).unwrap_or_default())
        }
        (WorkKind::Cluster, Some(Via::ClusterVersion)) => {
            WorkFeedback::ClusterVersion(cluster_version::read(work).unwrap_or_default())
        }
        (WorkKind::Cluster, None) => WorkFeedback::Unreadable(format!(
            "its annotation {REVISION_ANNOTATION} is missing or was edited: delete the work to start the cluster over"
        )),
    }
}

/// The status of one object of a work.
pub(super) fn manifest<'a>(
    work: &'a SeenWork,
    group: &str,
    resource: &str,
    namespace: &str,
    name: &str,
) -> Option<&'a ManifestStatus> {
    let manifests = &work.status.as_ref()?.resource_status.as_ref()?.manifests;
    manifests.iter().find(|manifest| {
        let meta = &manifest.resource_meta;
        meta.group.as_deref().unwrap_or_default() == group
            && meta.resource.as_deref() == Some(resource)
            && meta.namespace.as_deref().unwrap_or_default() == namespace
            && meta.name.as_deref() == Some(name)
    })
}
