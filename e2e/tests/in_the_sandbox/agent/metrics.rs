//! The metrics, each with its labels, as they are scraped.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::http::StatusCode;
use axum::routing::any;
use drydock_e2e::spoke::{NAME, Spoke};
use openshift_sandbox::cluster::Fault;
use serde_json::json;

use super::HOUR;

/// Names, and the labels of their series.
fn scraped(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut names = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some((series, _)) = line.rsplit_once(' ') else {
            continue;
        };
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels = labels.split("\",").filter_map(|label| label.split_once('='));
        let labels = labels.map(|(label, _)| label.to_owned()).collect();
        names.insert(name.to_owned(), labels);
    }
    names
}

/// Those that show in an upgrade that goes wrong where it can. `upgrade_result` needs a whole Prometheus, and
/// `upgradeconfig_sync_timestamp` a provider: they have tests of their own.
fn expected() -> Vec<(&'static str, &'static [&'static str])> {
    const OF: &[&str] = &["upgradeconfig_name"];
    const VERSION: &[&str] = &["upgradeconfig_name", "version"];
    const TIME: &[&str] = &["_id", "upgradeconfig_name", "version"];
    vec![
        ("upgradeoperator_upgradeconfig_validation_failed", OF),
        ("upgradeoperator_scaling_failed", OF),
        ("upgradeoperator_upgrade_window_breached", OF),
        ("upgradeoperator_controlplane_timeout", VERSION),
        ("upgradeoperator_worker_timeout", VERSION),
        (
            "upgradeoperator_healthcheck_failed",
            &["upgradeconfig_name", "state", "version", "reason"],
        ),
        ("upgradeoperator_node_drain_timeout", &["node_name"]),
        (
            "upgradeoperator_upgrade_notification",
            &["upgradeconfig_name", "event", "version"],
        ),
        ("upgrade_notification_failed", &["upgradeconfig_name", "event"]),
        ("upgradeoperator_upgrade_started_timestamp", TIME),
        ("upgradeoperator_controlplane_upgrade_started_timestamp", TIME),
        ("upgradeoperator_controlplane_upgrade_completed_timestamp", TIME),
        ("upgradeoperator_workernode_upgrade_started_timestamp", TIME),
    ]
}

#[tokio::test(start_paused = true)]
async fn every_metric_is_scraped_with_its_labels() {
    let dead = Router::new().route("/", any(|| async { StatusCode::INTERNAL_SERVER_ERROR }));
    let spoke = Spoke::start(
        |settings| settings.clusters[0].faults.extend([Fault::DrainStuck]),
        move |outside| outside.with("dead.example", dead.clone()),
    )
    .await
    .unwrap();
    let configuration = "
nodeDrain: {disableDrainStrategies: true}
notify: {webhooks: [{url: 'https://dead.example/', events: [StateStarted]}]}
";
    spoke.configure(configuration).await.unwrap();
    spoke.ask(json!({"PDBForceDrainTimeout": 30})).await.unwrap();
    tokio::time::sleep(6 * HOUR).await;
    let during = scraped(&spoke.fleet.metrics(NAME).unwrap());
    for (name, labels) in expected() {
        let labels: BTreeSet<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        assert_eq!(during.get(name), Some(&labels), "{name}: {during:#?}");
    }
    spoke
        .configure("nodeDrain: {disableDrainStrategies: false}")
        .await
        .unwrap();
    spoke
        .until(drydock_api::upgradeconfig::UpgradePhase::Upgraded)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    let after = scraped(&spoke.fleet.metrics(NAME).unwrap());
    for name in [
        "upgradeoperator_upgrade_completed_timestamp",
        "upgradeoperator_workernode_upgrade_completed_timestamp",
        "managed_upgrade_upgrade_scheduled",
        "managed_upgrade_upgrade_start_timestamp",
        "managed_upgrade_upgrade_complete_timestamp",
        "managed_upgrade_upgrade_pdb_timeout_minutes",
    ] {
        assert!(after.contains_key(name), "{name}: {after:#?}");
    }
    let conditions = after
        .keys()
        .filter(|name| name.starts_with("managed_upgrade_condition_") && name.ends_with("_timestamp"));
    assert_eq!(conditions.count(), 17, "{after:#?}");
    spoke.fleet.shut_down().await.unwrap();
}
