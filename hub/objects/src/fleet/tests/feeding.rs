//! What a fleet makes of what watches and lists bring.

use super::*;

/// A part of what is seen, of one cluster or of all.
type Part = fn(&mut TestFleet);

const PARTS: [Part; 5] = [
    |fleet| fleet.see::<ManagedCluster>("", "c01", Some(cluster())),
    |fleet| fleet.see::<ManagedClusterSet>("", "fleet", Some(json!({"spec": {}}))),
    |fleet| {
        fleet.see::<ManagedClusterSetBinding>(
            "default",
            "fleet",
            Some(json!({"spec": {"clusterSet": "fleet"}})),
        );
    },
    |fleet| fleet.select("all", &["c01"]),
    |fleet| fleet.set_upgrade(UID, 1, "all"),
];

fn empty() -> TestFleet {
    TestFleet {
        fleet: Fleet::new(false),
        now: "2026-03-01T12:00:00Z".parse().unwrap(),
        version: 0,
    }
}

#[test]
fn a_cluster_starts_when_all_about_it_is_seen_in_whatever_order() {
    for first in 0..PARTS.len() {
        for backwards in [false, true] {
            let mut order: Vec<Part> = PARTS.to_vec();
            order.rotate_left(first);
            if backwards {
                order.reverse();
            }
            let mut fleet = empty();
            for (seen, part) in order.iter().enumerate() {
                let planned = fleet.fleet.plan(&key(), fleet.now);
                let starts = planned.iter().flat_map(|planned| &planned.plan.actions);
                let starts = starts.filter(|action| action.starts().is_some()).count();
                assert_eq!(
                    starts, 0,
                    "after {seen} of the parts, from {first}, backwards: {backwards}"
                );
                part(&mut fleet);
            }
            assert_eq!(fleet.starts().len(), 1, "from {first}, backwards: {backwards}");
        }
    }
}

#[test]
fn a_hub_that_starts_again_sees_by_lists_what_the_one_before_saw_by_watches() {
    let mut before = TestFleet::new(&["c01", "c02", "c03"]);
    before.see::<ManagedClusterAddOn>("c02", AGENT_ADDON, Some(agent()));
    let starts = before.starts();
    let work = &starts[&ClusterName::from("c01")];
    before.written(work);
    before.see_work("c01", &work.1);
    for name in ["c02", "c03"] {
        let _change = before.fleet.abandoned(&starts[&ClusterName::from(name)].0);
    }
    let moment = before.now;
    before.see::<ManagedClustersUpgradeRecord>("default", "spring-1", Some(record("c03", moment)));
    before.see::<ManagedClusterAddOn>("c02", AGENT_ADDON, None);
    before.select("all", &["c01", "c03"]);

    let mut after = TestFleet::new(&["c01", "c02", "c03"]);
    after.version = before.version;
    after.select("all", &["c01", "c03"]);
    after.see::<ManagedClustersUpgradeRecord>("default", "spring-1", Some(record("c03", moment)));
    after.see_work("c01", &work.1);
    assert_eq!(
        before.fleet.look(&key(), moment),
        after.fleet.look(&key(), moment)
    );
    assert_eq!(before.entry_counts(), after.entry_counts());
}

#[test]
fn what_says_nothing_new_wakes_no_upgrade() {
    let mut fleet = TestFleet::new(&["c01"]);
    let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    fleet.written(&start);
    fleet.see_work("c01", &start.1);
    fleet.look();
    let name = ClusterName::from("c01");
    let facts = fleet.fleet.clusters[&name].facts.clone();
    let members = Some(fleet.fleet.sets["fleet"].clone());
    let page = fleet.fleet.decisions.values().next().cloned();
    let placement = fleet.fleet.placements.values().next().cloned();
    let fleet = &mut fleet.fleet;
    for (what, change) in [
        ("a cluster", fleet.set_cluster(&name, facts)),
        ("an agent", fleet.set_agent(&name, false)),
        ("a work", fleet.set_work(&name, WorkKind::Cluster, start.1, 1000)),
        ("a set", fleet.set_cluster_set("fleet", members)),
        ("a binding", fleet.set_binding("default", "fleet", true)),
        ("a page", fleet.set_decision("default", "all-decision-1", page)),
        (
            "a placement",
            fleet.set_placement(&drydock_rollout::PlacementKey::new("default", "all"), placement),
        ),
        ("an unknown cluster", fleet.set_cluster(&"c02".into(), None)),
        (
            "an unknown upgrade",
            fleet.remove_upgrade(&UpgradeKey::new("default", "autumn")),
        ),
    ] {
        assert_eq!(change, super::super::Change::Nothing, "{what}");
    }
}

#[test]
fn what_is_older_than_what_was_written_is_passed_over() {
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.set_upgrade(UID, 2, "other");
    let newest = fleet.fleet.object(&key()).unwrap();
    fleet.version -= 2;
    fleet.set_upgrade(UID, 1, "all");
    assert_eq!(fleet.fleet.object(&key()), Some(newest));
}

/// Ten thousand works of one rollout are one goal.
#[test]
fn works_that_were_made_for_one_goal_keep_it_once() {
    let mut fleet = TestFleet::new(&["c01", "c02"]);
    let starts = fleet.starts();
    for (name, (_, work)) in &starts {
        let mut apart = (**work).clone();
        let revision = Arc::make_mut(apart.revision.as_mut().unwrap());
        revision.goal = Arc::new((*revision.goal).clone());
        fleet.see_work(name.as_str(), &Arc::new(apart));
    }
    let goals = starts.keys().map(|name| {
        let work = fleet.fleet.clusters[name].works.get(WorkKind::Cluster).unwrap();
        Arc::clone(&work.revision.as_ref().unwrap().goal)
    });
    let goals: Vec<_> = goals.collect();
    assert_eq!(goals.len(), 2);
    assert!(Arc::ptr_eq(&goals[0], &goals[1]));
}
