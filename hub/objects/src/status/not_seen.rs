//! Whether a hub acts on an upgrade as it is now: what is shown of one that no hub has taken up is only what a hub would do.

use drydock_api::mcu::ManagedClustersUpgrade;

/// What no hub has taken up yet. It is so for a moment after each edit; for longer where no hub runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotSeen {
    /// The upgrade itself.
    Upgrade,
    /// Its newest edit.
    Edit,
}

impl NotSeen {
    /// What shows whether a hub runs.
    pub const WHERE_TO_LOOK: &str = "kubectl -n drydock get pods,lease shows whether one runs";

    /// What no hub has taken up of this upgrade; `None` if one acts on it as it is.
    pub fn of(upgrade: &ManagedClustersUpgrade) -> Option<Self> {
        let status = upgrade.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_ref());
        if conditions.is_none_or(Vec::is_empty) {
            return Some(Self::Upgrade);
        }
        // The original controller says of no generation that it has observed it; a deletion makes a generation of its own.
        let observed = status.and_then(|status| status.observed_generation);
        let is_behind = observed
            .zip(upgrade.metadata.generation)
            .is_some_and(|(seen, now)| seen < now);
        (is_behind && upgrade.metadata.deletion_timestamp.is_none()).then_some(Self::Edit)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Upgrade => "no hub has seen it yet",
            Self::Edit => "no hub has taken up its newest edit yet",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_no_hub_acts_on_is_known_by_conditions_and_generation() {
        let condition = json!([{"type": "Selected", "status": "True", "reason": "R", "message": "", "lastTransitionTime": "2026-11-27T00:00:00Z"}]);
        let of = |metadata: Value, status: Value| {
            let mut metadata = metadata;
            metadata["name"] = "spring".into();
            let object = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
                "metadata": metadata, "spec": {}, "status": status});
            NotSeen::of(&serde_json::from_value(object).unwrap())
        };
        let seen = |generation: u64| json!({"conditions": condition, "observedGeneration": generation});
        let deleted = json!({"generation": 3, "deletionTimestamp": "2026-11-27T00:00:00Z"});
        let cases = [
            (json!({"generation": 1}), Value::Null, Some(NotSeen::Upgrade)),
            (
                json!({"generation": 1}),
                json!({"conditions": []}),
                Some(NotSeen::Upgrade),
            ),
            (json!({"generation": 2}), seen(2), None),
            (json!({"generation": 2}), seen(1), Some(NotSeen::Edit)),
            (deleted, seen(2), None),
            // As the original controller has left it.
            (json!({"generation": 2}), json!({"conditions": condition}), None),
        ];
        for (metadata, status, expected) in cases {
            assert_eq!(
                of(metadata.clone(), status.clone()),
                expected,
                "{metadata} {status}"
            );
        }
    }
}
