//! Works of other upgrades than the one that is looked at.

use drydock_rollout::{Owner, WorkFeedback};

use super::*;

/// A work that another upgrade has made on `c01`.
fn work_of(fleet: &mut TestFleet, owner: Owner, kind: &str) -> Work {
    let (start, mut work) = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    let _change = fleet.fleet.abandoned(&start);
    let changed = Arc::make_mut(&mut work);
    changed.owner = owner;
    changed.uid = Uid::new(kind);
    (*work).clone()
}

fn owner(uid: &str, upgrade: Option<UpgradeKey>) -> Owner {
    Owner {
        uid: Uid::new(uid),
        upgrade,
    }
}

#[test]
fn an_upgrade_one_of_whose_works_somebody_deletes_is_still_at_work() {
    let mut fleet = TestFleet::new(&["c01"]);
    let autumn = UpgradeKey::new("default", "autumn");
    let upgrade = work_of(&mut fleet, owner("autumn-uid", Some(autumn)), "cluster");
    fleet.set_named_upgrade("autumn", "autumn-uid", 1, "none");
    let action = Work {
        uid: Uid::new("pre"),
        feedback: WorkFeedback::Runs(Vec::new()),
        ..upgrade.clone()
    };
    let deleted = Work {
        deleting: true,
        ..upgrade
    };
    let name = ClusterName::from("c01");
    fleet.see_work("c01", &Arc::new(deleted));
    let _change = fleet.fleet.set_work(&name, WorkKind::Pre, Arc::new(action), 1000);
    let actions = fleet.plan().plan.actions;
    assert!(
        actions.iter().all(|action| action.cluster().is_none()),
        "{actions:?}"
    );
}
