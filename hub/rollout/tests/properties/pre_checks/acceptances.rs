//! What is accepted of what clusters have answered, until when, and when that counts.

use super::*;

#[test]
fn what_is_accepted_holds_no_longer_and_holds_again_when_that_is_taken_back() {
    let mut world = world(PreChecksMode::Require);
    world.answer(0, true, false);
    world.settle();
    world.happen(&Event::AcceptsRisk(true));
    // It is asked again, with what is accepted.
    assert!(
        world
            .plan()
            .actions
            .iter()
            .any(|action| matches!(action, Action::AskPreChecks(_)))
    );
    world.settle();
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    world.answer(0, true, false);
    world.happen(&Event::AcceptsRisk(false));
    world.settle();
    world.answer(0, true, false);
    world.settle();
    assert_eq!(started(&world), Vec::<usize>::new());
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    world.answer(0, true, false);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// What has ended on one cluster counts on the others.
#[test]
fn what_has_ended_on_a_cluster_holds_it_alone() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::AcceptsRisk(true));
    world.happen(&Event::RiskEnds(0));
    world.settle();
    for number in 0..2 {
        world.answer(number, true, false);
    }
    world.settle();
    assert_eq!(started(&world), [1]);
    let Some(Reason::RisksNotAccepted { findings, .. }) = reason(&mut world, 0) else {
        panic!("the first is not held by what it has found");
    };
    assert!(findings.contains("beyond what was accepted"), "{findings}");
    // Accepted until a moment, it is another acceptance.
    world.accept_for(600);
    world.settle();
    world.answer(0, true, false);
    world.settle();
    let reason = reason(&mut world, 0).expect("the cluster is there");
    assert!(
        !matches!(
            reason,
            Reason::RisksNotAccepted { .. } | Reason::AwaitingPreChecks
        ),
        "it waits for its turn alone, {reason:?}"
    );
}

/// Insights.md, section 1.6: what was accepted blocks again when it has become worse, or the time is over, and that is said of the upgrade.
#[test]
fn an_acceptance_that_counts_no_more_is_why_the_condition_is_false() {
    let worse: fn(&mut World) = World::accept_as_warning;
    let over: fn(&mut World) = |world| {
        world.accept_for(5);
        world.happen(&Event::Minutes(6));
    };
    for (accept, words) in [
        (worse, "beyond what was accepted, now or before"),
        (over, "accepted for a time that is over"),
    ] {
        let mut world = world(PreChecksMode::Require);
        accept(&mut world);
        world.settle();
        world.answer(0, true, false);
        world.settle();
        assert_eq!(started(&world), Vec::<usize>::new());
        let held = reason(&mut world, 0).unwrap();
        assert_eq!(
            held.to_string(),
            format!("1 finding is not accepted: Error: the pool is paused ({words})")
        );
        let answer = world.pre_checks(0).unwrap().answer.unwrap();
        let mut by = answer.findings.iter().map(|found| found.accepted_by.is_some());
        assert!(by.any(|is_known| is_known), "that is whom to ask");
        let report = world.plan().report;
        assert_eq!(report.pre_checks.blocked_again, 1);
        let conditions = drydock_rollout::upgrade_conditions(&report);
        let passed = conditions
            .iter()
            .find(|found| found.type_ == drydock_rollout::ConditionType::PreChecksPassed)
            .unwrap();
        assert_eq!(passed.reason, "AcceptanceEnded");
        let named = format!("than it is or was: {})", name(0));
        assert!(passed.message.contains(&named), "{}", passed.message);
        world.happen(&Event::AcceptsRisk(true));
        world.settle();
        world.answer(0, true, false);
        world.settle();
        assert_eq!(world.plan().report.pre_checks.blocked_again, 0);
        assert_eq!(started(&world), [0]);
    }
}

/// What was accepted for a time is not taken for accepted after it, also if the agent has been silent since.
#[test]
fn an_answer_that_counted_with_an_acceptance_ends_with_it() {
    let mut world = world(PreChecksMode::Require);
    world.accept_for(30);
    world.settle();
    world.answer(0, false, true);
    world.answer(1, false, true);
    world.settle();
    assert_eq!(started(&world), [0], "one after the other");
    world.happen(&Event::Minutes(31));
    for _ in 0..4 {
        world.happen(&Event::Progress(0));
        world.settle();
    }
    assert_eq!(started(&world), [0]);
    assert_eq!(reason(&mut world, 1), Some(Reason::AwaitingPreChecks));
    world.answer(1, true, true);
    world.settle();
    assert_eq!(reason(&mut world, 1).unwrap().as_str(), "RisksNotAccepted");
}

/// What is held again since a time is over is said, also where the agent is silent since: nobody has to guess for what.
#[test]
fn what_was_accepted_for_a_time_holds_when_that_is_over_before_its_agent_says_so() {
    let mut world = world(PreChecksMode::Require);
    world.accept_for(30);
    world.settle();
    world.happen(&Event::Minutes(31));
    world.settle();
    world.answered_before(0, FindingAcceptance::Accepted);
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    assert_eq!(world.acceptance(0), Some(FindingAcceptance::Expired));
    assert_eq!(world.blocks_again(), 1);
    // Accepted anew it waits for its agent.
    world.happen(&Event::AcceptsRisk(true));
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
}

/// The plan of a cluster may have been another upgrade's until now: what has ended there has not ended here.
#[test]
fn that_an_acceptance_of_another_upgrade_has_ended_is_not_said_here() {
    for ended in [FindingAcceptance::LevelRaised, FindingAcceptance::Expired] {
        let mut world = world(PreChecksMode::Require);
        world.settle();
        world.answered_before(0, ended);
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
        assert_eq!(world.blocks_again(), 0, "{ended:?}");
        assert_eq!(world.acceptance(0), Some(FindingAcceptance::None));
    }
}

/// A cluster in flight may wait at the gate of its agent: it learns what is accepted meanwhile, and what is accepted no more.
#[test]
fn what_is_accepted_while_a_cluster_is_in_flight_goes_to_its_plan() {
    let mut fleet = Fleet::plain(3, 1);
    fleet.agents = [0].into();
    let mut world = World::new(&fleet);
    world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Report)]));
    world.settle();
    assert_eq!((started(&world), asked(&world)), (vec![0], vec![1, 2]));
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    let accepted = |world: &World| {
        let work = world.observed.rows[&name(0)].pre_checks.clone();
        work.map(|work| !work.question.as_ref().unwrap().accepted.is_empty())
    };
    assert_eq!(accepted(&world), Some(true));
    world.happen(&Event::AcceptsRisk(false));
    world.settle();
    assert_eq!(accepted(&world), Some(false));
}

/// Only so its findings are shown on the hub, and accepted there: its agent asks for no mode of the hub's.
#[test]
fn what_is_held_by_its_agent_is_asked_in_any_mode_until_it_ends() {
    for mode in [PreChecksMode::Off, PreChecksMode::Report, PreChecksMode::Require] {
        let mut world = World::new(&Fleet {
            agents: [0].into(),
            ..Fleet::plain(1, 1)
        });
        world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Off)]));
        world.settle();
        world.happen(&Event::Progress(0));
        world.happen(&Event::Edit(vec![SpecEdit::PreChecks(mode)]));
        world.settle();
        let is_asked = |world: &World| world.observed.rows[&name(0)].pre_checks.is_some();
        assert!(!is_asked(&world), "{mode:?}");
        world.happen(&Event::AtGate(0));
        world.settle();
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
        assert_eq!(world.plan().report.pre_checks.held_by_agent, 1);
        assert!(is_asked(&world), "{mode:?}");
        world.happen(&Event::AcceptsRisk(true));
        world.settle();
        assert!(!question(&world).accepted.is_empty(), "{mode:?}");
        // What was asked stays as it is while the agent goes on by it.
        world.happen(&Event::Progress(0));
        world.settle();
        assert!(is_asked(&world), "{mode:?}");
        world.happen(&Event::Progress(0));
        world.settle();
        assert!(!is_asked(&world), "{mode:?}");
    }
}

/// One cluster whose agent has begun, and has requested nothing.
fn at_gate() -> World {
    let mut world = World::new(&Fleet {
        agents: [0].into(),
        ..Fleet::plain(1, 1)
    });
    world.settle();
    world.happen(&Event::Progress(0));
    world.settle();
    world.happen(&Event::AtGate(0));
    world.settle();
    world
}

/// It would begin by itself, whenever what its agent waits for ends: whoever waits for it, and whether it is its turn or not.
#[test]
fn what_has_not_begun_when_its_time_is_over_does_not_begin_before_its_turn() {
    let mut world = at_gate();
    world.happen(&Event::Minutes(7 * 24 * 60));
    let plan = world.plan();
    world.carry_out(&plan);
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "UpgradeTimedOut");
    assert_eq!(world.works(0), [WorkKind::Cluster]);

    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.happen(&Event::Retry(None));
    world.happen(&Event::AcceptsRisk(true));
    while world.works(0) == [WorkKind::Cluster] {
        let plan = world.plan();
        let passes_on = |action: &Action| matches!(action, Action::AskPreChecks(_));
        assert!(!plan.actions.iter().any(passes_on), "{plan:?}");
        assert_ne!(plan.actions, [], "it is taken back");
        world.carry_out(&plan);
    }
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "Paused");
    world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
    world.settle();
    assert_eq!(world.works(0), [WorkKind::Cluster]);
}

/// It stays failed, and nothing is left of it on its cluster.
#[test]
fn what_fails_before_it_has_begun_is_taken_back() {
    let mut world = at_gate();
    world.happen(&Event::Minutes(7 * 24 * 60));
    world.settle();
    assert_eq!(world.works(0), []);
    let failed = crate::status(&mut world, 0).unwrap();
    assert_eq!(
        (failed.reason.as_str(), failed.afterwards),
        ("UpgradeTimedOut", None)
    );
}

/// Nothing has been written to a cluster whose start was refused: what is accepted there counts only while it is.
#[test]
fn a_cluster_whose_start_was_refused_is_held_by_what_nobody_accepts_any_more() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    world.answer(0, true, false);
    world.happen(&Event::Refused(0, RefusalCause::Other));
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "WriteRefused");
    world.happen(&Event::AcceptsRisk(false));
    world.happen(&Event::Minutes(2));
    world.settle();
    world.answer(0, true, false);
    world.happen(&Event::Accepted(0));
    world.settle();
    assert_eq!(started(&world), Vec::<usize>::new());
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
}

/// Its agent would count by its own clock what is over by the hub's, and what was over when it was asked ends no answer.
#[test]
fn a_clock_that_is_behind_neither_prolongs_an_acceptance_nor_holds_its_cluster() {
    let mut world = world(PreChecksMode::Require);
    world.accept_for(5);
    world.settle();
    world.happen(&Event::Minutes(6));
    let until = |world: &mut World| {
        let actions = world.plan().actions;
        let asks = actions.into_iter().filter_map(|action| match action {
            Action::AskPreChecks(ask) => Some(ask.accepted),
            _ => None,
        });
        let ends = asks.flatten().map(|risk| risk.until);
        ends.collect::<Vec<_>>()
    };
    assert_eq!(until(&mut world), [Some(Timestamp::UNIX_EPOCH); 3]);
    world.settle();
    world.answer(0, false, true);
    world.answered_ahead(0, -120);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// Who accepts a finding while something else keeps the cluster from starting sees whether that counts, and has not to wait for it.
#[test]
fn what_is_accepted_of_a_cluster_that_may_not_start_now_goes_to_its_agent() {
    for held in [
        Event::Edit(vec![SpecEdit::Paused(true)]),
        Event::Available(0, false),
        Event::Theirs(0, Theirs::InFlight, true),
    ] {
        let mut world = World::new(&Fleet {
            agents: [0].into(),
            ..Fleet::plain(1, 1)
        });
        world.happen(&Event::Edit(vec![SpecEdit::PreChecks(PreChecksMode::Require)]));
        world.settle();
        world.answer(0, true, true);
        world.settle();
        world.happen(&held);
        world.settle();
        assert_eq!(world.acceptance(0), Some(FindingAcceptance::None), "{held:?}");
        world.happen(&Event::AcceptsRisk(true));
        let asks = |world: &mut World| {
            let actions = world.plan().actions;
            actions
                .iter()
                .any(|action| matches!(action, Action::AskPreChecks(_)))
        };
        assert!(asks(&mut world), "{held:?}");
        assert_eq!(world.acceptance(0), Some(FindingAcceptance::Unconfirmed));
    }
}

/// Who accepts what an agent that is silent since has found sees that it waits for the agent, and not for somebody.
#[test]
fn what_is_accepted_while_an_agent_is_silent_waits_for_it_alone() {
    let mut world = world(PreChecksMode::Require);
    world.answer(0, true, true);
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    assert_eq!(world.acceptance(0), Some(FindingAcceptance::Unconfirmed));
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "AwaitingPreChecks");
    world.happen(&Event::Minutes(11));
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "PreChecksUnanswered");
    assert_eq!(world.acceptance(0), Some(FindingAcceptance::Unconfirmed));
    assert_eq!(started(&world), Vec::<usize>::new());
    world.answer(0, true, true);
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// An agent finds for one upgrade what it will find for the other: nobody has to wait for the turn to know, and what one accepts holds it no more.
#[test]
fn what_was_found_for_another_upgrade_holds_unless_it_is_accepted_here() {
    let mut world = world(PreChecksMode::Require);
    world.taken(0, true);
    world.settle();
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    assert_eq!(world.acceptance(0), Some(FindingAcceptance::None));
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    world.taken(0, true);
    assert_eq!(reason(&mut world, 0).unwrap().as_str(), "AwaitingPreChecks");
    world.taken(0, false);
    world.settle();
    assert_eq!(started(&world), Vec::<usize>::new());
    world.answer(0, false, true);
    world.settle();
    assert_eq!(started(&world), [0]);
}

/// What is accepted here is not said to be accepted by nobody, whoever has the turn.
#[test]
fn of_what_was_found_for_another_upgrade_only_what_is_not_accepted_here_is_said() {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::AcceptsRisk(true));
    world.settle();
    world.taken_with(0, FindingAcceptance::Accepted);
    world.settle();
    let held = reason(&mut world, 0).unwrap();
    assert!(
        matches!(held, Reason::RisksNotAccepted { count: 1, .. }),
        "{held:?}"
    );
}

/// Nor is what is accepted for the other one accepted here, or over here.
#[test]
fn what_another_upgrade_has_accepted_is_not_accepted_here() {
    for for_another in [FindingAcceptance::Accepted, FindingAcceptance::LevelRaised] {
        let mut world = world(PreChecksMode::Require);
        world.taken_with(0, for_another);
        world.settle();
        let (accepted, blocks_again) = (world.acceptance(0), world.blocks_again());
        assert_eq!(accepted, Some(FindingAcceptance::None), "{for_another:?}");
        assert_eq!(blocks_again, 0, "{for_another:?}");
        assert_eq!(reason(&mut world, 0).unwrap().as_str(), "RisksNotAccepted");
    }
}

fn asks(world: &mut World) -> bool {
    let actions = world.plan().actions;
    actions
        .iter()
        .any(|action| matches!(action, Action::AskPreChecks(_)))
}

/// All three clusters of a paused upgrade have answered.
fn paused_and_answered() -> World {
    let mut world = world(PreChecksMode::Require);
    world.happen(&Event::Edit(vec![SpecEdit::Paused(true)]));
    world.settle();
    for number in 0..3 {
        world.answer(number, false, true);
    }
    world.settle();
    world
}

/// Of two upgrades that wait for somebody neither takes the agent from the other, again and again, nor says that it was not answered.
#[test]
fn a_paused_upgrade_keeps_its_answer_while_the_agent_is_asked_for_another() {
    let mut world = paused_and_answered();
    let before = reason(&mut world, 0);
    world.taken(0, false);
    world.happen(&Event::Minutes(45));
    assert!(!asks(&mut world));
    assert_eq!(reason(&mut world, 0), before);
    world.happen(&Event::Edit(vec![SpecEdit::Paused(false)]));
    assert_eq!(reason(&mut world, 0), Some(Reason::AwaitingPreChecks));
    assert!(asks(&mut world), "it is asked before it starts");
    assert_eq!(started(&world), Vec::<usize>::new());
}

/// A hub that starts again, and the plugin, were not there when it answered.
#[test]
fn that_a_paused_upgrade_has_its_answers_is_known_by_its_status_alone() {
    for is_said in [true, false] {
        let mut world = paused_and_answered();
        let before = reason(&mut world, 0);
        world.taken(0, false);
        world.forget_answer(0);
        if !is_said {
            world.observed.rollout.previous.pre_checks_passed_since = None;
        }
        world.happen(&Event::Minutes(15));
        assert_eq!(asks(&mut world), !is_said);
        assert_eq!(world.pre_checks(0).unwrap().is_kept, is_said);
        let said = reason(&mut world, 0);
        assert_eq!(said == before, is_said, "{said:?}");
        world.happen(&Event::Minutes(60));
        assert!(asks(&mut world), "what it has answered is too old");
    }
}
