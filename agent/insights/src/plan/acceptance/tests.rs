use drydock_api::insights::{Impact, PlanInsight, Scope};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use proptest::prelude::*;

use super::super::ended::{ended_on_plan, seen};
use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + seconds).unwrap()
}

fn insight(uuid: &str, level: Level) -> Insight {
    Insight {
        uuid: uuid.to_owned(),
        uid: "a".to_owned(),
        acquisition_time: Time(at(0)),
        first_seen: Time(at(0)),
        missing_since: None,
        scope: Scope::default(),
        impact: Impact {
            level,
            ..Impact::default()
        },
        remediation: None,
        carried_over: None,
        caused_by: None,
    }
}

/// What acceptances in a part come to, of which none has ended.
fn in_its_part(accepted: &[AcceptedInsight], insight: &Insight, now: Timestamp) -> Option<AcceptanceState> {
    let informer = InformerName::parse("mco").unwrap();
    acceptance(accepted, &informer, insight, &EndedAcceptances::default(), now)
}

fn by(uuid: &str, level: Level, until: Option<i64>) -> AcceptedInsight {
    AcceptedInsight {
        uuid: uuid.to_owned(),
        level,
        accepted_by: "ann".to_owned(),
        accepted_at: Time(at(0)),
        reason: None,
        until: until.map(|until| Time(at(until))),
    }
}

#[test]
fn a_finding_that_becomes_worse_is_accepted_no_more() {
    let found = |level| in_its_part(&[by("a", Level::Warning, None)], &insight("a", level), at(1));
    assert_eq!(found(Level::Warning), Some(AcceptanceState::Accepted));
    assert_eq!(found(Level::Info), Some(AcceptanceState::Accepted));
    assert_eq!(found(Level::Unknown), Some(AcceptanceState::LevelRaised));
    assert_eq!(found(Level::Error), Some(AcceptanceState::LevelRaised));
    let other = in_its_part(
        &[by("b", Level::Critical, None)],
        &insight("a", Level::Warning),
        at(1),
    );
    assert_eq!(other, None, "who accepts one finding has not accepted another");
}

#[test]
fn an_acceptance_ends_when_it_says() {
    let accepted = [by("a", Level::Warning, Some(60))];
    let found = |seconds| in_its_part(&accepted, &insight("a", Level::Warning), at(seconds));
    assert_eq!(
        (found(59), found(60)),
        (Some(AcceptanceState::Accepted), Some(AcceptanceState::Expired))
    );
    assert_eq!(
        (next_expiry(&accepted, at(0)), next_expiry(&accepted, at(60))),
        (Some(at(60)), None)
    );
    let mut future = by("a", Level::Warning, None);
    future.accepted_at = Time(at(301));
    assert_eq!(in_its_part(&[future], &insight("a", Level::Warning), at(0)), None);
}

#[test]
fn an_acceptance_is_of_one_plan() {
    let mut plan = UpdatePlan::default();
    plan.spec.target_release = "4.14.4".to_owned();
    plan.metadata.uid = Some("one".to_owned());
    let mut object = UpdatePlanInsight::default();
    object.spec.target_release = "4.14.4".to_owned();
    object.spec.accepted_insights = vec![by("a", Level::Warning, None)];
    assert_eq!(
        accepted(&plan, &object).len(),
        1,
        "it may be there before the agent owns it"
    );
    let owner = |uid: &str| OwnerReference {
        uid: uid.to_owned(),
        ..OwnerReference::default()
    };
    object.metadata.owner_references = Some(vec![owner("one")]);
    assert_eq!(accepted(&plan, &object).len(), 1);
    object.metadata.owner_references = Some(vec![owner("gone")]);
    assert!(accepted(&plan, &object).is_empty());
    object.metadata.owner_references = None;
    object.spec.target_release = "4.14.5".to_owned();
    assert!(accepted(&plan, &object).is_empty());
}

fn on_plan(
    uuid: Option<&str>,
    named: Option<(&str, &str)>,
    level: Level,
    until: Option<i64>,
) -> PlanAcceptedRisk {
    PlanAcceptedRisk {
        uuid: uuid.map(str::to_owned),
        informer: named.map(|(informer, _)| informer.to_owned()),
        uid: named.map(|(_, uid)| uid.to_owned()),
        level,
        id: None,
        ended: None,
        accepted_by: "ann".to_owned(),
        reason: None,
        accepted_at: None,
        until: until.map(|until| Time(at(until))),
    }
}

fn accepted_on_plan(risk: PlanAcceptedRisk, insight: &Insight, seconds: i64) -> Option<AcceptanceState> {
    let mut plan = UpdatePlan::default();
    plan.spec.accepted_risks = vec![risk];
    let informer = InformerName::parse("mco").unwrap();
    let ended = EndedAcceptances::of(&plan, std::iter::empty());
    acceptance_of(&plan, None, &informer, insight, &ended, at(seconds))
}

#[test]
fn what_is_accepted_on_the_plan_follows_the_same_rules() {
    use AcceptanceState::{Accepted, Expired, LevelRaised};
    let found = insight("u", Level::Error);
    for (uuid, named, level, until, state) in [
        (Some("u"), None, Level::Error, None, Some(Accepted)),
        (Some("u"), None, Level::Warning, None, Some(LevelRaised)),
        (Some("u"), None, Level::Error, Some(60), Some(Expired)),
        (Some("other"), None, Level::Critical, None, None),
        (None, Some(("mco", "a")), Level::Error, None, Some(Accepted)),
        (None, Some(("mco", "b")), Level::Critical, None, None),
        (None, Some(("etcd", "a")), Level::Critical, None, None),
        (None, None, Level::Critical, None, None),
        // Written by hand past the schema: it does not say one thing.
        (Some("u"), Some(("mco", "a")), Level::Critical, None, None),
    ] {
        let risk = on_plan(uuid, named, level, until);
        assert_eq!(accepted_on_plan(risk.clone(), &found, 60), state, "{risk:?}");
    }
    let mut truncated = insight("t", Level::Error);
    truncated.uid = "insights-truncated".to_owned();
    let by_name = on_plan(None, Some(("mco", "insights-truncated")), Level::Critical, None);
    assert_eq!(
        accepted_on_plan(by_name, &truncated, 0),
        None,
        "nobody accepts by its name what was never shown"
    );
    let by_uuid = on_plan(Some("t"), None, Level::Error, None);
    assert_eq!(accepted_on_plan(by_uuid, &truncated, 0), Some(Accepted));
}

/// What one acceptance on the plan comes to while a finding has these levels, one after another.
fn through(
    risks: &[(usize, PlanAcceptedRisk)],
    levels: &[impl Into<Option<Level>> + Copy],
) -> Vec<Option<AcceptanceState>> {
    let mut plan = UpdatePlan::default();
    let informer = InformerName::parse("mco").unwrap();
    let mut known: Option<PlanInsight> = None;
    let mut ended_ids = None;
    let mut states = Vec::new();
    for (step, level) in levels.iter().enumerate() {
        let Some(level) = (*level).into() else {
            known = None;
            states.push(None);
            continue;
        };
        let since = risks.iter().filter(|(since, _)| *since <= step);
        plan.spec.accepted_risks = since.map(|(_, risk)| risk.clone()).collect();
        plan.status.get_or_insert_default().ended_risks = ended_ids;
        let insight = insight("u", level);
        let ended_risks = ended_on_plan(&seen(&plan), &informer, &insight, known.as_ref());
        let mut found = PlanInsight {
            insight: insight.clone(),
            acceptance: None,
            raised_at: None,
            ended_risks,
            ended_acceptance: None,
        };
        let ended = EndedAcceptances::of(&plan, std::iter::once(&found));
        let acceptance = acceptance_of(&plan, None, &informer, &insight, &ended, at(0));
        states.push(acceptance);
        ended_ids = ended.risks_in_words();
        found.acceptance = acceptance;
        known = Some(found);
    }
    states
}

#[test]
fn what_was_accepted_on_the_plan_before_a_finding_became_worse_counts_no_more() {
    use AcceptanceState::{Accepted, LevelRaised};
    use Level::{Critical, Error, Warning};
    let risk = || on_plan(Some("u"), None, Warning, None);
    let anew = PlanAcceptedRisk {
        accepted_at: Some(Time(at(9))),
        ..risk()
    };
    let (yes, no) = (Some(Accepted), Some(LevelRaised));
    for (risks, levels, states) in [
        (
            vec![(0, risk())],
            vec![Warning, Error, Warning],
            vec![yes, no, no],
        ),
        (
            vec![(0, risk()), (2, anew.clone())],
            vec![Warning, Error, Warning],
            vec![yes, no, yes],
        ),
        // It is accepted while it becomes worse.
        (
            vec![(1, risk())],
            vec![Warning, Error, Warning],
            vec![None, no, no],
        ),
        // It was known to be worse: what it becomes is covered.
        (
            vec![(1, risk())],
            vec![Error, Error, Warning, Error, Warning],
            vec![None, no, yes, no, no],
        ),
        (
            vec![(0, on_plan(Some("u"), None, Error, None)), (0, risk())],
            vec![Warning, Error, Critical, Error],
            vec![yes, yes, no, no],
        ),
    ] {
        assert_eq!(through(&risks, &levels), states, "{levels:?}");
    }
}

#[test]
fn what_comes_back_worse_than_was_accepted_on_the_plan_has_become_worse() {
    use AcceptanceState::{Accepted, LevelRaised};
    use Level::{Error, Warning};
    let accepted = |seconds: i64| PlanAcceptedRisk {
        accepted_at: Some(Time(at(seconds))),
        ..on_plan(Some("u"), None, Warning, None)
    };
    let (yes, no) = (Some(Accepted), Some(LevelRaised));
    for (risks, levels, states) in [
        (
            vec![(0, accepted(0))],
            vec![
                Some(Warning),
                None,
                Some(Error),
                Some(Warning),
                None,
                Some(Warning),
            ],
            vec![yes, None, no, no, None, no],
        ),
        (
            vec![(0, accepted(0))],
            vec![Some(Warning), None, Some(Warning)],
            vec![yes, None, yes],
        ),
        // It is accepted as it was before it has come back worse, or was found at all.
        (
            vec![(2, accepted(9))],
            vec![Some(Warning), None, Some(Error), Some(Warning)],
            vec![None, None, no, no],
        ),
        (
            vec![(0, accepted(0))],
            vec![Some(Error), Some(Warning)],
            vec![no, no],
        ),
        // Who accepts it then has seen how bad it is.
        (
            vec![(3, accepted(9))],
            vec![Some(Warning), None, Some(Error), Some(Error), Some(Warning)],
            vec![None, None, None, no, yes],
        ),
    ] {
        assert_eq!(through(&risks, &levels), states, "{levels:?}");
    }
}

#[test]
fn an_acceptance_on_the_plan_that_is_said_to_have_ended_accepts_nothing() {
    let ended = PlanAcceptedRisk {
        ended: Some(true),
        ..on_plan(Some("u"), None, Level::Critical, None)
    };
    let found = insight("u", Level::Warning);
    assert_eq!(
        accepted_on_plan(ended, &found, 0),
        Some(AcceptanceState::LevelRaised)
    );
}

/// Who accepts anew need not take away what others have accepted before.
#[test]
fn one_that_counts_is_found_among_many_that_do_not() {
    for place in [0, 31, 63] {
        let risks = (0..64).map(|number| {
            let until = (number != place).then_some(-60);
            PlanAcceptedRisk {
                accepted_by: format!("user{number}"),
                ..on_plan(Some("u"), None, Level::Warning, until)
            }
        });
        let mut plan = UpdatePlan::default();
        plan.spec.accepted_risks = risks.collect();
        let informer = InformerName::parse("mco").unwrap();
        let ended = EndedAcceptances::default();
        let found = insight("u", Level::Warning);
        let state = acceptance_of(&plan, None, &informer, &found, &ended, at(0));
        assert_eq!(state, Some(AcceptanceState::Accepted), "{place}");
    }
}

/// Some tools write a text that is empty, and some leave it out.
#[test]
fn an_acceptance_without_a_reason_is_the_same_as_one_with_none() {
    let without = on_plan(Some("u"), None, Level::Warning, None);
    let empty = PlanAcceptedRisk {
        reason: Some(String::new()),
        ..without.clone()
    };
    let with = PlanAcceptedRisk {
        reason: Some("known".to_owned()),
        ..without.clone()
    };
    let ended_of = |risk: &PlanAcceptedRisk| {
        let mut plan = UpdatePlan::default();
        plan.spec.accepted_risks = vec![risk.clone()];
        let informer = InformerName::parse("mco").unwrap();
        ended_on_plan(&seen(&plan), &informer, &insight("u", Level::Error), None)
    };
    assert_eq!(ended_of(&without), ended_of(&empty));
    assert_ne!(ended_of(&without), ended_of(&with));
}

#[test]
fn however_many_acceptances_there_are_each_ends_when_the_finding_becomes_worse() {
    let many = (0..64).map(|number| {
        (
            0,
            PlanAcceptedRisk {
                accepted_by: format!("user{number}"),
                ..on_plan(Some("u"), None, Level::Warning, None)
            },
        )
    });
    let many: Vec<_> = many.collect();
    let states = through(&many, &[Level::Warning, Level::Error, Level::Warning]);
    assert_eq!(states[2], Some(AcceptanceState::LevelRaised));
}

fn level() -> impl Strategy<Value = Level> {
    prop::sample::select(Level::ALL.to_vec())
}

proptest! {
    /// Whoever accepts less has no more accepted.
    #[test]
    fn acceptance_never_widens(accepted in level(), found in level(), worse in level(), minutes in 1_i64..600) {
        let is = |accepted: &AcceptedInsight, level, now| {
            in_its_part(std::slice::from_ref(accepted), &insight("a", level), now) == Some(AcceptanceState::Accepted)
        };
        let risk = |found| {
            let risk = on_plan(Some("a"), None, accepted, Some(minutes * 60));
            move |seconds| accepted_on_plan(risk.clone(), &insight("a", found), seconds)
        };
        let accepted = by("a", accepted, Some(minutes * 60));
        // It does not matter where it is accepted.
        for seconds in [0, minutes * 30, minutes * 60] {
            let in_part = in_its_part(std::slice::from_ref(&accepted), &insight("a", found), at(seconds));
            prop_assert_eq!(risk(found)(seconds), in_part);
        }
        // Later, it is accepted only if it was before.
        if is(&accepted, found, at(minutes * 30)) {
            prop_assert!(is(&accepted, found, at(0)));
        }
        // What is worse, and known to be, is accepted only if the lesser is.
        if worse >= found && worse != Level::Unknown && is(&accepted, worse, at(0)) && found != Level::Unknown {
            prop_assert!(is(&accepted, found, at(0)));
        }
        // What gates was never accepted by who accepted what does not.
        if !accepted.level.gates() && found.gates() {
            prop_assert!(!is(&accepted, found, at(0)));
        }
    }
}
