//! Alerts, during an update and before one.

use super::*;

fn alert(name: &str, severity: &str, namespace: &str, active_at: &str) -> Alert {
    read(json!({
        "labels": {"alertname": name, "severity": severity, "namespace": namespace}, "state": "firing",
        "annotations": {"summary": format!("{name} in words"), "runbook_url": "https://runbook"}, "activeAt": active_at,
    }))
}

#[test]
fn alerts_count_that_began_with_the_update_or_make_one_harder() {
    let mut updating = cluster(&well());
    updating.status.as_mut().unwrap().history[0].started_time = Some("2026-01-05T07:00:00Z".to_owned());
    let (before, during) = ("2026-01-05T06:00:00Z", "2026-01-05T07:30:00Z");
    let facts = BuiltInFacts {
        cluster: Ok(updating),
        alerts: Ok(vec![
            alert("Old", "critical", "a", before),
            alert("New", "warning", "a", during),
            alert("New", "critical", "a", during),
            alert("New", "warning", "b", during),
            alert("Info", "info", "a", during),
            alert("PodDisruptionBudgetAtLimit", "warning", "a", before),
        ]),
        ..facts()
    };
    let levels = |question| {
        let found = found(BuiltIn::Alerts, &facts, question).into_iter();
        found
            .map(|(_, level, summary)| (level, summary))
            .collect::<Vec<_>>()
    };
    let words = |name: &str| format!("Alert is firing: {name} in words");
    assert_eq!(
        levels(Question::Status),
        [
            (Level::Critical, words("New")),
            (Level::Warning, words("New")),
            (Level::Warning, words("PodDisruptionBudgetAtLimit")),
        ]
    );
    assert_eq!(
        levels(Question::of_version("4.14.4")),
        [
            (Level::Critical, words("New")),
            (Level::Critical, words("Old")),
            (Level::Warning, words("PodDisruptionBudgetAtLimit")),
        ]
    );
}

/// Who has accepted that one operator is down has not accepted that another one is.
#[test]
fn alerts_about_other_things_are_other_findings_and_pods_come_and_go() {
    let uuid = |labels: Value| {
        let mut labels = labels;
        labels["alertname"] = "ClusterOperatorDown".into();
        labels["severity"] = "critical".into();
        labels["namespace"] = "openshift-cluster-version".into();
        let facts = BuiltInFacts {
            alerts: Ok(vec![read(json!({"labels": labels, "state": "firing"}))]),
            ..facts()
        };
        let attempt = BuiltIn::Alerts.attempt(&facts, Question::of_version("4.14.4"), now());
        let Attempt::Answered(Answer::Success(found)) = attempt else {
            panic!("it has an answer");
        };
        assert_eq!(found.len(), 1);
        found[0].uuid(&BuiltIn::Alerts.name())
    };
    let insights =
        uuid(json!({"name": "insights", "pod": "cvo-7d4b9c6f5-x2x4z", "instance": "10.0.0.1:9099"}));
    assert_eq!(
        insights,
        uuid(json!({"name": "insights", "pod": "cvo-7d4b9c6f5-bcd24", "instance": "10.0.0.2:9099"}))
    );
    assert_ne!(
        insights,
        uuid(json!({"name": "etcd", "pod": "cvo-7d4b9c6f5-x2x4z"}))
    );
    assert_ne!(insights, uuid(json!({"name": "insights", "reason": "Other"})));
    // Of a pod, which container it is does not matter either; what is no pod is known by where it is scraped.
    let container =
        |pod: &str, container: &str| uuid(json!({"pod": pod, "container": container, "uid": pod}));
    assert_eq!(
        container("cvo-7d4b9c6f5-x2x4z", "a"),
        container("cvo-7d4b9c6f5-bcd24", "b")
    );
    let host = |address: &str| uuid(json!({"instance": address}));
    assert_ne!(host("10.0.0.1:9100"), host("10.0.0.2:9100"));
    assert_ne!(uuid(json!({"container": "a"})), uuid(json!({"container": "b"})));
    // What is about a node names it.
    let node = |node: &str| uuid(json!({"instance": node, "pod": "node-exporter-x2x4z"}));
    assert_ne!(node("w0"), node("m0"));
    assert_ne!(uuid(json!({"pod": "etcd-m0"})), uuid(json!({"pod": "etcd-m1"})));
    assert_ne!(uuid(json!({"a": "1,b=2"})), uuid(json!({"a": "1", "b": "2"})));
}

/// As the definitions take them: one that does not fit in would keep the others from being written.
#[test]
fn labels_that_are_too_long_are_cut_and_differ() {
    let long = |last: &str| format!("{}{last}", "x".repeat(300));
    let labels = |name: String, namespace: String| json!({"alertname": name, "severity": "critical", "namespace": namespace});
    let alerts = [
        labels(long("a"), "ns".to_owned()),
        labels(long("b"), "ns".to_owned()),
        labels("c".to_owned(), long("c")),
        json!({"alertname": "d", "severity": "critical", "much": long("d")}),
    ];
    let facts = BuiltInFacts {
        alerts: Ok(alerts
            .iter()
            .map(|labels| read(json!({"labels": labels, "state": "firing"})))
            .collect()),
        ..facts()
    };
    let Attempt::Answered(Answer::Success(found)) =
        BuiltIn::Alerts.attempt(&facts, Question::of_version("4.14.4"), now())
    else {
        panic!("it has an answer");
    };
    let uuids: std::collections::BTreeSet<_> = found
        .iter()
        .map(|found| found.uuid(&BuiltIn::Alerts.name()))
        .collect();
    assert_eq!(uuids.len(), 4);
    for resource in found.iter().flat_map(|found| &found.scope.resources) {
        let namespace = resource.namespace.as_deref().unwrap_or_default();
        assert!((1..=253).contains(&resource.name.len()), "{resource:?}");
        assert!(namespace.len() <= 63, "{resource:?}");
    }
    for remediation in found.iter().filter_map(|found| found.remediation.as_ref()) {
        assert!(remediation.action.as_ref().unwrap().len() <= 1024);
    }
}
