use drydock_api::insights::{Level, ScopeType};
use serde_json::{Value, json};

use super::*;

mod alerts;
mod budgets;
mod cluster_version;
mod components;
mod nodes;
mod pools;
mod risks;

const NOW: &str = "2026-01-05T08:07:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn condition(kind: &str, status: &str, reason: &str, since: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "m", "lastTransitionTime": since})
}

fn cluster(conditions: &[Value]) -> ClusterVersion {
    read(json!({"metadata": {"name": "version"}, "status": {
        "desired": {"version": "4.14.3"}, "conditions": conditions,
        "history": [{"state": "Completed", "version": "4.14.3"}],
        "availableUpdates": [{"version": "4.14.4", "image": "quay.io/r@sha256:44"}, {"version": "4.14.5"}, {"version": "4.15.0"}],
        "conditionalUpdates": [
            {"release": {"version": "4.14.5", "image": "quay.io/r@sha256:45"}, "conditions": [condition("Recommended", "False", "A", NOW)],
             "risks": [{"name": "A", "message": "a", "url": "https://a"}, {"name": "B", "message": "b", "url": "https://b"}]},
            {"release": {"version": "4.14.6"}, "conditions": [condition("Recommended", "True", "AsExpected", NOW)]},
        ],
    }}))
}

fn well() -> Vec<Value> {
    vec![
        condition("Failing", "False", "", NOW),
        condition("ReleaseAccepted", "True", "PayloadLoaded", NOW),
        condition("Available", "True", "", NOW),
        condition("Progressing", "False", "", NOW),
    ]
}

fn facts() -> BuiltInFacts {
    BuiltInFacts {
        cluster: Ok(cluster(&well())),
        operators: Ok(Vec::new()),
        pools: Ok(Vec::new()),
        budgets: Ok(Vec::new()),
        pods: Ok(Vec::new()),
        requests: Ok(Vec::new()),
        alerts: Ok(Vec::new()),
        nodes: Ok(Vec::new()),
        draining: Ok(Vec::new()),
        loads: Ok(NodeLoads::default()),
        etcd: Ok(read(json!({"metadata": {"name": "cluster"}, "status": {
            "conditions": [condition("EtcdMembersAvailable", "True", "EtcdMembersAvailable", NOW)],
        }}))),
        installed: Ok(Vec::new()),
        risks: BTreeMap::new(),
    }
}

fn found(informer: BuiltIn, facts: &BuiltInFacts, question: Question<'_>) -> Vec<(String, Level, String)> {
    let Attempt::Answered(Answer::Success(findings)) = informer.attempt(facts, question, now()) else {
        panic!("it has an answer");
    };
    for finding in &findings {
        let remedy = finding.remediation.as_ref().unwrap();
        assert!(!remedy.action.as_ref().unwrap().is_empty());
        assert!(remedy.verify.as_ref().unwrap().starts_with("kubectl get "));
        assert_eq!(finding.acquired.to_string(), "2026-01-05T08:05:00Z");
    }
    let uuids: std::collections::BTreeSet<_> = findings
        .iter()
        .map(|found| found.uuid(&informer.name()))
        .collect();
    assert_eq!(uuids.len(), findings.len(), "each has an identity of its own");
    findings
        .into_iter()
        .map(|found| (found.uid, found.impact.level, found.impact.summary))
        .collect()
}

fn uids(informer: BuiltIn, facts: &BuiltInFacts, question: Question<'_>) -> Vec<String> {
    found(informer, facts, question)
        .into_iter()
        .map(|(uid, _, _)| uid)
        .collect()
}

#[test]
fn a_healthy_cluster_has_no_findings() {
    for informer in BuiltIn::ALL {
        assert!(
            found(informer, &facts(), Question::Status).is_empty(),
            "{informer:?}"
        );
        assert!(
            found(informer, &facts(), Question::of_version("4.14.4")).is_empty(),
            "{informer:?}"
        );
        assert_eq!(BuiltIn::of(&informer.name()), Some(informer));
    }
}

/// Who says nothing is as bad as anything, before an update; while one is under way it is a moment of it.
#[test]
fn an_operator_or_node_that_says_nothing_holds_an_update() {
    let operator = |conditions: &[Value]| -> ClusterOperator {
        read(json!({"metadata": {"name": "dns"}, "status": {"conditions": conditions}}))
    };
    let said = |type_, status| condition(type_, status, "NoData", NOW);
    let available = "Operator dns does not say whether it is available";
    let degraded = "Operator dns does not say whether it is degraded";
    for (conditions, expected) in [
        (vec![], vec![available, degraded]),
        (
            vec![said("Available", "Unknown"), said("Degraded", "False")],
            vec![available],
        ),
        (
            vec![said("Available", "True"), said("Degraded", "Unknown")],
            vec![degraded],
        ),
        (vec![said("Available", "True")], vec![degraded]),
    ] {
        let facts = BuiltInFacts {
            operators: Ok(vec![operator(&conditions)]),
            ..facts()
        };
        let of = |question| found(BuiltIn::ClusterOperators, &facts, question);
        assert_eq!(of(Question::Status), []);
        let of_plan = of(Question::of_version("4.14.4"));
        let summaries: Vec<_> = of_plan.iter().map(|(_, _, summary)| summary.as_str()).collect();
        assert_eq!(summaries, expected);
        assert!(of_plan.iter().all(|(_, level, _)| *level == Level::Unknown));
    }
    let label = json!({"node-role.kubernetes.io/worker": ""});
    let facts = BuiltInFacts {
        pools: Ok(vec![read(json!({"metadata": {"name": "worker"}, "spec": {
            "nodeSelector": {"matchLabels": label},
        }}))]),
        nodes: Ok(vec![read(json!({"metadata": {"name": "one", "labels": label}}))]),
        ..facts()
    };
    assert_eq!(uids(BuiltIn::Nodes, &facts, Question::Status), [""; 0]);
    assert_eq!(
        uids(BuiltIn::Nodes, &facts, Question::of_version("4.14.4")),
        ["node-unknown"]
    );
}

#[test]
fn operators_are_given_time() {
    let operator = |name: &str, conditions: Value| -> ClusterOperator {
        read(json!({"metadata": {"name": name}, "status": {"conditions": conditions}}))
    };
    let available = condition("Available", "True", "AsExpected", "2026-01-05T07:00:00Z");
    let well = condition("Degraded", "False", "AsExpected", "2026-01-05T07:00:00Z");
    let down = |since: &str| json!([condition("Available", "False", "X", since), well]);
    let facts = BuiltInFacts {
        operators: Ok(vec![
            operator("a", down("2026-01-05T08:02:00Z")),
            operator("b", down("2026-01-05T08:01:59Z")),
            operator("c", down("2026-01-05T07:46:59Z")),
            operator(
                "d",
                json!([
                    available,
                    condition("Degraded", "True", "X", "2026-01-05T07:27:00Z")
                ]),
            ),
            operator(
                "e",
                json!([
                    available,
                    condition("Degraded", "True", "X", "2026-01-05T07:26:59Z")
                ]),
            ),
            operator(
                "f",
                json!([
                    available,
                    well,
                    condition("Upgradeable", "False", "IncompatibleOperatorsInstalled", NOW)
                ]),
            ),
        ]),
        ..facts()
    };
    let levels = |question| {
        let found = found(BuiltIn::ClusterOperators, &facts, question);
        found
            .into_iter()
            .map(|(uid, level, _)| format!("{uid} {}", level.as_str()))
            .collect::<Vec<_>>()
    };
    let now = [
        "operator-unavailable Warning",
        "operator-unavailable Error",
        "operator-degraded Warning",
        "operator-degraded Error",
    ];
    assert_eq!(levels(Question::Status), now);
    let at_once = "operator-unavailable Warning";
    assert_eq!(
        levels(Question::of_version("4.14.4")),
        std::iter::once(at_once).chain(now).collect::<Vec<_>>(),
        "what has just begun is no moment to update in"
    );
    assert_eq!(
        levels(Question::of_version("4.15.0")).last().unwrap(),
        "operator-not-upgradeable Error"
    );
}

#[test]
fn apis_that_the_target_no_longer_has() {
    let count = |name: &str, release: Value, used: i64| -> APIRequestCount {
        read(
            json!({"metadata": {"name": name}, "status": {"removedInRelease": release, "requestCount": used}}),
        )
    };
    let facts = BuiltInFacts {
        requests: Ok(vec![
            count(
                "flowschemas.v1beta2.flowcontrol.apiserver.k8s.io",
                json!("1.29"),
                3,
            ),
            count("unused.v1beta1.x", json!("1.29"), 0),
            count("pods.v1", Value::Null, 9),
        ]),
        ..facts()
    };
    assert!(uids(BuiltIn::ApiRemovals, &facts, Question::of_version("4.15.9")).is_empty());
    assert_eq!(
        uids(BuiltIn::ApiRemovals, &facts, Question::of_version("4.16.0")),
        ["api-removed"]
    );
}

#[test]
fn what_cannot_be_read_is_no_answer() {
    let unread = Unread::Failed("refused".to_owned());
    let facts = BuiltInFacts {
        operators: Err(unread),
        requests: Err(Unread::NotAsked),
        ..facts()
    };
    let attempt = BuiltIn::ClusterOperators.attempt(&facts, Question::Status, now());
    assert_eq!(attempt, Attempt::Unavailable("refused".to_owned()));
    let attempt = BuiltIn::ApiRemovals.attempt(&facts, Question::of_version("4.15.0"), now());
    assert_eq!(attempt, Attempt::NotImplemented, "a cluster without that kind");
}
