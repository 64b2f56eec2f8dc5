//! Changes of a work that exists, as patches: its outcome, what it enforces, the channel, its labels.

use std::collections::BTreeMap;

use drydock_api::names::{
    EndState, KIND_LABEL, RETRY_ANNOTATION, REVISION_ANNOTATION, STATE_LABEL, STATE_MESSAGE_ANNOTATION,
    STATE_REASON_ANNOTATION, STATE_SINCE_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL, WorkKind,
};
use drydock_api::ocm::ManifestWork;
use drydock_rollout::{Finish, Revision, Uid, UpgradeKey, UpgradeMethod};
use serde_json::{Value, json};

use super::{cluster_version, feedback, read_only};

/// How a cluster has ended, to be written on its work.
#[derive(Clone, Copy, Debug)]
pub struct CommittedOutcome<'a>(pub &'a Finish);

impl CommittedOutcome<'_> {
    fn state(self) -> EndState {
        self.0.outcome
    }

    fn annotations(self) -> BTreeMap<&'static str, String> {
        let Finish {
            reason,
            message,
            at,
            retry,
            ..
        } = self.0;
        BTreeMap::from([
            (STATE_REASON_ANNOTATION, (*reason).to_owned()),
            (STATE_MESSAGE_ANNOTATION, message.to_string()),
            (STATE_SINCE_ANNOTATION, at.to_string()),
            (RETRY_ANNOTATION, retry.to_text()),
        ])
    }
}

/// The JSON patch that commits an outcome on a work as the hub made it, and stops what is enforced; it fails on one that somebody
/// edited.
pub fn outcome(outcome: CommittedOutcome<'_>, kind: WorkKind, uid: &Uid) -> Value {
    let path =
        |map: &str, key: &str| format!("/metadata/{map}/{}", key.replace('~', "~0").replace('/', "~1"));
    let mut operations = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid.as_str()}),
        json!({"op": "add", "path": path("labels", STATE_LABEL), "value": outcome.state().as_str()}),
    ];
    for (key, value) in outcome.annotations() {
        operations.push(json!({"op": "add", "path": path("annotations", key), "value": value}));
    }
    if kind == WorkKind::Cluster {
        // Ours is the first one of the work.
        let resource = match outcome.0.method {
            Some(UpgradeMethod::ClusterVersion) => "clusterversions",
            Some(UpgradeMethod::Agent) => "upgradeconfigs",
            None => "",
        };
        operations.push(json!({
            "op": "test",
            "path": "/spec/manifestConfigs/0/resourceIdentifier/resource",
            "value": resource,
        }));
        operations.push(json!({
            "op": "add",
            "path": "/spec/manifestConfigs/0/updateStrategy",
            "value": feedback::read_only(),
        }));
    }
    Value::Array(operations)
}

/// The merge patch that commits an outcome on this very version of a work, however it looks.
pub fn outcome_of_edited(outcome: CommittedOutcome<'_>, work: &ManifestWork, kind: WorkKind) -> Value {
    let mut patch = json!({"metadata": {
        "resourceVersion": work.metadata.resource_version,
        "labels": {STATE_LABEL: outcome.state().as_str()},
        "annotations": outcome.annotations(),
    }});
    if kind == WorkKind::Cluster {
        patch["spec"] = json!({"manifestConfigs": read_only::with_read_only_configs(work)});
    }
    patch
}

/// The merge patch that takes the outcome off a work: a new attempt begins.
pub fn reopening(uid: &Uid, revision: &Revision) -> Value {
    json!({"metadata": {
        "uid": uid.as_str(),
        "labels": {STATE_LABEL: null},
        "annotations": {
            STATE_REASON_ANNOTATION: null,
            STATE_MESSAGE_ANNOTATION: null,
            STATE_SINCE_ANNOTATION: null,
            RETRY_ANNOTATION: null,
            REVISION_ANNOTATION: json!(revision).to_string(),
        },
    }})
}

/// The merge patch that lets this version of a work apply the object that upgrades the cluster, which it has only read so far.
pub fn enforcement(work: &ManifestWork, revision: &Revision) -> Value {
    json!({
        "metadata": revised(work, revision),
        "spec": {"manifestConfigs": read_only::enforced(work)},
    })
}

/// The merge patch that lets this version of a work apply a channel and nothing else; without a channel it only reads again.
pub fn channel(work: &ManifestWork, revision: &Revision, channel: Option<&str>) -> Value {
    let mut patch = json!({"metadata": revised(work, revision)});
    patch["spec"] = match channel {
        Some(channel) => json!({
            "manifestConfigs": read_only::with_channel(work),
            "workload": {"manifests": cluster_version::manifests_with_channel(work, channel)},
        }),
        None => json!({"manifestConfigs": read_only::with_read_only_configs(work)}),
    };
    patch
}

fn revised(work: &ManifestWork, revision: &Revision) -> Value {
    json!({
        "resourceVersion": work.metadata.resource_version,
        "annotations": {REVISION_ANNOTATION: json!(revision).to_string()},
    })
}

/// The merge patch that puts the labels on a work by which the hub finds it, and the annotation that says whose it is. From a work
/// that has not ended, a state is taken off: the hub did not write it.
pub fn labels(uid: &Uid, upgrade: &UpgradeKey, owner: &Uid, kind: WorkKind, has_ended: bool) -> Value {
    let mut patch = json!({"metadata": {
        "uid": uid.as_str(),
        "labels": {UPGRADE_UID_LABEL: owner.as_str(), KIND_LABEL: kind.as_str()},
        "annotations": {UPGRADE_ANNOTATION: upgrade.to_string()},
    }});
    if !has_ended {
        patch["metadata"]["labels"][STATE_LABEL] = Value::Null;
    }
    patch
}
