//! UpgradeJobHooks run Jobs. Those of the sandbox hang here until a test ends them.

use drydock_api::names::{HOOK_JOB_FINALIZER, HOOK_LABEL};
use drydock_api::schedule::UpgradeJobHook;
use k8s_openapi::api::batch::v1::Job;
use kube::api::DeleteParams;

use super::upgrades::{ended, faulty};
use super::*;

fn hooks(client: &Client) -> Api<UpgradeJobHook> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

pub(super) fn hook_jobs(client: &Client) -> Api<Job> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

/// The template of a Job whose pods end like this.
pub(super) fn template(outcome: &str) -> Value {
    json!({
        "metadata": {"labels": {"sandbox.drydock.dev/outcome": outcome}},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "notify", "image": "curl"}],
        }}},
    })
}

pub(super) async fn create_hook(client: &Client, name: &str, spec: Value) {
    let mut hook = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeJobHook",
        "metadata": {"name": name}, "spec": {"selector": {}, "template": template("hang")},
    });
    for (field, value) in spec.as_object().unwrap() {
        hook["spec"][field] = value.clone();
    }
    let hook = serde_json::from_value(hook).unwrap();
    hooks(client).create(&PostParams::default(), &hook).await.unwrap();
}

/// The Jobs of a hook.
async fn of_hook(client: &Client, hook: &str) -> Vec<Job> {
    let selected = ListParams::default().labels(&format!("{HOOK_LABEL}={hook}"));
    hook_jobs(client).list(&selected).await.unwrap().items
}

/// Ends a Job as its controller does.
async fn end(client: &Client, job: &Job, how: &str) {
    let status = json!({"status": {"conditions": [{
        "type": how, "status": "True", "reason": "Test", "message": "the test says so",
    }]}});
    let name = job.name_any();
    let patch = Patch::Merge(status);
    hook_jobs(client)
        .patch_status(&name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn hooks_run_at_their_events_and_hold_up_the_upgrade_until_they_end() {
    let spoke = faulty(&[]).await;
    let (client, clock) = (&spoke.client, &spoke.fleet.clock);
    create_hook(client, "before", json!({"events": ["Start"]})).await;
    create_hook(client, "after", json!({"events": ["Finish"], "disruptive": true})).await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(clock, "2026-01-05T09:30:00Z").await;
    let before = of_hook(client, "before").await;
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].name_any(), "one-hook-start-before");
    assert_eq!(before[0].finalizers(), [HOOK_JOB_FINALIZER]);
    let containers = &before[0]
        .spec
        .as_ref()
        .unwrap()
        .template
        .spec
        .as_ref()
        .unwrap()
        .containers;
    let environment = containers[0].env.as_ref().unwrap();
    let value = |name: &str| {
        let found = environment.iter().find(|variable| variable.name == name);
        found.and_then(|variable| variable.value.clone()).unwrap()
    };
    assert_eq!(value("EVENT_name"), "\"Start\"");
    assert_eq!(value("JOB_metadata_name"), "\"one\"");
    assert_eq!(value("META_matchesDisruptiveHooks"), "false");
    assert_eq!(spoke.version().await.unwrap().spec.desired_update, None);
    let status = jobs(client).get("one").await.unwrap().status.unwrap();
    assert_eq!(status.hook_tracker.unwrap()[0].status.as_deref(), Some("active"));

    end(client, &before[0], "Complete").await;
    tokio::time::sleep(MINUTE).await;
    assert!(spoke.version().await.unwrap().spec.desired_update.is_some());
    assert!(of_hook(client, "before").await[0].finalizers().is_empty());
    // A Job that is gone does not run again.
    hook_jobs(client)
        .delete(&before[0].name_any(), &DeleteParams::background())
        .await
        .unwrap();
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    tokio::time::sleep(MINUTE).await;
    assert!(of_hook(client, "before").await.is_empty());
    let after = of_hook(client, "after").await;
    end(client, &after[0], "Failed").await;
    tokio::time::sleep(MINUTE).await;
    let status = jobs(client).get("one").await.unwrap().status.unwrap();
    let tracked: Vec<_> = status
        .hook_tracker
        .unwrap()
        .into_iter()
        .map(|entry| entry.status.unwrap())
        .collect();
    assert_eq!(tracked, ["failed", "complete"]);
    assert_eq!(ended(client, "one").await.0, "Succeeded");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_aborts_fails_the_upgrade() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_hook(
        client,
        "gate",
        json!({"events": ["Start"], "failurePolicy": "Abort", "run": "Next"}),
    )
    .await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T09:30:00Z").await;
    let claimed = hooks(client).get("gate").await.unwrap().status.unwrap();
    assert_eq!(claimed.claimed_by.unwrap().name, "one");
    end(client, &of_hook(client, "gate").await[0], "Failed").await;
    let (reason, message) = ended(client, "one").await;
    assert_eq!(reason, "HookFailed");
    assert!(message.contains("the test says so"), "{message}");
    assert_eq!(spoke.version().await.unwrap().spec.desired_update, None);

    // It is claimed for good: the next one does not run it.
    create_job(client, "two", job_at("2026-01-05T12:00:00Z")).await;
    assert_eq!(ended(client, "two").await.0, "Succeeded");
    assert_eq!(of_hook(client, "gate").await.len(), 1);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn jobs_of_an_upgrade_that_is_deleted_go_with_it() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_hook(client, "before", json!({"events": ["Start"]})).await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T09:30:00Z").await;
    assert_eq!(of_hook(client, "before").await.len(), 1);
    jobs(client)
        .delete("one", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    assert!(of_hook(client, "before").await.is_empty());
    spoke.fleet.shut_down().await.unwrap();
}

/// The namesake of an UpgradeJob that was deleted without its hooks' Jobs says which of them is in the way.
#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_owns_any_more_is_named() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_hook(client, "before", json!({"events": ["Start"]})).await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    until(&spoke.fleet.clock, "2026-01-05T09:30:00Z").await;
    let orphaning = DeleteParams {
        propagation_policy: Some(kube::api::PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    jobs(client).delete("one", &orphaning).await.unwrap();
    tokio::time::sleep(5 * MINUTE).await;
    let left = of_hook(client, "before").await.remove(0);
    assert!(left.owner_references().is_empty());
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(events(&spoke, "WriteRefused").await, 1);
    hook_jobs(client)
        .delete(&left.name_any(), &DeleteParams::background())
        .await
        .unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let own = of_hook(client, "before").await.remove(0);
    assert_eq!(own.owner_references()[0].name, "one");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hook_whose_job_is_refused_fails_with_the_words_of_the_server() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    let template = json!({"spec": {"template": {"spec": {"restartPolicy": "Always", "containers": [
        {"name": "x", "image": "x"},
    ]}}}});
    create_hook(
        client,
        "before",
        json!({"events": ["Start"], "failurePolicy": "Abort", "template": template}),
    )
    .await;
    create_job(client, "one", job_at("2026-01-05T09:00:00Z")).await;
    let (reason, message) = ended(client, "one").await;
    assert_eq!(reason, "HookFailed");
    assert!(message.contains("restartPolicy"), "{message}");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hook_says_whether_it_can_be_used() {
    let spoke = faulty(&[]).await;
    let client = &spoke.client;
    create_hook(client, "good", json!({"events": ["Start"]})).await;
    create_hook(client, "empty", json!({"events": []})).await;
    tokio::time::sleep(MINUTE).await;
    for (name, reason) in [("good", "Usable"), ("empty", "NoEvents")] {
        let status = hooks(client).get(name).await.unwrap().status.unwrap();
        assert_eq!(status.conditions.unwrap()[0].reason, reason);
    }
    spoke.fleet.shut_down().await.unwrap();
}
