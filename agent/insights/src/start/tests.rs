use drydock_api::lock;
use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use kube::ResourceExt;
use serde_json::{Value, json};

use super::*;

fn condition(kind: &str, status: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Why", "message": "It is so."})
}

/// A cluster of 4.14.3, with what is different.
fn cluster(different: &Value) -> ClusterVersion {
    let mut cluster = json!({
        "metadata": {"name": "version"}, "spec": {},
        "status": {
            "desired": {"version": "4.14.3"},
            "history": [
                {"state": "Completed", "version": "4.14.3", "image": "image:3"},
                {"state": "Completed", "version": "4.14.2", "image": "image:2"},
            ],
            "conditions": [condition("Failing", "False"), condition("Progressing", "False")],
            "availableUpdates": [{"version": "4.14.4", "image": "image:4"}],
            "conditionalUpdates": [
                {"release": {"version": "4.14.5", "image": "image:5"}, "conditions": [condition("Recommended", "False")]},
                {"release": {"version": "4.14.6", "image": "image:6"}, "conditions": [condition("Recommended", "True")]},
                {"release": {"version": "4.14.7", "image": "image:7"}, "conditions": [condition("Recommended", "Unknown")]},
                {"release": {"version": "4.14.8", "image": "image:8"}},
            ],
        },
    });
    for (pointer, value) in different.as_object().into_iter().flatten() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        cluster.pointer_mut(parent).unwrap()[field] = value.clone();
    }
    serde_json::from_value(cluster).unwrap()
}

/// What comes of it: the image, or the words of the refusal.
fn outcome(different: &Value, target: &str, allowed: Allowed) -> String {
    let cluster = cluster(different);
    let locked_by = lock::holder(cluster.annotations()).map(lock::describe);
    let decision = decide(
        &cluster,
        &Version::parse(target).unwrap(),
        allowed,
        locked_by.as_deref(),
    );
    match decision {
        Ok(Decision::Nothing { is_reached: true }) => "reached".to_owned(),
        Ok(Decision::Nothing { is_reached: false }) => "requested".to_owned(),
        Ok(Decision::Request { image }) => image.unwrap_or_else(|| "no image".to_owned()),
        Err(refusal) => refusal.to_string(),
    }
}

const NOTHING: Allowed = Allowed {
    explicit: false,
    not_recommended: false,
    with_warnings: false,
};
const EXPLICIT: Allowed = Allowed {
    explicit: true,
    ..NOTHING
};
const NOT_RECOMMENDED: Allowed = Allowed {
    not_recommended: true,
    ..NOTHING
};
const WITH_WARNINGS: Allowed = Allowed {
    with_warnings: true,
    ..NOTHING
};

#[test]
fn a_target_must_be_offered_and_recommended() {
    let not_recommended = |target: &str, why: &str| {
        format!(
            "{target} is not recommended for this cluster{why}: update to it all the same with --allow-not-recommended"
        )
    };
    let not_offered = |target: &str| {
        format!(
            "{target} is not among the updates that the update service offers (4.14.8, 4.14.7, 4.14.6, 4.14.5, 4.14.4): choose one of \
             them, or update to it all the same with --allow-explicit-upgrade"
        )
    };
    let said = " (Why: It is so)";
    for (target, allowed, expected) in [
        ("4.14.4", NOTHING, "image:4".to_owned()),
        ("4.14.5", NOTHING, not_recommended("4.14.5", said)),
        ("4.14.5", EXPLICIT, not_recommended("4.14.5", said)),
        ("4.14.5", NOT_RECOMMENDED, "image:5".to_owned()),
        ("4.14.6", NOTHING, "image:6".to_owned()),
        ("4.14.7", NOTHING, not_recommended("4.14.7", said)),
        ("4.14.8", NOTHING, not_recommended("4.14.8", "")),
        ("4.14.8", NOT_RECOMMENDED, "image:8".to_owned()),
        ("4.14.9", NOTHING, not_offered("4.14.9")),
        ("4.14.9", NOT_RECOMMENDED, not_offered("4.14.9")),
        ("4.14.9", EXPLICIT, "no image".to_owned()),
        ("4.14.2", EXPLICIT, "image:2".to_owned()),
    ] {
        assert_eq!(
            outcome(&json!({}), target, allowed),
            expected,
            "{target}, {allowed:?}"
        );
    }
    let nothing = json!({"/status/availableUpdates": null, "/status/conditionalUpdates": null});
    assert!(outcome(&nothing, "4.14.4", NOTHING).contains("offers (none)"));
}

#[test]
fn a_cluster_that_is_not_well_is_not_updated() {
    for (kind, others) in [
        ("Invalid", "Failing"),
        ("Failing", "Progressing"),
        ("Progressing", "Other"),
    ] {
        let conditions = json!({"/status/conditions": [condition(others, "True"), condition(kind, "True")]});
        let refusal = outcome(&conditions, "4.14.4", NOTHING);
        let begin = format!("ClusterVersion has {kind}=True (Why: It is so): ");
        assert!(refusal.starts_with(&begin), "{refusal}");
        assert_eq!(outcome(&conditions, "4.14.4", WITH_WARNINGS), "image:4");
        assert!(outcome(&conditions, "4.14.5", WITH_WARNINGS).contains("is not recommended"));
        let unknown = json!({"/status/conditions": [condition(kind, "Unknown")]});
        assert_eq!(outcome(&unknown, "4.14.4", NOTHING), "image:4");
    }
}

#[test]
fn what_is_so_already_is_not_requested() {
    assert_eq!(outcome(&json!({}), "4.14.3", NOTHING), "reached");
    let requested = json!({"/spec/desiredUpdate": {"version": "4.14.4"}});
    assert_eq!(outcome(&requested, "4.14.4", NOTHING), "requested");
    let refused = json!({
        "/spec/desiredUpdate": {"version": "4.14.4"}, "/status/conditions": [condition("Invalid", "True")],
    });
    assert!(outcome(&refused, "4.14.4", NOTHING).starts_with("ClusterVersion has Invalid=True"));
    assert_eq!(
        outcome(&refused, "4.14.4", WITH_WARNINGS),
        "image:4",
        "with its image"
    );
    let is_back = outcome(&requested, "4.14.3", EXPLICIT);
    assert_eq!(is_back, "image:3", "another version is asked for");
    let locked = json!({"/metadata/annotations": {UPGRADE_LOCK_ANNOTATION: "team/job"}});
    assert_eq!(
        outcome(&locked, "4.14.3", NOTHING),
        "reached",
        "nothing is written"
    );
}

#[test]
fn whoever_has_the_lock_is_waited_for() {
    let all = Allowed {
        explicit: true,
        not_recommended: true,
        with_warnings: true,
    };
    for (holder, whose) in [
        ("team/job", "UpgradeJob team/job"),
        (
            "upgradeconfig.upgrade.managed.openshift.io/managed",
            "UpgradeConfig managed of upgrade.managed.openshift.io",
        ),
        ("somebody", "\"somebody\" (unknown"),
    ] {
        let locked = json!({"/metadata/annotations": {UPGRADE_LOCK_ANNOTATION: holder}});
        let begin = format!("the upgrade lock of the cluster belongs to {whose}");
        let refusal = outcome(&locked, "4.14.4", all);
        assert!(refusal.starts_with(&begin), "{refusal}");
    }
    let free = json!({"/metadata/annotations": {UPGRADE_LOCK_ANNOTATION: ""}});
    assert_eq!(outcome(&free, "4.14.4", NOTHING), "image:4");
}
