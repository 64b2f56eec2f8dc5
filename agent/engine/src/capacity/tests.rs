use drydock_api::machine_api::MachineSet;
use serde_json::{Value, json};

use super::*;
use crate::phase::fixture::START;

fn set(name: &str, pool: &str) -> MachineSet {
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "namespace": NAMESPACE, "labels": {POOL_LABEL: pool, "kept": "no"},
            "annotations": {
                "machine.openshift.io/GPU": "1",
                "machine.openshift.io/cluster-api-autoscaler-node-group-min-size": "3",
            },
        },
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {SET_LABEL: name}},
            "template": {
                "metadata": {"labels": {SET_LABEL: name, "role": "worker"}},
                "spec": {"taints": [{"key": "gpu"}]},
            },
        },
    }))
    .unwrap()
}

fn extra(name: &str, minutes_ago: i64) -> Extra {
    Extra {
        name: name.to_owned(),
        created: START - SignedDuration::from_mins(minutes_ago),
        is_deleting: false,
    }
}

fn machine(set: &str, node: Option<&str>, is_ready: bool) -> ExtraMachine {
    ExtraMachine {
        name: format!("{set}-1"),
        set: Some(set.to_owned()),
        node: node.map(str::to_owned),
        is_ready,
        failure: None,
    }
}

#[test]
fn a_copy_has_one_machine_of_the_same_kind_and_is_known_as_ours() {
    let capacity = Capacity {
        originals: vec![set("w-a", "worker")],
        ..Capacity::default()
    };
    let copy: Value = serde_json::to_value(&missing_copies(&capacity)[0]).unwrap();
    let ours = json!({UPGRADE_LABEL: "true", SET_LABEL: "w-a-upgrade"});
    assert_eq!(copy["metadata"]["name"], "w-a-upgrade");
    assert_eq!(copy["metadata"]["labels"], json!({UPGRADE_LABEL: "true"}));
    assert_eq!(
        copy["metadata"]["annotations"],
        json!({"machine.openshift.io/GPU": "1"})
    );
    assert_eq!(copy["spec"]["replicas"], 1);
    assert_eq!(copy["spec"]["selector"]["matchLabels"], ours);
    assert_eq!(
        copy["spec"]["template"]["metadata"]["labels"],
        json!({UPGRADE_LABEL: "true", SET_LABEL: "w-a-upgrade", "role": "worker"})
    );
    assert_eq!(
        copy["spec"]["template"]["spec"]["taints"],
        json!([{"key": "gpu"}])
    );
}

#[test]
fn workers_and_pools_that_a_glob_means_are_copied() {
    let globs = vec!["gpu-*".to_owned()];
    for (pool, is_copied) in [("worker", true), ("gpu-1", true), ("infra", false)] {
        assert_eq!(is_original(&set("s", pool), &globs), is_copied, "{pool}");
    }
    let mut ours = set("s", "worker");
    ours.labels_mut()
        .insert(UPGRADE_LABEL.to_owned(), "true".to_owned());
    assert!(!is_original(&ours, &globs));
}

#[test]
fn each_copy_is_made_and_waited_for_by_itself() {
    let originals = vec![set("a", "worker"), set("b", "worker")];
    let begun = START - SignedDuration::from_mins(40);
    let both = |minutes| vec![extra("a-upgrade", minutes), extra("b-upgrade", minutes)];
    let ready = machine("a-upgrade", Some("n"), true);
    let failed = ExtraMachine {
        failure: Some("no quota".to_owned()),
        ..machine("b-upgrade", None, false)
    };
    for (copies, machines, expected) in [
        (
            vec![extra("a-upgrade", 1)],
            vec![ready.clone()],
            "Waits b-upgrade: it is not made yet",
        ),
        (
            both(1),
            vec![ready.clone()],
            "Waits b-upgrade: it has no machine yet",
        ),
        (
            both(1),
            vec![ready.clone(), machine("b-upgrade", None, false)],
            "Waits b-upgrade: machine b-upgrade-1 has no node yet",
        ),
        (
            both(1),
            vec![ready.clone(), machine("b-upgrade", Some("m"), false)],
            "Waits b-upgrade: node m is not Ready",
        ),
        (
            both(31),
            vec![ready.clone(), failed],
            "TooLate b-upgrade: machine b-upgrade-1 failed: no quota",
        ),
        (
            both(31),
            vec![ready, machine("b-upgrade", Some("m"), true)],
            "Ready",
        ),
    ] {
        let capacity = Capacity {
            originals: originals.clone(),
            copies,
            machines,
        };
        let next = match reserve(&capacity, SignedDuration::from_mins(30), begun, START) {
            CapacityDecision::Nothing => "Nothing".to_owned(),
            CapacityDecision::Waits(why) => format!("Waits {why}"),
            CapacityDecision::TooLate(why) => format!("TooLate {why}"),
            CapacityDecision::Ready => "Ready".to_owned(),
        };
        assert_eq!(next, expected);
    }
    let nothing = reserve(&Capacity::default(), SignedDuration::from_mins(30), begun, START);
    assert_eq!(nothing, CapacityDecision::Nothing);
}
