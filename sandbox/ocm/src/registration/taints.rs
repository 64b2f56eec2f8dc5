//! The hub's taints of a cluster, by its condition `ManagedClusterConditionAvailable`: pure.

use jiff::Timestamp;
use serde_json::{Value, json};

use kube_sandbox::condition::{Status, format_time};
use kube_sandbox::object;

use crate::names;

/// The taints that the cluster should have; none if it has them already.
pub fn wanted(taints: &Value, available: Option<Status>, now: Timestamp) -> Option<Vec<Value>> {
    let (add, remove): (Option<&str>, &[&str]) = match available {
        None | Some(Status::Unknown) => (Some(names::TAINT_UNREACHABLE), &[names::TAINT_UNAVAILABLE]),
        Some(Status::False) => (Some(names::TAINT_UNAVAILABLE), &[names::TAINT_UNREACHABLE]),
        Some(Status::True) => (None, &[names::TAINT_UNAVAILABLE, names::TAINT_UNREACHABLE]),
    };
    let present = object::list(taints);
    let mut wanted: Vec<Value> = present
        .iter()
        .filter(|taint| !remove.iter().any(|key| taint["key"] == *key))
        .cloned()
        .collect();
    if let Some(key) = add.filter(|key| !present.iter().any(|taint| taint["key"] == *key)) {
        wanted.push(json!({"key": key, "effect": "NoSelect", "timeAdded": format_time(now)}));
    }
    (wanted != present).then_some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_taint_follows_the_condition() {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let own = json!({"key": "mine", "effect": "NoSelect"});
        let unreachable = json!({"key": names::TAINT_UNREACHABLE, "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"});
        let unavailable = json!({"key": names::TAINT_UNAVAILABLE, "effect": "NoSelect", "timeAdded": "2026-01-01T00:00:00Z"});
        let cases = [
            (json!([own]), None, Some(vec![own.clone(), unreachable.clone()])),
            (
                json!([own, unavailable]),
                Some(Status::Unknown),
                Some(vec![own.clone(), unreachable.clone()]),
            ),
            (json!([own, unreachable]), Some(Status::Unknown), None),
            (json!([unreachable]), Some(Status::False), Some(vec![unavailable])),
            (
                json!([own, unreachable]),
                Some(Status::True),
                Some(vec![own.clone()]),
            ),
            (json!(null), Some(Status::True), None),
        ];
        for (taints, available, expected) in cases {
            assert_eq!(
                wanted(&taints, available, now),
                expected,
                "{taints} {available:?}"
            );
        }
    }
}
