//! A retry is a token, not a moment.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use drydock_e2e::hub_fleet::{HubFleet, WEEK, is_true, minutes, spec_of, with};
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings};
use serde_json::json;

fn failed(status: &drydock_api::mcu::ManagedClustersUpgradeStatus) -> bool {
    is_true(status, "Failed")
}

#[tokio::test(start_paused = true)]
async fn any_new_value_retries_once_whatever_the_clocks_say() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until("spring", WEEK, failed).await.unwrap();
    // A clock behind, one far ahead, and a word.
    for (number, value) in ["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z", "please"]
        .iter()
        .enumerate()
    {
        let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": value}}});
        light.edit("spring", retry).await.unwrap();
        minutes(120).await;
        assert_eq!(light.asked()["c01"].len(), number + 2, "{value}");
        assert!(failed(&light.status("spring").await.unwrap()));
    }
    // The same value again, and none, ask for nothing.
    for value in [json!("please"), json!(null)] {
        let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": value}}});
        light.edit("spring", retry).await.unwrap();
        minutes(120).await;
        assert_eq!(light.asked()["c01"].len(), 4, "{value}");
    }
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn one_cluster_is_retried_by_its_own_value() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    for name in ["c01", "c02"] {
        light.spokes.with(name, |cluster, _| {
            cluster.always(Stage::Update, StageOutcome::Fails);
        });
    }
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    let both = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status.clusters_summery.is_some_and(|summary| summary.failed == 2)
    };
    light.until("spring", WEEK, both).await.unwrap();
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry-clusters": "c02=again"}}});
    light.edit("spring", retry).await.unwrap();
    minutes(120).await;
    let asked = light.asked();
    assert_eq!((asked["c01"].len(), asked["c02"].len()), (1, 2));
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn timeouts_are_measured_by_the_servers_clock() {
    let mut light = HubFleet::without_hub(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Hangs);
    });
    // The hub's machine is two hours ahead.
    let ahead = Arc::new(AtomicI64::new(2 * 3600 * 1000));
    let clock = light.clock.skewed(ahead);
    light.start_hub_by(&clock).unwrap();
    let strategy = json!({"upgradeStrategy": {"clusterUpgradeTimeout": "3h"}});
    light
        .upgrade("spring", with(spec_of(&["c01"]), &strategy))
        .await
        .unwrap();
    minutes(170).await;
    assert!(!failed(&light.status("spring").await.unwrap()));
    minutes(20).await;
    assert!(failed(&light.status("spring").await.unwrap()));
    let status = light.status("spring").await.unwrap();
    let started = status.start_time.unwrap().0;
    assert!(
        started
            .duration_since(light.at(jiff::SignedDuration::ZERO))
            .as_secs()
            < 60,
        "{started}"
    );
    light.shut_down().await;
}
