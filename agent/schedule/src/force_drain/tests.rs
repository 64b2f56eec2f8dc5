use std::collections::BTreeSet;

use drydock_api::fact::Unread;
use drydock_api::schedule::{NodeForceDrain, ObservedNodeDrain};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::{Deletion, DrainDecision, DrainNeed, DrainObservation, decide};

const START: Timestamp = Timestamp::constant(1_768_338_000, 0);

fn minutes(minutes: i64) -> SignedDuration {
    SignedDuration::from_mins(minutes)
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Deletes pods after an hour, and kills them ten minutes after that.
fn object() -> NodeForceDrain {
    read(json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1",
        "kind": "NodeForceDrain",
        "metadata": { "name": "f", "generation": 1 },
        "spec": {
            "nodeSelector": {},
            "nodeDrainGracePeriod": "1h",
            "podForceDeleteGracePeriod": "10m",
        },
    }))
}

fn node(name: &str, wanted: Option<&str>, done: Option<&str>) -> Node {
    let mut node: Node = read(json!({ "metadata": { "name": name, "labels": { "pool": name } } }));
    let annotation = |name: &str, value: Option<&str>| {
        let name = format!("machineconfiguration.openshift.io/{name}");
        value.map(|value| (name, value.to_owned()))
    };
    let annotations = [
        annotation("desiredDrain", wanted),
        annotation("lastAppliedDrain", done),
    ];
    node.metadata.annotations = Some(annotations.into_iter().flatten().collect());
    node
}

fn draining(name: &str) -> Node {
    node(name, Some("drain-b"), Some("uncordon-a"))
}

fn pod(name: &str, node: &str) -> Pod {
    read(json!({
        "metadata": { "name": name, "namespace": "shop", "uid": format!("uid-{name}") },
        "spec": { "nodeName": node, "containers": [] },
    }))
}

fn owned(name: &str, kind: &str, uid: &str) -> Pod {
    let mut pod = pod(name, "n");
    pod.metadata.owner_references = Some(vec![read(json!({
        "apiVersion": "v1", "kind": kind, "name": "owner", "uid": uid, "controller": true,
    }))]);
    pod
}

/// A pod whose deletion was asked for then, with a grace period of its own of half a minute.
fn deleting(name: &str, asked: Timestamp) -> Pod {
    let mut pod = pod(name, "n");
    pod.metadata.deletion_timestamp = Some(Time(asked + SignedDuration::from_secs(30)));
    pod.metadata.deletion_grace_period_seconds = Some(30);
    pod
}

/// What is seen of a drain of the node `n` that was first observed at [`START`].
fn seen(pods: Vec<Pod>, after: i64) -> DrainObservation {
    let mut object = object();
    let status = object.status.get_or_insert_default();
    status.last_observed_node_drain = Some(vec![ObservedNodeDrain {
        drain_id: "drain-b".to_owned(),
        node_name: "n".to_owned(),
        observed_time: Time(START),
    }]);
    let mut seen = DrainObservation::new(object, START + minutes(after));
    seen.nodes = Ok(vec![draining("n")]);
    seen.pods = Ok(pods);
    seen
}

fn deleted(decision: &DrainDecision) -> Vec<(&str, Deletion)> {
    let deletions = decision.deletions.iter();
    deletions
        .map(|deletion| (deletion.name.as_str(), deletion.deletion))
        .collect()
}

fn ready(decision: &DrainDecision) -> String {
    let condition = &decision.status.conditions.as_ref().unwrap()[0];
    format!("{}/{}", condition.status, condition.reason)
}

/// The differing annotations mean a drain, but for one that is to uncordon: there the original deletes pods of a node that is done.
#[test]
fn which_nodes_are_drained() {
    for (wanted, done, drained) in [
        (None, None, false),
        (Some("drain-b"), None, true),
        (Some("drain-b"), Some("uncordon-a"), true),
        (Some("drain-b"), Some("drain-b"), false),
        (Some("uncordon-b"), Some("drain-b"), false),
        (Some("uncordon-b"), Some("uncordon-b"), false),
        (None, Some("uncordon-b"), false),
        (Some(""), Some("uncordon-b"), false),
    ] {
        let node = node("n", wanted, done);
        assert_eq!(super::is_drained(&node), drained, "{wanted:?} {done:?}");
    }
}

/// All nodes in one pass: the original records one a pass. Nothing is deleted before the status is written.
#[test]
fn drains_are_recorded_when_they_are_first_observed() {
    let mut seen = DrainObservation::new(object(), START);
    seen.nodes = Ok(vec![draining("b"), draining("a"), node("c", None, None)]);
    let decision = decide(&seen);
    let names: Vec<_> = decision
        .status
        .last_observed_node_drain
        .iter()
        .flatten()
        .collect();
    let names: Vec<_> = names
        .iter()
        .map(|drain| {
            (
                drain.node_name.as_str(),
                drain.drain_id.as_str(),
                drain.observed_time.0,
            )
        })
        .collect();
    assert_eq!(names, [("a", "drain-b", START), ("b", "drain-b", START)]);
    assert!(decision.deletions.is_empty() && decision.needs.is_empty());
    assert_eq!(decision.wake, Some(START + minutes(3)));
    assert_eq!(ready(&decision), "True/Usable");
}

#[test]
fn a_drain_has_its_grace_period_and_then_pods_are_deleted() {
    let early = decide(&seen(vec![pod("p", "n")], 59));
    assert!(early.deletions.is_empty());
    assert_eq!(early.wake, Some(START + minutes(60)));
    let due = decide(&seen(vec![pod("p", "n"), pod("elsewhere", "m")], 60));
    assert_eq!(deleted(&due), [("p", Deletion::Delete)]);
    let deletion = &due.deletions[0];
    assert_eq!((deletion.node.as_str(), deletion.uid.as_str()), ("n", "uid-p"));
    assert_eq!(deletion.deletion.grace_period_seconds(), None);
    assert_eq!(deletion.deletion.reason(), "NodeDrainDeletePod");
    // Sooner than after the grace period of the pod that was just deleted.
    assert_eq!(due.wake, Some(START + minutes(63)));
}

#[test]
fn a_negative_grace_period_cannot_be_used() {
    let mut observation = seen(vec![pod("p", "n")], 60);
    observation.object.spec.node_drain_grace_period = "-1m".to_owned();
    let decision = decide(&observation);
    assert!(decision.deletions.is_empty());
    assert!(ready(&decision).starts_with("False/"), "{}", ready(&decision));
}

#[test]
fn pods_are_read_only_of_nodes_that_take_too_long() {
    let mut long = seen(Vec::new(), 60);
    long.nodes = Ok(vec![draining("n"), draining("m")]);
    long.pods = Err(Unread::NotAsked);
    let expected = DrainNeed::Pods(BTreeSet::from(["n".to_owned()]));
    assert_eq!(decide(&long).needs, BTreeSet::from([expected]));
}

/// A diverging point: in the original the second drain is forced at once, as its key is what was done before.
#[test]
fn a_drain_that_is_begun_again_has_its_whole_time_again() {
    let mut abandoned = seen(vec![pod("p", "n")], 30);
    abandoned.nodes = Ok(vec![node("n", Some("uncordon-a"), Some("uncordon-a"))]);
    let decision = decide(&abandoned);
    assert_eq!(decision.status.last_observed_node_drain, None);
    let mut again = seen(vec![pod("p", "n")], 7 * 24 * 60);
    again.object.status = Some(decision.status);
    let decision = decide(&again);
    assert!(decision.deletions.is_empty());
    // Another drain that follows at once is another one, too.
    let mut next = seen(vec![pod("p", "n")], 90);
    next.nodes = Ok(vec![node("n", Some("drain-c"), Some("uncordon-a"))]);
    assert!(decide(&next).deletions.is_empty());
}

/// A diverging point: the original keeps them for ever.
#[test]
fn what_was_observed_of_nodes_that_are_gone_is_forgotten() {
    let mut gone = seen(Vec::new(), 10);
    gone.nodes = Ok(Vec::new());
    let decision = decide(&gone);
    assert_eq!(decision.status.last_observed_node_drain, None);
    assert_eq!(decision.wake, None);
}

#[test]
fn pods_whose_deletion_hangs_are_killed_with_a_grace_of_a_second() {
    let asked = START + minutes(55);
    let early = decide(&seen(vec![deleting("p", asked)], 64));
    assert!(early.deletions.is_empty());
    assert_eq!(early.wake, Some(START + minutes(65)));
    let due = decide(&seen(vec![deleting("p", asked)], 65));
    assert_eq!(deleted(&due), [("p", Deletion::Terminate)]);
    assert_eq!(due.deletions[0].deletion.grace_period_seconds(), Some(1));
    assert_eq!(
        due.deletions[0].deletion.reason(),
        "NodeDrainForcingPodTermination"
    );
    // Only on nodes whose drain takes too long.
    let patient = decide(&seen(vec![deleting("p", START - minutes(60))], 59));
    assert!(patient.deletions.is_empty());
}

#[test]
fn zero_grace_periods_switch_off() {
    let with = |node_grace: &str, pod_grace: &str| {
        let mut seen = seen(vec![pod("p", "n"), deleting("q", START - minutes(60))], 90);
        seen.object.spec.node_drain_grace_period = node_grace.to_owned();
        seen.object.spec.pod_force_delete_grace_period = pod_grace.to_owned();
        let decision = decide(&seen);
        let names: Vec<_> = decision
            .deletions
            .iter()
            .map(|deletion| deletion.name.clone())
            .collect();
        names.join(" ")
    };
    assert_eq!(with("1h", "10m"), "p q");
    assert_eq!(with("1h", "0s"), "p");
    assert_eq!(
        with("0s", "10m"),
        "q",
        "pods that are being deleted are killed at once"
    );
    assert_eq!(with("0s", "0s"), "");
}

#[test]
fn pods_that_come_back_at_once_are_left_alone() {
    let pods = || {
        vec![
            owned("static", "Node", "n"),
            owned("daemon", "DaemonSet", "exists"),
            owned("orphan", "DaemonSet", "gone"),
            owned("replica", "ReplicaSet", "r"),
        ]
    };
    let mut seen = seen(pods(), 60);
    assert_eq!(decide(&seen).needs, BTreeSet::from([DrainNeed::DaemonSets]));
    seen.daemon_sets = Ok(BTreeSet::from(["exists".to_owned()]));
    let names = |seen: &DrainObservation| {
        let deletions = decide(seen).deletions.into_iter();
        deletions.map(|deletion| deletion.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&seen), ["orphan", "replica"]);
    seen.daemon_sets = Err(Unread::Failed("x".to_owned()));
    assert_eq!(names(&seen), ["replica"], "all of them may exist");
}

/// No namespace is protected, and pods that have completed go, too.
#[test]
fn everything_else_is_deleted() {
    let mut system = pod("system", "n");
    system.metadata.namespace = Some("openshift-monitoring".to_owned());
    let mut completed = pod("completed", "n");
    completed.status = read(json!({ "phase": "Succeeded" }));
    let decision = decide(&seen(vec![system, completed], 60));
    assert_eq!(decision.deletions.len(), 2);
}

#[test]
fn namespaces_select_by_their_labels() {
    let names = |selector: Option<Value>, namespaces: Result<Vec<Namespace>, Unread>| {
        let mut other = pod("other", "n");
        other.metadata.namespace = Some("unknown".to_owned());
        let mut seen = seen(vec![pod("p", "n"), other], 60);
        seen.object.spec.namespace_selector = selector.map(read);
        seen.namespaces = namespaces;
        let decision = decide(&seen);
        assert_eq!(
            decision.needs.is_empty(),
            !matches!(seen.namespaces, Err(Unread::NotAsked))
                || seen.object.spec.namespace_selector.is_none()
        );
        decision.deletions.len()
    };
    let known = || {
        Ok(vec![read(
            json!({ "metadata": { "name": "shop", "labels": { "tier": "dev" } } }),
        )])
    };
    assert_eq!(names(None, Err(Unread::NotAsked)), 2);
    assert_eq!(names(Some(json!({})), Err(Unread::NotAsked)), 0);
    assert_eq!(
        names(Some(json!({})), known()),
        1,
        "a namespace that is not there does not match"
    );
    assert_eq!(
        names(Some(json!({ "matchLabels": { "tier": "dev" } })), known()),
        1
    );
    assert_eq!(
        names(Some(json!({ "matchLabels": { "tier": "prod" } })), known()),
        0
    );
    assert_eq!(names(Some(json!({})), Err(Unread::Failed("x".to_owned()))), 0);
}

#[test]
fn nodes_select_by_their_labels() {
    let mut other = seen(vec![pod("p", "n")], 60);
    other.object.spec.node_selector = read(json!({ "matchLabels": { "pool": "m" } }));
    let decision = decide(&other);
    assert!(decision.deletions.is_empty());
    assert_eq!(decision.status.last_observed_node_drain, None);
}

#[test]
fn programs_select_pods_and_their_errors_leave_them_alone() {
    let with = |program: &str| {
        let mut seen = seen(vec![pod("a", "n"), pod("b", "n")], 60);
        seen.object.spec.pod_jq_selector = Some(program.to_owned());
        let decision = decide(&seen);
        let names: Vec<_> = decision
            .deletions
            .iter()
            .map(|deletion| deletion.name.clone())
            .collect();
        (names.join(" "), ready(&decision))
    };
    let case = |names: &str, ready: &str| (names.to_owned(), ready.to_owned());
    assert_eq!(with(".metadata.name == \"a\""), case("a", "True/Usable"));
    assert_eq!(with(""), case("a b", "True/Usable"));
    assert_eq!(with("error"), case("", "False/PodSelectorFailed"));
    assert_eq!(
        with("if .metadata.name == \"a\" then error else true end"),
        case("b", "False/PodSelectorFailed")
    );
    assert_eq!(with(".a |"), case("", "False/InvalidSpec"));
}

#[test]
fn a_spec_that_cannot_be_used_does_nothing_and_says_so() {
    let mut wrong = seen(vec![pod("p", "n")], 60);
    wrong.object.spec.node_drain_grace_period = "soon".to_owned();
    let decision = decide(&wrong);
    assert!(decision.deletions.is_empty() && decision.needs.is_empty());
    assert_eq!(ready(&decision), "False/InvalidSpec");
    let message = &decision.status.conditions.as_ref().unwrap()[0].message;
    assert!(message.contains("spec.nodeDrainGracePeriod"), "{message}");
    assert_eq!(
        decision.status.last_observed_node_drain,
        wrong.object.status.unwrap().last_observed_node_drain
    );
}

/// A diverging point: the original goes on with an empty object, which selects all nodes.
#[test]
fn one_that_is_being_deleted_does_nothing() {
    let mut seen = seen(vec![pod("p", "n")], 60);
    seen.object.metadata.deletion_timestamp = Some(Time(START));
    let decision = decide(&seen);
    assert!(decision.deletions.is_empty() && decision.needs.is_empty());
    assert_eq!((Some(decision.status), decision.wake), (seen.object.status, None));
}

#[test]
fn what_cannot_be_read_is_read_again() {
    let mut blind = seen(Vec::new(), 60);
    blind.nodes = Err(Unread::Failed("the server does not answer".to_owned()));
    let decision = decide(&blind);
    assert_eq!(decision.wake, Some(START + minutes(61)));
    assert_eq!(ready(&decision), "False/Unreadable");
    assert!(decision.status.last_observed_node_drain.is_some());
}

/// Nothing is deleted where it is not known what may be; that is said, and tried again.
#[test]
fn namespaces_and_daemon_sets_that_cannot_be_read_are_named() {
    let failed = || Unread::Failed("you may not".to_owned());
    let mut blind = seen(vec![pod("p", "n")], 60);
    blind.object.spec.namespace_selector = Some(read(json!({})));
    blind.namespaces = Err(failed());
    let decision = decide(&blind);
    assert!(decision.deletions.is_empty());
    assert_eq!(
        (ready(&decision).as_str(), decision.wake),
        ("False/Unreadable", Some(START + minutes(61)))
    );
    let mut of_daemon = pod("d", "n");
    let owner =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "1", "controller": true}]);
    of_daemon.metadata.owner_references = Some(read(owner));
    let mut blind = seen(vec![of_daemon, pod("p", "n")], 60);
    blind.daemon_sets = Err(failed());
    let decision = decide(&blind);
    assert_eq!(decision.deletions.len(), 1, "that of no DaemonSet");
    assert_eq!(ready(&decision), "False/Unreadable");
}

#[test]
fn drains_are_looked_at_again_unless_that_is_switched_off() {
    let mut seen = seen(Vec::new(), 70);
    assert_eq!(decide(&seen).wake, Some(START + minutes(73)));
    seen.recheck = None;
    assert_eq!(decide(&seen).wake, None);
}

#[test]
fn drains_and_deletions_are_measured() {
    let samples = super::metrics::of_nodes(&[draining("a"), node("b", None, None)]);
    let values: Vec<_> = samples
        .iter()
        .map(|sample| (sample.labels[0].as_str(), sample.value))
        .collect();
    assert_eq!(values, [("a", 1.0), ("b", 0.0)]);
    let decision = decide(&seen(vec![pod("p", "n"), deleting("q", START)], 90));
    let samples: Vec<_> = decision
        .deletions
        .iter()
        .map(|deletion| super::metrics::of_deletion("f", deletion))
        .collect();
    assert_eq!(samples[0].family, &super::metrics::POD_DELETIONS);
    assert_eq!(samples[0].labels, ["f", "n", "shop", "p", "uid-p"]);
    assert_eq!(samples[1].family, &super::metrics::POD_TERMINATIONS);
}

/// What stays although it was killed is killed again, and what was deleted is not deleted again but waited for.
#[test]
fn a_pod_that_stays_is_killed_again_at_each_pass() {
    for after in [65, 66, 200] {
        let decision = decide(&seen(vec![deleting("p", START + minutes(55))], after));
        assert_eq!(deleted(&decision), [("p", Deletion::Terminate)], "{after}");
    }
    let waiting = decide(&seen(vec![deleting("p", START + minutes(60))], 61));
    assert_eq!(deleted(&waiting), []);
}
