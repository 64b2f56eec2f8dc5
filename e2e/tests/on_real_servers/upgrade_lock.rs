//! The lock of a cluster holds back OCM's work agent, too: the policy of `manifests/upgrade-lock` on a real API server.

use drydock_api::names::UPGRADE_LOCK_ANNOTATION;
use drydock_api::openshift::ClusterVersion;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use drydock_e2e::static_cluster::until;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::manifests::kustomized;

const WORK_AGENT: &str = "work-agent";

/// Applies a part of ClusterVersion as the work agent does.
async fn apply(client: &Client, spec: &Value) -> Result<ClusterVersion, String> {
    let api: Api<ClusterVersion> = Api::all(client.clone());
    let body = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": spec,
    });
    let parameters = PatchParams::apply("work-agent-drydock").force();
    let applied = api.patch("version", &parameters, &Patch::Apply(body)).await;
    applied.map_err(|error| error.to_string())
}

async fn lock(admin: &Client, holder: Value) {
    let api: Api<ClusterVersion> = Api::all(admin.clone());
    let patch = json!({"metadata": {"annotations": {UPGRADE_LOCK_ANNOTATION: holder}}});
    api.patch("version", &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_work_agent_waits_for_the_lock_and_says_for_whom() {
    let mut settings = Settings::named("lock");
    let groups = [
        "system:masters",
        "system:serviceaccounts:open-cluster-management-agent",
    ];
    settings
        .users
        .push((WORK_AGENT.to_owned(), groups.map(str::to_owned).to_vec()));
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    manifests::install(&admin, &manifests::definitions().unwrap())
        .await
        .unwrap();
    let id = "11111111-2222-3333-4444-555555555555";
    apply(&admin, &json!({"clusterID": id})).await.unwrap();
    lock(&admin, json!("maintenance/nights-4-14-12-1")).await;
    for object in kustomized("manifests/upgrade-lock") {
        manifests::apply(&admin, &object).await.unwrap();
    }

    let worker = server.client(WORK_AGENT).await.unwrap();
    let update = json!({"clusterID": id, "desiredUpdate": {"version": "4.14.12"}});
    // A policy is in force some moments after it is created.
    let mut tries = 0;
    until("the policy holds", async || {
        tries += 1;
        let another = json!({"clusterID": id, "desiredUpdate": {"version": format!("4.14.{}", 100 + tries)}});
        Ok(apply(&worker, &another).await.is_err())
    })
    .await
    .unwrap();
    let refused = apply(&worker, &update).await.unwrap_err();
    assert!(
        refused.contains("maintenance/nights-4-14-12-1 has the lock of the cluster"),
        "{refused}"
    );
    // Everything else goes on, for everybody.
    let current: ClusterVersion = Api::all(admin.clone()).get("version").await.unwrap();
    let mut same = json!({"clusterID": id, "channel": "stable-4.14"});
    if let Some(update) = current.spec.desired_update {
        same["desiredUpdate"] = json!(update);
    }
    apply(&worker, &same).await.unwrap();
    apply(
        &admin,
        &json!({"clusterID": id, "desiredUpdate": {"version": "4.14.10"}}),
    )
    .await
    .unwrap();

    lock(&admin, Value::Null).await;
    apply(&worker, &update).await.unwrap();
}
