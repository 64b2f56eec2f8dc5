//! Tables for [`super::schedule::schedule`].

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use kube_sandbox::access::Object;

use super::{
    super::names,
    observed::{CandidateCluster, ClusterSet, Observed, Page, Placement},
    schedule::{Plan, schedule},
};
use kube_sandbox::condition::Status;

fn shared(object: Value) -> Arc<Object> {
    Arc::new(Object::new(object, 0))
}

fn cluster(name: &str, patch: &Value) -> (String, CandidateCluster) {
    let mut object = json!({
        "metadata": {"name": name, "labels": {"name": name, names::CLUSTER_SET_LABEL: "dev"}},
        "spec": {}, "status": {},
    });
    json_patch::merge(&mut object, patch);
    (name.to_owned(), CandidateCluster::parse(shared(object)))
}

/// Six clusters of set `dev`, bound to namespace `dev`.
fn fleet() -> Observed {
    let mut observed = Observed::default();
    for index in 1..=6 {
        let version = if index > 4 { "4.14.12" } else { "4.14.9" };
        let patch =
            json!({"status": {"clusterClaims": [{"name": "version.openshift.io", "value": version}]}});
        observed
            .clusters
            .extend([cluster(&format!("dev{index}"), &patch)]);
    }
    observed
        .sets
        .insert("dev".into(), ClusterSet::ExclusiveLabel("dev".into()));
    observed.bindings.insert(("dev".into(), "dev".into()));
    observed
}

fn placement(spec: &Value) -> Placement {
    Placement::parse(shared(
        json!({"metadata": {"namespace": "dev", "name": "p"}, "spec": spec}),
    ))
}

fn now() -> Timestamp {
    "2026-11-20T00:10:00Z".parse().unwrap()
}

fn names_of(plan: &Plan) -> Vec<String> {
    plan.pages.iter().flat_map(|page| page.clusters.clone()).collect()
}

fn satisfied(plan: &Plan) -> (Status, &str, &str) {
    let condition = &plan.conditions[1];
    (
        condition.status,
        condition.reason.as_str(),
        condition.message.as_str(),
    )
}

#[test]
fn predicates_are_ored_and_their_parts_anded() {
    let label =
        |name: &str| json!({"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": name}}}});
    let cases: [(Value, &[&str]); 5] = [
        (json!([label("dev1"), label("dev5")]), &["dev1", "dev5"]),
        (
            json!([{"requiredClusterSelector": {"claimSelector": {"matchExpressions": [
                {"key": "version.openshift.io", "operator": "In", "values": ["4.14.12"]}]}}}]),
            &["dev5", "dev6"],
        ),
        (
            json!([{"requiredClusterSelector": {
                "labelSelector": {"matchLabels": {"name": "dev5"}},
                "claimSelector": {"matchExpressions": [{"key": "version.openshift.io", "operator": "Exists"}]}}}]),
            &["dev5"],
        ),
        (
            json!([{"requiredClusterSelector": {"celSelector": {"celExpressions": [
                "managedCluster.metadata.labels['name'] == 'dev2'"]}}}]),
            &["dev2"],
        ),
        (
            json!([{"requiredClusterSelector": {"celSelector": {"celExpressions": [
                "managedCluster.metadata.labels['absent'] == 'x'"]}}}]),
            &[],
        ),
    ];
    for (predicates, expected) in cases {
        let plan = schedule(&fleet(), &placement(&json!({"predicates": predicates})), now());
        assert_eq!(names_of(&plan), expected, "{predicates}");
    }
}

#[test]
fn each_reason_has_its_words() {
    let mut unbound = fleet();
    unbound.bindings.clear();
    let plan = schedule(&unbound, &placement(&json!({})), now());
    assert_eq!(
        satisfied(&plan),
        (
            Status::False,
            "NoManagedClusterSetBindings",
            "No valid ManagedClusterSetBindings found in placement namespace"
        )
    );
    assert_eq!(plan.pages.len(), 1, "there is always one page");

    let plan = schedule(&fleet(), &placement(&json!({"clusterSets": ["other"]})), now());
    assert_eq!(
        satisfied(&plan),
        (
            Status::False,
            "NoIntersection",
            "None of ManagedClusterSets [other] is bound to placement namespace"
        )
    );

    let mut empty = fleet();
    empty.clusters.clear();
    let plan = schedule(&empty, &placement(&json!({})), now());
    assert_eq!(satisfied(&plan).1, "AllManagedClusterSetsEmpty");
    assert_eq!(
        satisfied(&plan).2,
        "All ManagedClusterSets [dev] have no member ManagedCluster"
    );

    let plan = schedule(&fleet(), &placement(&json!({"numberOfClusters": 50})), now());
    assert_eq!(
        satisfied(&plan),
        (
            Status::False,
            "NotAllDecisionsScheduled",
            "44 cluster decisions unscheduled"
        )
    );
    let plan = schedule(&fleet(), &placement(&json!({})), now());
    assert_eq!(
        satisfied(&plan),
        (
            Status::True,
            "AllDecisionsScheduled",
            "All cluster decisions scheduled"
        )
    );
}

#[test]
fn a_misconfigured_placement_selects_nothing_and_says_why() {
    let spec = json!({"tolerations": [{"operator": "Equal"}]});
    let plan = schedule(&fleet(), &placement(&spec), now());
    assert_eq!(plan.selected, 0);
    assert_eq!(plan.conditions[0].status, Status::True);
    assert_eq!(
        plan.conditions[0].message,
        "TaintToleration:If the key is empty, operator must be Exists."
    );
}

#[test]
fn taints_drop_a_cluster_unless_they_are_tolerated_still() {
    let taint = json!({"spec": {"taints": [{"key": names::TAINT_UNREACHABLE, "effect": "NoSelect", "timeAdded": "2026-11-20T00:00:00Z"}]}});
    let mut observed = fleet();
    observed.clusters.extend([cluster("dev3", &taint)]);
    let toleration = |seconds: Value| json!({"tolerations": [{"key": names::TAINT_UNREACHABLE, "operator": "Exists", "tolerationSeconds": seconds}]});
    let cases = [
        (json!({}), false, None),
        (toleration(Value::Null), true, None),
        (toleration(json!(900)), true, Some("2026-11-20T00:15:00Z")),
        (toleration(json!(600)), false, None),
        (
            json!({"tolerations": [{"key": "other", "operator": "Exists"}]}),
            false,
            None,
        ),
    ];
    for (spec, kept, wake) in cases {
        let plan = schedule(&observed, &placement(&spec), now());
        assert_eq!(names_of(&plan).contains(&"dev3".to_owned()), kept, "{spec}");
        assert_eq!(
            plan.wake,
            wake.map(|moment: &str| moment.parse().unwrap()),
            "{spec}"
        );
    }
}

#[test]
fn balance_then_steady_choose() {
    let mut observed = fleet();
    for (name, clusters) in [("a", vec!["dev1", "dev2", "dev5"]), ("b", vec!["dev5", "dev6"])] {
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|cluster| json!({"clusterName": cluster}))
            .collect();
        let page = Page::parse(shared(json!({
            "metadata": {"namespace": "dev", "name": name, "labels": {names::PLACEMENT_LABEL: name}},
            "status": {"decisions": decisions}})));
        observed.pages.insert(("dev".into(), name.into()), page);
    }
    let two = placement(&json!({"numberOfClusters": 2}));
    assert_eq!(names_of(&schedule(&observed, &two, now())), ["dev3", "dev4"]);
    let page = json!({
        "metadata": {"namespace": "dev", "name": "p-decision-1", "labels": {names::PLACEMENT_LABEL: "p"}},
        "status": {"decisions": [{"clusterName": "dev1"}, {"clusterName": "dev2"}]}});
    let key = ("dev".to_owned(), "p-decision-1".to_owned());
    observed.pages.insert(key, Page::parse(shared(page)));
    assert_eq!(
        names_of(&schedule(&observed, &two, now())),
        ["dev1", "dev2"],
        "what was chosen stays, though others are less used"
    );
}

#[test]
fn groups_come_first_in_their_order_and_pages_hold_a_hundred() {
    let mut observed = fleet();
    observed.clusters.clear();
    for index in 0..250 {
        let tier = match index {
            0..5 => "canary",
            5..30 => "stage",
            _ => "rest",
        };
        let patch = json!({"metadata": {"labels": {"tier": tier}}});
        observed
            .clusters
            .extend([cluster(&format!("big{index:03}"), &patch)]);
    }
    let group = |name: &str| json!({"groupName": name, "groupClusterSelector": {"labelSelector": {"matchLabels": {"tier": name}}}});
    let spec =
        json!({"decisionStrategy": {"groupStrategy": {"decisionGroups": [group("canary"), group("stage")]}}});
    let plan = schedule(&observed, &placement(&spec), now());
    let sizes: Vec<_> = plan
        .pages
        .iter()
        .map(|page| {
            (
                page.name.as_str(),
                page.group_index,
                page.group_name.as_str(),
                page.clusters.len(),
            )
        })
        .collect();
    assert_eq!(
        sizes,
        [
            ("p-decision-1", 0, "canary", 5),
            ("p-decision-2", 1, "stage", 25),
            ("p-decision-3", 2, "", 100),
            ("p-decision-4", 2, "", 100),
            ("p-decision-5", 2, "", 20),
        ]
    );
    assert_eq!(plan.groups[2]["clusterCount"], 220);
    assert_eq!(plan.selected, 250);
}

#[test]
fn members_of_label_sets_are_selected_too_and_the_dying_are_not() {
    let mut observed = fleet();
    observed.sets.insert(
        "global".into(),
        ClusterSet::parse(&json!({"metadata": {"name": "global"}, "spec": {"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}})),
    );
    observed.bindings.insert(("dev".into(), "global".into()));
    let label = json!({"metadata": {"labels": {names::CLUSTER_SET_LABEL: null}}});
    let dying = json!({"metadata": {"deletionTimestamp": "2026-11-20T00:00:00Z"}});
    observed
        .clusters
        .extend([cluster("free", &label), cluster("dev6", &dying)]);
    let plan = schedule(&observed, &placement(&json!({})), now());
    assert_eq!(names_of(&plan), ["dev1", "dev2", "dev3", "dev4", "dev5", "free"]);
}
