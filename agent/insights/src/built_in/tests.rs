use drydock_api::insights::{Level, ScopeType};
use serde_json::{Value, json};

use super::*;

mod alerts;
mod components;
mod nodes;
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
        "availableUpdates": [{"version": "4.14.4"}, {"version": "4.14.5"}, {"version": "4.15.0"}],
        "conditionalUpdates": [
            {"release": {"version": "4.14.5"}, "conditions": [condition("Recommended", "False", "A", NOW)],
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
            found(informer, &facts(), Question::Plan("4.14.4")).is_empty(),
            "{informer:?}"
        );
        assert_eq!(BuiltIn::of(&informer.name()), Some(informer));
    }
}

/// A cluster of which is well what is not said otherwise.
fn with(conditions: &[Value]) -> BuiltInFacts {
    let others = well().into_iter().skip(2);
    let others = others.filter(|one| conditions.iter().all(|other| other["type"] != one["type"]));
    let all: Vec<_> = conditions.iter().cloned().chain(others).collect();
    BuiltInFacts {
        cluster: Ok(cluster(&all)),
        ..facts()
    }
}

#[test]
fn what_cluster_version_says() {
    let ack = condition("Upgradeable", "False", "AdminAckRequired", NOW);
    let held = condition("Upgradeable", "False", "Multiple", NOW);
    let failing = condition("Failing", "True", "X", NOW);
    let refused = condition("ReleaseAccepted", "False", "VerificationFailed", NOW);
    let loading = condition("ReleaseAccepted", "Unknown", "RetrievePayload", NOW);
    let silent = condition("RetrievedUpdates", "False", "RemoteFailed", NOW);
    let ok = condition("Failing", "False", "", NOW);
    let progressing = condition("Progressing", "True", "", NOW);
    let cases = [
        (vec![failing.clone()], Question::Status, vec!["failing"]),
        (vec![], Question::Status, vec!["failing"]),
        (
            vec![ok.clone(), refused.clone()],
            Question::Status,
            vec!["release-not-accepted"],
        ),
        // As it is while each release is downloaded and verified.
        (vec![ok.clone(), loading], Question::Status, vec![]),
        (vec![ok.clone(), refused], Question::Plan("4.14.4"), vec![]),
        (vec![failing], Question::Plan("4.14.4"), vec!["failing"]),
        (vec![ok.clone(), ack.clone()], Question::Plan("4.14.4"), vec![]),
        (
            vec![ok.clone(), ack],
            Question::Plan("4.15.0"),
            vec!["admin-ack-required"],
        ),
        (
            vec![ok.clone(), held],
            Question::Plan("4.15.0"),
            vec!["not-upgradeable"],
        ),
        (
            vec![ok.clone()],
            Question::Plan("4.14.5"),
            vec!["update-risk", "update-risk"],
        ),
        (vec![ok.clone()], Question::Plan("4.14.6"), vec![]),
        (
            vec![ok.clone(), progressing],
            Question::Plan("4.14.4"),
            vec!["update-in-progress"],
        ),
        (vec![ok.clone()], Question::Plan("4.14.7"), vec!["not-offered"]),
        (
            vec![
                ok.clone(),
                condition("Invalid", "True", "InvalidClusterVersion", NOW),
            ],
            Question::Plan("4.14.4"),
            vec!["update-invalid"],
        ),
        (
            vec![ok.clone(), condition("Available", "False", "X", NOW)],
            Question::Plan("4.14.4"),
            vec!["cluster-unavailable"],
        ),
        (
            vec![ok, silent],
            Question::Plan("4.14.7"),
            vec!["updates-not-retrieved"],
        ),
    ];
    for (conditions, question, expected) in cases {
        let found = uids(BuiltIn::ClusterVersion, &with(&conditions), question);
        assert_eq!(found, expected, "{conditions:?} {question:?}");
    }
}

/// What is not known is no reason to begin.
#[test]
fn what_cluster_version_does_not_say_holds_an_update() {
    let without = |type_: &str, instead: Option<&str>| {
        let mut conditions = well();
        conditions.retain(|one| one["type"] != type_);
        conditions.extend(instead.map(|status| condition(type_, status, "NoData", NOW)));
        BuiltInFacts {
            cluster: Ok(cluster(&conditions)),
            ..facts()
        }
    };
    for (type_, uid) in [
        ("Available", "cluster-unavailable"),
        ("Progressing", "update-in-progress"),
        ("Failing", "failing"),
    ] {
        for instead in [None, Some("Unknown")] {
            let found = uids(
                BuiltIn::ClusterVersion,
                &without(type_, instead),
                Question::Plan("4.14.4"),
            );
            assert_eq!(found, [uid], "{type_} {instead:?}");
        }
    }
    for (type_, uid) in [
        ("Upgradeable", "not-upgradeable"),
        ("RetrievedUpdates", "updates-not-retrieved"),
    ] {
        let plan = Question::Plan("4.15.0");
        assert_eq!(
            uids(BuiltIn::ClusterVersion, &without(type_, None), plan),
            [""; 0]
        );
        let found = uids(BuiltIn::ClusterVersion, &without(type_, Some("Unknown")), plan);
        assert_eq!(found, [uid], "{type_}");
    }
    let mut partial = cluster(&well());
    partial.status.as_mut().unwrap().history[0].state = "Partial".to_owned();
    let facts = BuiltInFacts {
        cluster: Ok(partial),
        ..facts()
    };
    let found = uids(BuiltIn::ClusterVersion, &facts, Question::Plan("4.14.4"));
    assert_eq!(found, ["update-in-progress"]);
}

/// Of a release that is listed twice the worse counts.
#[test]
fn a_release_with_two_recommendations_is_not_recommended() {
    let update = |recommended: &str| json!({"release": {"version": "4.14.5"}, "conditions": [condition("Recommended", recommended, "A", NOW)]});
    for order in [["True", "False"], ["False", "True"]] {
        let mut twice = cluster(&well());
        twice.status.as_mut().unwrap().conditional_updates = read(json!(order.map(update)));
        let facts = BuiltInFacts {
            cluster: Ok(twice),
            ..facts()
        };
        let found = uids(BuiltIn::ClusterVersion, &facts, Question::Plan("4.14.5"));
        assert_eq!(found, ["not-recommended"], "{order:?}");
    }
}

/// Who says nothing is as bad as anything, before an update; while one is under way it is a moment of it.
#[test]
fn an_operator_or_node_that_says_nothing_holds_an_update() {
    let operator = |conditions: &[Value]| -> ClusterOperator {
        read(json!({"metadata": {"name": "dns"}, "status": {"conditions": conditions}}))
    };
    let unknown = condition("Available", "Unknown", "NoData", NOW);
    for conditions in [vec![], vec![unknown]] {
        let facts = BuiltInFacts {
            operators: Ok(vec![operator(&conditions)]),
            ..facts()
        };
        let of = |question| found(BuiltIn::ClusterOperators, &facts, question);
        assert_eq!(of(Question::Status), []);
        let summary = "Operator dns does not say whether it is available".to_owned();
        assert_eq!(
            of(Question::Plan("4.14.4")),
            [("operator-unknown".to_owned(), Level::Unknown, summary)]
        );
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
        uids(BuiltIn::Nodes, &facts, Question::Plan("4.14.4")),
        ["node-unknown"]
    );
}

#[test]
fn operators_are_given_time() {
    let operator = |name: &str, conditions: Value| -> ClusterOperator {
        read(json!({"metadata": {"name": name}, "status": {"conditions": conditions}}))
    };
    let available = condition("Available", "True", "AsExpected", "2026-01-05T07:00:00Z");
    let facts = BuiltInFacts {
        operators: Ok(vec![
            operator(
                "a",
                json!([condition("Available", "False", "X", "2026-01-05T08:02:00Z")]),
            ),
            operator(
                "b",
                json!([condition("Available", "False", "X", "2026-01-05T08:01:59Z")]),
            ),
            operator(
                "c",
                json!([condition("Available", "False", "X", "2026-01-05T07:46:59Z")]),
            ),
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
        levels(Question::Plan("4.14.4")),
        std::iter::once(at_once).chain(now).collect::<Vec<_>>(),
        "what has just begun is no moment to update in"
    );
    assert_eq!(
        levels(Question::Plan("4.15.0")).last().unwrap(),
        "operator-not-upgradeable Error"
    );
}

#[test]
fn pools_that_stall() {
    let pool = |name: &str, paused: bool, updated: i64, degraded: &str| -> MachineConfigPool {
        read(json!({
            "metadata": {"name": name}, "spec": {"paused": paused, "configuration": {"name": "x"}},
            "status": {"machineCount": 2, "updatedMachineCount": updated, "configuration": {"name": "x"},
                "degradedMachineCount": i64::from(degraded == "True"), "conditions": [condition("Degraded", degraded, "X", NOW)]},
        }))
    };
    let facts = BuiltInFacts {
        pools: Ok(vec![
            pool("a", true, 2, "False"),
            pool("b", true, 1, "False"),
            pool("c", false, 1, "True"),
        ]),
        ..facts()
    };
    let found = found(BuiltIn::MachineConfigPools, &facts, Question::Status);
    let words: Vec<_> = found.iter().map(|(_, _, summary)| summary.as_str()).collect();
    assert_eq!(
        words,
        [
            "Pool b is paused, and its nodes are behind",
            "Nodes of pool c cannot be configured: 1"
        ]
    );
    let found = uids(BuiltIn::MachineConfigPools, &facts, Question::Plan("4.14.4"));
    assert_eq!(
        found,
        ["pool-paused", "pool-paused", "pool-degraded", "pool-updating"],
        "the nodes of pool a would stay behind"
    );
    let rendering: MachineConfigPool = read(json!({
        "metadata": {"name": "d"}, "spec": {"configuration": {"name": "x"}},
        "status": {"machineCount": 0, "configuration": {"name": "x"}, "conditions": [condition("RenderDegraded", "True", "X", NOW)]},
    }));
    let facts = BuiltInFacts {
        pools: Ok(vec![rendering]),
        ..facts
    };
    let found = uids(BuiltIn::MachineConfigPools, &facts, Question::Plan("4.14.4"));
    assert_eq!(found, ["pool-degraded"]);
}

/// Before an update every word of a pool counts, and none is no good one.
#[test]
fn what_pools_say_in_other_words_or_not_at_all_holds_an_update() {
    let status = |more: Value| {
        let mut status = json!({"machineCount": 2, "updatedMachineCount": 2, "configuration": {"name": "x"}});
        for (key, value) in more.as_object().unwrap() {
            status[key] = value.clone();
        }
        status
    };
    for (status, expected) in [
        (status(json!({})), vec![]),
        (Value::Null, vec!["pool-unknown"]),
        (json!({"conditions": []}), vec!["pool-unknown"]),
        (status(json!({"degradedMachineCount": 1})), vec!["pool-degraded"]),
        (
            status(json!({"conditions": [condition("Updating", "True", "X", NOW)]})),
            vec!["pool-updating"],
        ),
    ] {
        let pool =
            json!({"metadata": {"name": "a"}, "spec": {"configuration": {"name": "x"}}, "status": status});
        let facts = BuiltInFacts {
            pools: Ok(vec![read(pool)]),
            ..facts()
        };
        let of = |question| uids(BuiltIn::MachineConfigPools, &facts, question);
        assert_eq!(of(Question::Plan("4.14.4")), expected);
        assert_eq!(of(Question::Status), [""; 0]);
    }
}

/// A drain leaves them where they are.
#[test]
fn a_budget_of_pods_that_stay_keeps_nobody_waiting() {
    let pod = |name: &str, owner: &str| -> Pod {
        read(json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": "a"}, "ownerReferences": [
                {"apiVersion": "v1", "kind": owner, "name": "o", "uid": "u", "controller": true},
            ]},
        }))
    };
    let budget: PodDisruptionBudget = read(json!({
        "metadata": {"name": "a", "namespace": "ns"}, "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2, "disruptionsAllowed": 0},
    }));
    for (pods, expected) in [
        (vec![pod("a", "DaemonSet"), pod("b", "DaemonSet")], vec![]),
        (
            vec![pod("a", "DaemonSet"), pod("b", "ReplicaSet")],
            vec!["budget-at-limit"],
        ),
        (vec![], vec!["budget-at-limit"]),
    ] {
        let facts = BuiltInFacts {
            budgets: Ok(vec![budget.clone()]),
            pods: Ok(pods),
            ..facts()
        };
        assert_eq!(
            uids(BuiltIn::PodDisruptionBudgets, &facts, Question::Plan("4.14.4")),
            expected
        );
    }
}

#[test]
fn a_budget_whose_pods_cannot_be_counted_lets_none_be_evicted() {
    let budget: PodDisruptionBudget = read(json!({
        "metadata": {"name": "a", "namespace": "ns", "generation": 1}, "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"expectedPods": 0, "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "observedGeneration": 1,
            "conditions": [condition("DisruptionAllowed", "False", "SyncFailed", NOW)]},
    }));
    let facts = BuiltInFacts {
        budgets: Ok(vec![budget]),
        ..facts()
    };
    let found = uids(BuiltIn::PodDisruptionBudgets, &facts, Question::Plan("4.14.4"));
    assert_eq!(found, ["budget-at-limit"]);
}

/// What the API server does not evict, whatever the status says.
#[test]
fn budgets_of_which_nobody_has_counted_the_pods_or_that_overlap() {
    let budget = |name: &str, app: &str, observed: Option<i64>| -> PodDisruptionBudget {
        read(json!({
            "metadata": {"name": name, "namespace": "ns", "generation": 2}, "spec": {"selector": {"matchLabels": {"app": app}}},
            "status": {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "observedGeneration": observed},
        }))
    };
    let empty: PodDisruptionBudget = read(json!({
        "metadata": {"name": "e", "namespace": "ns", "generation": 1}, "spec": {"selector": {"matchLabels": {"app": "e"}}},
    }));
    for (budgets, expected) in [
        (vec![budget("a", "a", Some(2))], vec![]),
        (vec![budget("a", "a", Some(1))], vec!["budget-at-limit"]),
        (vec![budget("a", "a", None)], vec!["budget-at-limit"]),
        (vec![empty], vec!["budget-at-limit"]),
        (vec![budget("a", "a", Some(2)), budget("b", "b", Some(2))], vec![]),
        (
            vec![budget("a", "a", Some(2)), budget("b", "a", Some(2))],
            vec!["budgets-overlap"],
        ),
    ] {
        let facts = BuiltInFacts {
            budgets: Ok(budgets.clone()),
            ..facts()
        };
        let found = uids(BuiltIn::PodDisruptionBudgets, &facts, Question::Plan("4.14.4"));
        assert_eq!(found, expected, "{budgets:?}");
    }
}

#[test]
fn a_budget_at_its_limit_names_its_pods_and_whose_they_are() {
    let budget = |name: &str, allowed: i64, healthy: i64| -> PodDisruptionBudget {
        read(json!({
            "metadata": {"name": name, "namespace": "ns"}, "spec": {"selector": {"matchLabels": {"app": name}}},
            "status": {"expectedPods": 2, "currentHealthy": healthy, "desiredHealthy": 2, "disruptionsAllowed": allowed},
        }))
    };
    let pod = |name: &str, app: &str| -> Pod {
        let owner =
            json!({"apiVersion": "v1", "kind": "StatefulSet", "name": "set", "uid": "u", "controller": true});
        read(json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": app}, "ownerReferences": [owner]},
            "spec": {"nodeName": "node", "containers": []},
        }))
    };
    let facts = BuiltInFacts {
        budgets: Ok(vec![budget("a", 0, 2), budget("b", 1, 2), budget("c", 0, 1)]),
        pods: Ok(vec![pod("a-0", "a"), pod("b-0", "b"), pod("a-1", "a")]),
        ..facts()
    };
    let Attempt::Answered(Answer::Success(findings)) =
        BuiltIn::PodDisruptionBudgets.attempt(&facts, Question::Plan("4.14.4"), now())
    else {
        panic!("it has an answer");
    };
    let said: Vec<_> = findings
        .iter()
        .map(|found| found.impact.description.clone().unwrap())
        .collect();
    assert_eq!(said.len(), 2);
    assert!(
        said[0].contains("pod a-0 on node, of StatefulSet set\npod a-1"),
        "{}",
        said[0]
    );
    assert!(said[0].contains("leaves no room") && said[1].contains("not healthy"));
    assert_eq!(
        uids(BuiltIn::PodDisruptionBudgets, &facts, Question::Status),
        ["budget-at-limit"; 2]
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
    assert!(uids(BuiltIn::ApiRemovals, &facts, Question::Plan("4.15.9")).is_empty());
    assert_eq!(
        uids(BuiltIn::ApiRemovals, &facts, Question::Plan("4.16.0")),
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
    let attempt = BuiltIn::ApiRemovals.attempt(&facts, Question::Plan("4.15.0"), now());
    assert_eq!(attempt, Attempt::NotImplemented, "a cluster without that kind");
}
