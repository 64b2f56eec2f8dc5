use super::*;
use crate::status::OperatorCounts;

fn counts(operators: impl IntoIterator<Item = Value>) -> OperatorCounts {
    let objects = [version()].into_iter().chain(operators).collect();
    report(objects).unwrap().update.unwrap().control_plane.operators
}

#[test]
fn only_operators_of_the_release_count() {
    let annotated = |annotations: Value| {
        let mut operator = operator("other");
        operator["metadata"]["annotations"] = annotations;
        operator
    };
    for (annotations, total) in [
        (
            json!({"exclude.release.openshift.io/internal-openshift-hosted": "true"}),
            2,
        ),
        (
            json!({"include.release.openshift.io/single-node-developer": "true"}),
            2,
        ),
        (json!({"random-nonsense": "true"}), 1),
        (json!({}), 1),
    ] {
        assert_eq!(
            counts([operator("etcd"), annotated(annotations.clone())]).total,
            total,
            "{annotations}"
        );
    }
}

#[test]
fn an_operator_that_is_not_known_to_be_available_is_unavailable() {
    for status in ["False", "Unknown"] {
        let found = counts([with_condition(
            operator("etcd"),
            "Available",
            status,
            &seconds_ago(1),
        )]);
        assert_eq!((found.unavailable, found.degraded), (1, 0), "{status}");
    }
    let mut silent = operator("etcd");
    silent["status"]["conditions"] = json!([]);
    assert_eq!(counts([silent]).unavailable, 1, "missing");
}

#[test]
fn an_operator_that_is_available_but_degraded_counts_as_degraded() {
    let degraded = |status| with_condition(operator("etcd"), "Degraded", status, &seconds_ago(1));
    assert_eq!(counts([degraded("True")]).degraded, 1);
    assert_eq!(counts([degraded("Unknown")]).degraded, 0);
    let both = with_condition(degraded("True"), "Available", "False", &seconds_ago(1));
    assert_eq!(
        (counts([both.clone()]).degraded, counts([both]).unavailable),
        (0, 1)
    );
}

#[test]
fn an_operator_whose_progress_is_unknown_neither_updates_nor_waits() {
    let unknown = with_condition(operator("console"), "Progressing", "Unknown", &seconds_ago(1));
    let found = update([
        unknown,
        with_condition(operator("dns"), "Progressing", "True", &seconds_ago(1)),
    ]);
    assert_eq!(
        found.control_plane.operators.waiting, 1,
        "the one of the template"
    );
    let names: Vec<_> = found
        .control_plane
        .updating
        .iter()
        .map(|operator| &operator.name)
        .collect();
    assert_eq!(names, ["dns"]);
}

#[test]
fn the_operator_of_nodes_is_updated_with_its_image_too() {
    let machine_config = |image: &str| {
        let mut operator = updated(operator("machine-config"));
        operator["status"]["versions"] = json!([
            {"name": "operator", "version": "new"}, {"name": "operator-image", "version": image},
        ]);
        operator
    };
    let deployment = json!({
        "kind": "Deployment", "metadata": {"name": "machine-config-operator"},
        "spec": {"selector": {}, "template": {"spec": {"containers": [
            {"name": "kube-rbac-proxy", "image": "other"}, {"name": "machine-config-operator", "image": "multi"},
        ]}}},
    });
    assert_eq!(counts([machine_config("multi"), deployment.clone()]).updated, 1);
    assert_eq!(counts([machine_config("single"), deployment]).updated, 0);
    assert_eq!(
        counts([machine_config("multi")]).updated,
        0,
        "without a Deployment"
    );
    let unlisted = updated(operator("machine-config"));
    assert_eq!(
        counts([unlisted]).updated,
        1,
        "it does not say which image it runs"
    );
}

#[test]
fn an_unread_deployment_leaves_the_decision_to_the_version() {
    let mut operator = updated(operator("machine-config"));
    operator["status"]["versions"] = json!([
        {"name": "operator", "version": "new"}, {"name": "operator-image", "version": "multi"},
    ]);
    let broken = json!({"kind": "Deployment", "metadata": {"name": 7}});
    assert_eq!(counts([operator, broken]).updated, 1);
}

fn insights(operator: Value) -> Vec<Insight> {
    update([operator]).insights
}

#[test]
fn unavailable_operators_are_said_after_five_minutes_and_are_errors_after_twenty() {
    for (seconds, level) in [
        (300, None),
        (301, Some("Warning")),
        (1_200, Some("Warning")),
        (1_201, Some("Error")),
    ] {
        let found = insights(with_condition(
            operator("dns"),
            "Available",
            "False",
            &seconds_ago(seconds),
        ));
        let expected: Vec<_> = level
            .map(|level| (level, "API Availability"))
            .into_iter()
            .collect();
        assert_eq!(levels(&found), expected, "{seconds} s");
    }
    let unknown = with_condition(operator("dns"), "Available", "Unknown", &minutes_ago(60));
    assert!(insights(unknown).is_empty(), "only what is False");
}

#[test]
fn degraded_operators_are_said_after_five_minutes_and_are_errors_after_forty() {
    for (seconds, level) in [
        (300, None),
        (301, Some("Warning")),
        (2_400, Some("Warning")),
        (2_401, Some("Error")),
    ] {
        let found = insights(with_condition(
            operator("dns"),
            "Degraded",
            "True",
            &seconds_ago(seconds),
        ));
        let expected: Vec<_> = level
            .map(|level| (level, "API Availability"))
            .into_iter()
            .collect();
        assert_eq!(levels(&found), expected, "{seconds} s");
    }
}

#[test]
fn an_empty_message_is_filled_in() {
    let mut silent = with_condition(operator("dns"), "Degraded", "True", &minutes_ago(6));
    let conditions = silent["status"]["conditions"].as_array_mut().unwrap();
    conditions.last_mut().unwrap()["message"] = json!("");
    let found = insights(silent);
    assert_eq!(found[0].summary, "Cluster Operator dns is degraded (Because)");
    assert_eq!(found[0].description, "<no message>");
}
