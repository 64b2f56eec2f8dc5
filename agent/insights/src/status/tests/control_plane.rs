use super::*;
use crate::status::ControlPlaneAssessment;

/// The control plane of an update that began so many minutes ago, of ten operators, so many of them updated.
fn control_plane(minutes: i64, done: usize) -> UpdateStatus {
    let mut version = version();
    version["status"]["history"][0]["startedTime"] = json!(minutes_ago(minutes));
    let operators = (0..10).map(|index| {
        let operator = operator(&format!("operator-{index}"));
        if index < done { updated(operator) } else { operator }
    });
    let objects = [version].into_iter().chain(operators).collect();
    report(objects).unwrap().update.unwrap()
}

#[test]
fn the_assessment_follows_the_remaining_time() {
    for (minutes, done, assessment) in [
        (30, 0, ControlPlaneAssessment::Progressing),
        (60, 0, ControlPlaneAssessment::Progressing),
        (61, 0, ControlPlaneAssessment::Slow),
        (72, 0, ControlPlaneAssessment::Slow),
        (73, 0, ControlPlaneAssessment::Stalled),
        (300, 10, ControlPlaneAssessment::Completed),
    ] {
        let found = control_plane(minutes, done).control_plane;
        assert_eq!(found.assessment, assessment, "{minutes} min, {done} of 10");
    }
}

#[test]
fn the_completion_is_the_part_of_operators_that_are_updated() {
    let found = control_plane(30, 3).control_plane;
    assert!((found.completion_percent - 30.0).abs() < 1e-9);
    assert_eq!((found.operators.updated, found.operators.waiting), (3, 7));
}

#[test]
fn the_duration_is_shown_in_minutes_beyond_ten_of_them() {
    for (seconds, shown) in [(333, 333), (637, 660), (3_600, 3_600)] {
        let mut version = version();
        version["status"]["history"][0]["startedTime"] = json!(seconds_ago(seconds));
        let found = report(vec![version, operator("etcd")]).unwrap().update.unwrap();
        assert_eq!(found.control_plane.duration.as_secs(), shown, "{seconds} s");
    }
}

#[test]
fn a_completed_update_took_until_it_was_completed() {
    let mut version = version();
    version["status"]["history"][0]["state"] = json!("Completed");
    version["status"]["history"][0]["completionTime"] = json!(minutes_ago(10));
    let found = report(vec![version, updated(operator("etcd"))])
        .unwrap()
        .update
        .unwrap();
    assert_eq!(found.control_plane.duration, SignedDuration::from_mins(20));
    assert_eq!(
        found.control_plane.completed_at.unwrap().to_string(),
        minutes_ago(10)
    );
}

#[test]
fn the_operator_of_nodes_decides_what_the_last_progress_was_if_it_is_the_last_one() {
    let flapping = with_condition(
        updated(operator("network")),
        "Progressing",
        "True",
        &minutes_ago(1),
    );
    let nodes = with_condition(
        operator("machine-config"),
        "Progressing",
        "True",
        &minutes_ago(20),
    );
    let remaining = |objects: Vec<Value>| {
        let objects = [version()].into_iter().chain(objects).collect();
        report(objects).unwrap().update.unwrap().control_plane.remaining
    };
    let alone = remaining(vec![flapping.clone(), nodes.clone()]);
    let with_others = remaining(vec![flapping, nodes, operator("etcd")]);
    let minutes = SignedDuration::from_mins;
    let expected =
        |to_last, updated| crate::estimate::remaining(minutes(60), minutes(to_last), minutes(30), updated);
    assert_eq!(alone, expected(10, 0.5));
    assert_eq!(with_others, expected(29, 1.0 / 3.0));
}

fn with_history(history: Value) -> String {
    let mut version = version();
    version["status"]["history"] = history;
    let found = report(vec![version, operator("etcd")]).unwrap().update.unwrap();
    found.control_plane.versions.to_string()
}

#[test]
fn versions_say_where_an_update_comes_from() {
    let entry = |state: &str, version: &str, image: &str| json!({"state": state, "version": version, "image": image, "startedTime": minutes_ago(30), "completionTime": minutes_ago(20)});
    for (history, shown) in [
        (json!([]), "unknown (from unknown)"),
        (json!([entry("Partial", "4.14.1", "a")]), "4.14.1 (a new install)"),
        (
            json!([entry("Partial", "4.14.1", "a"), entry("Completed", "4.14.0", "b")]),
            "4.14.1 (from 4.14.0)",
        ),
        (
            json!([entry("Partial", "4.14.1", "a"), entry("Partial", "4.14.0", "b")]),
            "4.14.1 (from incomplete 4.14.0)",
        ),
        (
            json!([entry("Partial", "4.14.1", "a"), entry("Completed", "4.14.1", "b")]),
            "4.14.1 to Multi-Architecture",
        ),
        (
            json!([entry("Partial", "4.14.1", "a"), entry("Completed", "4.14.1", "a")]),
            "4.14.1 (from 4.14.1)",
        ),
    ] {
        assert_eq!(with_history(history), shown);
    }
}

#[test]
fn an_incomplete_update_before_is_said_until_the_control_plane_is_updated() {
    let mut version = version();
    version["status"]["history"][1]["state"] = json!("Partial");
    let found = |operator| {
        report(vec![version.clone(), operator])
            .unwrap()
            .update
            .unwrap()
            .insights
    };
    let insights = found(operator("etcd"));
    assert_eq!(levels(&insights), [("Warning", "None")]);
    assert_eq!(
        insights[0].summary,
        "Previous update to old never completed, last complete update was unknown"
    );
    assert!(found(updated(operator("etcd"))).is_empty());
}

#[test]
fn the_last_completed_update_is_named_if_it_is_known() {
    let mut version = version();
    version["status"]["history"][1]["state"] = json!("Partial");
    let history = version["status"]["history"].as_array_mut().unwrap();
    history.push(json!({"state": "Completed", "version": "older"}));
    let found = report(vec![version, operator("etcd")]).unwrap().update.unwrap();
    assert!(
        found.insights[0]
            .summary
            .ends_with("last complete update was older")
    );
}

fn failing(status: &str) -> Vec<Insight> {
    let version = with_condition(version(), "Failing", status, &minutes_ago(3));
    report(vec![version, operator("etcd")])
        .unwrap()
        .update
        .unwrap()
        .insights
}

#[test]
fn an_update_that_fails_is_said() {
    let found = failing("True");
    assert_eq!(levels(&found), [("Warning", "Update Stalled")]);
    assert_eq!(
        found[0].summary,
        "Cluster Version version is failing to proceed with the update (Because)"
    );
    assert_eq!(found[0].started_at.unwrap().to_string(), minutes_ago(3));
    assert!(failing("False").is_empty());
}

#[test]
fn an_update_that_may_fail_is_said() {
    assert_eq!(
        failing("Unknown")[0].summary,
        "Cluster Version version may be failing to proceed with the update (Because)"
    );
}

#[test]
fn a_cluster_version_that_does_not_say_whether_it_fails_is_said() {
    let mut version = version();
    let conditions = version["status"]["conditions"].as_array_mut().unwrap();
    conditions.retain(|condition| condition["type"] != "Failing");
    let found = report(vec![version, operator("etcd")])
        .unwrap()
        .update
        .unwrap()
        .insights;
    assert_eq!(levels(&found), [("Warning", "Update Stalled")]);
    assert_eq!(
        found[0].summary,
        "Cluster Version version has no Failing condition"
    );
    assert_eq!(found[0].started_at, Some(now()));
}

#[test]
fn the_worst_comes_first_then_the_newest_then_what_began_at_an_unknown_time() {
    let error = with_condition(operator("dns"), "Available", "False", &minutes_ago(25));
    let newer = with_condition(operator("network"), "Degraded", "True", &minutes_ago(6));
    let older = with_condition(operator("ingress"), "Degraded", "True", &minutes_ago(20));
    let mut paused = pool("worker");
    paused["spec"]["paused"] = json!(true);
    let found = update([older, paused, node("node-one", "worker", &OLD), newer, error]);
    let names: Vec<_> = found
        .insights
        .iter()
        .map(|insight| insight.resources[0].name.as_str())
        .collect();
    assert_eq!(names, ["dns", "network", "ingress", "worker"]);
}

#[test]
fn what_says_too_little_is_not_shown() {
    let mut version = with_condition(version(), "Failing", "True", &minutes_ago(3));
    let conditions = version["status"]["conditions"].as_array_mut().unwrap();
    conditions.last_mut().unwrap()["message"] = json!("");
    assert!(
        report(vec![version, operator("etcd")])
            .unwrap()
            .update
            .unwrap()
            .insights
            .is_empty()
    );
}
