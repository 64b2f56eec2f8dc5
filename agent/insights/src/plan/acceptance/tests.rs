use drydock_api::insights::{Impact, Scope};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use proptest::prelude::*;

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
    let found = |level| acceptance(&[by("a", Level::Warning, None)], &insight("a", level), at(1));
    assert_eq!(found(Level::Warning), Some(AcceptanceState::Accepted));
    assert_eq!(found(Level::Info), Some(AcceptanceState::Accepted));
    assert_eq!(found(Level::Unknown), Some(AcceptanceState::LevelRaised));
    assert_eq!(found(Level::Error), Some(AcceptanceState::LevelRaised));
    let other = acceptance(
        &[by("b", Level::Critical, None)],
        &insight("a", Level::Warning),
        at(1),
    );
    assert_eq!(other, None, "who accepts one finding has not accepted another");
}

#[test]
fn an_acceptance_ends_when_it_says() {
    let accepted = [by("a", Level::Warning, Some(60))];
    let found = |seconds| acceptance(&accepted, &insight("a", Level::Warning), at(seconds));
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
    assert_eq!(acceptance(&[future], &insight("a", Level::Warning), at(0)), None);
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

fn level() -> impl Strategy<Value = Level> {
    prop::sample::select(Level::ALL.to_vec())
}

proptest! {
    /// Whoever accepts less has no more accepted.
    #[test]
    fn acceptance_never_widens(accepted in level(), found in level(), worse in level(), minutes in 1_i64..600) {
        let is = |accepted: &AcceptedInsight, level, now| {
            acceptance(std::slice::from_ref(accepted), &insight("a", level), now) == Some(AcceptanceState::Accepted)
        };
        let accepted = by("a", accepted, Some(minutes * 60));
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
