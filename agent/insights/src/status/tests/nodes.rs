use super::*;
use crate::status::{NodeAssessment, NodeEstimate, NodePhase, NodeStatus};

fn node_of(update: &UpdateStatus) -> &NodeStatus {
    &update.worker_pools[0].nodes[0]
}

/// How a worker is shown that has these annotations.
fn worker(annotations: &[(&str, &str)]) -> NodeStatus {
    let update = update([pool("worker"), node("node-one", "worker", annotations)]);
    node_of(&update).clone()
}

#[test]
fn an_outdated_node_is_pending() {
    let found = worker(&OLD);
    assert_eq!(found.assessment, NodeAssessment::Outdated);
    assert_eq!(found.phase, NodePhase::Pending);
    assert_eq!(found.estimate, NodeEstimate::Unknown);
    assert_eq!(found.version.as_deref(), Some("old"));
}

#[test]
fn a_node_with_the_version_of_the_update_is_updated() {
    let found = worker(&NEW);
    assert_eq!(found.assessment, NodeAssessment::Completed);
    assert_eq!(found.phase, NodePhase::Updated);
    assert_eq!(found.estimate, NodeEstimate::None);
}

#[test]
fn a_node_whose_configuration_is_not_known_has_an_unknown_version() {
    let found = worker(&[
        ("currentConfig", "config-other"),
        ("desiredConfig", "config-other"),
        ("state", "Done"),
    ]);
    assert_eq!(found.version, None);
    assert_eq!(found.phase, NodePhase::Pending);
}

#[test]
fn without_machine_configs_nodes_are_compared_with_the_configurations_of_their_pools() {
    let broken = json!({"kind": "MachineConfig", "metadata": {"name": 7}});
    let phase = |annotations: &[(&str, &str)]| {
        let update = update([
            pool("worker"),
            broken.clone(),
            node("node-one", "worker", annotations),
        ]);
        assert_eq!(node_of(&update).version, None);
        node_of(&update).phase
    };
    assert_eq!(phase(&NEW), NodePhase::Updated);
    assert_eq!(phase(&OLD), NodePhase::Pending);
    assert_eq!(phase(&moving("Working", &[])), NodePhase::Updating);
}

/// The operator comes to the release when the pool of the control plane has: until then nobody but the pools says what their configurations are of.
#[test]
fn without_machine_configs_a_pool_says_itself_that_its_configuration_is_new() {
    let began = minutes_ago(30);
    let status = |before: &str, updated: &str, since: &str| {
        json!({
            "configuration": {"name": before},
            "conditions": [{"type": "Updated", "status": updated, "lastTransitionTime": since}],
        })
    };
    let before_it_is_rendered = status("config-new", "True", &minutes_ago(9_000));
    let of_old = minutes_ago(9_000);
    for (created, of_pool, phases) in [
        (
            &of_old,
            status("config-old", "False", &minutes_ago(20)),
            [NodePhase::Updated, NodePhase::Pending, NodePhase::Updating],
        ),
        (
            &of_old,
            status("config-new", "True", &minutes_ago(1)),
            [NodePhase::Updated, NodePhase::Pending, NodePhase::Updating],
        ),
        (&of_old, before_it_is_rendered, [NodePhase::Pending; 3]),
        // The first configuration of a new pool may be of the release before.
        (
            &minutes_ago(10),
            status("config-new", "True", &minutes_ago(1)),
            [NodePhase::Pending; 3],
        ),
    ] {
        let mut version = version();
        version["status"]["history"][0]["startedTime"] = json!(began);
        let mut worker = pool("worker");
        worker["metadata"]["creationTimestamp"] = json!(created);
        worker["status"] = of_pool.clone();
        let nodes = [NEW.to_vec(), OLD.to_vec(), moving("Working", &[])];
        let found = nodes.map(|annotations| {
            let node = node("node-one", "worker", &annotations);
            let objects = vec![version.clone(), operator("machine-config"), worker.clone(), node];
            let update = report(objects).unwrap().update.unwrap();
            node_of(&update).phase
        });
        assert_eq!(found, phases, "{of_pool}");
    }
}

#[test]
fn a_working_daemon_updates_its_node() {
    let found = worker(&moving("Working", &[]));
    assert_eq!(
        (found.assessment, found.phase),
        (NodeAssessment::Progressing, NodePhase::Updating)
    );
    assert_eq!(found.estimate, NodeEstimate::Minutes(5));
}

#[test]
fn a_rebooting_node_is_shown_as_one() {
    let found = worker(&moving("Rebooting", &[]));
    assert_eq!(
        (found.phase, found.estimate),
        (NodePhase::Rebooting, NodeEstimate::Minutes(5))
    );
}

#[test]
fn a_daemon_that_says_nothing_or_something_else_updates_its_node() {
    for state in ["", "Dancing"] {
        assert_eq!(
            worker(&moving(state, &[])).phase,
            NodePhase::Updating,
            "{state:?}"
        );
    }
}

#[test]
fn a_node_drains_while_a_drain_is_wanted_that_is_not_done() {
    for (desired, last, phase) in [
        ("drain-new", "uncordon-old", NodePhase::Draining),
        ("drain-new", "drain-new", NodePhase::Updating),
        ("uncordon-new", "drain-new", NodePhase::Updating),
        ("drain-new", "", NodePhase::Updating),
        ("", "drain-new", NodePhase::Updating),
    ] {
        let drain = [("desiredDrain", desired), ("lastAppliedDrain", last)];
        assert_eq!(
            worker(&moving("Working", &drain)).phase,
            phase,
            "{desired:?}, {last:?}"
        );
    }
    let found = worker(&moving(
        "Working",
        &[
            ("desiredDrain", "drain-new"),
            ("lastAppliedDrain", "uncordon-old"),
        ],
    ));
    assert_eq!(
        (found.assessment, found.estimate),
        (NodeAssessment::Progressing, NodeEstimate::Minutes(10))
    );
}

#[test]
fn a_node_whose_daemon_has_not_noticed_is_about_to_drain() {
    let drain = [
        ("desiredDrain", "uncordon-old"),
        ("lastAppliedDrain", "uncordon-old"),
    ];
    assert_eq!(worker(&moving("Done", &drain)).phase, NodePhase::Draining);
    assert_eq!(
        worker(&moving("Done", &[])).phase,
        NodePhase::Updated,
        "without annotations of drains"
    );
}

#[test]
fn a_node_is_not_being_updated_to_a_configuration_that_its_pool_has_left() {
    let mut pool = pool("worker");
    pool["spec"]["configuration"]["name"] = json!("config-newer");
    let update = update([pool, node("node-one", "worker", &moving("Working", &[]))]);
    assert_eq!(node_of(&update).phase, NodePhase::Pending);
}

#[test]
fn a_node_of_a_paused_pool_is_excluded() {
    let mut pool = pool("worker");
    pool["spec"]["paused"] = json!(true);
    let update = update([pool, node("node-one", "worker", &OLD)]);
    let found = node_of(&update);
    assert_eq!(
        (found.assessment, found.phase),
        (NodeAssessment::Excluded, NodePhase::Paused)
    );
    assert_eq!(found.estimate, NodeEstimate::None);
}

#[test]
fn during_a_change_of_architecture_configurations_decide() {
    let mut migration = version();
    migration["status"]["history"][1]["version"] = json!("new");
    let config = json!({"kind": "MachineConfig", "metadata": {"name": "config-before",
        "annotations": {"machineconfiguration.openshift.io/release-image-version": "new"}}});
    let phase = |current: &str, desired: &str| {
        let annotations = [
            ("currentConfig", current),
            ("desiredConfig", desired),
            ("state", "Working"),
        ];
        let objects = [
            migration.clone(),
            operator("etcd"),
            config.clone(),
            pool("worker"),
            node("node-one", "worker", &annotations),
        ];
        let report = report(objects.into_iter().chain(configs()).collect());
        node_of(&report.unwrap().update.unwrap()).phase
    };
    assert_eq!(phase("config-new", "config-new"), NodePhase::Updated);
    assert_eq!(phase("config-before", "config-new"), NodePhase::Updating);
    assert_eq!(phase("config-before", "config-before"), NodePhase::Pending);
}

#[test]
fn a_failed_daemon_degrades_its_node() {
    for state in ["Degraded", "Unreconcilable"] {
        let annotations = moving(state, &[("reason", "cannot drain node-one-long-name")]);
        let update = update([pool("worker"), node("node-one-long-name", "worker", &annotations)]);
        let found = node_of(&update);
        assert_eq!(found.assessment, NodeAssessment::Degraded, "{state}");
        assert_eq!(found.estimate, NodeEstimate::Unknown);
        assert_eq!(found.message, "cannot drain <node>");
        assert_eq!(levels(&update.insights), [("Error", "Update Stalled")]);
        assert_eq!(update.insights[0].summary, "Node node-one-long-name is degraded");
        assert_eq!(update.insights[0].description, "cannot drain node-one-long-name");
        assert_eq!(update.insights[0].started_at, None);
    }
}

#[test]
fn short_names_are_not_replaced() {
    let annotations = moving("Degraded", &[("reason", "cannot drain one")]);
    let update = update([pool("worker"), node("one", "worker", &annotations)]);
    assert_eq!(node_of(&update).message, "cannot drain one");
}

#[test]
fn a_degraded_node_that_is_updated_has_nothing_left_to_do() {
    let annotations = [
        ("currentConfig", "config-new"),
        ("desiredConfig", "config-new"),
        ("state", "Degraded"),
        ("reason", "why"),
    ];
    let found = worker(&annotations);
    assert_eq!(
        (found.assessment, found.estimate),
        (NodeAssessment::Degraded, NodeEstimate::None)
    );
}

/// A worker that is not updated, with this condition.
fn with_node_condition(type_: &str, status: &str, seconds: i64) -> UpdateStatus {
    let node = with_condition(
        node("node-one", "worker", &OLD),
        type_,
        status,
        &seconds_ago(seconds),
    );
    update([pool("worker"), node])
}

#[test]
fn a_node_that_is_not_ready_matters_after_five_minutes() {
    for (seconds, matters) in [(299, false), (300, true)] {
        let update = with_node_condition("Ready", "Unknown", seconds);
        assert_eq!(node_of(&update).assessment, NodeAssessment::Unavailable);
        assert_eq!(node_of(&update).message, "Not ready");
        assert_eq!(!update.insights.is_empty(), matters, "{seconds} s");
    }
    let found = with_node_condition("Ready", "False", 400).insights;
    assert_eq!(levels(&found), [("Warning", "Update Speed")]);
    assert_eq!(found[0].summary, "Node node-one is not ready");
    assert_eq!(
        found[0].description,
        r#"Node has a Ready!=True condition with Reason "Not ready" and message "It is so.""#
    );
    assert_eq!(found[0].started_at.unwrap().to_string(), seconds_ago(400));
}

#[test]
fn pressure_on_disks_and_missing_networks_matter_after_a_minute() {
    for (type_, summary) in [
        ("DiskPressure", "Node node-one has disk pressure"),
        ("NetworkUnavailable", "Node node-one has unavailable network"),
    ] {
        assert!(
            with_node_condition(type_, "True", 59).insights.is_empty(),
            "{type_}"
        );
        let found = with_node_condition(type_, "True", 60).insights;
        assert_eq!(found[0].summary, summary);
    }
}

#[test]
fn a_node_that_is_cordoned_or_worked_on_is_unavailable_and_does_not_matter() {
    let mut cordoned = node("node-one", "worker", &OLD);
    cordoned["spec"] = json!({"unschedulable": true});
    let found = update([pool("worker"), cordoned]);
    assert_eq!(node_of(&found).message, "Node is marked unschedulable");
    assert!(found.insights.is_empty());
    let working = [
        ("currentConfig", "config-old"),
        ("desiredConfig", "config-old"),
        ("state", "Working"),
    ];
    let found = update([pool("worker"), node("node-one", "worker", &working)]);
    assert_eq!(
        node_of(&found).message,
        "Machine Config Daemon is processing the node"
    );
    assert!(found.insights.is_empty());
}

#[test]
fn several_causes_are_joined_and_the_earliest_decides_since_when() {
    let node = with_condition(
        node("node-one", "worker", &OLD),
        "Ready",
        "False",
        &minutes_ago(10),
    );
    let mut node = with_condition(node, "DiskPressure", "True", &minutes_ago(20));
    node["spec"] = json!({"unschedulable": true});
    let found = update([pool("worker"), node]);
    assert_eq!(
        node_of(&found).message,
        "Not ready | Disk pressure | Node is marked unschedulable"
    );
    assert_eq!(
        found.insights[0].summary,
        "Node node-one is not ready | Node node-one has disk pressure | Node is marked unschedulable"
    );
    assert_eq!(found.insights[0].started_at.unwrap().to_string(), minutes_ago(20));
}

#[test]
fn a_node_that_is_unavailable_because_of_the_update_is_progressing() {
    let node = with_condition(
        node("node-one", "worker", &moving("Rebooting", &[])),
        "Ready",
        "False",
        &minutes_ago(10),
    );
    let found = update([pool("worker"), node]);
    assert_eq!(node_of(&found).assessment, NodeAssessment::Progressing);
    assert!(node_of(&found).is_unavailable);
    assert!(found.insights.is_empty());
}

#[test]
fn a_node_with_an_image_that_its_pool_does_not_have_is_not_counted_as_unavailable() {
    let mut cordoned = node("node-one", "worker", &[("desiredImage", "of-its-own")]);
    cordoned["spec"] = json!({"unschedulable": true});
    assert!(!node_of(&update([pool("worker"), cordoned.clone()])).is_unavailable);
    let mut layered = pool("worker");
    layered["metadata"]["labels"] = json!({"machineconfiguration.openshift.io/layering-enabled": ""});
    layered["metadata"]["annotations"] =
        json!({"machineconfiguration.openshift.io/newestImageEquivalentConfig": "of-its-own"});
    assert!(node_of(&update([layered, cordoned])).is_unavailable);
}

#[test]
fn nodes_are_ordered_by_what_they_need_then_by_phase_then_by_name() {
    let not_ready = with_condition(
        node("f-unavailable", "worker", &OLD),
        "Ready",
        "False",
        &minutes_ago(1),
    );
    let draining = moving(
        "Working",
        &[("desiredDrain", "drain-x"), ("lastAppliedDrain", "uncordon-x")],
    );
    let found = update([
        pool("worker"),
        node("a-updated", "worker", &NEW),
        node("c-pending", "worker", &OLD),
        node("b-pending", "worker", &OLD),
        node("d-updating", "worker", &moving("Working", &[])),
        node("e-draining", "worker", &draining),
        not_ready,
        node("g-degraded", "worker", &moving("Degraded", &[])),
    ]);
    let names: Vec<_> = found.worker_pools[0]
        .nodes
        .iter()
        .map(|node| &node.name[..1])
        .collect();
    assert_eq!(names, ["g", "f", "e", "d", "b", "c", "a"]);
}
