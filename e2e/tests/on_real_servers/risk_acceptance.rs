//! Nobody accepts the risks of an upgrade in the name of somebody else: the policy of `manifests/risk-acceptance` on a real API server.

use drydock_api::mcu::UpgradeRiskAcceptance;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use drydock_e2e::static_cluster::until;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::manifests::kustomized;

fn risk(uid: &str, who: &str) -> Value {
    json!({"informer": "mco", "uid": uid, "reason": "known", "acceptedBy": who})
}

fn acceptance(risks: &[Value]) -> UpgradeRiskAcceptance {
    serde_json::from_value(json!({
        "metadata": {"name": "spring", "namespace": "default"},
        "spec": {"upgrade": "spring", "target": "4.14.12", "acceptedRisks": risks},
    }))
    .unwrap()
}

fn api(client: &Client) -> Api<UpgradeRiskAcceptance> {
    Api::namespaced(client.clone(), "default")
}

async fn create(client: &Client, risks: &[Value]) -> Result<UpgradeRiskAcceptance, String> {
    let created = api(client)
        .create(&PostParams::default(), &acceptance(risks))
        .await;
    created.map_err(|error| error.to_string())
}

/// Replaces what is accepted.
async fn edit(client: &Client, risks: &[Value]) -> Result<(), String> {
    let mut object = api(client).get("spring").await.unwrap();
    object.spec = acceptance(risks).spec;
    let replaced = api(client)
        .replace("spring", &PostParams::default(), &object)
        .await;
    replaced.map(drop).map_err(|error| error.to_string())
}

#[tokio::test]
async fn who_accepts_a_risk_does_so_in_their_own_name() {
    let mut settings = Settings::named("risks");
    for user in ["ann", "bob"] {
        let masters = vec!["system:masters".to_owned()];
        settings.users.push((user.to_owned(), masters));
    }
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    manifests::install(&admin, &drydock_api::crds()).await.unwrap();
    for object in kustomized("manifests/risk-acceptance") {
        manifests::apply(&admin, &object).await.unwrap();
    }
    let (ann, bob) = (
        server.client("ann").await.unwrap(),
        server.client("bob").await.unwrap(),
    );
    // A policy is in force some moments after it is created.
    until("the policy holds", async || {
        let refused = create(&ann, &[risk("a", "bob")]).await;
        if refused.is_ok() {
            api(&ann)
                .delete("spring", &DeleteParams::default())
                .await
                .unwrap();
        }
        Ok(refused.is_err())
    })
    .await
    .unwrap();
    let refused = create(&ann, &[risk("a", "bob")]).await.unwrap_err();
    assert!(refused.contains("acceptedBy must be ann"), "{refused}");

    create(&ann, &[risk("a", "ann")]).await.unwrap();
    // What others have accepted stays, or goes; it is not changed, and not widened.
    edit(&bob, &[risk("a", "ann"), risk("b", "bob")]).await.unwrap();
    let mut wider = risk("a", "ann");
    wider["level"] = "Critical".into();
    assert!(edit(&bob, &[wider, risk("b", "bob")]).await.is_err());
    assert!(edit(&bob, &[risk("a", "ann"), risk("c", "ann")]).await.is_err());
    edit(&bob, &[risk("b", "bob")]).await.unwrap();

    // Nor does it move to another upgrade or another target.
    for (field, value) in [("upgrade", "summer"), ("target", "4.15.0")] {
        let mut object = json!(api(&bob).get("spring").await.unwrap());
        object["spec"][field] = value.into();
        let object: UpgradeRiskAcceptance = serde_json::from_value(object).unwrap();
        let moved = api(&bob).replace("spring", &PostParams::default(), &object).await;
        assert!(moved.is_err(), "{field}");
    }
}
