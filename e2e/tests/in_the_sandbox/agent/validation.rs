//! Validation.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::spoke::Spoke;
use openshift_sandbox::cluster::Fault;
use openshift_sandbox::update_service;
use serde_json::json;

use super::{HOUR, MINUTE, faulty, spoke};

#[tokio::test(start_paused = true)]
async fn another_channel_is_checked_with_the_update_graph() {
    let spoke = spoke().await;
    spoke.configure("validation: {cincinnati: true}").await.unwrap();
    let graph = spoke.fleet.env.update_service().clone();
    graph.set_mode(update_service::GraphMode::Garbled);
    let asked = json!({"desired": {"version": "4.15.99", "channel": "stable-4.15"}});
    spoke.ask(asked).await.unwrap();
    let says = async || {
        tokio::time::sleep(HOUR / 4).await;
        spoke
            .condition("UpgradeConfigValidated")
            .await
            .unwrap()
            .message
            .unwrap()
    };
    let message = says().await;
    assert!(
        message.contains("cannot check whether channel stable-4.15 leads to 4.15.99"),
        "{message}"
    );
    graph.set_mode(update_service::GraphMode::Whole);
    let message = says().await;
    assert!(
        message.contains("4.15.99 is not an update that channel stable-4.15 offers from 4.14.9"),
        "{message}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

async fn says(spoke: &Spoke) -> (String, String) {
    tokio::time::sleep(10 * MINUTE).await;
    let validated = spoke.condition("UpgradeConfigValidated").await.unwrap();
    (validated.reason.unwrap(), validated.message.unwrap())
}

#[tokio::test(start_paused = true)]
async fn what_makes_no_sense_says_what_would() {
    let digest = format!("quay.io/openshift/release@sha256:{}", "0".repeat(63));
    for (fields, says_so) in [
        (json!({"upgradeAt": "tomorrow"}), "is not a time of RFC 3339"),
        (
            json!({"desired": {"version": "", "channel": ""}}),
            "spec.desired needs either image, or version and channel",
        ),
        (
            json!({"desired": {"version": "4.14"}}),
            "is not a semantic version such as 4.14.12",
        ),
        (
            json!({"desired": {"image": "quay.io/openshift/release:4.14.12"}}),
            "must be a whole pull spec by digest",
        ),
        (
            json!({"desired": {"image": digest}}),
            "must be a whole pull spec by digest",
        ),
    ] {
        let spoke = spoke().await;
        if let Err(refused) = spoke.ask(fields.clone()).await {
            // The definition's own rules are an earlier door.
            assert!(refused.to_string().contains("upgradeAt"), "{fields}: {refused}");
        } else {
            let (reason, message) = says(&spoke).await;
            assert_eq!(reason, "InvalidUpgradeConfig", "{fields}");
            assert!(message.contains(says_so), "{fields}: {message}");
        }
        spoke.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_that_is_conditional_is_offered_too() {
    let spoke = faulty(&[Fault::RiskUnknown]).await;
    let status = spoke.version().await.unwrap().status.unwrap();
    assert!(status.available_updates.is_empty() && !status.conditional_updates.is_empty());
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgrading).await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
}

fn sha256(bytes: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let hexadecimal: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hexadecimal}")
}

#[tokio::test(start_paused = true)]
async fn an_image_is_known_by_its_label_which_becomes_the_version_that_is_asked_for() {
    let config = json!({"config": {"Labels": {"io.openshift.release": "4.14.12"}}}).to_string();
    let manifest = json!({"schemaVersion": 2, "config": {"digest": sha256(config.as_bytes())}}).to_string();
    let image = format!(
        "registry.example/openshift/release@{}",
        sha256(manifest.as_bytes())
    );
    let proofs = Arc::new(Mutex::new(Vec::new()));
    let give = |body: String| {
        let proofs = Arc::clone(&proofs);
        get(move |headers: HeaderMap| async move {
            let proof = headers
                .get("authorization")
                .map(|proof| proof.to_str().unwrap().to_owned());
            match proof {
                None => Err((StatusCode::UNAUTHORIZED, [("www-authenticate", "Basic")])),
                Some(proof) => {
                    proofs.lock().unwrap().push(proof);
                    Ok(body)
                }
            }
        })
    };
    let repository = "/v2/openshift/release";
    let router = Router::new()
        .route(
            &format!("{repository}/manifests/{}", sha256(manifest.as_bytes())),
            give(manifest.clone()),
        )
        .route(
            &format!("{repository}/blobs/{}", sha256(config.as_bytes())),
            give(config.clone()),
        );
    let spoke = Spoke::start(
        |_| {},
        move |outside| outside.with("registry.example", router.clone()),
    )
    .await
    .unwrap();
    spoke
        .give_pull_secret(&json!({"auths": {"registry.example": {"auth": "dXNlcjpwYXNz"}}}))
        .await
        .unwrap();
    spoke
        .ask(json!({"desired": {"image": image, "version": null, "channel": null}}))
        .await
        .unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let desired = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap().spec.desired;
    assert_eq!(desired.version.as_deref(), Some("4.14.12"));
    assert_eq!(spoke.entry().await.unwrap().version.as_deref(), Some("4.14.12"));
    let proofs = proofs.lock().unwrap().clone();
    assert!(
        !proofs.is_empty() && proofs.iter().all(|proof| proof == "Basic dXNlcjpwYXNz"),
        "{proofs:?}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

/// It is offered no more once the cluster is on its way there.
#[tokio::test(start_paused = true)]
async fn an_image_that_is_offered_is_the_same_upgrade_to_its_end() {
    let spoke = Spoke::start(|_| {}, |outside| outside).await.unwrap();
    let cluster = spoke.version().await.unwrap();
    let offered = cluster.status.unwrap().available_updates;
    let release = offered
        .iter()
        .find(|release| release.version.as_deref() == Some("4.14.12"))
        .unwrap();
    spoke
        .ask(json!({"desired": {"image": release.image, "version": null, "channel": null}}))
        .await
        .unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(entry.version.as_deref(), Some("4.14.12"));
    let status = spoke
        .upgrades()
        .get(UPGRADE_CONFIG)
        .await
        .unwrap()
        .status
        .unwrap();
    assert_eq!(status.history.unwrap().len(), 1);
    spoke.withdraw().await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
}
