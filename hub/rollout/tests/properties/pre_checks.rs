//! What clusters are asked before they start, and what follows from their answers.

use drydock_rollout::{
    Action, ConditionStatus, Enforcement, FindingAcceptance, PreCheckQuestion, PreCheckWrite, PreChecksMode,
    Reason, RefusalCause, RequestedMethod, WorkKind,
};
use jiff::{SignedDuration, Timestamp};

use super::event::{Event, Fleet, SpecEdit};
use super::reason;
use super::world::{Theirs, World, name};

mod acceptances;

/// Three clusters, of which one may be in flight.
fn world(mode: PreChecksMode) -> World {
    let mut world = World::new(&Fleet::plain(3, 1));
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(mode)]));
    world.settle();
    world
}

/// One cluster, whose agent is asked.
fn of_agent() -> World {
    let mut world = World::new(&Fleet {
        agents: [0].into(),
        ..Fleet::plain(1, 1)
    });
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    world
}

/// What it is asked.
fn question(world: &World) -> PreCheckQuestion {
    let work = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
    (*work.question.clone().unwrap()).clone()
}

fn asked(world: &World) -> Vec<usize> {
    let is_asked = |number: &usize| world.observed.rows[&name(*number)].pre_checks.is_some();
    (0..3).filter(is_asked).collect()
}

fn started(world: &World) -> Vec<usize> {
    (0..3).filter(|number| !world.works(*number).is_empty()).collect()
}

#[test]
fn where_answers_are_reported_nobody_waits_for_them() {
    let mut reported = world(PreChecksMode::Report);
    assert_eq!(started(&reported), [0]);
    assert_eq!(
        asked(&reported),
        [1, 2],
        "that which starts at once could not answer in time"
    );
    for number in 1..3 {
        reported.answer(number, true, true);
    }
    reported.settle();
    assert_eq!(reported.plan().report.pre_checks.with_findings, 2);
    for _ in 0..4 {
        reported.happen(&Event::Progress(0));
        reported.settle();
    }
    assert_eq!(
        started(&reported),
        [0, 1],
        "the next one starts whatever it has found"
    );
    assert_eq!(asked(&world(PreChecksMode::Off)), Vec::<usize>::new());
}

#[test]
fn what_was_asked_is_deleted_when_the_cluster_has_ended_or_leaves_or_nobody_asks_any_more() {
    let mut world = world(PreChecksMode::Require);
    assert_eq!(asked(&world), [0, 1, 2]);
    world.answer(0, false, true);
    world.settle();
    assert_eq!((started(&world), asked(&world)), (vec![0], vec![0, 1, 2]));
    for _ in 0..4 {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    assert_eq!(asked(&world), [1, 2]);
    world.happen(&Event::Selected(1, false));
    world.settle();
    assert_eq!(asked(&world), [2]);
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Off)]));
    world.settle();
    assert_eq!(asked(&world), Vec::<usize>::new());
}

#[test]
fn where_answers_are_required_a_cluster_with_findings_takes_no_slot() {
    for by_agent in [true, false] {
        let mut world = world(PreChecksMode::Require);
        assert_eq!(started(&world), Vec::<usize>::new());
        assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
        world.answer(0, true, by_agent);
        world.answer(1, false, by_agent);
        world.settle();
        assert_eq!(started(&world), [1], "the one behind it has the slot");
        let held = reason(&mut world, 0).unwrap();
        assert_eq!(held.as_str(), "RisksNotAccepted");
        assert_eq!(
            held.to_string(),
            "1 finding is not accepted: Error: the pool is paused"
        );
        let report = world.plan().report;
        assert_eq!((report.pre_checks.with_findings, report.counts.in_flight), (1, 1));
    }
}

/// What another cluster of this name has answered says nothing of this one, whatever the clock of the API server says.
#[test]
fn a_cluster_that_has_joined_under_the_name_of_another_is_asked_itself() {
    for ahead in [0, 5] {
        let mut world = world(PreChecksMode::Require);
        world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
        world.answer(0, false, true);
        world.happen(&Event::Minutes(ahead));
        world.happen(&Event::Rejoins(0));
        world.now -= SignedDuration::from_mins(ahead);
        world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
        world.settle();
        assert_eq!(started(&world), Vec::<usize>::new(), "{ahead}");
        assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
        let plan = world.plan();
        assert!(plan.actions.is_empty(), "it is asked once: {:?}", plan.actions);
        world.answer(0, false, true);
        world.settle();
        assert_eq!(started(&world), [0], "{ahead}");
    }
}

/// What could not be asked is asked again later, and nobody waits for that.
#[test]
fn where_answers_are_required_a_large_fleet_is_asked_once_before_its_first_cluster_starts() {
    let mut world = World::new(&Fleet::plain(600, 5));
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    for _ in 0..4 {
        let plan = world.plan();
        assert!(plan.actions.len() <= 128 && plan.wake.is_some());
        world.carry_out(&plan);
        world.answer(0, false, true);
        world.happen(&Event::Minutes(0));
    }
    assert!(world.works(0).is_empty());
    assert_eq!(reason(&mut world, 0), Some(Reason::WaitingForQuestions));
    let write = PreCheckWrite {
        until: world.now + SignedDuration::from_mins(1),
        refused: Some("no".into()),
        keeps_question: false,
    };
    for number in 300..600 {
        world.write_pre_checks(number, Some(write.clone()));
    }
    world.happen(&Event::Minutes(2));
    let plan = world.plan();
    let starts = plan.actions.iter().filter_map(Action::starts);
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [&name(0)],
        "others are to be asked again"
    );
}

/// Nobody waits for an answer, nor for the questions to others.
#[test]
fn where_answers_are_reported_a_large_fleet_is_asked_in_parts_while_its_first_clusters_start() {
    let mut world = World::new(&Fleet::plain(600, 5));
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Report)]));
    // With the first one comes the finalizer.
    for _ in 0..2 {
        let plan = world.plan();
        world.carry_out(&plan);
    }
    let started = |world: &World| (0..600).filter(|number| !world.works(*number).is_empty()).count();
    let asked = |world: &World| {
        world
            .observed
            .rows
            .values()
            .filter(|row| row.pre_checks.is_some())
            .count()
    };
    assert_eq!((started(&world), asked(&world)), (5, 128));
    world.settle();
    assert_eq!((started(&world), asked(&world)), (5, 595));
}

/// An answer says when it was asked in whole seconds: what is asked within a second must not be taken for the same.
#[test]
fn what_is_asked_in_one_second_is_asked_at_different_times() {
    let mut world = world(PreChecksMode::Require);
    let asked_at = |world: &World| {
        let work = world.observed.rows[&name(0)].pre_checks.as_ref().unwrap();
        work.question.as_ref().unwrap().asked_at
    };
    let mut last = asked_at(&world);
    for _ in 0..3 {
        world.happen(&Event::Edit(vec![SpecEdit::Image]));
        world.settle();
        let now = asked_at(&world);
        assert!(now > last, "{now} {last}");
        last = now;
        world.happen(&Event::Edit(vec![SpecEdit::Version(12)]));
        world.settle();
        last = asked_at(&world).max(last);
    }
    // A clock that was set back is no reason to ask for ever with times of the future.
    world.now -= SignedDuration::from_hours(2);
    world.happen(&Event::Edit(vec![SpecEdit::Image]));
    world.settle();
    assert!(asked_at(&world) < last);
}

/// One that was on its way to the target had nothing to answer; somebody has sent it back.
#[test]
fn what_is_found_before_the_target_is_asked_for_holds_it_unless_its_action_has_begun() {
    for with_action in [false, true] {
        let mut world = world(PreChecksMode::Require);
        if with_action {
            world.happen(&Event::Edit(vec![SpecEdit::Pre(true)]));
        }
        world.answer(0, false, false);
        world.settle();
        assert_eq!(started(&world), [0]);
        world.answer(0, true, false);
        for _ in 0..=usize::from(with_action) {
            world.happen(&Event::Progress(0));
            world.settle();
        }
        assert_eq!(is_asked_for_target(&world), with_action);
        if !with_action {
            assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
            assert_eq!(started(&world), Vec::<usize>::new(), "it takes no slot");
            let entries = &world.observed.rows[&name(0)].entries;
            let on_record: Vec<_> = entries.iter().map(|one| &*one.entry.reason).collect();
            assert_eq!(on_record, ["AbandonedBeforeUpgrade"]);
            world.happen(&Event::AcceptsRisk(true));
            world.settle();
            world.answer(0, true, false);
            world.settle();
            world.happen(&Event::Progress(0));
            world.settle();
            assert!(is_asked_for_target(&world));
        }
    }
}

/// Whether the cluster is asked for the target: its work is not only read.
fn is_asked_for_target(world: &World) -> bool {
    let work = world.observed.rows[&name(0)].works.get(WorkKind::Cluster);
    let revision = work.and_then(|work| work.revision.as_ref());
    revision.is_some_and(|revision| revision.enforcement == Enforcement::Enforced)
}

/// A cluster is in flight that had nothing to answer, as it was on its way to the target, and has been sent back.
fn sent_back() -> World {
    let mut world = world(PreChecksMode::Require);
    world.has_nothing_to_answer(0);
    world.settle();
    assert_eq!(started(&world), [0]);
    world.happen(&Event::Progress(0));
    world.is_sent_back(0);
    world.settle();
    world
}

/// That it had nothing to answer says nothing any more.
#[test]
fn who_had_nothing_to_answer_is_asked_when_it_has_been_sent_back() {
    let mut world = sent_back();
    assert!(!is_asked_for_target(&world));
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    world.answer(0, true, false);
    world.settle();
    assert!(!is_asked_for_target(&world));
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    assert_eq!(started(&world), Vec::<usize>::new(), "it takes no slot");
    world.answer(0, false, false);
    world.settle();
    world.happen(&Event::Progress(0));
    world.settle();
    assert!(is_asked_for_target(&world));
}

/// The other upgrade does not start where this one has begun, and asks no more.
#[test]
fn what_is_in_flight_and_has_lost_the_agent_asks_it_again() {
    let mut world = sent_back();
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    let asked = |world: &World| world.observed.rows[&name(0)].pre_checks.clone().unwrap();
    let before = asked(&world).question.clone().unwrap().asked_at;
    world.taken(0, false);
    world.happen(&Event::Minutes(1));
    world.settle();
    let again = asked(&world).question.clone().unwrap();
    assert!(!again.yields && again.asked_at > before, "{again:?}");
    // What is read of the plan may be of before: it is not asked time and again.
    world.is_still_read_as_taken(0);
    world.happen(&Event::Minutes(1));
    assert_eq!(world.plan().actions, []);
}

/// The same release under the name of a mirror: no claim says that the cluster has it, and no answer comes but that.
#[test]
fn who_has_the_image_that_is_asked_for_is_not_asked_for_ever() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::Edit(vec![SpecEdit::Image]));
    world.settle();
    world.happen(&Event::Minutes(1));
    world.has_nothing_to_answer(0);
    world.settle();
    assert_eq!(started(&world), [0]);
    world.happen(&Event::Progress(0));
    world.settle();
    assert!(!is_asked_for_target(&world), "it is asked once more");
    world.has_nothing_to_answer(0);
    world.settle();
    assert!(is_asked_for_target(&world));
}

/// A stage behind the platform's has failed; meanwhile somebody has brought the platform back. The retry upgrades it again.
#[test]
fn a_retry_that_upgrades_the_platform_again_is_asked_before() {
    let mut world = World::new(&Fleet {
        operators: true,
        ..Fleet::plain(1, 1)
    });
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Off)]));
    world.settle();
    for _ in 0..8 {
        if world.works(0).contains(&WorkKind::Operators) {
            break;
        }
        world.happen(&Event::Progress(0));
        world.settle();
    }
    world.happen(&Event::Failure(0));
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "OperatorsFailed");
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    world.is_sent_back(0);
    world.happen(&Event::Retry(None));
    world.settle();
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    assert!(world.observed.rows[&name(0)].pre_checks.is_some());
    world.answer(0, true, false);
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
}

/// Two upgrades that take an agent from each other at once would get no answer, either of them.
#[test]
fn an_agent_is_left_to_the_question_of_another_upgrade_until_it_can_have_answered() {
    let mut world = World::new(&Fleet {
        agents: [0, 1, 2].into(),
        ..Fleet::plain(3, 1)
    });
    world.happen(&Event::OtherAsks(0));
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    world.settle();
    assert_eq!(asked(&world), [1, 2]);
    world.happen(&Event::Minutes(2));
    world.settle();
    assert_eq!(asked(&world), [1, 2]);
    world.happen(&Event::Minutes(1));
    world.settle();
    assert_eq!(asked(&world), [0, 1, 2]);
}

#[test]
fn one_that_does_not_answer_is_reported_and_one_whose_answer_is_old_is_asked_again() {
    let mut world = world(PreChecksMode::Require);
    world.answer(0, true, true);
    world.settle();
    world.happen(&Event::Minutes(11));
    world.settle();
    assert_eq!(reason(&mut world, 1), Some(Reason::PreChecksUnanswered(None)));
    world.answer(0, true, true);
    let first = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
    world.happen(&Event::Minutes(60));
    // While the write that asks anew is under way, and if it is refused.
    for (refused, said) in [
        (None, "RisksNotAccepted"),
        (Some("no".into()), "PreChecksUnanswered"),
    ] {
        let until = world.now + SignedDuration::from_mins(1);
        let write = PreCheckWrite {
            until,
            refused,
            keeps_question: false,
        };
        world.write_pre_checks(0, Some(write));
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), said);
        world.write_pre_checks(0, None);
    }
    world.settle();
    let again = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
    let waited = again
        .question
        .as_ref()
        .unwrap()
        .asked_at
        .duration_since(first.question.as_ref().unwrap().asked_at);
    assert!(waited >= SignedDuration::from_hours(1), "{waited}");
    assert_eq!(again.answer.current(), None);
    // Nothing has changed for who watches it, until it does not answer in time.
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    assert_eq!(world.plan().report.pre_checks.with_findings, 1);
    world.happen(&Event::Minutes(11));
    world.settle();
    assert_eq!(reason(&mut world, 0), Some(Reason::PreChecksUnanswered(None)));
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// Two upgrades may ask one agent: each waits for its turn, and neither goes without an answer.
#[test]
fn who_has_lost_the_agent_to_another_upgrade_asks_again_after_the_timeout() {
    let mut world = world(PreChecksMode::Require);
    let asked_at = |world: &World| {
        let work = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
        work.question.as_ref().unwrap().asked_at
    };
    let first = asked_at(&world);
    world.taken(0, false);
    world.happen(&Event::Minutes(9));
    world.settle();
    assert_eq!((asked_at(&world), started(&world)), (first, Vec::new()));
    world.happen(&Event::Minutes(2));
    world.settle();
    assert!(asked_at(&world) > first);
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// Both works would write the same plan else, each time that they are applied. What is written then changes nothing of what is known.
#[test]
fn a_question_that_another_upgrade_has_followed_is_only_read_until_its_turn() {
    let mut world = of_agent();
    world.settle();
    let first = question(&world);
    world.taken(0, true);
    world.settle();
    assert_eq!(question(&world), first.yielding());
    let held = reason(&mut world, 0);
    assert_eq!(held.as_ref().unwrap().as_str(), "RisksNotAccepted");
    let until = world.now + SignedDuration::from_mins(1);
    let write = PreCheckWrite {
        until,
        refused: None,
        keeps_question: true,
    };
    world.write_pre_checks(0, Some(write));
    assert_eq!(reason(&mut world, 0), held);
    world.write_pre_checks(0, None);
    // The other one is gone, and its plan with it: this one does not wait for its turn.
    world.left(0);
    world.settle();
    let again = question(&world);
    assert!(!again.yields && again.asked_at > first.asked_at);
}

/// Once another upgrade has the update begun, nothing is left to ask: of several that wait, none takes the plan from the other, and each yields
/// to who has asked last.
#[test]
fn where_the_update_has_begun_nobody_takes_a_turn() {
    let mut world = of_agent();
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.settle();
    let first = question(&world);
    world.has_begun(0, true);
    world.settle();
    assert_eq!(question(&world), first.yielding());
    for is_asked_later in [false, true] {
        world.has_begun(0, is_asked_later);
        world.happen(&Event::Minutes(90));
        world.settle();
        assert_eq!(question(&world), first.yielding(), "{is_asked_later}");
    }
}

/// Without the add-on ClusterVersion is all that is read, also where there was one before.
#[test]
fn a_cluster_whose_agent_was_removed_is_asked_without_it() {
    let mut fleet = Fleet::plain(3, 1);
    fleet.agents = [0].into();
    let mut world = World::new(&fleet);
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    world.settle();
    let asks_agent = |world: &World| {
        let work = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
        work.question.as_ref().unwrap().asks_agent
    };
    assert!(asks_agent(&world));
    world.remove_agent(0);
    world.settle();
    assert!(!asks_agent(&world));
}

/// A cluster without an agent, too, may be away since it has answered.
/// A correction shows itself only to who asks again; until then what held the cluster holds it.
#[test]
fn a_cluster_that_is_held_by_what_its_agent_found_is_asked_again() {
    let mut world = world(PreChecksMode::Require);
    world.settle();
    world.answer(0, true, true);
    world.settle();
    let held = reason(&mut world, 0);
    assert!(matches!(held, Some(Reason::RisksNotAccepted { .. })), "{held:?}");
    let asks = |world: &mut World| {
        let actions = world.plan().actions;
        actions
            .iter()
            .any(|action| matches!(action, Action::AskPreChecks(ask) if ask.cluster == name(0)))
    };
    world.happen(&Event::Minutes(9));
    assert!(!asks(&mut world));
    world.happen(&Event::Minutes(2));
    assert!(asks(&mut world));
    world.settle();
    assert_eq!(reason(&mut world, 0), held);
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

#[test]
fn what_cluster_version_said_is_too_old_after_its_time() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.settle();
    world.answer(0, false, false);
    world.settle();
    world.happen(&Event::Minutes(61));
    world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
    world.settle();
    assert_eq!(started(&world), Vec::<usize>::new());
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    world.answer(0, false, false);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// Behind, its answers would be too old when they come, and it would be asked for ever; ahead, they would last.
#[test]
fn how_old_an_answer_is_goes_by_the_clock_of_the_hub() {
    for ahead in [-120, 600] {
        let mut world = world(PreChecksMode::Require);
        let asked_at = |world: &World| {
            let work = world.observed.rows[&name(0)].pre_checks.clone().unwrap();
            work.question.as_ref().unwrap().asked_at
        };
        let first = asked_at(&world);
        world.happen(&Event::Minutes(2));
        world.answer(0, true, true);
        world.answered_ahead(0, ahead);
        world.settle();
        assert_eq!(asked_at(&world), first, "{ahead}");
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
        world.happen(&Event::Minutes(61));
        world.settle();
        assert!(asked_at(&world) > first, "{ahead}");
    }
}

/// Nobody has been asked about the other image.
#[test]
fn another_image_under_the_same_version_is_asked_about() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.settle();
    world.answer(0, false, true);
    world.settle();
    world.edit_image("registry/release@sha256:1");
    world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
    world.settle();
    assert_eq!(started(&world), Vec::<usize>::new());
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// Its work agent is away, and the finalizer on the work stays: that it was asked would not be true.
#[test]
fn a_cluster_whose_last_question_is_not_gone_yet_is_said_not_to_be_asked() {
    let mut world = world(PreChecksMode::Require);
    world.question_leaves(0);
    let why = reason(&mut world, 0).unwrap();
    assert_eq!(why.as_str(), "PreChecksUnanswered");
    assert!(why.to_string().contains("is still being deleted"), "{why}");
}

/// Nobody has spoken for them: that none of them is held says nothing.
#[test]
fn that_clusters_cannot_be_asked_is_no_answer() {
    let passed = |world: &mut World| {
        let conditions = drydock_rollout::upgrade_conditions(&world.plan().report);
        let passed = conditions
            .iter()
            .find(|found| found.type_ == drydock_rollout::ConditionType::PreChecksPassed)
            .unwrap();
        (passed.status, passed.reason, passed.message.clone())
    };
    let mut held = World::new(&Fleet::plain(3, 1));
    for number in 0..3 {
        held.happen(&Event::Theirs(number, Theirs::InFlight, false));
    }
    held.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
    held.settle();
    assert_eq!(asked(&held), Vec::<usize>::new());
    let (status, reason, message) = passed(&mut held);
    assert_eq!((status, reason), (ConditionStatus::Unknown, "AwaitingPreChecks"));
    assert!(message.contains("3 clusters"), "{message}");
    let mut clear = world(PreChecksMode::Require);
    for number in 0..3 {
        clear.answer(number, false, true);
    }
    clear.settle();
    assert_eq!(passed(&mut clear).0, ConditionStatus::True);
}

/// The agent finds nothing against a release that it would request by its image; the hub, which requests it by its version, does.
#[test]
fn a_release_that_is_taken_by_its_image_alone_is_not_requested_by_its_version() {
    for (has_channel, method, starts) in [
        (true, RequestedMethod::Auto, true),
        (false, RequestedMethod::Auto, false),
        (true, RequestedMethod::ClusterVersion, false),
        (true, RequestedMethod::Agent, true),
    ] {
        let mut world = World::new(&Fleet {
            agents: [0].into(),
            ..Fleet::plain(1, 1)
        });
        if !has_channel {
            world.edit_channel_off();
        }
        world.happen(&Event::Edit(vec![
            SpecEdit::Method(method),
            SpecEdit::PreChecks(PreChecksMode::Require),
        ]));
        world.settle();
        world.answer(0, false, true);
        world.requires_image(0, true);
        world.settle();
        let is_started = !world.works(0).is_empty();
        assert_eq!(is_started, starts, "{has_channel} {method:?}");
        if !starts {
            assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
            world.edit_image("registry/release@sha256:0");
            world.settle();
            world.answer(0, false, true);
            world.settle();
            assert!(!world.works(0).is_empty(), "{method:?}");
        }
    }
}

/// Nobody takes a cluster for checked that something else keeps from being asked.
#[test]
fn who_may_not_start_is_said_not_to_be_asked() {
    let mut world = world(PreChecksMode::Require);
    let is_unasked = |world: &mut World, number: usize| world.pre_checks(number).unwrap().is_unasked;
    assert!(!is_unasked(&mut world, 1));
    world.happen(&Event::Available(1, false));
    world.happen(&Event::Edit(vec![SpecEdit::Version(14)]));
    world.settle();
    assert!(is_unasked(&mut world, 1));
    assert!(!is_unasked(&mut world, 0));
}
