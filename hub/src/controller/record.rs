//! Recording on its work how a cluster has ended.

use std::collections::BTreeMap;

use drydock_api::names::{
    EndState, STATE_LABEL, STATE_MESSAGE_ANNOTATION, STATE_REASON_ANNOTATION, STATE_SINCE_ANNOTATION,
    WorkKind,
};
use drydock_api::ocm::ManifestWork;
use drydock_rollout::Uid;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::works::released;

/// How a cluster has ended, to be written on its work.
pub(super) struct Record<'a> {
    pub outcome: EndState,
    pub reason: &'a str,
    pub message: &'a str,
    pub at: Timestamp,
}

impl Record<'_> {
    fn annotations(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            (STATE_REASON_ANNOTATION, self.reason.to_owned()),
            (STATE_MESSAGE_ANNOTATION, self.message.to_owned()),
            (STATE_SINCE_ANNOTATION, self.at.to_string()),
        ])
    }

    /// The operations that record it on a work as the hub made it; they fail on one that somebody edited.
    pub fn operations(&self, kind: WorkKind, uid: &Uid) -> Value {
        let path =
            |map: &str, key: &str| format!("/metadata/{map}/{}", key.replace('~', "~0").replace('/', "~1"));
        let mut operations = vec![
            json!({"op": "test", "path": "/metadata/uid", "value": uid.as_str()}),
            json!({"op": "add", "path": path("labels", STATE_LABEL), "value": self.outcome.as_str()}),
        ];
        for (key, value) in self.annotations() {
            operations.push(json!({"op": "add", "path": path("annotations", key), "value": value}));
        }
        if kind == WorkKind::Cluster {
            // Ours is the first one of the work.
            operations.push(json!({
                "op": "add",
                "path": "/spec/manifestConfigs/0/updateStrategy",
                "value": {"type": "ReadOnly"},
            }));
        }
        Value::Array(operations)
    }

    /// The merge patch that records it on this very version of a work, however it looks.
    pub fn patch_of(&self, work: &ManifestWork, kind: WorkKind) -> Value {
        let mut patch = json!({"metadata": {
            "resourceVersion": work.metadata.resource_version,
            "labels": {STATE_LABEL: self.outcome.as_str()},
            "annotations": self.annotations(),
        }});
        if kind == WorkKind::Cluster {
            patch["spec"] = json!({"manifestConfigs": released(work)});
        }
        patch
    }
}
