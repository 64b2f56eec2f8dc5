//! UpgradeJobs upgrade the cluster.

use std::sync::Arc;

use drydock_api::names::{AGENT_MANAGER, UPGRADE_LOCK_ANNOTATION, WORKER_POOL};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use drydock_sandbox::test_env::TestEnvSettings;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DeleteParams;
use kube_sandbox::server::{FaultAction, RequestInfo, Status, Verb};
use openshift_sandbox::cluster::Fault;

use super::*;

/// A cluster with an agent that does everything, with these faults.
pub(super) async fn faulty(faults: &[Fault]) -> Spoke {
    let change = |settings: &mut TestEnvSettings| settings.clusters[0].faults.extend(faults);
    Spoke::start(change, |outside| outside).await.unwrap()
}

/// How an UpgradeJob has ended, with its message; waits up to two days.
pub(super) async fn ended(client: &Client, name: &str) -> (String, String) {
    for _ in 0..2 * 24 * 60 {
        for type_ in ["Succeeded", "Failed"] {
            if let Some(end) = job_condition(client, name, type_).await
                && end.status == "True"
            {
                return (end.reason, end.message);
            }
        }
        tokio::time::sleep(MINUTE).await;
    }
    panic!(
        "{name} does not end: {:#?}",
        jobs(client).get(name).await.unwrap().status
    );
}

pub(super) async fn lock(client: &Client) -> Option<String> {
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let version = versions.get("version").await.unwrap();
    version.annotations().get(UPGRADE_LOCK_ANNOTATION).cloned()
}

pub(super) async fn pool(client: &Client) -> MachineConfigPool {
    let pools: Api<MachineConfigPool> = Api::all(client.clone());
    pools.get(WORKER_POOL).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_maintenance_upgrades_the_cluster() {
    let spoke = faulty(&[]).await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    create(client, "nights", weekly()).await;
    until(clock, "2026-01-06T21:59:59Z").await;
    let name = job_names(client).await.remove(0);
    assert!(job_condition(client, &name, "Started").await.is_none());
    assert_eq!(lock(client).await, None);

    until(clock, "2026-01-06T22:00:10Z").await;
    assert_eq!(
        lock(client).await,
        Some(format!("{AGENT_NAMESPACE}/{name}")),
        "{:#?}",
        jobs(client).get(&name).await.unwrap().status
    );
    let wanted = jobs(client)
        .get(&name)
        .await
        .unwrap()
        .spec
        .desired_version
        .unwrap();
    let asked = spoke.version().await.unwrap().spec.desired_update.unwrap();
    assert_eq!(
        (asked.version, asked.image),
        (wanted.version.clone(), wanted.image)
    );

    let (reason, message) = ended(client, &name).await;
    assert_eq!(reason, "Succeeded");
    assert!(message.contains(wanted.version.as_deref().unwrap()), "{message}");
    let version = spoke.version().await.unwrap().status.unwrap();
    let newest = &version.history[0];
    assert_eq!(
        (&newest.version, newest.state.as_str()),
        (&wanted.version, "Completed")
    );
    tokio::time::sleep(MINUTE).await;
    assert_eq!(lock(client).await, None);
    let said = spoke.events().await.unwrap();
    let steps = [
        "UpgradeJobCreated",
        "UpgradeScheduled",
        "UpgradeStarted",
        "PreHealthCheckCompleted",
        "UpgradeCommenced",
        "UpgradeCompleted",
        "PostHealthCheckCompleted",
        "UpgradeSucceeded",
    ];
    for step in steps {
        assert_eq!(
            said.iter().filter(|known| *known == step).count(),
            1,
            "{step}: {said:?}"
        );
    }
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn of_two_at_once_one_waits_for_the_other_and_says_so() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    create_job(client, "two", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T09:05:00Z").await;
    let holder = lock(client).await.unwrap();
    let waits = if holder.ends_with("/one") { "two" } else { "one" };
    let waiting = job_condition(client, waits, "Waiting").await.unwrap();
    assert_eq!(
        (waiting.status.as_str(), waiting.reason.as_str()),
        ("True", "LockHeld")
    );
    assert!(waiting.message.contains(&holder), "{}", waiting.message);
    for name in ["one", "two"] {
        assert_eq!(ended(client, name).await.0, "Succeeded", "{name}");
    }
    tokio::time::sleep(MINUTE).await;
    assert_eq!(lock(client).await, None);
    let waited = job_condition(client, waits, "Waiting").await.unwrap();
    assert_eq!(waited.status, "False");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_lock_of_one_that_is_deleted_half_way_becomes_free() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T09:10:00Z").await;
    assert!(lock(client).await.is_some());
    jobs(client)
        .delete("one", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(lock(client).await, None);

    // Another one does not interfere with the update that is under way.
    let mut next = job_at("2026-01-05T09:12:00Z");
    next["desiredVersion"] = Value::Null;
    create_job(client, "two", next).await;
    tokio::time::sleep(5 * MINUTE).await;
    let waiting = job_condition(client, "two", "Waiting").await.unwrap();
    assert_eq!(waiting.reason, "UpgradeInProgress");
    assert_eq!(ended(client, "two").await.0, "Succeeded");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_window_skips_what_starts_in_it() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let window = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeSuspensionWindow",
        "metadata": {"name": "fair"}, "spec": {
            "start": "2026-01-05T00:00:00Z", "end": "2026-01-06T00:00:00Z", "reason": "the fair",
            "jobSelector": {"matchLabels": {"app": "one"}},
        },
    });
    let window = serde_json::from_value(window).unwrap();
    windows(client)
        .create(&PostParams::default(), &window)
        .await
        .unwrap();
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    let (reason, message) = ended(client, "one").await;
    assert_eq!(reason, "Skipped");
    assert!(message.contains("fair (the fair)"), "{message}");
    assert!(job_condition(client, "one", "Started").await.is_none());
    assert_eq!(spoke.version().await.unwrap().spec.desired_update, None);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unhealthy_cluster_is_not_upgraded() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let operators: Api<ClusterOperator> = Api::all(client.clone());
    let degraded = json!({"status": {"conditions": [{
        "type": "Degraded", "status": "True", "reason": "Test", "message": "it hurts",
        "lastTransitionTime": "2026-01-05T08:00:00Z",
    }]}});
    operators
        .patch_status("dns", &PatchParams::default(), &Patch::Merge(degraded))
        .await
        .unwrap();
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["preUpgradeHealthChecks"] = json!({"timeout": "30m", "checkCriticalAlerts": true});
    create_job(client, "one", spec).await;
    let (reason, message) = ended(client, "one").await;
    assert_eq!(reason, "PreHealthCheckFailed", "{message}");
    assert!(message.contains("dns is degraded: it hurts"), "{message}");
    assert_eq!(spoke.version().await.unwrap().spec.desired_update, None);
    assert_eq!(events(&spoke, "ClusterUnhealthy").await, 1);
    assert_eq!(events(&spoke, "UpgradeSkipped").await, 1);
    tokio::time::sleep(MINUTE).await;
    assert_eq!(lock(client).await, None);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_pool_is_upgraded_later_and_one_that_a_person_paused_stays_paused() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["machineConfigPools"] = json!([{
        "matchLabels": {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}},
        "delayUpgrade": {"delayMin": "8h"},
    }]);
    create_job(client, "one", spec).await;
    until(&spoke.fleet.clock, "2026-01-05T16:59:00Z").await;
    let delayed = pool(client).await;
    assert_eq!(delayed.spec.paused, Some(true));
    let own = format!("{AGENT_NAMESPACE}/one");
    assert_eq!(delayed.annotations().get(UPGRADE_LOCK_ANNOTATION), Some(&own));
    let paused = job_condition(client, "one", "Paused").await.unwrap();
    assert_eq!(
        (paused.status.as_str(), paused.reason.as_str()),
        ("True", "DelaySet")
    );

    assert_eq!(ended(client, "one").await.0, "Succeeded");
    tokio::time::sleep(MINUTE).await;
    let done = pool(client).await;
    assert_ne!(done.spec.paused, Some(true));
    assert!(!done.annotations().contains_key(UPGRADE_LOCK_ANNOTATION));
    let status = done.status.unwrap();
    assert_eq!(status.machine_count, status.updated_machine_count);
    spoke.fleet.shut_down().await.unwrap();
}

/// As its condition says after a maintenance that failed, a person unpauses the pool; pauses it later for other reasons, and the next maintenance comes.
#[tokio::test(start_paused = true)]
async fn a_pool_that_a_person_pauses_after_a_failed_maintenance_stays_paused() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["config"]["upgradeTimeout"] = json!("4h");
    spec["config"]["machineConfigPools"] = json!([{
        "matchLabels": {"matchLabels": {"pools.operator.machineconfiguration.openshift.io/worker": ""}},
        "delayUpgrade": {"delayMin": "8h"},
    }]);
    create_job(client, "one", spec).await;
    assert_eq!(ended(client, "one").await.0, "TimedOut");
    let failed = pool(client).await;
    let own = format!("{AGENT_NAMESPACE}/one");
    assert_eq!(failed.annotations().get(UPGRADE_LOCK_ANNOTATION), Some(&own));
    pause(client, false).await;
    tokio::time::sleep(HOUR).await;
    assert!(
        !pool(client)
            .await
            .annotations()
            .contains_key(UPGRADE_LOCK_ANNOTATION)
    );
    jobs(client)
        .delete("one", &DeleteParams::default())
        .await
        .unwrap();
    pause(client, true).await;
    create_job(client, "two", job_at("2026-01-06T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-06T12:00:00Z").await;
    assert!(job_condition(client, "two", "Started").await.is_some());
    assert_eq!(pool(client).await.spec.paused, Some(true));
    spoke.fleet.shut_down().await.unwrap();
}

/// A person pauses or unpauses the workers.
async fn pause(client: &Client, paused: bool) {
    let pools: Api<MachineConfigPool> = Api::all(client.clone());
    let patch = Patch::Merge(json!({"spec": {"paused": paused}}));
    pools
        .patch(WORKER_POOL, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_that_is_withdrawn_is_not_installed() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let mut spec = job_at("2026-01-05T09:00:00Z");
    spec["desiredVersion"] = json!({"version": "4.14.99", "image": "quay.io/x@sha256:1"});
    create_job(client, "one", spec).await;
    assert_eq!(ended(client, "one").await.0, "UpgradeWithdrawn");
    assert_eq!(spoke.version().await.unwrap().spec.desired_update, None);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_said_once_and_tried_again() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let server = spoke.fleet.env.spoke(drydock_e2e::spoke::NAME).unwrap();
    let refused = |asked: &RequestInfo<'_>| {
        let is_version = asked.kind.is_some_and(|kind| kind.plural == "clusterversions");
        if asked.identity.name() == AGENT_MANAGER && is_version && asked.verb == Verb::Patch {
            FaultAction::Refuse(Status::new(503, "ServiceUnavailable", "not now"))
        } else {
            FaultAction::Pass
        }
    };
    server.set_fault_hook(Some(Arc::new(refused)));
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T12:00:00Z").await;
    assert_eq!(events(&spoke, "WriteRefused").await, 1);
    server.set_fault_hook(None);
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_job_that_the_server_refuses_is_reported_until_the_template_is_corrected() {
    let spoke = spoke().await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let mut spec = weekly();
    spec["jobTemplate"]["metadata"]["labels"]["team"] = json!("bad value!");
    create(client, "nights", spec).await;
    until(clock, "2026-01-06T18:10:00Z").await;
    assert!(job_names(client).await.is_empty());
    let ready = condition(client, "nights", "Ready").await.unwrap();
    assert_eq!(
        (ready.status.as_str(), ready.reason.as_str()),
        ("False", "WriteRefused")
    );
    assert!(ready.message.contains("bad value!"), "{}", ready.message);
    assert_eq!(events(&spoke, "UpgradeConfigNotReady").await, 1);
    change(
        client,
        "nights",
        json!({"jobTemplate": {"metadata": {"labels": {"team": "night"}}}}),
    )
    .await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(job_names(client).await.len(), 1);
    assert_eq!(condition(client, "nights", "Ready").await.unwrap().status, "True");
    spoke.fleet.shut_down().await.unwrap();
}

/// Takes fields of the status out of a definition, as an older one or the original's lacks them.
async fn undeclare(client: &Client, definition: &str, fields: &[&str]) {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let found = api.get(definition).await.unwrap();
    let mut found = serde_json::to_value(found).unwrap();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    let status = found.pointer_mut(status).unwrap().as_object_mut().unwrap();
    for field in fields {
        status.remove(*field).unwrap();
    }
    let found = serde_json::from_value(found).unwrap();
    api.replace(definition, &PostParams::default(), &found)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_does_not_know_all_of_a_status_holds_up_nothing() {
    let spoke = faulty(&[]).await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    let group = "managedupgrade.appuio.io";
    let fields = ["observedGeneration", "requestedVersion", "notifications"];
    undeclare(client, &format!("upgradejobs.{group}"), &fields).await;
    undeclare(client, &format!("upgradeconfigs.{group}"), &["conditions"]).await;
    create(client, "nights", weekly()).await;
    until(clock, "2026-01-06T22:10:00Z").await;
    let name = job_names(client).await.remove(0);
    assert_eq!(ended(client, &name).await.0, "Succeeded");
    assert_eq!(lock(client).await, None);
    assert_eq!(last_scheduled(client, "nights").await, Some(at(TUESDAY)));
    spoke.fleet.shut_down().await.unwrap();
}
