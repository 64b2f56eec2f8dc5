//! Nodes: how they are, what drained ones wait for, and whether there is room for their pods.

use super::*;

fn worker(name: &str, change: &Value) -> Node {
    let mut node = json!({
        "metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""}, "annotations": {
            "machineconfiguration.openshift.io/currentConfig": "x", "machineconfiguration.openshift.io/desiredConfig": "x",
            "machineconfiguration.openshift.io/state": "Done",
            // What a node has that was drained for the last time long ago.
            "machineconfiguration.openshift.io/desiredDrain": "uncordon-x",
            "machineconfiguration.openshift.io/lastAppliedDrain": "uncordon-x",
        }},
        "spec": {},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}, "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-05T07:00:00Z"},
        ]},
    });
    json_patch::merge(&mut node, change);
    read(node)
}

fn worker_pool(max_unavailable: i32) -> MachineConfigPool {
    read(json!({
        "metadata": {"name": "worker"},
        "spec": {"maxUnavailable": max_unavailable, "nodeSelector": {"matchLabels": {"node-role.kubernetes.io/worker": ""}}},
    }))
}

#[test]
fn nodes_that_are_gone_broken_or_cordoned() {
    let ready = |status: &str, since: &str| json!({"status": {"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": since}]}});
    let updating = json!({"machineconfiguration.openshift.io/desiredConfig": "y"});
    let facts = BuiltInFacts {
        pools: Ok(vec![worker_pool(1)]),
        nodes: Ok(vec![
            worker("a", &json!({})),
            worker("b", &ready("Unknown", "2026-01-05T08:03:00Z")),
            worker("c", &ready("Unknown", "2026-01-05T08:02:00Z")),
            worker("d", &json!({"spec": {"unschedulable": true}})),
            worker(
                "e",
                &json!({"spec": {"unschedulable": true}, "metadata": {"annotations": updating}}),
            ),
            worker(
                "f",
                &json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": "Degraded"}}}),
            ),
            // Its kubelet is gone: of what it says nothing else is known any more.
            worker(
                "i",
                &json!({"status": {"conditions": [
                    {"type": "DiskPressure", "status": "Unknown", "lastTransitionTime": "2026-01-04T08:00:00Z"},
                    {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-04T08:00:00Z"},
                ]}}),
            ),
            // It reboots.
            worker(
                "h",
                &json!({"metadata": {"annotations": updating}, "status": {"conditions": [
                    {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-05T07:54:00Z"},
                ]}}),
            ),
            // It has been updating for ever, and is down.
            worker(
                "g",
                &json!({"metadata": {"annotations": updating}, "status": {"conditions": [
                    {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-04T08:00:00Z"},
                ]}}),
            ),
        ]),
        ..facts()
    };
    let words = |question| {
        let found = found(BuiltIn::Nodes, &facts, question).into_iter();
        found
            .map(|(uid, level, summary)| format!("{uid} {} {summary}", level.as_str()))
            .collect::<Vec<_>>()
    };
    let always = [
        "node-unavailable Warning Node c is not ready",
        "node-degraded Error Node f cannot be configured",
        "node-unavailable Warning Node i is not ready",
        "node-unavailable Warning Node g is not ready",
    ];
    assert_eq!(words(Question::Status), always);
    let before = words(Question::of_version("4.14.4"));
    assert_eq!(before.len(), 6);
    assert_eq!(before[5], "node-unavailable Warning Node g is not ready");
    let attempt = BuiltIn::Nodes.attempt(&facts, Question::Status, now());
    let Attempt::Answered(Answer::Success(found)) = attempt else {
        panic!("{attempt:?}");
    };
    for finding in found {
        assert_eq!(finding.scope.scope_type, ScopeType::WorkerPool);
        assert_eq!(finding.scope.worker_pool[0].name, "worker");
    }
    assert!(
        before[1].starts_with("node-cordoned Warning Node d is cordoned"),
        "{before:?}"
    );
}

/// What leaves a node out of a status, as an image of its own or no pool, is no reason to begin an update.
#[test]
fn every_node_counts_before_an_update() {
    let down = json!({"status": {"conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-04T08:00:00Z"}]}});
    let with = |change: Value, pools: Vec<MachineConfigPool>| {
        let mut node = down.clone();
        json_patch::merge(&mut node, &change);
        let facts = BuiltInFacts {
            pools: Ok(pools),
            nodes: Ok(vec![worker("a", &node)]),
            ..facts()
        };
        let of = |question| uids(BuiltIn::Nodes, &facts, question);
        (of(Question::Status).len(), of(Question::of_version("4.14.4")))
    };
    let image = json!({"metadata": {"annotations": {
        "machineconfiguration.openshift.io/currentImage": "i", "machineconfiguration.openshift.io/desiredImage": "i",
    }}});
    let found = vec!["node-unavailable".to_owned()];
    assert_eq!(with(json!({}), vec![worker_pool(1)]), (1, found.clone()));
    assert_eq!(with(image, vec![worker_pool(1)]), (0, found.clone()));
    assert_eq!(with(json!({}), vec![]), (0, found));
}

/// A hosted control plane has no pools, and files may hold none.
#[test]
fn before_an_update_nodes_outside_of_pools_are_looked_at_as_all_others() {
    for pools in [Ok(vec![]), Err(Unread::NotAsked)] {
        let degraded =
            json!({"metadata": {"annotations": {"machineconfiguration.openshift.io/state": "Degraded"}}});
        let facts = BuiltInFacts {
            pools,
            nodes: Ok(vec![
                worker("a", &json!({"spec": {"unschedulable": true}})),
                worker("b", &degraded),
                worker("c", &json!({})),
            ]),
            ..facts()
        };
        let found = uids(BuiltIn::Nodes, &facts, Question::of_version("4.14.4"));
        assert_eq!(found, ["node-cordoned", "node-degraded"]);
    }
}

#[test]
fn a_node_that_is_drained_says_which_pods_it_waits_for_and_whose_they_are() {
    let drain = json!({"metadata": {"annotations": {
        "machineconfiguration.openshift.io/desiredConfig": "y",
        "machineconfiguration.openshift.io/desiredDrain": "drain-y", "machineconfiguration.openshift.io/lastAppliedDrain": "uncordon-x",
    }}});
    let pod = |name: &str, owner: &str, more: &Value| -> Pod {
        let mut pod = json!({
            "metadata": {"name": name, "namespace": "ns", "labels": {"app": name}, "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true},
            ]},
            "spec": {"nodeName": "a", "containers": []}, "status": {"phase": "Running"},
        });
        json_patch::merge(&mut pod, more);
        read(pod)
    };
    let nodes = vec![worker("a", &drain), worker("b", &json!({}))];
    assert_eq!(draining_nodes(&nodes), ["a"]);
    let budget: PodDisruptionBudget = read(json!({
        "metadata": {"name": "db", "namespace": "ns"}, "spec": {"selector": {"matchLabels": {"app": "kept"}}},
        "status": {"expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 2, "disruptionsAllowed": 0},
    }));
    let draining = DrainingNode {
        name: "a".to_owned(),
        pods: vec![
            pod("agent", "DaemonSet", &json!({})),
            pod("done", "Job", &json!({"status": {"phase": "Succeeded"}})),
            pod(
                "going",
                "ReplicaSet",
                &json!({"metadata": {"deletionTimestamp": "2026-01-05T07:57:00Z"}}),
            ),
            pod("kept", "StatefulSet", &json!({})),
        ],
    };
    let facts = BuiltInFacts {
        pools: Ok(vec![worker_pool(1)]),
        nodes: Ok(nodes),
        draining: Ok(vec![draining]),
        budgets: Ok(vec![budget]),
        ..facts()
    };
    let Attempt::Answered(Answer::Success(findings)) =
        BuiltIn::Nodes.attempt(&facts, Question::Status, now())
    else {
        panic!("it has an answer");
    };
    assert_eq!(findings[0].impact.level, Level::Status);
    let action = findings[0]
        .remediation
        .as_ref()
        .and_then(|remedy| remedy.action.as_deref());
    assert!(
        action.is_some_and(|action| action.contains("kubectl delete pod going -n ns --force")),
        "{action:?}"
    );
    assert_eq!(
        findings[0].impact.summary,
        "Node a is being drained: pods left: 2, kept by a budget: 1"
    );
    assert_eq!(
        findings[0].impact.description.as_deref(),
        Some(
            "pod ns/kept, of StatefulSet o, is kept by budget db\npod ns/going, of ReplicaSet o, is terminating, and was to have ended by 2026-01-05T07:57:00Z"
        )
    );
}

#[test]
fn a_pool_without_room_for_the_pods_of_drained_nodes() {
    let pod = |node: &str, cpu: &str, owner: &str| -> Pod {
        read(json!({
            "metadata": {"name": "p", "namespace": "ns", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u", "controller": true},
            ]},
            "spec": {
                "nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
                "initContainers": [{"name": "i", "resources": {"requests": {"cpu": "100m"}}}],
            },
        }))
    };
    let with = |max_unavailable: i32, pods: &[Pod], nodes: Vec<Node>| {
        let mut loads = NodeLoads::default();
        pods.iter().for_each(|pod| loads.add(pod));
        let facts = BuiltInFacts {
            pools: Ok(vec![worker_pool(max_unavailable)]),
            nodes: Ok(nodes),
            loads: Ok(loads),
            ..facts()
        };
        uids(BuiltIn::NodeCapacity, &facts, Question::of_version("4.14.4"))
    };
    let three = || ["a", "b", "c"].map(|name| worker(name, &json!({}))).to_vec();
    let half = ["a", "b", "c"].map(|node| pod(node, "2", "ReplicaSet"));
    let most = ["a", "b", "c"].map(|node| pod(node, "3", "ReplicaSet"));
    let daemons = ["a", "b", "c"].map(|node| pod(node, "3", "DaemonSet"));
    let short = ["capacity-short"];
    assert!(with(1, &half, three()).is_empty());
    assert_eq!(with(2, &half, three()), short);
    assert_eq!(with(1, &most, three()), short);
    assert!(with(1, &daemons, three()).is_empty());
    let mut cordoned = three();
    cordoned[1].spec.as_mut().unwrap().unschedulable = Some(true);
    cordoned[2].spec.as_mut().unwrap().unschedulable = Some(true);
    assert_eq!(with(1, &half, cordoned), short);
    let silent = vec![worker("a", &json!({"status": {"allocatable": null}}))];
    assert!(with(1, &most, silent).is_empty(), "what a node has is not known");
    let mut one_is_silent = three();
    one_is_silent[2] = worker("c", &json!({"status": {"allocatable": null}}));
    assert_eq!(
        with(1, &most, one_is_silent),
        short,
        "it has nothing to give as far as is known"
    );
    let with_more = |more: Value| {
        let mut pods = half.clone();
        for pod in &mut pods {
            let mut spec = serde_json::to_value(&pod.spec).unwrap();
            let (key, value) = more.as_object().unwrap().iter().next().unwrap();
            spec[key] = value.clone();
            pod.spec = Some(read(spec));
        }
        with(1, &pods, three())
    };
    let sidecar = json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}});
    let two_sidecars =
        json!([sidecar, {"name": "t", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}]);
    assert_eq!(with_more(json!({"initContainers": two_sidecars})), short);
    assert_eq!(with_more(json!({"overhead": {"cpu": "2"}})), short);
    let whole = json!({"resources": {"requests": {"cpu": "3500m"}}});
    assert_eq!(with_more(whole), short, "what is asked for the pod as a whole");
}

/// Not processors and memory alone: what else nodes have, such as devices, and how many pods they take.
#[test]
fn a_pool_without_room_for_what_is_neither_processors_nor_memory() {
    let pod = |node: &str, requests: Value| -> Pod {
        read(json!({
            "metadata": {"name": "p", "namespace": "ns"},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": requests}}]},
        }))
    };
    let room = |name: &str, amount: &str, requests: &Value| {
        let has = json!({"status": {"allocatable": {"cpu": "4", "memory": "8Gi", name: amount}}});
        let mut loads = NodeLoads::default();
        for node in ["a", "b", "c"] {
            loads.add(&pod(node, requests.clone()));
        }
        let facts = BuiltInFacts {
            pools: Ok(vec![worker_pool(1)]),
            nodes: Ok(["a", "b", "c"].map(|name| worker(name, &has)).to_vec()),
            loads: Ok(loads),
            ..facts()
        };
        let attempt = BuiltIn::NodeCapacity.attempt(&facts, Question::of_version("4.14.4"), now());
        let Attempt::Answered(Answer::Success(findings)) = attempt else {
            panic!("it has an answer");
        };
        findings
            .first()
            .map(|found| found.impact.description.clone().unwrap())
    };
    let gpu = json!({"nvidia.com/gpu": "1"});
    assert_eq!(room("nvidia.com/gpu", "2", &gpu), None);
    assert_eq!(
        room("nvidia.com/gpu", "1", &gpu).unwrap(),
        "Nodes drained at a time: 1. Their pods ask for 0m CPU, 0Mi memory and 1 nvidia.com/gpu; the other nodes of the pool have 8000m CPU, 16384Mi memory and 0 nvidia.com/gpu free."
    );
    assert_eq!(room("pods", "2", &json!({})), None);
    assert!(
        room("pods", "1", &json!({}))
            .unwrap()
            .contains("ask for 0m CPU, 0Mi memory and 1 pods")
    );
    assert_eq!(
        room("example.com/other", "1", &gpu),
        None,
        "nothing is known of it"
    );
}

#[test]
fn the_nodes_of_a_compact_cluster_take_the_pods_of_each_other() {
    let control_plane = |name: &str| {
        let labels = json!({"node-role.kubernetes.io/master": "", "node-role.kubernetes.io/worker": ""});
        worker(name, &json!({"metadata": {"name": name, "labels": labels}}))
    };
    let mut pool = worker_pool(1);
    pool.metadata.name = Some("master".to_owned());
    let selector = json!({"matchLabels": {"node-role.kubernetes.io/master": ""}});
    let mut spec = serde_json::to_value(&pool.spec).unwrap();
    spec["nodeSelector"] = selector;
    pool.spec = read(spec);
    for (count, expected) in [(1, vec![]), (3, vec!["capacity-short"])] {
        let names = ["a", "b", "c"];
        let mut loads = NodeLoads::default();
        for node in &names[..count] {
            loads.add(&read(json!({
                "metadata": {"name": "p", "namespace": "ns"},
                "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
            })));
        }
        let facts = BuiltInFacts {
            pools: Ok(vec![pool.clone(), worker_pool(1)]),
            nodes: Ok(names[..count].iter().map(|name| control_plane(name)).collect()),
            loads: Ok(loads),
            ..facts()
        };
        let found = uids(BuiltIn::NodeCapacity, &facts, Question::of_version("4.14.4"));
        assert_eq!(found, expected, "{count} nodes: the pods of a single one stay");
    }
}
