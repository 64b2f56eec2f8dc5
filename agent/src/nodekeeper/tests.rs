use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;

use super::*;
use crate::phase::fixture::START;

const TIME_OUT: i64 = 45;
const BUDGET: i64 = 68;

fn node(name: &str) -> NodeSeen {
    NodeSeen {
        name: name.to_owned(),
        is_worker: true,
        cordon: Some(Cordon { since: Some(START) }),
        mco_works: true,
        ..NodeSeen::default()
    }
}

fn pod(name: &str) -> PodSeen {
    PodSeen {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
        node: "n1".to_owned(),
        labels: BTreeMap::from([("app".to_owned(), name.to_owned())]),
        ..PodSeen::default()
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

fn patience() -> Patience {
    Patience::new(&NodeDrain::default(), 60)
}

/// What is done about one pod when its node's drain has this age.
fn after(minutes: i64, pod: PodSeen, budgets: &[Budget]) -> Option<&'static str> {
    let now = START + SignedDuration::from_mins(minutes);
    let keeping = keep(&[node("n1")], &[pod], budgets, &patience(), now);
    keeping.actions.first().map(|action| action.strategy.name())
}

#[test]
fn each_kind_of_pod_has_its_own_time() {
    let going = |minutes: i64, finalizers: bool| PodSeen {
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
    let bound = PodSeen {
        is_bound_to_node: true,
        ..pod("a")
    };
    assert_eq!(after(500, bound, &[]), None);
    let drain = NodeDrain {
        ignored_namespace_patterns: vec!["^sh".to_owned()],
        ..NodeDrain::default()
    };
    let now = START + SignedDuration::from_mins(500);
    let ignored = keep(&[node("n1")], &[pod("a")], &[], &Patience::new(&drain, 60), now);
    assert!(ignored.actions.is_empty());
}

#[test]
fn only_drains_of_the_machine_config_operator_and_of_extra_machines_are_helped() {
    let now = START + SignedDuration::from_mins(500);
    let acts = |node: NodeSeen| {
        let keeping = keep(&[node], &[pod("a")], &[], &patience(), now);
        (keeping.actions.len(), keeping.stuck.len())
    };
    assert_eq!(acts(node("n1")), (1, 1));
    let by_hand = NodeSeen {
        mco_works: false,
        ..node("n1")
    };
    assert_eq!(acts(by_hand.clone()), (0, 0));
    assert_eq!(
        acts(NodeSeen {
            is_extra: true,
            ..by_hand
        }),
        (1, 1)
    );
    assert_eq!(
        acts(NodeSeen {
            is_going: true,
            ..node("n1")
        }),
        (0, 0)
    );
    assert_eq!(
        acts(NodeSeen {
            cordon: None,
            ..node("n1")
        }),
        (0, 0)
    );
    let unknown = Some(Cordon { since: None });
    assert_eq!(
        acts(NodeSeen {
            cordon: unknown,
            ..node("n1")
        }),
        (0, 0)
    );
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
    let stuck = |budget_minutes: i32, pods: &[PodSeen], drain: &NodeDrain, minutes: i64| {
        let now = START + SignedDuration::from_mins(minutes);
        let patience = Patience::new(drain, budget_minutes);
        !keep(&[node("n1")], pods, &budgets, &patience, now)
            .stuck
            .is_empty()
    };
    let usual = NodeDrain::default();
    let disabled = NodeDrain {
        disable_drain_strategies: true,
        ..NodeDrain::default()
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
