//! Budgets that keep pods from being evicted.

use super::*;

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
    let found = uids(
        BuiltIn::PodDisruptionBudgets,
        &facts,
        Question::of_version("4.14.4"),
    );
    assert_eq!(found, ["budget-at-limit"]);
}

/// A drain leaves them where they are.
#[test]
fn a_budget_of_pods_that_stay_keeps_nobody_waiting() {
    let pod = |name: &str, owner: &str| -> Pod {
        read(json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": "a"}, "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true},
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
            uids(
                BuiltIn::PodDisruptionBudgets,
                &facts,
                Question::of_version("4.14.4")
            ),
            expected
        );
    }
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
        let found = uids(
            BuiltIn::PodDisruptionBudgets,
            &facts,
            Question::of_version("4.14.4"),
        );
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
        BuiltIn::PodDisruptionBudgets.attempt(&facts, Question::of_version("4.14.4"), now())
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
