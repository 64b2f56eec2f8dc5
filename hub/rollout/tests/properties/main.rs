//! Properties of the decision, over fleets to which anything happens in any order.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test ends by panicking"
)]

mod event;
mod pre_checks;
mod rules;
mod world;

use std::collections::BTreeSet;

use drydock_rollout::{
    Action, Afterwards, ClusterState, ClusterStatus, EndState, Enforcement, IntOrPercent, Reason, WorkKind,
};
use proptest::prelude::*;

use event::{Event, Fleet, SpecEdit, events, fleets};
use world::{Theirs, World, name};

/// How many cases are drawn: `PROPTEST_CASES` for more than usual.
fn cases() -> u32 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(512)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_rules_hold_and_what_changed_gives_the_same_plan_as_everything(
        fleet in fleets(), events in events()
    ) {
        let mut world = World::new(&fleet);
        world.settle();
        for event in &events {
            world.happen(event);
            world.settle();
            let again = world.plan();
            prop_assert_eq!(again.actions, vec![], "the same observation twice gives no action");
        }
    }

    #[test]
    fn a_fleet_to_which_nothing_bad_happens_is_upgraded(fleet in fleets()) {
        let mut world = World::new(&fleet);
        world.settle();
        for round in 0..3000 {
            world.happen(&Event::Progress(round % fleet.clusters));
            world.happen(&Event::Minutes(i64::from(round % fleet.clusters == 0)));
            world.settle();
            if world.plan().report.complete() {
                break;
            }
        }
        let report = world.plan().report;
        prop_assert!(report.complete(), "{report:?}");
        let mut expected = BTreeSet::from([WorkKind::Cluster]);
        expected.extend(fleet.operators.then_some(WorkKind::Operators));
        let kinds: BTreeSet<WorkKind> = (0..fleet.clusters).flat_map(|number| world.works(number)).collect();
        prop_assert_eq!(kinds, expected, "the works of actions are gone, those of the upgrades stay");
        for (name, row) in &world.observed.rows {
            prop_assert_eq!(row.entries.len(), 1, "{} is on one record", name);
        }
    }

    #[test]
    fn a_failed_canary_keeps_all_others_from_starting(mut fleet in fleets(), events in events()) {
        fleet.canaries = 1;
        fleet.pre = true;
        let mut world = World::new(&fleet);
        world.settle();
        world.happen(&Event::Failure(0));
        world.settle();
        for event in &events {
            let is_about_progress = matches!(
                event,
                Event::Progress(_) | Event::Failure(_) | Event::Minutes(_) | Event::Available(..) | Event::Claims(..)
            );
            if is_about_progress && !matches!(event, Event::Claims(0, _)) {
                world.happen(event);
                world.settle();
            }
        }
        for number in 1..fleet.clusters {
            prop_assert_eq!(world.works(number), vec![]);
        }
    }
}

fn three(limit: u32, pre: bool, max_failures: Option<u32>) -> World {
    let mut world = World::new(&Fleet {
        pre,
        max_failures,
        limit: IntOrPercent::Count(limit),
        ..Fleet::plain(3, limit)
    });
    world.settle();
    world
}

fn reason(world: &mut World, number: usize) -> Option<Reason> {
    status(world, number).map(|status| status.reason)
}

fn status(world: &mut World, number: usize) -> Option<ClusterStatus> {
    let plan = world.plan();
    let mut decider = drydock_rollout::Decider::of(world.observed.clone());
    decider.plan(world.now, &|_| false);
    let mut clusters = decider.clusters(&plan.report, world.now);
    let found = clusters.find(|(found, _)| **found == name(number));
    found.map(|(_, status)| status)
}

#[test]
fn a_cluster_whose_works_somebody_deletes_starts_when_a_slot_is_free() {
    let mut world = three(1, true, None);
    while world.upgrading() != [name(0)] {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    world.happen(&Event::Edit(vec![SpecEdit::Limit(2)]));
    world.settle();
    world.happen(&Event::Edit(vec![SpecEdit::Limit(1)]));
    world.happen(&Event::Progress(1));
    world.settle();
    let waiting = reason(&mut world, 1).unwrap().to_string();
    assert_eq!(waiting, "waiting for a slot: 1 of 1 are taken");
    while !world.is_complete(&name(0)) {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    assert_eq!(world.upgrading(), [name(1)]);
}

#[test]
fn a_cluster_whose_failure_is_seen_together_with_a_free_slot_counts() {
    let mut world = three(2, false, Some(1));
    assert_eq!(world.upgrading(), [name(0), name(1)]);
    // It is read, and then asked for the target.
    world.happen(&Event::Progress(1));
    world.settle();
    while !world.is_complete(&name(0)) {
        world.happen(&Event::Progress(0));
        let plan = world.plan();
        world.carry_out(&plan);
    }
    world.happen(&Event::Failure(1));
    world.settle();
    assert!(world.upgrading().is_empty(), "the failure budget is spent");
}

/// An UpgradeJob, or an upgrade of the agent's, is waited for, and named (Maintenance schedules, section 2.7).
#[test]
fn a_cluster_whose_lock_another_upgrade_has_is_asked_for_nothing() {
    let mut world = three(3, false, None);
    world.happen(&Event::Locked(1, true));
    world.happen(&Event::Progress(1));
    world.settle();
    let waiting = reason(&mut world, 1).unwrap().to_string();
    assert_eq!(
        waiting,
        "waiting for UpgradeJob a/b, which has the lock of the cluster"
    );
    world.happen(&Event::Locked(1, false));
    world.settle();
    while !world.is_complete(&name(1)) {
        world.happen(&Event::Progress(1));
        world.settle();
    }
}

/// An update without a lock is waited for as well: its UpgradeJob was deleted, or a person has asked for it. One that fails is not.
#[test]
fn a_cluster_that_somebody_else_updates_is_asked_for_nothing() {
    for (fails, is_asked) in [(false, false), (true, true)] {
        let mut world = three(3, false, None);
        world.happen(&Event::UpdatedByOthers(1, fails));
        world.settle();
        let enforcement = |world: &World| {
            let work = world.observed.rows[&name(1)]
                .works
                .get(WorkKind::Cluster)
                .unwrap();
            work.revision.as_ref().unwrap().enforcement
        };
        assert_eq!(enforcement(&world) == Enforcement::Enforced, is_asked);
        if !is_asked {
            let waiting = reason(&mut world, 1).unwrap().to_string();
            assert_eq!(
                waiting,
                "waiting for the update of the cluster to 4.14.10, which is under way"
            );
        }
    }
}

/// A window of one cluster that has closed after its action does not hold back the others (Maintenance schedules, section 3).
#[test]
fn a_cluster_that_waits_between_stages_for_its_window_gives_its_slot_up() {
    let mut world = three(1, true, None);
    world.happen(&Event::Canary(0, true));
    world.happen(&Event::Edit(vec![SpecEdit::CanaryWindows(true)]));
    world.settle();
    assert_eq!((world.works(0), world.works(1)), (vec![WorkKind::Pre], vec![]));
    // The window is open for 20 minutes of each hour.
    while world.now.to_string().get(14..16) != Some("30") {
        world.happen(&Event::Minutes(1));
    }
    world.happen(&Event::Progress(0));
    world.settle();
    let waiting = reason(&mut world, 0);
    assert!(
        matches!(waiting, Some(Reason::WaitingForWindow { .. })),
        "{waiting:?}"
    );
    assert_eq!(world.works(1), [WorkKind::Pre]);
    world.happen(&Event::Progress(1));
    world.settle();
    assert_eq!(world.upgrading(), [name(1)]);
    // No more than one is upgraded at a time: when its window opens, it waits until the other one is done.
    world.happen(&Event::Minutes(31));
    world.settle();
    assert_eq!(world.upgrading(), [name(1)]);
    while !world.is_complete(&name(1)) {
        world.happen(&Event::Progress(1));
        world.settle();
    }
    assert_eq!(world.upgrading(), [name(0)]);
}

/// It was started in its window, and nothing has been asked of it: an UpgradeJob had its lock until the window had closed.
#[test]
fn a_cluster_whose_lock_is_free_when_its_window_has_closed_waits_for_the_next() {
    let mut world = three(3, false, None);
    let go_to = |world: &mut World, minute: &str| {
        while world.now.to_string().get(14..16) != Some(minute) {
            world.happen(&Event::Minutes(1));
        }
    };
    world.happen(&Event::Canary(0, true));
    world.happen(&Event::Edit(vec![SpecEdit::CanaryWindows(true)]));
    go_to(&mut world, "05");
    world.settle();
    world.happen(&Event::Locked(0, true));
    world.happen(&Event::Progress(0));
    world.settle();
    assert!(matches!(reason(&mut world, 0), Some(Reason::LockHeld(_))));
    go_to(&mut world, "40");
    world.happen(&Event::Locked(0, false));
    world.settle();
    let enforcement = |world: &World| {
        let work = world.observed.rows[&name(0)].works.get(WorkKind::Cluster);
        work.unwrap().revision.as_ref().unwrap().enforcement
    };
    assert_eq!(enforcement(&world), Enforcement::Observed);
    let waiting = reason(&mut world, 0);
    assert!(
        matches!(waiting, Some(Reason::WaitingForWindow { .. })),
        "{waiting:?}"
    );
    go_to(&mut world, "01");
    world.settle();
    assert_eq!(enforcement(&world), Enforcement::Enforced);
}

#[test]
fn one_edit_that_resumes_and_selects_less_starts_only_what_it_selects() {
    let mut world = World::new(&Fleet::plain(4, 3));
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.settle();
    world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
    // The placement of the new selector is not decided; the old one's decisions stand in the rows.
    world.happen(&Event::Decided(false));
    world.settle();
    assert!(world.upgrading().is_empty());
    for number in 0..3 {
        world.happen(&Event::Selected(number, false));
    }
    world.happen(&Event::Decided(true));
    world.settle();
    assert_eq!(world.upgrading(), [name(3)]);
}

#[test]
fn a_retry_by_any_new_value_starts_a_failed_cluster_over_once() {
    let mut world = three(3, false, None);
    world.happen(&Event::Progress(1));
    world.settle();
    world.happen(&Event::Failure(1));
    world.settle();
    let state = |world: &mut World| {
        let works = world.observed.rows[&name(1)].works.clone();
        works
            .get(WorkKind::Cluster)
            .and_then(|work| work.outcome.as_ref().map(|outcome| outcome.state))
    };
    assert_eq!(state(&mut world), Some(EndState::Failed));
    for retry in [Event::Retry(None), Event::Retry(Some(1))] {
        world.happen(&retry);
        world.settle();
        assert_eq!(state(&mut world), None, "{retry:?}");
        world.happen(&Event::Minutes(1));
        // It is read first: what failed may have come to the target.
        world.happen(&Event::Progress(1));
        world.settle();
        world.happen(&Event::Failure(1));
        world.settle();
        assert_eq!(state(&mut world), Some(EndState::Failed), "{retry:?}");
    }
    // It is on the records three times, and none of them is lost.
    assert_eq!(world.observed.rows[&name(1)].entries.len(), 3);
}

/// It is not at rest, though it is not counted as in flight before its turn comes.
#[test]
fn a_retried_cluster_that_waits_says_that_its_earlier_update_goes_on() {
    let mut world = World::new(&Fleet::plain(1, 1));
    world.settle();
    let target = world.spec().goal.target.clone().unwrap().to_string();
    // It is read, asked for the target, and on its way.
    for _ in 0..2 {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    world.happen(&Event::Minutes(7 * 24 * 60));
    world.settle();
    let failed = status(&mut world, 0).unwrap();
    assert_eq!(failed.reason.as_str(), "UpgradeTimedOut");
    assert_eq!(failed.afterwards, Some(Afterwards::GoesOn((&*target).into())));
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.happen(&Event::Retry(None));
    world.settle();
    let goes_on = |world: &mut World| {
        let status = status(world, 0).unwrap();
        assert_eq!(status.state, ClusterState::NotStarted);
        status.afterwards
    };
    assert_eq!(goes_on(&mut world), Some(Afterwards::GoesOn(target.into())));
    world.is_sent_back(0);
    assert_eq!(goes_on(&mut world), None);
}

/// What to do is no more what it was when it failed.
#[test]
fn a_cluster_that_comes_to_the_target_after_its_time_was_over_says_so() {
    let mut world = World::new(&Fleet::plain(1, 1));
    world.settle();
    for _ in 0..2 {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    world.happen(&Event::Minutes(7 * 24 * 60));
    world.settle();
    world.arrives(0);
    let failed = status(&mut world, 0).unwrap();
    assert_eq!(failed.state, ClusterState::Failed);
    assert_eq!(failed.afterwards, Some(Afterwards::Arrived));
}

/// Whichever way it has drifted: nothing else in its row says so.
#[test]
fn a_complete_cluster_that_runs_another_version_says_so() {
    for (claims, drifted) in [(9, true), (12, false), (13, true)] {
        let mut world = World::new(&Fleet::plain(1, 1));
        world.happen(&Event::Claims(0, 12));
        world.settle();
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), "AlreadyAtTarget");
        world.happen(&Event::Claims(0, claims));
        world.settle();
        let rests = status(&mut world, 0).unwrap();
        assert_eq!(rests.state, ClusterState::Complete, "{claims}");
        let expected = drifted.then_some(Afterwards::Drifted { by: None });
        assert_eq!(rests.afterwards, expected, "{claims}");
    }
}

#[test]
fn a_cluster_without_namespace_takes_no_slot_and_one_that_is_refused_fails_in_the_end() {
    use drydock_rollout::RefusalCause;
    let mut world = World::new(&Fleet::plain(2, 1));
    world.happen(&Event::Refused(0, RefusalCause::NamespaceMissing));
    world.settle();
    assert_eq!(world.upgrading(), [name(1)]);
    assert!(matches!(reason(&mut world, 0), Some(Reason::NamespaceMissing(_))));

    let mut world = World::new(&Fleet::plain(2, 1));
    let refuse = Event::Refused(0, RefusalCause::Other);
    world.happen(&refuse);
    world.settle();
    assert!(
        world.upgrading().is_empty(),
        "it keeps its slot while it is tried again"
    );
    let plan = world.plan();
    assert_eq!(plan.report.counts.in_flight, 1);
    let (_, status) = &plan.report.attention[0];
    assert!(
        status.reason.to_string().contains("a webhook says no"),
        "{status:?}"
    );
    assert_eq!(status.state, ClusterState::Initialized);
}

#[test]
fn wakes_are_never_in_the_past() {
    let mut world = three(1, true, None);
    for event in [Event::Minutes(30), Event::Failure(0), Event::Minutes(90)] {
        world.happen(&event);
        world.settle();
        let plan = world.plan();
        assert!(plan.wake.is_none_or(|wake| wake > world.now), "{:?}", plan.wake);
        let creates = plan
            .actions
            .iter()
            .any(|action| matches!(action, Action::CreateWork(_)));
        assert!(!creates);
    }
}

/// What it was given does not pass to another upgrade of its name: nothing brings these clusters further.
#[test]
fn a_deleted_upgrade_is_said_to_be_so_where_another_one_has_its_name() {
    let mut world = World::new(&Fleet::plain(3, 1));
    world.settle();
    world.happen(&Event::Theirs(2, Theirs::Gone, true));
    world.happen(&Event::Minutes(90));
    world.settle();
    let left = |world: &mut World| world.plan().report.left_to.into_keys().collect::<Vec<_>>();
    assert_eq!(left(&mut world), ["team/theirs"]);
    world.their_upgrade_is_made_anew(2);
    assert_eq!(left(&mut world), ["team/theirs, which is deleted"]);
}
