//! Maintenance schedules on a real API server, with kube-controller-manager running the Jobs of hooks and keeping budgets.

use drydock_api::conditions::Condition;
use drydock_api::names::AGENT_NAMESPACE;
use drydock_api::schedule::UpgradeJob;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use drydock_e2e::static_cluster::force_drain::ForceDrains;
use drydock_e2e::static_cluster::{StaticCluster, Watched, until};
use drydock_runtime::Clock;
use jiff::SignedDuration;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

async fn control_plane(controllers: &[&str]) -> (ControlPlane, Client) {
    let mut settings = Settings::named("schedule");
    settings
        .controllers
        .extend(controllers.iter().map(|name| (*name).to_owned()));
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let client = server.client(ADMIN).await.unwrap();
    manifests::install(&client, &manifests::definitions().unwrap())
        .await
        .unwrap();
    (server, client)
}

#[tokio::test]
async fn pods_that_hold_up_a_drain_go_at_their_time_whatever_budgets_say() {
    let (_server, client) = control_plane(&["disruption-controller"]).await;
    let drains = ForceDrains::start(client, Clock::system()).await.unwrap();
    drains.what_goes_when_and_what_never_does().await.unwrap();
}

async fn apply(client: &Client, kind: &str, name: &str, spec: Value) {
    let object = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": kind,
        "metadata": {"namespace": AGENT_NAMESPACE, "name": name}, "spec": spec,
    });
    let object = serde_json::from_value(object).unwrap();
    manifests::apply(client, &object).await.unwrap();
}

fn hook(event: &str, deadline: Option<i64>) -> Value {
    json!({
        "events": [event], "selector": {}, "failurePolicy": "Ignore",
        "template": {"spec": {"activeDeadlineSeconds": deadline, "backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example/c"}],
        }}}},
    })
}

/// A maintenance that only runs hooks.
fn maintenance() -> Value {
    let now = Clock::system().now();
    json!({
        "startAfter": now.to_string(), "startBefore": (now + SignedDuration::from_hours(1)).to_string(),
        "config": {"upgradeTimeout": "6h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {}},
    })
}

struct Hooks {
    client: Client,
}

impl Hooks {
    fn jobs(&self) -> Api<Job> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    fn upgrades(&self) -> Api<UpgradeJob> {
        Api::namespaced(self.client.clone(), AGENT_NAMESPACE)
    }

    /// The status of each hook in the tracker.
    async fn tracked(&self, job: &str) -> anyhow::Result<Vec<(String, String)>> {
        let status = self.upgrades().get(job).await?.status.unwrap_or_default();
        let tracker = status.hook_tracker.unwrap_or_default().into_iter();
        Ok(tracker
            .map(|entry| {
                (
                    entry.upgrade_job_hook.unwrap_or_default(),
                    entry.status.unwrap_or_default(),
                )
            })
            .collect())
    }

    async fn condition(&self, job: &str, type_: &str) -> anyhow::Result<Option<Condition>> {
        let status = self.upgrades().get(job).await?.status.unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        Ok(conditions.into_iter().find(|condition| condition.type_ == type_))
    }

    /// The pod that the real controller has made for a Job ends, as it does where a kubelet runs it.
    async fn end_pod(&self, job: &str, phase: &str) {
        let selected = ListParams::default().labels(&format!("batch.kubernetes.io/job-name={job}"));
        until("the Job has a pod", async || {
            Ok(!self.pods().list(&selected).await?.items.is_empty())
        })
        .await
        .unwrap();
        let pod = self
            .pods()
            .list(&selected)
            .await
            .unwrap()
            .items
            .remove(0)
            .name_any();
        let exit = i32::from(phase != "Succeeded");
        let now = Clock::system().now().to_string();
        let status = json!({"status": {"phase": phase, "containerStatuses": [{
            "name": "c", "image": "x", "imageID": "x", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": exit, "startedAt": now, "finishedAt": now}},
        }]}});
        let patch = Patch::Merge(status);
        self.pods()
            .patch_status(&pod, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn hooks_run_as_real_jobs_and_go_with_their_upgrade() {
    let controllers = ["job-controller", "ttl-after-finished-controller"];
    let (_server, client) = control_plane(&controllers).await;
    let watched = Watched::by_sandbox(&client, &Clock::system());
    let mut cluster = StaticCluster::make(client.clone(), Clock::system(), watched)
        .await
        .unwrap();
    let hooks = Hooks {
        client: client.clone(),
    };
    apply(&client, "UpgradeJobHook", "before", hook("Start", None)).await;
    apply(
        &client,
        "UpgradeJobHook",
        "late",
        hook("UpgradeComplete", Some(1)),
    )
    .await;
    apply(&client, "UpgradeJobHook", "after", hook("Finish", None)).await;
    let mut invalid = hook("Start", None);
    invalid["template"]["spec"]["template"]["spec"]["restartPolicy"] = json!("Always");
    apply(&client, "UpgradeJobHook", "invalid", invalid).await;
    cluster.start_agent();
    apply(&client, "UpgradeJob", "one", maintenance()).await;

    // Nothing goes on before the hook has ended.
    hooks.end_pod("one-hook-start-before", "Succeeded").await;
    // The real controller ends the second one by its deadline.
    until("it succeeds", async || {
        Ok(hooks.condition("one", "Succeeded").await?.is_some())
    })
    .await
    .unwrap();
    hooks.end_pod("one-hook-finish-after", "Failed").await;
    let expected = [
        ("after", "failed"),
        ("before", "complete"),
        ("invalid", "failed"),
        ("late", "failed"),
    ];
    let expected = expected.map(|(hook, status)| (hook.to_owned(), status.to_owned()));
    until("all hooks have ended", async || {
        Ok(hooks.tracked("one").await? == expected)
    })
    .await
    .unwrap();
    let jobs = hooks.jobs().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 3);

    // A maintenance that is deleted takes its Jobs with it, although they have not ended.
    apply(&client, "UpgradeJob", "two", maintenance()).await;
    until("its hook runs", async || {
        Ok(hooks.jobs().get_opt("two-hook-start-before").await?.is_some())
    })
    .await
    .unwrap();
    for name in ["one", "two"] {
        hooks
            .upgrades()
            .delete(name, &DeleteParams::background())
            .await
            .unwrap();
    }
    until("the Jobs are gone", async || {
        Ok(hooks.jobs().list(&ListParams::default()).await?.items.is_empty())
    })
    .await
    .unwrap();
    cluster.kill_agent().await;
}
