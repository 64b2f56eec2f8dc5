use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;

use super::*;
use crate::phase::fixture::START;

const TIME_OUT: i64 = 45;
const BUDGET: i64 = 68;

fn node(name: &str) -> ObservedNode {
    ObservedNode {
        name: name.to_owned(),
        is_worker: true,
        cordon: Some(Cordon { since: Some(START) }),
        mco_works: true,
        ..ObservedNode::default()
    }
}

fn pod(name: &str) -> ObservedPod {
    ObservedPod {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        node: "n1".to_owned(),
        labels: BTreeMap::from([("app".to_owned(), name.to_owned())]),
        ..ObservedPod::default()
    }
}

/// Covers the pods of an application in a namespace; all of them if it is empty.
fn budget(namespace: &str, app: &str) -> Budget {
    let labels = (!app.is_empty()).then(|| BTreeMap::from([("app".to_owned(), app.to_owned())]));
    let selector = LabelSelector {
        match_labels: labels,
        ..LabelSelector::default()
    };
    Budget {
        namespace: namespace.to_owned(),
        name: "budget".to_owned(),
        selector: Some(Selector::try_from(selector).unwrap()),
        forbids: None,
    }
}

/// The drain of a node that began with its cordon.
fn begun(name: &str) -> Drain {
    Drain {
        node: name.to_owned(),
        mark: String::new(),
        since: START,
        is_stuck: false,
    }
}

fn timeouts() -> DrainTimeouts {
    DrainTimeouts::new(&NodeDrainConfig::default(), 60)
}

/// What is done about one pod when its node's drain has this age.
fn after(minutes: i64, pod: ObservedPod, budgets: &[Budget]) -> Option<&'static str> {
    let now = START + SignedDuration::from_mins(minutes);
    let plan = plan_drains(vec![begun("n1")], Some(&[pod]), Some(budgets), &timeouts(), now);
    plan.actions.first().map(|action| action.strategy.name())
}

#[test]
fn each_kind_of_pod_has_its_own_time() {
    let going = |minutes: i64, finalizers: bool| ObservedPod {
        deletes_by: Some(START + SignedDuration::from_mins(minutes)),
        has_finalizers: finalizers,
        ..pod("a")
    };
    let ours = [budget("shop", "a")];
    for (minutes, pod, budgets, expected) in [
        (TIME_OUT, pod("a"), &[][..], None),
        (TIME_OUT + 1, pod("a"), &[], Some("DELETE")),
        (TIME_OUT + 1, going(TIME_OUT + 2, false), &[], None),
        (
            TIME_OUT + 1,
            going(TIME_OUT, false),
            &[],
            Some("POD-STUCK-TERMINATING"),
        ),
        (
            TIME_OUT + 1,
            going(TIME_OUT, true),
            &[],
            Some("DEFAULT-FINALIZER"),
        ),
        (BUDGET, pod("a"), &ours, None),
        (BUDGET + 1, pod("a"), &ours, Some("PDB-DELETE")),
        (BUDGET + 1, going(BUDGET, true), &ours, Some("PDB-FINALIZER")),
    ] {
        assert_eq!(after(minutes, pod, budgets), expected, "{minutes}");
    }
}

#[test]
fn a_budget_covers_the_pods_of_its_own_namespace_that_its_whole_selector_means() {
    for (budget, is_covered) in [
        (budget("shop", "a"), true),
        (budget("shop", ""), true),
        (budget("shop", "b"), false),
        (budget("other", "a"), false),
    ] {
        let done = after(TIME_OUT + 1, pod("a"), std::slice::from_ref(&budget));
        assert_eq!(done.is_none(), is_covered, "{budget:?}");
    }
}

#[test]
fn what_belongs_to_the_node_and_what_is_ignored_is_left_alone() {
    let bound = ObservedPod {
        is_bound_to_node: true,
        ..pod("a")
    };
    assert_eq!(after(500, bound, &[]), None);
    let settings = NodeDrainConfig {
        ignored_namespace_patterns: vec!["^sh".to_owned()],
        ..NodeDrainConfig::default()
    };
    let now = START + SignedDuration::from_mins(500);
    let timeouts = DrainTimeouts::new(&settings, 60);
    let ignored = plan_drains(vec![begun("n1")], Some(&[pod("a")]), Some(&[]), &timeouts, now);
    assert!(ignored.actions.is_empty());
}

#[test]
fn only_drains_of_the_machine_config_operator_and_of_extra_machines_are_helped() {
    let none = BTreeSet::new();
    let is_helped = |node: ObservedNode, extra: &BTreeSet<String>| {
        !under_way(std::slice::from_ref(&node), extra, &[], START).is_empty()
    };
    assert!(is_helped(node("n1"), &none));
    let by_hand = ObservedNode {
        mco_works: false,
        ..node("n1")
    };
    assert!(!is_helped(by_hand.clone(), &none));
    assert!(is_helped(by_hand, &BTreeSet::from(["n1".to_owned()])));
    let others = [
        ObservedNode {
            is_deleting: true,
            ..node("n1")
        },
        ObservedNode {
            cordon: None,
            ..node("n1")
        },
        ObservedNode {
            is_master: true,
            ..node("n1")
        },
    ];
    for other in others {
        assert!(!is_helped(other.clone(), &none), "{other:?}");
    }
}

#[test]
fn a_drain_begins_when_the_operator_does_and_not_with_the_cordon_of_a_person_days_before() {
    let none = BTreeSet::new();
    let now = START + SignedDuration::from_hours(72);
    let by_hand = [node("n1")];
    let first = under_way(&by_hand, &none, &[], now);
    assert_eq!(first[0].since, now);
    let later = now + SignedDuration::from_mins(40);
    assert_eq!(
        under_way(&by_hand, &none, &first, later)[0].since,
        now,
        "what is remembered does not begin again"
    );
    let next = [ObservedNode {
        drain_mark: "drain-2".to_owned(),
        ..node("n1")
    }];
    assert_eq!(
        under_way(&next, &none, &first, later)[0].since,
        later,
        "another drain"
    );
    let soon = START + SignedDuration::from_mins(1);
    assert_eq!(
        under_way(&by_hand, &none, &[], soon)[0].since,
        START,
        "its own cordon"
    );
}

#[test]
fn what_cannot_be_read_makes_nobody_impatient() {
    let guarded = START + SignedDuration::from_mins(BUDGET);
    let patient = plan_drains(vec![begun("n1")], Some(&[pod("a")]), None, &timeouts(), guarded);
    assert!(
        patient.actions.is_empty(),
        "without budgets every pod may have one"
    );
    let late = guarded + SignedDuration::from_mins(10);
    let blind = plan_drains(vec![begun("n1")], None, Some(&[]), &timeouts(), late);
    assert!(blind.actions.is_empty() && blind.drains[0].is_stuck);
}

#[test]
fn a_drain_that_has_been_done_is_over_whatever_takes_long_after_it() {
    let works = |state: &str, wanted: &str, done: &str| {
        let key = |name: &str| format!("machineconfiguration.openshift.io/{name}");
        let annotations = [
            ("state", state),
            ("desiredDrain", wanted),
            ("lastAppliedDrain", done),
        ];
        let annotations = annotations.map(|(name, value)| (key(name), value.to_owned()));
        let mut object = k8s_openapi::api::core::v1::Node::default();
        object.metadata.annotations = Some(BTreeMap::from(annotations));
        super::node(&object).mco_works
    };
    for (state, wanted, done, expected) in [
        ("Working", "", "", true),
        ("Working", "drain-2", "uncordon-1", true),
        ("Working", "drain-2", "drain-2", false),
        ("Degraded", "drain-2", "uncordon-1", true),
        ("Degraded", "drain-2", "drain-2", false),
        ("Degraded", "uncordon-2", "uncordon-1", false),
        ("Done", "uncordon-2", "uncordon-2", false),
    ] {
        assert_eq!(works(state, wanted, done), expected, "{state} {wanted} {done}");
    }
}

#[test]
fn a_drain_is_stuck_when_all_that_applies_has_had_its_time() {
    let budgets = [budget("shop", "covered")];
    let stuck = |budget_minutes: i32, pods: &[ObservedPod], drain: &NodeDrainConfig, minutes: i64| {
        let now = START + SignedDuration::from_mins(minutes);
        let timeouts = DrainTimeouts::new(drain, budget_minutes);
        plan_drains(vec![begun("n1")], Some(pods), Some(&budgets), &timeouts, now).drains[0].is_stuck
    };
    let usual = NodeDrainConfig::default();
    let disabled = NodeDrainConfig {
        disable_drain_strategies: true,
        ..NodeDrainConfig::default()
    };
    let (plain, covered) = ([pod("plain")], [pod("covered")]);
    for (budget, pods, drain, not_yet, by_then) in [
        (60, &plain, &usual, 53, 54),
        (60, &covered, &usual, 76, 77),
        (0, &covered, &usual, 45, 54),
        (60, &covered, &disabled, 45, 46),
    ] {
        assert!(!stuck(budget, pods, drain, not_yet), "{budget} {not_yet}");
        assert!(stuck(budget, pods, drain, by_then), "{budget} {by_then}");
    }
}
