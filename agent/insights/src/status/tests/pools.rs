use super::*;
use crate::status::{NodeCounts, PoolAssessment, PoolStatus};

fn worker_pool(nodes: Vec<Value>) -> PoolStatus {
    let objects = [pool("worker")].into_iter().chain(nodes);
    update(objects).worker_pools.remove(0)
}

#[test]
fn a_pool_whose_nodes_are_updated_is_completed() {
    let found = worker_pool(vec![
        node("node-one", "worker", &NEW),
        node("node-two", "worker", &NEW),
    ]);
    assert_eq!(found.assessment, PoolAssessment::Completed);
    assert_eq!(found.completion_percent, Some(100.0));
}

#[test]
fn an_empty_pool_has_no_completion_and_is_not_behind() {
    let found = worker_pool(vec![]);
    assert_eq!(found.completion_percent, None);
    assert!(!found.is_behind());
}

#[test]
fn a_pool_whose_nodes_wait_is_pending() {
    let found = worker_pool(vec![
        node("node-one", "worker", &OLD),
        node("node-two", "worker", &OLD),
    ]);
    assert_eq!(found.assessment, PoolAssessment::Pending);
}

#[test]
fn a_pool_with_a_failed_daemon_is_degraded() {
    let found = worker_pool(vec![
        node("node-one", "worker", &moving("Degraded", &[])),
        node("node-two", "worker", &OLD),
    ]);
    assert_eq!(found.assessment, PoolAssessment::Degraded);
}

#[test]
fn a_paused_pool_that_is_behind_is_excluded_and_said() {
    let mut paused = pool("worker");
    paused["spec"]["paused"] = json!(true);
    let update = update([
        paused,
        node("node-one", "worker", &OLD),
        node("node-two", "worker", &NEW),
    ]);
    assert_eq!(update.worker_pools[0].assessment, PoolAssessment::Excluded);
    assert_eq!(levels(&update.insights), [("Warning", "Update Stalled")]);
    assert_eq!(
        update.insights[0].summary,
        "Outdated nodes in a paused pool 'worker' will not be updated"
    );
    assert_eq!(update.insights[0].started_at, None);
}

#[test]
fn a_pool_whose_nodes_are_being_updated_is_progressing() {
    let found = worker_pool(vec![
        node("node-one", "worker", &NEW),
        node("node-two", "worker", &OLD),
    ]);
    assert_eq!(found.assessment, PoolAssessment::Progressing);
    assert_eq!(found.completion_percent, Some(50.0));
}

#[test]
fn counts_are_not_exclusive() {
    let drain = [("desiredDrain", "drain-x"), ("lastAppliedDrain", "uncordon-x")];
    // A failed daemon is in a state of its own: its node still drains.
    let found = worker_pool(vec![
        node("node-one", "worker", &moving("Degraded", &drain)),
        node("node-two", "worker", &moving("Working", &drain)),
        node("node-three", "worker", &moving("Working", &[])),
        node("node-four", "worker", &OLD),
        node("node-five", "worker", &NEW),
    ]);
    assert_eq!(
        found.counts,
        NodeCounts {
            total: 5,
            available: 3,
            progressing: 2,
            outdated: 4,
            draining: 2,
            excluded: 0,
            degraded: 1
        }
    );
}

#[test]
fn a_node_is_in_the_pool_of_the_control_plane_then_in_its_own_then_in_the_workers() {
    let labelled = |name: &str, roles: &[&str]| {
        let mut node = node(name, "worker", &OLD);
        for role in roles {
            node["metadata"]["labels"][format!("node-role.kubernetes.io/{role}")] = json!("");
        }
        node
    };
    let update = update([
        pool("worker"),
        pool("master"),
        pool("infra"),
        labelled("compact", &["master", "infra"]),
        labelled("router", &["infra"]),
        labelled("plain", &[]),
    ]);
    let nodes = |pool: &PoolStatus| {
        pool.nodes
            .iter()
            .map(|node| node.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(nodes(update.control_plane_nodes.as_ref().unwrap()), ["compact"]);
    let names: Vec<_> = update
        .worker_pools
        .iter()
        .map(|pool| pool.name.as_str())
        .collect();
    assert_eq!(names, ["worker", "infra"], "in the order in which they were read");
    assert_eq!(nodes(&update.worker_pools[0]), ["plain"]);
    assert_eq!(nodes(&update.worker_pools[1]), ["router"]);
}

#[test]
fn a_pool_without_a_selector_has_no_nodes() {
    let mut pool = pool("worker");
    pool["spec"]["nodeSelector"] = Value::Null;
    assert_eq!(
        update([pool, node("node-one", "worker", &OLD)]).worker_pools[0]
            .counts
            .total,
        0
    );
}

#[test]
fn pools_are_estimated_in_batches_less_what_is_stuck() {
    let mut pool = pool("worker");
    pool["spec"]["maxUnavailable"] = json!(2);
    let stuck = with_condition(
        node("node-zero", "worker", &OLD),
        "Ready",
        "False",
        &minutes_ago(10),
    );
    let nodes = ["one", "two", "three"].map(|name| node(name, "worker", &OLD));
    let objects: Vec<_> = [pool].into_iter().chain(nodes).collect();
    let minutes = |objects: Vec<Value>| {
        let estimate = update(objects).worker_pools[0].estimate();
        estimate.remaining.unwrap().as_mins()
    };
    assert_eq!(minutes(objects.clone()), 30, "three nodes, two at a time");
    assert_eq!(
        minutes(objects.into_iter().chain([stuck]).collect()),
        60,
        "four nodes, one at a time"
    );
}

#[test]
fn nobody_can_say_how_long_a_paused_pool_takes() {
    let mut pool = pool("worker");
    pool["spec"]["paused"] = json!(true);
    assert_eq!(
        update([pool, node("node-one", "worker", &OLD)]).worker_pools[0]
            .estimate()
            .remaining,
        None
    );
}
