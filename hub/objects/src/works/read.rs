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
use drydock_rollout::{
    Applied, AttemptOutcome, Enforcement, Owner, RetryToken, Revision, Uid, UpgradeKey, UpgradeMethod,
    VersionFeedback, Work, WorkFeedback, bounded,
};
use jiff::Timestamp;
use kube::ResourceExt;

use super::partial::PartialManifestWork;
use super::{action, cluster_version, operators, upgrade_config};

/// The longest message about a work that is kept, in bytes.
const MESSAGE: usize = 512;

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

/// Reads a work at `now`; `None` if it has not the name that ours have. Labels that somebody took off do not matter, as long as it
/// says whose it is.
pub fn digest(work: &PartialManifestWork, now: Timestamp) -> Option<WorkDigest> {
    let label = |name: &str| work.labels().get(name).map(String::as_str);
    let annotation = |name: &str| work.annotations().get(name).map(String::as_str);
    let cluster = ClusterName::from(work.namespace()?);
    let name = work.name_any();
    let kind = WorkKind::ALL
        .into_iter()
        .find(|kind| kind.work_name(&cluster) == name)?;
    let owner = Owner {
        uid: Uid::new(label(UPGRADE_UID_LABEL).unwrap_or_default()),
        upgrade: annotation(UPGRADE_ANNOTATION).and_then(UpgradeKey::parse),
    };
    let is_known = label(KIND_LABEL) == Some(kind.as_str()) && label(UPGRADE_UID_LABEL).is_some();
    if !is_known && owner.upgrade.is_none() && label(UPGRADE_UID_LABEL).is_none() {
        return None;
    }
    let revision: Option<Revision> =
        annotation(REVISION_ANNOTATION).and_then(|text| serde_json::from_str(text).ok());
    let feedback = feedback(work, kind, revision.as_ref(), now);
    let outcome = outcome(work, kind, revision.as_ref());
    // A state that the hub did not write is taken off.
    let has_foreign_state = outcome.is_none() && label(STATE_LABEL).is_some();
    Some(WorkDigest {
        cluster,
        kind,
        work: Arc::new(Work {
            uid: Uid::new(work.uid().unwrap_or_default()),
            owner,
            created: work
                .creation_timestamp()
                .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
            deleting: work.metadata.deletion_timestamp.is_some(),
            labelled: is_known && !has_foreign_state,
            revision: revision.map(Arc::new),
            outcome: outcome.map(Arc::new),
            applied: applied(work),
            available: is_true_now(work, "Available"),
            degraded: degraded(work),
            feedback,
        }),
    })
}

/// The outcome that the hub has committed: with the state it writes why, and stops enforcing. A state alone is somebody else's.
fn outcome(
    work: &PartialManifestWork,
    kind: WorkKind,
    revision: Option<&Revision>,
) -> Option<AttemptOutcome> {
    let annotation = |name: &str| work.annotations().get(name).map(String::as_str);
    let text = |name: &str| annotation(name).unwrap_or_default();
    let applies_channel = revision.is_some_and(|revision| revision.enforcement == Enforcement::ChannelOnly);
    if kind == WorkKind::Cluster && !applies_channel && !is_only_read(work) {
        return None;
    }
    Some(AttemptOutcome {
        state: EndState::parse(work.labels().get(STATE_LABEL)?)?,
        reason: bounded(annotation(STATE_REASON_ANNOTATION)?, 64).into(),
        message: bounded(annotation(STATE_MESSAGE_ANNOTATION)?, MESSAGE).into(),
        at: annotation(STATE_SINCE_ANNOTATION)?.parse().ok(),
        retry: RetryToken::parse(bounded(text(RETRY_ANNOTATION), MESSAGE)),
    })
}

/// Whether the work agent leaves the objects alone that upgrade the cluster.
fn is_only_read(work: &PartialManifestWork) -> bool {
    let manifests = work.spec.workload.iter().flat_map(|all| all.manifests.iter());
    let resources = manifests.filter_map(|manifest| match manifest.0["kind"].as_str()? {
        "ClusterVersion" => Some("clusterversions"),
        "UpgradeConfig" => Some("upgradeconfigs"),
        _ => None,
    });
    let is_read_only = |resource: &str| {
        let mut configs = work.spec.manifest_configs.iter();
        let config = configs.find(|config| config.resource_identifier.resource == resource);
        let strategy = config.and_then(|config| config.update_strategy.as_ref());
        strategy.is_some_and(|strategy| strategy.type_ == "ReadOnly")
    };
    resources.into_iter().all(is_read_only)
}

fn conditions_of(work: &PartialManifestWork) -> &[ForeignCondition] {
    work.status.as_ref().map_or(&[], |status| &status.conditions)
}

/// A condition about an older generation says nothing.
fn is_current(work: &PartialManifestWork, condition: &ForeignCondition) -> bool {
    condition
        .observed_generation
        .is_none_or(|generation| Some(generation) == work.metadata.generation)
}

fn is_true_now(work: &PartialManifestWork, type_: &str) -> bool {
    conditions::find(conditions_of(work), type_)
        .is_some_and(|condition| condition.is_true() && is_current(work, condition))
}

/// Whether the work is applied. Why it is not stands at the object that could not be applied, not at the work.
fn applied(work: &PartialManifestWork) -> Applied {
    let Some(condition) =
        conditions::find(conditions_of(work), "Applied").filter(|found| is_current(work, found))
    else {
        return Applied::Unknown;
    };
    if condition.is_true() {
        return Applied::Yes;
    }
    let resources = work
        .status
        .as_ref()
        .and_then(|status| status.resource_status.as_ref());
    let mut manifests = resources.iter().flat_map(|resources| resources.manifests.iter());
    let cause = manifests.find_map(|manifest| {
        let failed = conditions::find(&manifest.conditions, "Applied").filter(|found| found.is_false())?;
        let meta = &manifest.resource_meta;
        let of = |text: &Option<String>| text.clone().unwrap_or_default();
        Some(format!(
            "{} {}: {}",
            of(&meta.kind),
            of(&meta.name),
            failed.message()
        ))
    });
    let words = cause.unwrap_or_else(|| condition.message().to_owned());
    Applied::No(bounded(&words, MESSAGE).into())
}

/// A rule of the user's own says that an object, or all of them, is degraded.
fn degraded(work: &PartialManifestWork) -> Option<Arc<str>> {
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
        .map(|condition| bounded(condition.message(), MESSAGE).into())
}

/// What the work feeds back, at its current generation: what it said of an earlier one is no answer.
fn feedback(
    work: &PartialManifestWork,
    kind: WorkKind,
    revision: Option<&Revision>,
    now: Timestamp,
) -> WorkFeedback {
    let is_answer =
        conditions::find(conditions_of(work), "Applied").is_none_or(|found| is_current(work, found));
    match (kind, revision.map(|revision| revision.method)) {
        (WorkKind::Pre | WorkKind::Post, _) => WorkFeedback::ActionJobs(action::runs(work)),
        (WorkKind::Operators, _) => WorkFeedback::ActionJobs(operators::runs(work)),
        (WorkKind::Cluster, Some(UpgradeMethod::Agent)) if is_answer => {
            WorkFeedback::Agent(Box::new(upgrade_config::read(work, now)))
        }
        (WorkKind::Cluster, Some(UpgradeMethod::Agent)) => WorkFeedback::Agent(Box::default()),
        (WorkKind::Cluster, Some(UpgradeMethod::ClusterVersion)) if is_answer => {
            WorkFeedback::ClusterVersion(cluster_version::read(work, now))
        }
        (WorkKind::Cluster, Some(UpgradeMethod::ClusterVersion)) => {
            WorkFeedback::ClusterVersion(VersionFeedback::default())
        }
        (WorkKind::Cluster, None) => WorkFeedback::Unreadable(
            format!(
                "its annotation {REVISION_ANNOTATION} is missing or was edited: delete the work to start the cluster over"
            )
            .into(),
        ),
    }
}

/// The status of one object of a work.
pub(super) fn manifest<'a>(
    work: &'a PartialManifestWork,
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
