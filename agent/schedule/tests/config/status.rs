//! What the status says.

use serde_json::json;

use super::*;

// The original repeats an error for ever, and nothing says so.
#[test]
fn a_spec_that_cannot_be_used_is_a_condition_and_nothing_is_tried_again() {
    for (change, reason) in [
        (json!({ "schedule": { "cron": "0 22 * *" } }), "InvalidCron"),
        (json!({ "schedule": { "cron": "0 22 30 2 *" } }), "NeverOccurs"),
        (json!({ "schedule": { "isoWeek": "54" } }), "InvalidIsoWeek"),
        (
            json!({ "schedule": { "location": "Mars/Olympus" } }),
            "InvalidLocation",
        ),
        (json!({ "pinVersionWindow": "four hours" }), "InvalidDuration"),
        (json!({ "maxSchedulingDelay": "-1h" }), "InvalidDuration"),
        (json!({ "maxUpgradeStartDelay": "" }), "InvalidDuration"),
        (
            json!({ "jobTemplate": {"spec": {"config": {
                "upgradeTimeout": "-1h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
            }}} }),
            "InvalidJobTemplate",
        ),
    ] {
        let mut cluster = tuesdays();
        cluster.change(&change);
        let plan = cluster.decide(FIRST);
        assert_eq!((plan.create, plan.wake), (None, None), "{change}");
        let (status, found, message) = condition(&cluster, "Ready");
        assert_eq!((status.as_str(), found.as_str()), ("False", reason), "{message}");
        assert!(message.starts_with("spec."), "{message}");
        let status = cluster.config.status.clone().unwrap();
        assert_eq!(status.next_possible_schedules, Some(Vec::new()));
    }
}

#[test]
fn a_status_that_says_the_same_is_the_same() {
    let mut cluster = tuesdays();
    cluster.config.metadata.generation = Some(3);
    cluster.decide("2026-11-24T10:00:00Z");
    let status = cluster.config.status.clone();
    assert_eq!(status.as_ref().unwrap().observed_generation, Some(3));
    cluster.decide("2026-11-24T11:00:00Z");
    assert_eq!(cluster.config.status, status);
}
