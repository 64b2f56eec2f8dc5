//! Health checks (Maintenance schedules, sections 3.3 and 11, and the design document).

use drydock_api::schedule::{DesiredVersion, HealthChecks};
use serde_json::json;

use super::fixture::*;
use super::world::World;
use crate::job::{JobStep, JobWrite, Need};
use drydock_api::insights::{PlanAsker, UpdatePlanState};

fn alert(name: &str, namespace: &str) -> crate::job::health::Alert {
    let mut alert = labels("alertname", name);
    alert.extend(labels("namespace", namespace));
    alert
}

fn checks(value: &serde_json::Value) -> HealthChecks {
    let mut whole = json!({ "timeout": "1h" });
    json_patch::merge(&mut whole, value);
    serde_json::from_value(whole).unwrap()
}

/// What is wrong with a cluster.
type Trouble<'a> = &'a dyn Fn(&mut World);

fn with_condition(world: &mut World, type_: &str, reason: &str) {
    let status = world.cluster.status.get_or_insert_default();
    let condition = json!([{ "type": type_, "status": "True", "reason": reason, "message": "broken" }]);
    status.conditions = serde_json::from_value(condition).unwrap();
}

#[test]
fn what_each_field_looks_at() {
    let healthy = |world: &mut World, fields: &serde_json::Value| {
        let spec = &mut world.jobs.get_mut("j").unwrap().spec;
        spec.config.pre_upgrade_health_checks = checks(fields);
        world.settle("j");
        world.condition("j", "PreHealthCheckDone").as_deref() == Some("True/Completed")
    };
    let degraded = |world: &mut World| world.operators = vec![operator("dns", "Degraded", "True")];
    let unavailable = |world: &mut World| world.operators = vec![operator("dns", "Available", "False")];
    let firing = |world: &mut World| world.alerts = vec![alert("KubePodCrashLooping", "shop")];
    let failing = |world: &mut World| with_condition(world, "Failing", "ClusterOperatorDegraded");
    let unable = |world: &mut World| with_condition(world, "Failing", "UpdatePayloadIntegrity");
    let original = |world: &mut World| with_condition(world, "Degraded", "X");
    let cases: [(Trouble<'_>, serde_json::Value, bool); 19] = [
        (&degraded, json!({}), false),
        (&unavailable, json!({}), false),
        (&failing, json!({}), false),
        (&original, json!({}), false),
        (&degraded, json!({ "checkDegradedOperators": true }), false),
        (&degraded, json!({ "checkDegradedOperators": false }), true),
        (&degraded, json!({ "skipDegradedOperatorsCheck": true }), true),
        (&original, json!({ "skipDegradedOperatorsCheck": true }), true),
        (&failing, json!({ "skipDegradedOperatorsCheck": true }), true),
        (&degraded, json!({ "excludeOperators": ["dns"] }), true),
        (&degraded, json!({ "excludeOperators": ["network"] }), false),
        (&failing, json!({ "excludeOperators": ["dns"] }), true),
        (&unable, json!({ "excludeOperators": ["dns"] }), false),
        (&firing, json!({}), true),
        (&firing, json!({ "checkCriticalAlerts": true }), false),
        (
            &firing,
            json!({ "checkCriticalAlerts": true, "excludeAlerts": [{ "alertname": "KubePodCrashLooping" }] }),
            true,
        ),
        (
            &firing,
            json!({ "checkCriticalAlerts": true, "excludeAlerts": [{ "alertname": "KubePodCrashLooping", "namespace": "x" }] }),
            false,
        ),
        (
            &firing,
            json!({ "checkCriticalAlerts": true, "excludeNamespaces": ["shop"] }),
            true,
        ),
        (
            &firing,
            json!({ "checkCriticalAlerts": true, "excludeAlerts": [{}], "excludeNamespaces": ["x"] }),
            false,
        ),
    ];
    for (index, (trouble, fields, expected)) in cases.into_iter().enumerate() {
        let mut world = World::new([job("j")]);
        trouble(&mut world);
        assert_eq!(healthy(&mut world, &fields), expected, "{index}: {fields}");
        assert_eq!(
            world.cluster.spec.desired_update.is_some(),
            expected,
            "{index}: {fields}"
        );
    }
}

/// Strictly after the timeout, counted from the first time that the cluster was found unhealthy.
#[test]
fn it_fails_when_the_cluster_is_unhealthy_for_longer_than_the_timeout() {
    let mut world = World::new([job("j")]);
    world.operators = vec![operator("dns", "Degraded", "True")];
    world.now = START + minutes(10);
    let decision = world.settle("j");
    assert_eq!(
        world.condition("j", "PreHealthCheckDone").as_deref(),
        Some("False/InProgress")
    );
    assert!(
        world
            .message("j", "PreHealthCheckDone")
            .contains("dns is degraded: the reason why")
    );
    assert_eq!(decision.wake, Some(world.now + minutes(1)));
    assert!(world.has_said(JobStep::ClusterUnhealthy));
    world.now = START + minutes(70);
    world.settle("j");
    assert_eq!(world.end("j"), None);
    let mut recovered = world.clone();
    recovered.operators.clear();
    recovered.settle("j");
    assert_eq!(
        recovered.condition("j", "PreHealthCheckDone").as_deref(),
        Some("True/Completed")
    );
    world.now += jiff::SignedDuration::from_secs(1);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("PreHealthCheckFailed"));
    assert_eq!(world.cluster.spec.desired_update, None);
    assert_eq!(world.lock(), None);
}

#[test]
fn after_the_upgrade_the_other_check_counts() {
    let mut world = World::new([job("j")]);
    world.settle("j");
    world.operators = vec![operator("dns", "Degraded", "True")];
    world.update();
    world.settle("j");
    assert_eq!(
        world.condition("j", "PostHealthCheckDone").as_deref(),
        Some("False/InProgress")
    );
    world.now += minutes(61);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("PostHealthCheckFailed"));
    assert_eq!(
        world.condition("j", "UpgradeCompleted").as_deref(),
        Some("True/Completed")
    );
}

#[test]
fn what_cannot_be_read_is_not_healthy() {
    for need in [Need::Operators, Need::Alerts] {
        let mut world = World::new([job("j")]);
        let spec = &mut world.jobs.get_mut("j").unwrap().spec;
        spec.config.pre_upgrade_health_checks = checks(&json!({ "checkCriticalAlerts": true }));
        world.unreadable = vec![need.clone()];
        world.settle("j");
        let message = world.message("j", "PreHealthCheckDone");
        assert!(
            message.contains("the server does not answer"),
            "{need:?}: {message}"
        );
    }
}

/// Prometheus is asked only by who wants to know.
#[test]
fn only_what_is_checked_is_read() {
    let mut world = World::new([job("j")]);
    world
        .jobs
        .get_mut("j")
        .unwrap()
        .spec
        .config
        .pre_upgrade_health_checks = checks(&json!({ "skipDegradedOperatorsCheck": true }));
    world.unreadable = vec![Need::Operators, Need::Alerts];
    world.settle("j");
    assert_eq!(
        world.condition("j", "PreHealthCheckDone").as_deref(),
        Some("True/Completed")
    );
}

/// Insights, issue of the gate: what the UpdatePlan holds is not asked for.
#[test]
fn an_update_plan_that_holds_the_update_is_waited_for() {
    let mut planned = job("j");
    planned.spec.config.pre_upgrade_health_checks.check_update_plan = Some(true);
    let mut world = World::new([planned]);
    world.settle("j");
    // Nobody has asked the informers yet.
    assert_eq!(world.update_plan, UpdatePlanState::Collecting);
    assert_eq!(world.cluster.spec.desired_update, None);
    let message = world.message("j", "PreHealthCheckDone");
    assert!(
        message.contains("informers are being asked about the update to"),
        "{message}"
    );
    // No watch tells when they have answered.
    let wake = world.decide("j").wake.unwrap();
    assert!(wake.duration_since(world.now) <= jiff::SignedDuration::from_secs(15));
    world.update_plan =
        UpdatePlanState::Held("2 findings are not accepted: Pool worker is paused".to_owned());
    world.settle("j");
    let message = world.message("j", "PreHealthCheckDone");
    assert!(
        message.contains("may not start: 2 findings are not accepted"),
        "{message}"
    );
    let mut late = world.clone();
    late.now = START + hours(2);
    late.settle("j");
    assert_eq!(late.end("j").as_deref(), Some("PreHealthCheckFailed"));
    world.update_plan = UpdatePlanState::Startable;
    world.settle("j");
    assert!(world.cluster.spec.desired_update.is_some());
    // What comes up later is the cluster's health, and not a reason to stop half-way.
    world.update_plan = UpdatePlanState::Held("a node is down".to_owned());
    world.update();
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}

/// An upgrade of the hub to another image of the version waits for the lock, and this one for the plan: neither would go on.
#[test]
fn who_cannot_be_planned_because_of_the_hub_leaves_it_the_lock() {
    let mut planned = job("j");
    planned.spec.config.pre_upgrade_health_checks.check_update_plan = Some(true);
    let mut world = World::new([planned]);
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
    world.update_plan = UpdatePlanState::AskedOtherwise("hub/spring".to_owned());
    world.settle("j");
    assert_eq!(world.lock(), None);
    let waits = world.condition("j", "Waiting");
    assert_eq!(waits.as_deref(), Some("True/PlannedOtherwise"));
    let message = world.message("j", "Waiting");
    assert!(message.contains("for its upgrade hub/spring"), "{message}");
    // Who waits is not unhealthy, and does not take the lock again and again.
    world.now += minutes(30);
    assert!(world.settle("j").writes.is_empty());
    assert_eq!(world.end("j"), None);
    world.update_plan = UpdatePlanState::Startable;
    world.settle("j");
    assert_eq!(world.lock(), Some("maintenance/j"));
    assert!(world.cluster.spec.desired_update.is_some());
}

/// Nobody who was asked about the release that is offered has said anything of another image under its version, nor of the one for several
/// architectures.
#[test]
fn the_plan_that_counts_is_that_of_the_very_release() {
    let other = "quay.io/r@sha256:other";
    for (image, architecture, planned) in [
        (None, None, (None, None)),
        (Some(""), Some(""), (None, None)),
        (Some(other), None, (Some(other), None)),
        (None, Some("Multi"), (None, Some("Multi"))),
    ] {
        let release = DesiredVersion {
            version: Some("4.16.5".to_owned()),
            image: image.map(str::to_owned),
            architecture: architecture.map(str::to_owned),
            force: None,
        };
        let update = release.planned(&World::new([]).cluster).unwrap();
        assert_eq!((update.image.as_deref(), update.architecture.as_deref()), planned);
        assert_eq!(update.is_of_version(), planned == (None, None));
        let mut job = job("j");
        job.spec.desired_version = Some(release);
        job.spec.config.pre_upgrade_health_checks.check_update_plan = Some(true);
        job.spec.desired_version_check_availability = Some(false);
        let mut world = World::new([job]);
        world.update_plan = UpdatePlanState::Outdated(PlanAsker::Cluster);
        let request =
            world.reconcile_before("j", |write| matches!(write, JobWrite::RequestUpdatePlan { .. }));
        let JobWrite::RequestUpdatePlan { update: asked, .. } = request else {
            panic!("it is no other write");
        };
        assert_eq!(asked, update);
    }
}

#[test]
fn without_a_version_or_the_wish_no_update_plan_is_looked_at() {
    let mut world = World::new([job("j")]);
    let release = job("j").spec.desired_version.unwrap();
    world.unreadable = vec![Need::UpdatePlan(release.planned(&world.cluster).unwrap())];
    world.settle("j");
    assert!(world.cluster.spec.desired_update.is_some());
    let mut hooks_only = job("j");
    hooks_only.spec.desired_version = None;
    hooks_only.spec.config.pre_upgrade_health_checks.check_update_plan = Some(true);
    let mut world = World::new([hooks_only]);
    world.settle("j");
    assert_eq!(world.end("j").as_deref(), Some("Succeeded"));
}
