use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-05T08:00:00Z";

fn cluster(spec: &Value, state: &str) -> ClusterVersion {
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": spec,
        "status": {
            "desired": {"version": "4.14.4"},
            "history": [
                {"state": state, "version": "4.14.4", "startedTime": "2026-01-05T07:00:00Z"},
                {"state": "Partial", "version": "4.14.2", "startedTime": "2026-01-04T07:00:00Z"},
                {"state": "Completed", "version": "4.14.1", "startedTime": "2026-01-03T07:00:00Z"},
            ],
            "availableUpdates": [{"version": "4.14.5"}], "conditionalUpdates": [{"release": {"version": "4.14.6"}}],
        },
    });
    serde_json::from_value(object).unwrap()
}

fn progress_of(spec: &Value, state: &str) -> ControlPlaneProgress {
    control_plane(&cluster(spec, state), NOW.parse().unwrap()).unwrap()
}

#[test]
fn an_update_is_pending_from_when_it_is_asked_for() {
    assert!(progress_of(&json!({}), "Completed").is_reconciled);
    assert!(!progress_of(&json!({}), "Partial").is_reconciled);
    let asked = json!({"desiredUpdate": {"version": "4.14.5"}});
    let progress = progress_of(&asked, "Completed");
    assert!(!progress.is_reconciled);
    let update = ongoing(&cluster(&asked, "Completed"), &progress).unwrap();
    assert_eq!(
        (update.from.as_deref(), update.target.as_str()),
        (Some("4.14.4"), "4.14.5")
    );
    assert_eq!(update.started_at, None, "it has not begun");
    let update = ongoing(
        &cluster(&json!({}), "Partial"),
        &progress_of(&json!({}), "Partial"),
    )
    .unwrap();
    assert_eq!(
        update.from.as_deref(),
        Some("4.14.1"),
        "what was never complete is not where it comes from"
    );
    assert_eq!(
        update.started_at,
        Some(Time("2026-01-05T07:00:00Z".parse().unwrap()))
    );
}

#[test]
fn a_pause_is_a_word_or_a_moment() {
    let cases = [
        (json!({}), Pause::No),
        (json!("true"), Pause::Indefinitely),
        (
            json!("2026-01-05T09:00:00Z"),
            Pause::Until("2026-01-05T09:00:00Z".parse().unwrap()),
        ),
        (json!("2026-01-05T08:00:00Z"), Pause::No),
        (json!("false"), Pause::No),
        (json!("tomorrow"), Pause::Indefinitely),
    ];
    for (until, pause) in cases {
        let spec = json!({"versionManagement": {"pausedUntil": until}});
        assert_eq!(progress_of(&spec, "Partial").pause, pause, "{until}");
    }
}

#[test]
fn facts_for_plans() {
    let found = facts(&cluster(&json!({"clusterID": "x"}), "Partial")).unwrap();
    assert_eq!(
        (found.version.as_str(), found.active_target.as_deref()),
        ("4.14.1", Some("4.14.4"))
    );
    assert_eq!(
        found.offered,
        Some(vec!["4.14.5".to_owned(), "4.14.6".to_owned()])
    );
    assert_eq!((found.history.len(), found.id.as_str()), (3, "x"));
    assert!(found.has_begun);
    let requested = facts(&cluster(
        &json!({"desiredUpdate": {"version": "4.14.5"}}),
        "Partial",
    ))
    .unwrap();
    assert_eq!(
        (requested.active_target.as_deref(), requested.has_begun),
        (Some("4.14.5"), false)
    );
    assert_eq!(
        facts(&cluster(&json!({}), "Completed")).unwrap().active_target,
        None
    );
    assert!(facts(&ClusterVersion::default()).is_err());
}

#[test]
fn pools_name_the_nodes_that_they_wait_for() {
    let pool = |name: &str, paused: bool, updated: i64| -> MachineConfigPool {
        let object = json!({
            "metadata": {"name": name, "uid": name},
            "spec": {"paused": paused, "configuration": {"name": format!("rendered-{name}-2")}},
            "status": {"machineCount": 3, "updatedMachineCount": updated, "configuration": {"name": format!("rendered-{name}-2")}},
        });
        serde_json::from_value(object).unwrap()
    };
    let node = |name: &str, current: &str, desired: &str| -> PartialObjectMeta<Node> {
        let annotations = json!({CURRENT_CONFIG: current, DESIRED_CONFIG: desired});
        serde_json::from_value(json!({"metadata": {"name": name, "annotations": annotations}})).unwrap()
    };
    let nodes = Ok(vec![
        node("c", "rendered-worker-1", "rendered-worker-1"),
        node("b", "rendered-worker-1", "rendered-worker-2"),
        node("a", "rendered-worker-2", "rendered-worker-2"),
        node("x", "rendered-worker-rt-1", "rendered-worker-rt-1"),
    ]);
    let (worker, settled, master) = (
        pool("worker", true, 1),
        pool("infra", false, 3),
        pool("master", false, 1),
    );
    let found = pools(&[&worker, &settled, &master], &nodes, true);
    let names: Vec<_> = found.iter().map(|pool| pool.pool.name.as_str()).collect();
    assert_eq!(names, ["infra", "worker"]);
    assert!(found[0].progress.as_ref().unwrap().outdated.is_empty());
    let waits = found[1].progress.as_ref().unwrap();
    assert_eq!(
        (waits.outdated.join(" "), waits.updating.join(" ")),
        ("b c".to_owned(), "b".to_owned())
    );
    assert_eq!(waits.pause, Pause::Indefinitely);
    let early = pools(&[&pool("worker", false, 3)], &nodes, false);
    assert_eq!(
        early[0].progress.as_ref().unwrap().outdated.len(),
        3,
        "no node has a new configuration yet"
    );
    let unread: Fact<Vec<PartialObjectMeta<Node>>> = Err(Unread::Failed("refused".to_owned()));
    assert!(pools(&[&worker], &unread, true)[0].progress.is_err());
}

/// requested → downloading → preconditions → started, as ClusterVersion says it.
#[test]
fn an_update_starts_step_by_step() {
    let asked = json!({"desiredUpdate": {"version": "4.14.5"}});
    let with = |generation: i64, conditions: Value| {
        let mut cluster = cluster(&asked, "Completed");
        cluster.metadata.generation = Some(generation);
        let status = cluster.status.as_mut().unwrap();
        status.observed_generation = Some(2);
        status.conditions = serde_json::from_value(conditions).unwrap();
        control_plane(&cluster, NOW.parse().unwrap()).unwrap().start
    };
    let accepted = |status: &str, reason: &str| json!([{"type": "ReleaseAccepted", "status": status, "reason": reason, "message": "m"}]);
    let refused = |step: &'static str, why: &str| Start::Refused {
        step,
        why: why.to_owned(),
    };
    for (generation, conditions, meant) in [
        (3, accepted("True", "PayloadLoaded"), Start::Requested),
        (2, json!([]), Start::Requested),
        (2, accepted("Unknown", "RetrievePayload"), Start::Downloading),
        (2, accepted("True", "PayloadLoaded"), Start::Preconditions),
        (
            2,
            accepted("False", "RetrievePayload"),
            refused("its release cannot be downloaded", "RetrievePayload: m"),
        ),
        (
            2,
            json!([{"type": "ReleaseAccepted", "status": "False", "reason": "RetrievePayload", "message": "The update cannot be verified: no signature"}]),
            refused(
                "its release cannot be verified",
                "RetrievePayload: The update cannot be verified: no signature",
            ),
        ),
        (
            2,
            accepted("False", "VerifyPayloadVersion"),
            refused("its release cannot be verified", "VerifyPayloadVersion: m"),
        ),
        (
            2,
            accepted("False", "PreconditionChecks"),
            refused("preconditions do not hold", "PreconditionChecks: m"),
        ),
    ] {
        assert_eq!(with(generation, conditions.clone()), meant, "{conditions}");
    }
    assert_eq!(progress_of(&json!({}), "Partial").start, Start::Started);
}
