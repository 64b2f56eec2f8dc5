//! Clusters that are started over.

use drydock_api::names::{EndState, RETRY_ANNOTATION};
use drydock_rollout::{AttemptOutcome, Enforcement, RetryToken, UpdateState, VersionFeedback, WorkFeedback};
use semver::Version;

use super::*;

#[test]
fn an_attempt_that_continues_a_failed_one_names_the_spec_that_lets_it_start() {
    let mut fleet = TestFleet::new(&["c01"]);
    let start = fleet.starts().remove(&ClusterName::from("c01")).unwrap();
    fleet.written(&start);
    let failed = Work {
        outcome: Some(Arc::new(AttemptOutcome {
            state: EndState::Failed,
            reason: "PostActionFailed".into(),
            message: "".into(),
            at: Some(fleet.now),
            retry: RetryToken::default(),
        })),
        feedback: WorkFeedback::ClusterVersion(VersionFeedback {
            version: Some(Version::new(4, 14, 12)),
            state: Some(UpdateState::Completed),
            ..VersionFeedback::default()
        }),
        ..(*start.1).clone()
    };
    fleet.see_work("c01", &Arc::new(failed));
    fleet.set_upgrade(UID, 7, "all");
    let mut object = (*fleet.fleet.object(&key()).unwrap()).clone();
    let annotations = object.metadata.annotations.get_or_insert_default();
    annotations.insert(RETRY_ANNOTATION.to_owned(), "again".to_owned());
    let _change = fleet.fleet.set_upgrade(&Arc::new(object));
    let actions = fleet.plan().plan.actions;
    let [Action::WritePage(write)] = &actions[..] else {
        panic!("its outcome is recorded first: {actions:?}");
    };
    let page = crate::record::new_page("default", write);
    fleet.see::<ManagedClustersUpgradeRecord>("default", &write.name, Some(page));
    let actions = fleet.plan().plan.actions;
    let reopened = actions.iter().find_map(|action| match action {
        Action::ReopenWork { revision, .. } => Some((revision.generation, revision.enforcement)),
        _ => None,
    });
    // Its work has ceased to enforce the target when it failed.
    assert_eq!(reopened, Some((7, Enforcement::Observed)), "{actions:?}");
}
