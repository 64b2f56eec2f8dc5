//! What ends an acceptance, and what does not bring it back.

use proptest::prelude::*;

use super::*;

#[test]
fn what_becomes_worse_and_what_is_new_blocks_again() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    world.accept("a", "one", Level::Warning, None);
    world.step(at(1), &|_| panic!("nobody is asked"));
    assert_eq!(world.verdict(), Some(Verdict::Caution));
    world.plan.metadata.generation = Some(2);
    world.step(at(10), &|_| success(&[("one", Level::Error)]));
    assert_eq!(world.verdict(), Some(Verdict::Stop));
    let state = world.parts[&name("a")].status.as_ref().unwrap().insights[0].acceptance;
    assert_eq!(state, Some(AcceptanceState::LevelRaised));
    world.plan.metadata.generation = Some(3);
    world.step(at(20), &|_| {
        success(&[("one", Level::Warning), ("new", Level::Unknown)])
    });
    assert_eq!(
        world
            .plan
            .status
            .as_ref()
            .unwrap()
            .counts
            .as_ref()
            .unwrap()
            .unaccepted_by_level
            .unknown,
        1
    );
    assert_eq!(world.verdict(), Some(Verdict::Stop));
    let state = |world: &World| {
        let part = world.parts[&name("a")].status.as_ref().unwrap();
        let found = part.insights.iter().find(|found| found.insight.uid == "one");
        found.unwrap().acceptance
    };
    assert_eq!(
        state(&world),
        Some(AcceptanceState::LevelRaised),
        "that it is better again brings no acceptance back"
    );
    world.accept_at("a", "one", Level::Warning, None, at(21));
    world.step(at(22), &|_| panic!("nobody is asked"));
    assert_eq!(state(&world), Some(AcceptanceState::Accepted));
}

/// What the acceptance of the first informer's finding comes to.
fn state_of(world: &World, uid: &str) -> Option<AcceptanceState> {
    let part = world.parts[&name("a")].status.as_ref().unwrap();
    let found = part.insights.iter().find(|found| found.insight.uid == uid);
    found.and_then(|found| found.acceptance)
}

fn risk_on_plan(id: &str, uid: &str, level: Level) -> PlanAcceptedRisk {
    PlanAcceptedRisk {
        uuid: None,
        informer: Some("a".to_owned()),
        uid: Some(uid.to_owned()),
        id: Some(id.to_owned()),
        ended: None,
        level,
        accepted_by: "ann".to_owned(),
        reason: None,
        accepted_at: None,
        until: None,
    }
}

fn of_scope(uid: &str, object: &str, level: Level) -> Finding {
    let mut finding = finding(uid, level);
    finding.scope.resources = vec![drydock_api::insights::ResourceReference {
        name: object.to_owned(),
        ..drydock_api::insights::ResourceReference::default()
    }];
    finding
}

#[test]
fn an_acceptance_on_the_plan_ends_as_a_whole_and_the_plan_says_which() {
    let mut world = World::new(&["a"]);
    world.plan.spec.accepted_risks = vec![
        risk_on_plan("0001", "budget", Level::Warning),
        risk_on_plan("0002", "node", Level::Warning),
    ];
    let found = |one: Level| {
        let findings = vec![
            of_scope("budget", "one", one),
            of_scope("budget", "two", Level::Warning),
            finding("node", Level::Warning),
        ];
        Attempt::Answered(Answer::Success(findings))
    };
    let ended = |world: &World| world.plan.status.as_ref().unwrap().ended_risks.clone();
    world.step(at(0), &|_| found(Level::Warning));
    assert_eq!((world.verdict(), ended(&world)), (Some(Verdict::Caution), None));
    for (generation, level) in [(2, Level::Error), (3, Level::Warning)] {
        world.plan.metadata.generation = Some(generation);
        world.step(at(generation * 10), &|_| found(level));
        assert_eq!(ended(&world).as_deref(), Some("0001"), "{level:?}");
        let counts = world.plan.status.clone().unwrap().counts.unwrap();
        assert_eq!((counts.accepted, counts.unaccepted), (1, 2), "{level:?}");
    }
    // It is not forgotten with the finding.
    for (generation, is_found) in [(4, false), (5, false), (6, true)] {
        world.plan.metadata.generation = Some(generation);
        let answer = |_: &str| {
            if is_found {
                found(Level::Warning)
            } else {
                success(&[])
            }
        };
        world.step(at(generation * 400), &answer);
        assert_eq!(ended(&world).as_deref(), Some("0001"));
    }
    assert_eq!(state_of(&world, "budget"), Some(AcceptanceState::LevelRaised));
    assert_eq!(state_of(&world, "node"), Some(AcceptanceState::Accepted));
    // Who takes it off and puts it back has accepted nothing with it.
    let risk = world.plan.spec.accepted_risks.remove(0);
    world.plan.metadata.generation = Some(7);
    world.step(at(3000), &|_| found(Level::Warning));
    assert_eq!(ended(&world), None);
    world.plan.spec.accepted_risks.insert(0, risk);
    world.plan.metadata.generation = Some(8);
    world.step(at(3500), &|_| found(Level::Warning));
    assert_eq!(ended(&world).as_deref(), Some("0001"));
    world.plan.spec.accepted_risks[0].id = Some("0003".to_owned());
    world.plan.metadata.generation = Some(9);
    world.step(at(4000), &|_| found(Level::Warning));
    assert_eq!((world.verdict(), ended(&world)), (Some(Verdict::Caution), None));
}

/// An informer that leaves a finding out for a while, or is switched off, brings no acceptance back.
#[test]
fn what_became_worse_stays_so_also_while_nobody_finds_it() {
    let mut world = World::new(&["a"]);
    world.ask_anew(&[("one", Level::Warning)]);
    world.accept_at("a", "one", Level::Warning, None, at(801));
    world.ask_anew(&[("one", Level::Warning)]);
    assert_eq!(state_of(&world, "one"), Some(AcceptanceState::Accepted));
    world.ask_anew(&[("one", Level::Critical)]);
    world.ask_anew(&[]);
    world.ask_anew(&[]);
    assert_eq!(state_of(&world, "one"), None, "it is not there");
    world.ask_anew(&[("one", Level::Warning)]);
    assert_eq!(state_of(&world, "one"), Some(AcceptanceState::LevelRaised));
    world.accept_at("a", "one", Level::Warning, None, at(7 * 400 + 1));
    world.ask_anew(&[]);
    world.ask_anew(&[]);
    world.ask_anew(&[("one", Level::Warning)]);
    assert_eq!(
        state_of(&world, "one"),
        Some(AcceptanceState::Accepted),
        "who accepts it anew has"
    );
}

/// Who restores what was deleted, or puts back what was taken off, has accepted nothing with it, whatever was found meanwhile.
#[test]
fn what_ended_and_is_restored_as_it_was_has_ended() {
    let entry = |world: &mut World| {
        let part = world.parts.get_mut(&name("a")).unwrap();
        part.spec.accepted_insights.pop().unwrap()
    };
    let put = |world: &mut World, entry: AcceptedInsight| {
        let part = world.parts.get_mut(&name("a")).unwrap();
        part.spec.accepted_insights.push(entry);
    };
    for is_away in [false, true] {
        for is_deleted in [false, true] {
            let mut world = World::new(&["a"]);
            world.ask_anew(&[("one", Level::Warning)]);
            world.accept("a", "one", Level::Warning, None);
            world.ask_anew(&[("one", Level::Error)]);
            let accepted = entry(&mut world);
            if is_deleted {
                world.parts.clear();
            }
            let meanwhile = [("one", Level::Warning)];
            for _ in 0..2 {
                world.ask_anew(if is_away { &[] } else { &meanwhile });
            }
            put(&mut world, accepted.clone());
            world.ask_anew(&[("one", Level::Warning)]);
            let state = state_of(&world, "one");
            assert_eq!(
                state,
                Some(AcceptanceState::LevelRaised),
                "{is_away} {is_deleted}"
            );
            // Until when it is meant to count makes no other of it.
            let mut longer = entry(&mut world);
            longer.until = Some(Time(at(1_000_000)));
            put(&mut world, longer);
            world.ask_anew(&[("one", Level::Warning)]);
            assert_eq!(state_of(&world, "one"), Some(AcceptanceState::LevelRaised));
            let mut anew = entry(&mut world);
            anew.reason = Some("looked at".to_owned());
            put(&mut world, anew);
            world.ask_anew(&[("one", Level::Warning)]);
            assert_eq!(state_of(&world, "one"), Some(AcceptanceState::Accepted));
        }
    }
}

/// Until when an acceptance counts makes no other of it: one whose time was over while the finding became worse has ended, too.
#[test]
fn what_became_worse_while_its_acceptance_was_over_is_not_accepted_by_another_until() {
    let mut world = World::new(&["a"]);
    world.ask_anew(&[("one", Level::Warning)]);
    world.accept("a", "one", Level::Warning, Some(at(900)));
    for (level, state) in [
        (Level::Warning, AcceptanceState::Expired),
        (Level::Critical, AcceptanceState::Expired),
        (Level::Warning, AcceptanceState::Expired),
    ] {
        world.ask_anew(&[("one", level)]);
        assert_eq!(state_of(&world, "one"), Some(state), "{level:?}");
    }
    world.accept("a", "one", Level::Warning, Some(at(1_000_000)));
    world.ask_anew(&[("one", Level::Warning)]);
    assert_eq!(state_of(&world, "one"), Some(AcceptanceState::LevelRaised));
}

/// Whatever the agent did not see of a finding, it does not take one that is worse for what somebody has accepted on the plan.
#[test]
fn what_is_found_worse_than_was_accepted_on_the_plan_ends_that_though_nobody_saw_it_before() {
    let switch = |world: &mut World, is_enabled| world.informers[0].is_enabled = is_enabled;
    for how in ["deleted", "switched off", "away", "deleted informer"] {
        let mut world = World::new(&["a"]);
        world.plan.spec.accepted_risks = vec![PlanAcceptedRisk {
            accepted_at: Some(Time(at(410))),
            ..risk_on_plan("0001", "one", Level::Warning)
        }];
        world.ask_anew(&[("one", Level::Warning)]);
        assert_eq!(state_of(&world, "one"), Some(AcceptanceState::Accepted));
        match how {
            "deleted" => world.parts.clear(),
            "switched off" => switch(&mut world, false),
            "deleted informer" => drop(world.informers.pop()),
            _ => {}
        }
        if how != "deleted" {
            world.ask_anew(&[]);
            world.ask_anew(&[]);
        }
        if world.informers.is_empty() {
            world.informers = World::new(&["a"]).informers;
        }
        switch(&mut world, true);
        for level in [Level::Error, Level::Warning] {
            world.ask_anew(&[("one", level)]);
            assert_eq!(
                state_of(&world, "one"),
                Some(AcceptanceState::LevelRaised),
                "{how}"
            );
            let ended = world.plan.status.as_ref().unwrap().ended_risks.as_deref();
            assert_eq!(ended, Some("0001"), "{how} {level:?}");
        }
    }
}

/// Whose clock is behind that of the agent accepts before what was found, and has seen it.
#[test]
fn who_accepts_anew_by_a_clock_that_is_behind_has_accepted() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[("one", Level::Warning)]));
    world.accept("a", "one", Level::Warning, None);
    world.plan.metadata.generation = Some(2);
    world.step(at(600), &|_| success(&[("one", Level::Error)]));
    world.accept_at("a", "one", Level::Error, None, at(590));
    world.step(at(601), &|_| panic!("nobody is asked"));
    assert_eq!(state_of(&world, "one"), Some(AcceptanceState::Accepted));
}

/// Where who accepts has a clock that is ahead, the agent would else write a new moment with each look.
#[test]
fn an_acceptance_that_is_too_low_is_noted_once_whatever_its_clock_says() {
    let mut world = World::new(&["a"]);
    world.step(at(0), &|_| success(&[("one", Level::Error)]));
    world.accept_at("a", "one", Level::Warning, None, at(60));
    world.step(at(1), &|_| panic!("nobody is asked"));
    for now in [at(2), at(30), at(90)] {
        let plan = world.decide(&BTreeMap::new(), now);
        assert!(plan.parts.is_empty(), "{now}: {:?}", plan.parts);
    }
}

/// Of one uid there may be a thousand findings, and all accepted by as many as there may be: what ended stands once.
#[test]
fn what_ended_is_said_once_in_a_part() {
    let mut world = World::new(&["a"]);
    let ids: Vec<String> = (0..64).map(|number| format!("{number:04}")).collect();
    world.plan.spec.accepted_risks = ids
        .iter()
        .map(|id| risk_on_plan(id, "budget", Level::Warning))
        .collect();
    let found = |level: Level| {
        let scopes = (0..300).map(|number| format!("s{number}"));
        let findings = scopes.map(|scope| of_scope("budget", &scope, level)).collect();
        Attempt::Answered(Answer::Success(findings))
    };
    for (generation, level) in [(1, Level::Warning), (2, Level::Error), (3, Level::Warning)] {
        world.plan.metadata.generation = Some(generation);
        world.step(at(generation * 10), &|_| found(level));
    }
    let part = world.parts.values().next().unwrap().status.clone().unwrap();
    let said: usize = part.insights.iter().map(|found| found.ended_risks.len()).sum();
    assert_eq!(said, 64);
    let ended = world.plan.status.as_ref().unwrap().ended_risks.clone();
    assert_eq!(ended.as_deref(), Some(ids.join(" ").as_str()));
    assert_eq!(world.verdict(), Some(Verdict::Stop));
}

/// Upgrades that plan the same release take turns at the plan: what becomes worse in the turn of another ends what one has accepted, and what is put
/// back on the plan says so.
#[test]
fn what_becomes_worse_while_an_acceptance_is_off_the_plan_ends_it() {
    for by_uuid in [false, true] {
        let mut world = World::new(&["a"]);
        world.ask_anew(&[("one", Level::Warning), ("two", Level::Warning)]);
        let uuid = |uid: &str| {
            let part = world.parts[&name("a")].status.as_ref().unwrap();
            let found = part.insights.iter().find(|found| found.insight.uid == uid);
            found.unwrap().insight.uuid.clone()
        };
        let risk = |id: &str, uid: &str| {
            let by_name = risk_on_plan(id, uid, Level::Warning);
            if !by_uuid {
                return by_name;
            }
            PlanAcceptedRisk {
                uuid: Some(uuid(uid)),
                informer: None,
                uid: None,
                ..by_name
            }
        };
        let own = vec![risk("0001", "one"), risk("0002", "two")];
        let well = [("one", Level::Warning), ("two", Level::Warning)];
        world.plan.spec.accepted_risks.clone_from(&own);
        world.ask_anew(&well);
        assert_eq!(state_of(&world, "one"), Some(AcceptanceState::Accepted));
        world.plan.spec.accepted_risks.clear();
        world.ask_anew(&well);
        world.ask_anew(&[("one", Level::Error), ("two", Level::Warning)]);
        let ended = world
            .events
            .iter()
            .filter(|event| event.reason() == "RiskNoLongerAccepted");
        assert_eq!(ended.count(), 1, "{:?}", world.events);
        world.ask_anew(&well);
        world.plan.spec.accepted_risks.clone_from(&own);
        for _ in 0..2 {
            world.ask_anew(&well);
            assert_eq!(state_of(&world, "one"), Some(AcceptanceState::LevelRaised));
            assert_eq!(state_of(&world, "two"), Some(AcceptanceState::Accepted));
            let status = world.plan.status.clone().unwrap();
            assert_eq!(status.ended_risks.as_deref(), Some("0001"));
            assert_eq!(status.ended_before, None);
        }
        let ended = world
            .events
            .iter()
            .filter(|event| event.reason() == "RiskNoLongerAccepted");
        assert_eq!(ended.count(), 1, "it is said once: {:?}", world.events);
    }
}

/// Those that are on the plan come first: however many were on it before, none of them is forgotten.
#[test]
fn of_what_was_on_the_plan_so_much_is_known_that_all_may_take_turns() {
    let mut world = World::new(&["a"]);
    for turn in 0..5 {
        world.plan.spec.accepted_risks = (0..64)
            .map(|number| risk_on_plan(&format!("{turn}{number:03}"), "one", Level::Warning))
            .collect();
        world.ask_anew(&[("one", Level::Warning)]);
        let seen = world.plan.status.clone().unwrap().seen_risks;
        assert_eq!(seen.len(), 128.min(64 * (turn + 1)), "{turn}");
        assert!(
            seen[..64]
                .iter()
                .all(|seen| seen.id.starts_with(&turn.to_string()))
        );
    }
}

/// What may happen to a plan with one finding: which of two acceptances are on it, and what is found; nothing if it is not found.
type Turn = (bool, bool, Option<Level>);

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let level = prop_oneof![
        4 => Just(Some(Level::Warning)),
        3 => Just(Some(Level::Error)),
        1 => Just(Some(Level::Critical)),
        1 => Just(Some(Level::Unknown)),
        1 => Just(Some(Level::Info)),
        1 => Just(None),
    ];
    proptest::collection::vec((any::<bool>(), any::<bool>(), level), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever is on the plan in between: an acceptance that has been on it accepts nothing more once the finding has been worse than it covered,
    /// unless it was so already whenever it was looked at.
    #[test]
    fn an_acceptance_that_has_covered_a_finding_never_widens(turns in turns()) {
        let mut world = World::new(&["a"]);
        let risks = [
            risk_on_plan("0001", "one", Level::Warning),
            risk_on_plan("0002", "one", Level::Error),
        ];
        let mut was_on_plan = [false; 2];
        let mut has_ended = [false; 2];
        let mut before: Option<Level> = None;
        for (first, second, found) in turns {
            let on_plan = [first, second];
            let chosen = risks.iter().zip(on_plan).filter(|(_, is_on)| *is_on);
            world.plan.spec.accepted_risks = chosen.map(|(risk, _)| risk.clone()).collect();
            // What is missing once is missing for good when it is so twice.
            match found {
                Some(level) => world.ask_anew(&[("one", level)]),
                None => (0..2).for_each(|_| world.ask_anew(&[])),
            }
            for (index, risk) in risks.iter().enumerate() {
                was_on_plan[index] |= on_plan[index];
                let is_worse = found.is_some_and(|level| !acceptance::covers(risk.level, level));
                let was_covered = before.is_none_or(|level| acceptance::covers(risk.level, level));
                has_ended[index] |= was_on_plan[index] && is_worse && was_covered;
            }
            before = found;
            let Some(level) = found else { continue };
            let counts = |index: usize| {
                on_plan[index] && !has_ended[index] && acceptance::covers(risks[index].level, level)
            };
            let expected = counts(0) || counts(1);
            prop_assert_eq!(state_of(&world, "one") == Some(AcceptanceState::Accepted), expected);
        }
    }
}
