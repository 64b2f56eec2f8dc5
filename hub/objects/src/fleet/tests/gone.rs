//! Nothing outlives its object.

use super::*;

/// What goes, how that is seen, and the parts of the fleet that hold nothing afterwards.
type Removal = (&'static str, fn(&mut TestFleet), &'static [&'static str]);

const REMOVALS: [Removal; 9] = [
    (
        "clusters",
        |fleet| {
            for name in ["c01", "c02", "c03", "c04"] {
                fleet.see::<ManagedCluster>("", name, None);
            }
        },
        &["facts"],
    ),
    (
        "agents",
        |fleet| fleet.see::<ManagedClusterAddOn>("c01", AGENT_ADDON, None),
        &["agents"],
    ),
    (
        "works",
        |fleet| {
            let mut work = (**fleet.fleet.clusters[&ClusterName::from("c01")]
                .works
                .get(WorkKind::Cluster)
                .unwrap())
            .clone();
            work.deleting = true;
            fleet.see_work("c01", &Arc::new(work));
            fleet.remove_work("c01");
        },
        &["works", "versions"],
    ),
    (
        "placements",
        |fleet| fleet.see::<Placement>("default", "all", None),
        &["placements", "snapshots", "selected"],
    ),
    (
        "decisions",
        |fleet| fleet.see::<PlacementDecision>("default", "all-decision-1", None),
        &["decisions"],
    ),
    (
        "sets",
        |fleet| fleet.see::<ManagedClusterSet>("", "fleet", None),
        &["sets"],
    ),
    (
        "bindings",
        |fleet| fleet.see::<ManagedClusterSetBinding>("default", "fleet", None),
        &["bindings"],
    ),
    (
        "records",
        |fleet| fleet.see::<ManagedClustersUpgradeRecord>("default", "spring-1", None),
        &["records", "entries"],
    ),
    (
        "upgrades",
        |fleet| {
            let _change = fleet.fleet.remove_upgrade(&key());
        },
        &[
            "upgrades",
            "live",
            "rows",
            "changed",
            "refusals",
            "page refusals",
            "own refusals",
            "pending",
            "snapshots",
        ],
    ),
];

/// A fleet that holds something of everything: c01 has its work, the write of c02's has not come back, c03's was refused, c04's went
/// without having been deleted, and a page of records was refused.
fn busy() -> TestFleet {
    let mut fleet = TestFleet::new(&["c01", "c02", "c03", "c04"]);
    fleet.see::<ManagedClusterAddOn>("c01", AGENT_ADDON, Some(agent()));
    let starts = fleet.starts();
    let of = |name: &str| starts[&ClusterName::from(name)].clone();
    for name in ["c01", "c02", "c04"] {
        fleet.written(&of(name));
    }
    fleet.refuse(&of("c03").0, "not in this quarter");
    for name in ["c01", "c04"] {
        fleet.see_work(name, &of(name).1);
    }
    fleet.remove_work("c04");
    let earlier = fleet.now - SignedDuration::from_hours(1);
    fleet.see::<ManagedClustersUpgradeRecord>("default", "spring-1", Some(record("c01", earlier)));
    let page = Action::MarkPage {
        name: "spring-1".into(),
        closed: false,
    };
    fleet.refuse(&page, "exceeded quota");
    fleet.refuse(&Action::AddFinalizer, "not in this quarter");
    fleet.look();
    fleet.see_work("c01", &of("c01").1);
    fleet
}

#[test]
fn a_busy_fleet_holds_something_of_everything() {
    let mut fleet = busy();
    let _change = fleet.fleet.set_agent(&"c02".into(), true);
    let expected = [
        ("agents", 2),
        ("bindings", 1),
        ("changed", 1),
        ("clusters", 4),
        ("decisions", 1),
        ("entries", 1),
        ("facts", 4),
        ("live", 2),
        ("own refusals", 1),
        ("page refusals", 1),
        ("pending", 2),
        ("placements", 1),
        ("records", 1),
        ("refusals", 1),
        ("refused", 1),
        ("rows", 4),
        ("selected", 4),
        ("sets", 1),
        ("snapshots", 1),
        ("upgrades", 1),
        ("versions", 1),
        ("works", 1),
    ];
    assert_eq!(fleet.entry_counts(), expected.into());
}

#[test]
fn what_is_gone_leaves_nothing_behind() {
    for (what, remove, parts) in REMOVALS {
        let mut fleet = busy();
        remove(&mut fleet);
        fleet.look();
        let entry_counts = fleet.entry_counts();
        let left: Vec<_> = parts
            .iter()
            .filter(|part| entry_counts.contains_key(**part))
            .collect();
        assert!(
            left.is_empty(),
            "{what} are gone, {left:?} are not: {entry_counts:?}"
        );
    }
}

#[test]
fn a_fleet_of_which_everything_is_gone_holds_nothing_in_whatever_order_it_went() {
    for first in 0..REMOVALS.len() {
        for (backwards, looks) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut order = REMOVALS.to_vec();
            order.rotate_left(first);
            if backwards {
                order.reverse();
            }
            let mut fleet = busy();
            for (_, remove, _) in &order {
                remove(&mut fleet);
                if looks {
                    fleet.look();
                }
            }
            let order: Vec<_> = order.iter().map(|(what, ..)| what).collect();
            assert_eq!(
                fleet.entry_counts(),
                BTreeMap::new(),
                "order {order:?}, looks: {looks}"
            );
        }
    }
}

#[test]
fn a_replica_that_only_looks_on_holds_nothing_of_what_came_and_went() {
    let mut fleet = TestFleet::new(&["c01", "c02"]);
    let works: Vec<_> = fleet.starts().into_values().map(|(_, work)| work).collect();
    let mut standby = TestFleet::new(&[]);
    let before = standby.entry_counts();
    for (name, work) in ["c01", "c02"].into_iter().zip(&works) {
        standby.see_work(name, work);
        let mut work = (**work).clone();
        work.deleting = name == "c01";
        standby.see_work(name, &Arc::new(work));
        standby.remove_work(name);
    }
    // The labels of the second may have been taken off: the upgrade will want to know.
    let _change = standby.fleet.remove_upgrade(&key());
    standby.set_upgrade(UID, 1, "all");
    assert_eq!(standby.entry_counts(), before);
}

#[test]
fn a_snapshot_goes_with_its_placement_and_with_who_names_it() {
    type Case = (&'static str, fn(&mut TestFleet));
    let cases: [Case; 4] = [
        ("the Placement is gone", |fleet| {
            fleet.see::<Placement>("default", "all", None);
        }),
        ("the Placement was made anew", |fleet| {
            fleet.see::<Placement>("default", "all", Some(selected("anew", 1)));
        }),
        ("the upgrade is gone", |fleet| {
            let _change = fleet.fleet.remove_upgrade(&key());
        }),
        ("the upgrade names another Placement", |fleet| {
            fleet.set_upgrade(UID, 2, "other");
        }),
    ];
    for (what, happens) in cases {
        let mut fleet = TestFleet::new(&["c01"]);
        fleet.look();
        assert_eq!(fleet.fleet.snapshots.len(), 1);
        happens(&mut fleet);
        fleet.look();
        assert!(fleet.fleet.snapshots.is_empty(), "{what}");
    }
    // While its pages are being written, the last one stands.
    let mut fleet = TestFleet::new(&["c01"]);
    fleet.look();
    fleet.see::<Placement>("default", "all", Some(selected("all-uid", 2)));
    fleet.look();
    assert_eq!(fleet.entry_counts().get("selected"), Some(&1));
}

#[test]
fn a_write_that_has_not_come_back_is_forgotten_when_it_does_or_nobody_waits_for_it() {
    type Case = (&'static str, fn(&mut TestFleet, &(Action, Arc<Work>)));
    let cases: [Case; 5] = [
        ("the watch brings it", |fleet, start| {
            fleet.written(start);
            fleet.see_work("c01", &start.1);
        }),
        ("it was read by name and is gone", |fleet, start| {
            fleet.written(start);
            let _change = fleet.fleet.confirm_work(&"c01".into(), WorkKind::Cluster, None);
        }),
        ("it came to nothing", |fleet, start| {
            let _change = fleet.fleet.abandoned(&start.0);
        }),
        ("it was refused", |fleet, start| {
            fleet.refuse(&start.0, "no");
        }),
        ("the upgrade is gone", |fleet, _| {
            let _change = fleet.fleet.remove_upgrade(&key());
        }),
    ];
    for (what, happens) in cases {
        let mut fleet = TestFleet::new(&["c01"]);
        let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
        assert_eq!(fleet.entry_counts().get("pending"), Some(&1));
        happens(&mut fleet, &start);
        let entry_counts = fleet.entry_counts();
        assert_eq!(entry_counts.get("pending"), None, "{what}");
        assert_eq!(entry_counts.get("versions"), entry_counts.get("works"), "{what}");
    }
}
