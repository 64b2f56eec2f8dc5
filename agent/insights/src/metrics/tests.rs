use serde_json::{Value, json};

use super::*;

/// The samples by the end of their family's name and their labels.
fn said(samples: &[Sample]) -> Vec<String> {
    let line = |sample: &Sample| {
        assert_eq!(sample.labels.len(), sample.family.labels.len(), "{sample:?}");
        assert!(FAMILIES.contains(&sample.family), "{sample:?}");
        let name = sample.family.name.trim_start_matches("drydock_update_");
        format!("{name} {} {}", sample.labels.join(" "), sample.value)
    };
    samples.iter().map(line).collect()
}

fn insight(number: u8, level: &str, type_: &str) -> Value {
    json!({
        "uuid": format!("{number:032}"), "uid": "a", "acquisitionTime": "2026-11-26T10:00:00Z",
        "firstSeen": "2026-11-26T10:00:00Z", "scope": {"type": "ControlPlane"},
        "impact": {"level": level, "type": type_, "summary": "what is so"},
    })
}

#[test]
fn findings_are_counted_by_informer_type_and_level_once_each() {
    let of_pool = |name: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "name": name, "uid": "u",
            "updateInformers": [{"name": "drydock.drains", "insights": [insight(3, "Warning", "Update Stalled")]}],
        })
    };
    let object: UpdateStatus = serde_json::from_value(json!({
        "metadata": {"name": "cluster"}, "spec": {},
        "status": {
            "informers": [
                {"name": "drydock.drains", "state": "Success", "lastSuccess": "1970-01-01T00:01:00Z"},
                {"name": "storage", "state": "Unavailable", "dropped": 7},
            ],
            "controlPlane": {"updateInformers": [{"name": "storage", "insights": [
                insight(1, "Error", "Data Loss"), insight(2, "Error", "Data Loss"),
            ]}]},
            "workerPools": [of_pool("worker"), of_pool("infra")],
        },
    }))
    .unwrap();
    assert_eq!(
        said(&of_status(&object)),
        [
            "insights drydock.drains Update Stalled Warning 1",
            "insights storage Data Loss Error 2",
            "informer_answer drydock.drains Success 1",
            "informer_last_success_timestamp_seconds drydock.drains 60",
            "informer_answer storage Unavailable 1",
            "insights_dropped storage 7",
        ]
    );
    assert!(of_status(&UpdateStatus::default()).is_empty());
}

#[test]
fn an_informer_is_online_or_not_or_nobody_knows() {
    for (status, reason, value) in [
        ("True", "AsExpected", "1"),
        ("False", "Timeout", "0"),
        ("Unknown", "HeartbeatExpired", "-1"),
    ] {
        let informer: UpdateInformer = serde_json::from_value(json!({
            "metadata": {"name": "storage"}, "spec": {"clientConfig": {"service": {"namespace": "s", "name": "s"}}},
            "status": {"conditions": [{
                "type": "Online", "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-11-26T10:00:00Z",
            }]},
        }))
        .unwrap();
        assert_eq!(
            said(&of_informer(&informer)),
            [format!("informer_online storage {reason} {value}")]
        );
    }
    assert!(of_informer(&UpdateInformer::default()).is_empty());
}

#[test]
fn a_plan_says_what_is_left_to_accept_and_what_it_comes_to() {
    let plan: UpdatePlan = serde_json::from_value(json!({
        "metadata": {"name": "update-plan-4.14.12"}, "spec": {"targetRelease": "4.14.12"},
        "status": {
            "verdict": "Stop",
            "counts": {"total": 4, "accepted": 1, "unaccepted": 2,
                "unacceptedByLevel": {"critical": 0, "error": 2, "unknown": 0, "warning": 0}},
        },
    }))
    .unwrap();
    assert_eq!(
        said(&of_plan(&plan)),
        [
            "plan_unaccepted_insights 4.14.12 Critical 0",
            "plan_unaccepted_insights 4.14.12 Error 2",
            "plan_unaccepted_insights 4.14.12 Unknown 0",
            "plan_unaccepted_insights 4.14.12 Warning 0",
            "plan_verdict 4.14.12 Stop 1",
        ]
    );
}
