//! Pools of nodes.

use super::*;

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
    let found = uids(
        BuiltIn::MachineConfigPools,
        &facts,
        Question::of_version("4.14.4"),
    );
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
    let found = uids(
        BuiltIn::MachineConfigPools,
        &facts,
        Question::of_version("4.14.4"),
    );
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
        assert_eq!(of(Question::of_version("4.14.4")), expected);
        assert_eq!(of(Question::Status), [""; 0]);
    }
}
