use drydock_api::insights::UpdatePlanStatus;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};

use super::*;

fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + 3600 * hours).unwrap()
}

fn plan(target: &str, created: i64, was_offered: bool) -> UpdatePlan {
    let mut plan = UpdatePlan::default();
    plan.metadata.name = Some(format!("update-plan-{target}"));
    plan.metadata.creation_timestamp = Some(Time(at(created)));
    plan.spec.target_release = target.to_owned();
    plan.status = Some(UpdatePlanStatus {
        offered: Some(was_offered),
        ..UpdatePlanStatus::default()
    });
    plan
}

fn cluster() -> ReleaseFacts {
    ReleaseFacts {
        id: String::new(),
        version: "4.14.3".to_owned(),
        active_target: Some("4.14.9".to_owned()),
        has_begun: true,
        requested: None,
        offered: Some(vec!["4.14.4".to_owned()]),
        history: BTreeMap::from([("4.14.2".to_owned(), Some(at(-100)))]),
    }
}

#[test]
fn every_rule_has_its_reason() {
    let cases = [
        (plan("4.14.4", 0, true), false, 1, None),
        (plan("4.14.3", 0, true), true, 1, Some(PruneReason::Reached)),
        (plan("4.14.3+x", 0, true), true, 1, Some(PruneReason::Reached)),
        (plan("4.14.5", 0, true), true, 1, Some(PruneReason::NotOffered)),
        (plan("4.14.5", 0, false), false, 1, None),
        (plan("4.14.4", 0, true), false, 25, Some(PruneReason::Old)),
        (plan("4.14.4", 0, true), true, 25, None),
        (plan("4.14.9", 0, true), false, 1000, None),
        (plan("4.14.2", 0, true), false, 720, None),
        (plan("4.14.2", 0, true), false, 721, Some(PruneReason::Audited)),
        // What was tried two months ago is to be tried again.
        (plan("4.14.2", 1500, true), false, 1501, None),
    ];
    for (plan, is_accepted, hours, expected) in cases {
        let kept = PlanToKeep {
            plan: &plan,
            is_accepted,
        };
        let found = prune(&[kept], &cluster(), at(hours));
        assert_eq!(
            found.into_values().next(),
            expected,
            "{} after {hours} h",
            plan.name_any()
        );
    }
    let silent = ReleaseFacts {
        offered: None,
        ..cluster()
    };
    let plan = plan("4.14.5", 0, true);
    let kept = PlanToKeep {
        plan: &plan,
        is_accepted: false,
    };
    assert!(
        prune(&[kept], &silent, at(1)).is_empty(),
        "an update service that is silent offers all"
    );
}

#[test]
fn of_too_many_plans_the_oldest_go_that_nobody_has_accepted() {
    let plans: Vec<_> = (10..32)
        .map(|patch| plan(&format!("4.15.{patch}"), 32 - patch, false))
        .collect();
    let kept: Vec<_> = plans
        .iter()
        .enumerate()
        .map(|(index, plan)| PlanToKeep {
            plan,
            is_accepted: index == 21,
        })
        .collect();
    let found = prune(&kept, &cluster(), at(23));
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["update-plan-4.15.29", "update-plan-4.15.30"]);
}

#[test]
fn a_plan_that_a_work_applies_goes_with_its_work() {
    let mut applied = plan("4.14.5", 0, true);
    applied.metadata.owner_references = Some(vec![OwnerReference {
        kind: "AppliedManifestWork".to_owned(),
        ..OwnerReference::default()
    }]);
    let others: Vec<_> = (0..MAX_PLANS)
        .map(|patch| plan(&format!("4.15.{patch}"), 1, false))
        .collect();
    let all = others.iter().chain([&applied]);
    let kept: Vec<_> = all
        .map(|plan| PlanToKeep {
            plan,
            is_accepted: false,
        })
        .collect();
    let pruned = prune(&kept, &cluster(), at(2));
    assert_eq!(pruned.into_values().collect::<Vec<_>>(), [PruneReason::TooMany]);
    assert!(!prune(&kept, &cluster(), at(1000)).contains_key("update-plan-4.14.5"));
}
