use drydock_api::insights::{InformerState, UpdateInformer, UpdatePlan};
use drydock_insights::pre_checks::Population;
use kube::Api;
use kube::api::{DeleteParams, ListParams};

use super::fixture::names;
use super::*;

const PART: &str = "update-plan-4.14.4.mco";

async fn planned(behaviour: Behaviour) -> TestCluster {
    let mut cluster = TestCluster::new(true).await;
    cluster.informer("mco", behaviour).await;
    cluster.start().await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster
}

async fn verdict(cluster: &TestCluster) -> Option<Verdict> {
    cluster.plan().await.status.unwrap().verdict
}

#[tokio::test(start_paused = true)]
async fn a_plan_says_what_would_be_a_problem_and_whether_it_is_accepted() {
    let mut cluster = planned(success(&[finding("budget", "warning")])).await;
    let asked = cluster.hooks.lock().unwrap().clone();
    let about_plans = asked.iter().filter(|hook| *hook == "updatePlanInsights");
    assert_eq!(about_plans.count(), 1, "nobody is asked twice: {asked:?}");
    let plan = cluster.plan().await;
    let status = plan.status.clone().unwrap();
    assert_eq!(
        (status.phase, status.verdict),
        (Some(PlanPhase::Ready), Some(Verdict::Stop))
    );
    assert_eq!(
        (status.base_version.as_deref(), status.offered),
        (Some("4.14.3"), Some(true))
    );
    let part: UpdatePlanInsight = cluster.get(PART).await;
    assert_eq!(
        part.metadata.owner_references.unwrap()[0].uid,
        plan.metadata.uid.unwrap()
    );
    let uuid = part.status.unwrap().insights[0].insight.uuid.clone();
    let until = "2026-01-05T09:00:00Z";
    let accepted = json!({"spec": {"acceptedInsights": [{
        "uuid": uuid, "level": "Warning", "acceptedBy": "ann", "acceptedAt": "2026-01-05T08:00:00Z", "until": until,
    }]}});
    cluster.change::<UpdatePlanInsight>(PART, accepted).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Caution));
    cluster.start().await;
    assert_eq!(
        verdict(&cluster).await,
        Some(Verdict::Caution),
        "a restart changes nothing"
    );
    tokio::time::sleep(60 * MINUTE).await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
    assert!(
        cluster
            .events()
            .await
            .contains(&"RiskNoLongerAccepted".to_owned())
    );
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_has_accepted_before_the_plan_was_made_counts() {
    let mut cluster = TestCluster::new(true).await;
    cluster
        .informer("mco", success(&[finding("budget", "warning")]))
        .await;
    let name = drydock_insights::InformerName::parse("mco").unwrap();
    let uuid = drydock_insights::identity::uuid(&name, &drydock_api::insights::Scope::default(), "budget");
    let spec = json!({"targetRelease": "4.14.4", "updateInformer": "mco", "acceptedInsights": [{
        "uuid": uuid, "level": "Warning", "acceptedBy": "hub", "acceptedAt": "2026-01-05T08:00:00Z",
    }]});
    cluster.create::<UpdatePlanInsight>(PART, spec).await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    cluster.start().await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Caution));
    let part: UpdatePlanInsight = cluster.get(PART).await;
    assert_eq!(part.spec.accepted_insights.len(), 1);
    assert_eq!(part.metadata.owner_references.unwrap().len(), 1);
    cluster.stop().await;
}

/// As of a backup: it has no status, and its owner is gone.
#[tokio::test(start_paused = true)]
async fn a_restored_acceptance_is_of_the_plan_that_it_was_written_for() {
    let mut cluster = planned(success(&[finding("budget", "warning")])).await;
    let part: UpdatePlanInsight = cluster.get(PART).await;
    let uuid = part.status.unwrap().insights[0].insight.uuid.clone();
    cluster.stop().await;
    let parts: Api<UpdatePlanInsight> = Api::all(cluster.client.clone());
    parts.delete(PART, &DeleteParams::default()).await.unwrap();
    let spec = json!({"targetRelease": "4.14.4", "updateInformer": "mco", "acceptedInsights": [{
        "uuid": uuid, "level": "Warning", "acceptedBy": "ann", "acceptedAt": "2026-01-05T08:00:00Z",
    }]});
    cluster.create::<UpdatePlanInsight>(PART, spec).await;
    let gone = json!([{
        "apiVersion": "insights.drydock.io/v1alpha1", "kind": "UpdatePlan", "name": "update-plan-4.14.4", "uid": "gone",
    }]);
    cluster
        .change::<UpdatePlanInsight>(PART, json!({"metadata": {"ownerReferences": gone}}))
        .await;
    cluster.start().await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
    let part: UpdatePlanInsight = cluster.get(PART).await;
    assert!(part.spec.accepted_insights.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn who_says_wait_for_ever_is_given_up_after_two_minutes() {
    let mut cluster = planned(Behaviour::Answers(json!({"status": {"response": "Wait"}}))).await;
    assert_eq!(
        cluster.plan().await.status.unwrap().phase,
        Some(PlanPhase::Collecting)
    );
    tokio::time::sleep(3 * MINUTE).await;
    let status = cluster.plan().await.status.unwrap();
    assert_eq!(
        (status.phase, status.verdict),
        (Some(PlanPhase::Failed), Some(Verdict::Stop))
    );
    assert_eq!(status.informers[0].state, InformerState::Unavailable);
    let startable = find(&status.conditions, condition::STARTABLE).unwrap();
    assert_eq!(
        (startable.status.as_str(), startable.reason.as_str()),
        ("False", "RisksNotAccepted")
    );
    cluster.stop().await;
}

/// Two minutes are for all of them together, not for each, and each gets its share.
#[tokio::test(start_paused = true)]
async fn informers_that_hang_keep_a_plan_for_no_longer_than_two_minutes() {
    let mut cluster = TestCluster::new(true).await;
    for number in 0..40 {
        cluster
            .informer(&format!("hangs-{number}"), Behaviour::Hangs)
            .await;
    }
    cluster.informer("quick", success(&[])).await;
    cluster.start().await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    tokio::time::sleep(3 * MINUTE).await;
    let status = cluster.plan().await.status.unwrap();
    assert_eq!(
        (status.phase, status.verdict),
        (Some(PlanPhase::Failed), Some(Verdict::Stop))
    );
    let informers = cluster.plan().await.status.unwrap().informers;
    let quick = informers.iter().find(|informer| informer.name == "quick");
    assert_eq!(quick.unwrap().state, InformerState::Success);
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_nobody_needs_any_more_is_deleted() {
    let mut cluster = planned(success(&[])).await;
    let plans: Api<UpdatePlan> = Api::all(cluster.client.clone());
    tokio::time::sleep(23 * 60 * MINUTE).await;
    let there = plans.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(names(&there), ["update-plan-4.14.4"]);
    tokio::time::sleep(2 * 60 * MINUTE).await;
    assert!(plans.list(&ListParams::default()).await.unwrap().items.is_empty());
    cluster.stop().await;
}

#[tokio::test(start_paused = true)]
async fn without_any_other_informer_the_agents_own_say_what_would_be_a_problem() {
    let mut cluster = TestCluster::new(true).await;
    cluster.has_built_in = true;
    cluster.start().await;
    cluster
        .create::<UpdatePlan>("update-plan-4.99.0", json!({"targetRelease": "4.99.0"}))
        .await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let plan: UpdatePlan = cluster.get("update-plan-4.99.0").await;
    let status = plan.status.unwrap();
    let said: Vec<_> = status
        .reasons
        .iter()
        .map(|reason| reason.summary.as_str())
        .collect();
    assert!(
        said.contains(&"4.99.0 is not among the updates that the update service offers"),
        "{said:?}"
    );
    assert_eq!(status.verdict, Some(Verdict::Stop));
    let part: UpdatePlanInsight = cluster.get("update-plan-4.99.0.drydock.cluster-version").await;
    assert_eq!(part.status.unwrap().state, InformerState::Success);
    let requests: UpdatePlanInsight = cluster.get("update-plan-4.99.0.drydock.api-removals").await;
    assert_eq!(
        requests.status.unwrap().state,
        InformerState::NotImplemented,
        "the cluster has no such kind"
    );
    cluster.stop().await;
}

/// Informers that are too many to be asked could say anything: what they would say holds the plan.
#[tokio::test(start_paused = true)]
async fn informers_that_are_left_out_hold_a_plan() {
    let mut cluster = TestCluster::new(true).await;
    for number in 0..=drydock_insights::update_status::MAX_INFORMERS {
        cluster.informer(&format!("i{number:03}"), success(&[])).await;
    }
    cluster.start().await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    tokio::time::sleep(MINUTE).await;
    let status = cluster.plan().await.status.unwrap();
    assert_eq!(status.verdict, Some(Verdict::Stop));
    assert_eq!(status.reasons[0].informer, "drydock.informers-left-out");
    assert!(
        status.reasons[0].uuid.is_some(),
        "it can be accepted as any other"
    );
    cluster.stop().await;
}

/// What informers say of a plan is bounded together, not each by itself.
#[tokio::test(start_paused = true)]
async fn many_loud_informers_fit_into_the_parts_of_a_plan() {
    let mut cluster = TestCluster::new(true).await;
    let many: Vec<_> = (0..500)
        .map(|number| finding(&format!("u{number}"), "warning"))
        .collect();
    for number in 0..20 {
        cluster
            .informer(&format!("loud-{number:02}"), success(&many))
            .await;
    }
    cluster.start().await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    tokio::time::sleep(MINUTE).await;
    let parts: Api<UpdatePlanInsight> = Api::all(cluster.client.clone());
    let parts = parts.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(parts.len(), 20);
    let size: usize = parts
        .iter()
        .map(|part| serde_json::to_vec(&part.status).unwrap().len())
        .sum();
    assert!(size < 3 << 19, "{size} bytes");
    assert!(
        parts
            .iter()
            .all(|part| part.status.as_ref().unwrap().dropped.is_some()),
        "and it is reported"
    );
    assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
    cluster.stop().await;
}

/// Nobody waits for those who do not answer: neither who stops the agent, nor who asks about another version.
#[tokio::test(start_paused = true)]
async fn informers_that_hang_keep_neither_other_plans_nor_the_end_waiting() {
    let mut cluster = TestCluster::new(true).await;
    for number in 0..40 {
        cluster
            .informer(&format!("hung-{number}"), Behaviour::Hangs)
            .await;
    }
    cluster.start().await;
    let plan = |target: &str| (format!("update-plan-{target}"), json!({"targetRelease": target}));
    let (first, spec) = plan("4.14.4");
    cluster.create::<UpdatePlan>(&first, spec).await;
    let population = async |name: &str| {
        let plan: UpdatePlan = cluster.get(name).await;
        drydock_insights::pre_checks::population(&plan)
    };
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(
        population(&first).await,
        Population::Populated,
        "each is given up after its time"
    );
    // By now all of them are asked again.
    let (second, spec) = plan("4.14.5");
    cluster.create::<UpdatePlan>(&second, spec).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(matches!(population(&second).await, Population::Awaits(_)));
    let before = tokio::time::Instant::now();
    cluster.stop().await;
    assert!(before.elapsed() < Duration::from_secs(1), "it stops at once");
}

/// As after `kubectl delete --cascade=orphan`: what was accepted is dropped with the plan.
#[tokio::test(start_paused = true)]
async fn what_was_accepted_of_a_deleted_plan_does_not_count_for_its_successor() {
    let mut cluster = planned(success(&[finding("budget", "warning")])).await;
    let part: UpdatePlanInsight = cluster.get(PART).await;
    let uuid = part.status.unwrap().insights[0].insight.uuid.clone();
    let accepted = json!({"metadata": {"ownerReferences": null}, "spec": {"acceptedInsights": [{
        "uuid": uuid, "level": "Warning", "acceptedBy": "ann", "acceptedAt": "2026-01-05T08:00:00Z",
    }]}});
    cluster.change::<UpdatePlanInsight>(PART, accepted.clone()).await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Caution));
    cluster.stop().await;
    cluster
        .change::<UpdatePlanInsight>(PART, json!({"metadata": {"ownerReferences": null}}))
        .await;
    let plans: Api<UpdatePlan> = Api::all(cluster.client.clone());
    plans
        .delete("update-plan-4.14.4", &DeleteParams::default())
        .await
        .unwrap();
    let left: UpdatePlanInsight = cluster.get(PART).await;
    cluster
        .create::<UpdatePlan>("update-plan-4.14.4", json!({"targetRelease": "4.14.4"}))
        .await;
    cluster.start().await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
    let part: UpdatePlanInsight = cluster.get(PART).await;
    assert_ne!(part.metadata.uid, left.metadata.uid, "it is another one");
    assert!(part.spec.accepted_insights.is_empty());
    cluster.stop().await;
}

/// What an informer says of itself counts from its first question on: also where it is asked by the plan before by anybody else, and where it
/// has just become so.
#[tokio::test(start_paused = true)]
async fn an_informer_that_finds_nothing_and_is_not_well_holds_a_plan_from_the_beginning() {
    let well = |levels: serde_json::Value| json!({"spec": {"apiLevels": levels, "handlers": ["plan"]}, "status": {"response": "Success"}});
    let says = |response: &str| json!({"spec": {"apiLevels": ["v1alpha"], "handlers": ["plan"]}, "status": {"response": response}});
    let nothing = json!({"spec": {"insights": []}, "status": {"response": "Success"}});
    for (discovery, uid) in [
        (says("Failure"), "informer-degraded"),
        (says("Wait"), "informer-unavailable"),
        (well(json!(["v2"])), "informer-unavailable"),
        (json!("no discovery"), "informer-unavailable"),
    ] {
        let behaviour = Behaviour::Discovers(discovery.clone(), nothing.clone());
        let mut cluster = planned(Behaviour::Discovers(well(json!(["v1alpha"])), nothing.clone())).await;
        assert_eq!(verdict(&cluster).await, Some(Verdict::Go));
        cluster.informer("new", behaviour.clone()).await;
        tokio::time::sleep(3 * MINUTE).await;
        assert_eq!(verdict(&cluster).await, Some(Verdict::Stop), "{discovery}");
        cluster
            .change::<UpdateInformer>("new", json!({"spec": {"enabled": false}}))
            .await;
        tokio::time::sleep(MINUTE).await;
        cluster.behave("mco", behaviour);
        let again = json!({"spec": {"refreshRequestedAt": "2026-01-05T08:10:00Z"}});
        cluster.change::<UpdatePlan>("update-plan-4.14.4", again).await;
        tokio::time::sleep(3 * MINUTE).await;
        let part: UpdatePlanInsight = cluster.get(PART).await;
        let insights = part.status.unwrap().insights;
        let uids: Vec<_> = insights.iter().map(|found| &*found.insight.uid).collect();
        assert_eq!(uids, [uid], "{discovery}");
        assert_eq!(verdict(&cluster).await, Some(Verdict::Stop), "{discovery}");
        cluster.stop().await;
    }
}

/// That it cannot tell is not over with something that holds nothing.
#[tokio::test(start_paused = true)]
async fn an_informer_that_cannot_tell_holds_a_plan_whatever_it_adds() {
    for (insights, is_own) in [
        (json!([]), true),
        (json!([finding("looked", "info")]), true),
        (json!([finding("looked", "warning")]), false),
    ] {
        let failure =
            json!({"spec": {"insights": insights}, "status": {"response": "Failure", "message": "boom"}});
        let mut cluster = planned(Behaviour::Answers(failure)).await;
        assert_eq!(verdict(&cluster).await, Some(Verdict::Stop), "{insights}");
        let part: UpdatePlanInsight = cluster.get(PART).await;
        let found = part.status.unwrap().insights;
        let says_so = found.iter().any(|one| one.insight.uid == "informer-failure");
        assert_eq!(says_so, is_own, "{insights}");
        cluster.stop().await;
    }
}

/// What an informer has found does not go away because it is updating itself, is not well, or has lost its hook; and one that is not well is a
/// finding itself (insights.md, section 1.2, a to c).
#[tokio::test(start_paused = true)]
async fn an_informer_that_is_not_well_holds_a_plan() {
    for (discovery, state) in [
        (
            json!({"status": {"response": "Success"}}),
            InformerState::Unavailable,
        ),
        (
            json!({"spec": {"apiLevels": ["v2"], "handlers": ["plan"]}, "status": {"response": "Success"}}),
            InformerState::Unavailable,
        ),
        (json!("no discovery"), InformerState::Unavailable),
        (
            json!({"spec": {"apiLevels": ["v1alpha"], "handlers": []}, "status": {"response": "Success"}}),
            InformerState::Unavailable,
        ),
        (
            json!({"spec": {"apiLevels": ["v1alpha"], "handlers": []}, "status": {"response": "Wait"}}),
            InformerState::Unavailable,
        ),
        (
            json!({"spec": {"apiLevels": ["v1alpha"], "handlers": []}, "status": {"response": "Failure"}}),
            InformerState::Success,
        ),
    ] {
        let mut cluster = planned(success(&[finding("disk-full", "error")])).await;
        assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
        let disk = success(&[finding("disk-full", "error")]);
        let Behaviour::Answers(answer) = disk else {
            panic!("it answers");
        };
        cluster.behave("mco", Behaviour::Discovers(discovery.clone(), answer));
        tokio::time::sleep(5 * MINUTE).await;
        let again = json!({"spec": {"refreshRequestedAt": "2026-01-05T08:10:00Z"}});
        cluster.change::<UpdatePlan>("update-plan-4.14.4", again).await;
        tokio::time::sleep(10 * MINUTE).await;
        let part: UpdatePlanInsight = cluster.get(PART).await;
        let status = part.status.unwrap();
        let uids: Vec<_> = status
            .insights
            .iter()
            .map(|found| found.insight.uid.as_str())
            .collect();
        assert!(uids.contains(&"disk-full"), "{discovery} {uids:?}");
        assert_eq!(status.state, state, "{discovery} {uids:?}");
        let is_degraded = discovery["status"]["response"] == "Failure";
        assert_eq!(
            uids.contains(&"informer-degraded"),
            is_degraded,
            "{discovery} {uids:?}"
        );
        assert_eq!(verdict(&cluster).await, Some(Verdict::Stop));
        cluster.stop().await;
    }
}
