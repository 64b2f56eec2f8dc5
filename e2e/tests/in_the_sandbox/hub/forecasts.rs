//! What the hub says of the future of upgrades, and how often.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgradeStatus};
use drydock_api::names::HUB_MANAGER;
use drydock_e2e::hub_fleet::{HubFleet, Joining, RECORD, UPGRADE, WEEK, is_true, minutes, spec_of, with};
use drydock_hub::FORECAST_RUNS;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::Selection;
use kube_sandbox::server::{FaultAction, RequestInfo, Verb};
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings};
use serde_json::{Value, json};

/// Clusters whose upgrades take so many minutes each, one of them by the seed.
async fn fleet(clusters: usize, durations: &[i64]) -> HubFleet {
    let durations = durations.iter().copied().map(SignedDuration::from_mins);
    let settings = StubWorkAgentSettings {
        durations: durations.collect(),
        ..StubWorkAgentSettings::default()
    };
    let mut light = HubFleet::without_hub(clusters, settings).await.unwrap();
    light.forecast_runs = FORECAST_RUNS;
    light.start_hub().unwrap();
    minutes(1).await;
    light
}

/// An upgrade of four clusters in batches.
fn four(batch: usize) -> Value {
    let change = json!({"upgradeStrategy": {"maxConcurrency": batch, "clusterUpgradeTimeout": "24h"}});
    with(spec_of(&["c01", "c02", "c03", "c04"]), &change)
}

fn forecast(status: &ManagedClustersUpgradeStatus) -> ForecastStatus {
    status.forecast.clone().unwrap_or_default()
}

/// Notes when the hub writes the status of an upgrade.
fn status_writes(light: &HubFleet) -> Arc<Mutex<Vec<Timestamp>>> {
    let writes: Arc<Mutex<Vec<Timestamp>>> = Arc::default();
    let (noted, clock) = (Arc::clone(&writes), light.clock.clone());
    light
        .server
        .set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
            if is_write_by_hub(asked, &UPGRADE.plural) && asked.subresource.is_some() {
                noted.lock().unwrap().push(clock.now());
            }
            FaultAction::Pass
        })));
    writes
}

fn is_write_by_hub(asked: &RequestInfo<'_>, plural: &str) -> bool {
    let is_kind = asked.kind.is_some_and(|kind| kind.plural == plural);
    is_kind && asked.verb == Verb::Patch && asked.identity.name() == HUB_MANAGER
}

/// What the records say of forecasts, a value for each page, and the versions of the pages.
async fn recorded(light: &HubFleet) -> (Vec<Value>, Vec<u64>) {
    let pages = light.user.list(&RECORD, &Selection::everything()).await.unwrap();
    let forecasts = pages
        .iter()
        .map(|page| page["spec"]["upgrade"]["forecast"].clone());
    let versions = pages
        .iter()
        .map(|page| kube_sandbox::object::resource_version(page));
    (forecasts.collect(), versions.collect())
}

#[tokio::test(start_paused = true)]
async fn the_status_says_when_an_upgrade_is_expected_to_end_and_what_that_is_based_on() {
    let light = fleet(4, &[50, 60, 80]).await;
    light.upgrade("spring", four(2)).await.unwrap();
    minutes(2).await;
    let status = light.status("spring").await.unwrap();
    let said = forecast(&status);
    let moment = |time: Option<_>| {
        let time: k8s_openapi::apimachinery::pkg::apis::meta::v1::Time = time.unwrap();
        time.0
    };
    let (p10, p50, p90) = (moment(said.p10), moment(said.p50.clone()), moment(said.p90));
    assert!(light.now() < p10 && p10 < p50 && p50 < p90, "{status:#?}");
    assert_eq!(status.estimated_completion_time, said.p50);
    let basis = said.basis.unwrap();
    assert!(basis.contains("published durations"), "{basis}");
    let start = said.at_start.unwrap();
    assert_eq!(start.rollout_since, status.start_time);
    assert_eq!(start.computed_at, status.start_time);
    let complete = light.until_complete("spring").await.unwrap();
    // What is over has no future.
    let left = ForecastStatus {
        at_start: Some(start),
        ..ForecastStatus::default()
    };
    assert_eq!(complete.forecast, Some(left));
    assert_eq!(complete.estimated_completion_time, None);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_forecast_is_renewed_on_change_and_at_most_once_a_minute() {
    let light = fleet(4, &[60]).await;
    let writes = status_writes(&light);
    light.upgrade("spring", four(2)).await.unwrap();
    let mut computed: Vec<Timestamp> = Vec::new();
    for _ in 0..200 * 12 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let at = forecast(&light.status("spring").await.unwrap()).computed_at;
        computed.extend(at.map(|at| at.0));
    }
    computed.dedup();
    let apart = computed.windows(2).map(|pair| pair[1].duration_since(pair[0]));
    assert!(
        apart.min().unwrap() >= SignedDuration::from_mins(1),
        "{computed:?}"
    );
    assert!(is_true(&light.status("spring").await.unwrap(), "Complete"));
    let writes = writes.lock().unwrap().clone();
    let between = |from: i64, to: i64| {
        let within = |at: &&Timestamp| {
            let after = at.duration_since(computed[0]).as_mins();
            (from..to).contains(&after)
        };
        writes.iter().filter(within).count()
    };
    assert!(between(0, 5) > 0);
    assert!(
        between(5, 55) <= 5,
        "nothing but time passes while clusters upgrade: {writes:?}"
    );
    assert_eq!(between(130, 10_000), 0, "it is over: {writes:?}");
    assert!(writes.len() < 30, "{writes:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_paused_upgrade_has_no_end_and_needs_no_renewal() {
    let light = fleet(4, &[60]).await;
    light.upgrade("spring", four(1)).await.unwrap();
    minutes(30).await;
    assert!(
        light
            .status("spring")
            .await
            .unwrap()
            .estimated_completion_time
            .is_some()
    );
    light
        .edit("spring", json!({"spec": {"paused": true}}))
        .await
        .unwrap();
    minutes(3).await;
    let paused = light.status("spring").await.unwrap();
    let said = forecast(&paused);
    assert_eq!((said.p10, said.p50, said.p90), (None, None, None));
    assert_eq!(
        (said.stop_percent, said.stop_reason.as_deref()),
        (Some(100), Some("Paused"))
    );
    assert_eq!(paused.estimated_completion_time, None);
    // The one that is under way ends.
    minutes(60).await;
    let writes = status_writes(&light);
    minutes(3 * 24 * 60).await;
    assert_eq!(*writes.lock().unwrap(), []);
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    minutes(3).await;
    let resumed = forecast(&light.status("spring").await.unwrap());
    assert!(resumed.p50.is_some() && resumed.stop_reason.as_deref() != Some("Paused"));
    // What was forecast at its start was another rollout than one that is paused for three days.
    assert_eq!((resumed.late, resumed.at_start), (None, None));
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn the_forecast_of_the_start_stays_through_restarts_until_an_edit() {
    let mut light = fleet(4, &[60]).await;
    light.upgrade("spring", four(2)).await.unwrap();
    minutes(2).await;
    let start = forecast(&light.status("spring").await.unwrap()).at_start;
    assert!(start.is_some());
    for minute in [10, 50, 30] {
        minutes(minute).await;
        light.restart_hub().await.unwrap();
        minutes(1).await;
        let now = forecast(&light.status("spring").await.unwrap());
        assert_eq!(now.at_start, start);
        assert!(now.p50.is_some());
    }
    let edit = json!({"spec": {"upgradeStrategy": {"maxConcurrency": 1}}});
    light.edit("spring", edit).await.unwrap();
    minutes(2).await;
    // From here on it is another rollout than the one that was forecast.
    assert_eq!(forecast(&light.status("spring").await.unwrap()).at_start, None);
    light.until_complete("spring").await.unwrap();
    let edit = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    light.edit("spring", edit).await.unwrap();
    minutes(2).await;
    let status = light.status("spring").await.unwrap();
    let next = forecast(&status).at_start.unwrap();
    assert!(next.rollout_since.is_some() && next.rollout_since == status.start_time);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_is_much_slower_than_forecast_is_said_to_be_late_once() {
    let light = fleet(4, &[700]).await;
    light.upgrade("spring", four(4)).await.unwrap();
    minutes(60).await;
    assert_eq!(forecast(&light.status("spring").await.unwrap()).late, None);
    let late = |status: &ManagedClustersUpgradeStatus| forecast(status).late == Some(true);
    light.until("spring", WEEK, late).await.unwrap();
    light.until_complete("spring").await.unwrap();
    let events = light.events().await.unwrap();
    let said = events
        .iter()
        .filter(|(reason, _)| reason == "RolloutLate")
        .count();
    assert_eq!(said, 1, "{events:?}");
    let (forecasts, _) = recorded(&light).await;
    assert_eq!(forecasts[0]["withinBand"], false);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn how_good_the_forecast_was_is_put_on_record_once() {
    let light = fleet(4, &[66]).await;
    light.upgrade("spring", four(2)).await.unwrap();
    let status = light.until_complete("spring").await.unwrap();
    minutes(2).await;
    let (forecasts, versions) = recorded(&light).await;
    assert_eq!(forecasts.len(), 1);
    let start = forecast(&status).at_start.unwrap();
    let ended = status.completion_time.unwrap().0;
    let expected = start.p50.unwrap().0;
    assert_eq!(forecasts[0]["p50"], expected.to_string());
    assert_eq!(forecasts[0]["ended"], ended.to_string());
    assert_eq!(
        forecasts[0]["errorSeconds"],
        ended.duration_since(expected).as_secs()
    );
    let within = start.p10.unwrap().0 <= ended && ended <= start.p90.unwrap().0;
    assert_eq!(forecasts[0]["withinBand"], within);
    minutes(24 * 60).await;
    assert_eq!(recorded(&light).await, (forecasts, versions));
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_killed_before_it_puts_that_on_record_does_so_when_it_is_back() {
    let mut light = fleet(1, &[66]).await;
    let tried = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&tried);
    light
        .server
        .set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
            // The only page is created with its only entry: what is put on it later is this.
            if is_write_by_hub(asked, &RECORD.plural) {
                noted.store(true, Ordering::Relaxed);
                return FaultAction::Unreachable;
            }
            FaultAction::Pass
        })));
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(1).await;
    light.kill_hub().await;
    assert!(tried.load(Ordering::Relaxed));
    assert_eq!(recorded(&light).await.0, [Value::Null]);
    light.server.set_fault_hook(None);
    minutes(60).await;
    light.start_hub().unwrap();
    minutes(2).await;
    assert!(recorded(&light).await.0[0]["errorSeconds"].is_i64());
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn metrics_of_forecasts_come_and_go_with_the_upgrade() {
    let mut light = fleet(4, &[66]).await;
    light.upgrade("spring", four(2)).await.unwrap();
    minutes(10).await;
    let text = light.metrics_text().unwrap();
    let status = light.status("spring").await.unwrap();
    let series = |metric: &str, quantile: &str| {
        format!("{metric}{{name=\"spring\",namespace=\"default\",quantile=\"{quantile}\"}} ")
    };
    let median = forecast(&status).p50.unwrap().0.as_second();
    let now = series("drydock_upgrade_forecast_seconds", "0.5");
    assert!(text.contains(&format!("{now}{median}")), "{text}");
    for quantile in ["0.1", "0.5", "0.9"] {
        assert!(text.contains(&series("drydock_upgrade_forecast_seconds", quantile)));
        assert!(text.contains(&series("drydock_upgrade_forecast_at_start_seconds", quantile)));
    }
    light.until_complete("spring").await.unwrap();
    minutes(2).await;
    let text = light.metrics_text().unwrap();
    assert!(!text.contains("drydock_upgrade_forecast_seconds{"), "{text}");
    assert!(
        !text.contains("drydock_upgrade_forecast_at_start_seconds{"),
        "{text}"
    );
    assert!(text.contains("drydock_upgrade_forecast_error_seconds{"), "{text}");
    assert!(
        text.contains("drydock_rollout_forecasts_total{within_band="),
        "{text}"
    );
    // Who asks later gets it as well.
    light.restart_hub().await.unwrap();
    minutes(2).await;
    let text = light.metrics_text().unwrap();
    assert!(text.contains("drydock_upgrade_forecast_error_seconds{"), "{text}");
    light.delete("spring").await.unwrap();
    minutes(10).await;
    let text = light.metrics_text().unwrap();
    assert!(!text.contains("drydock_upgrade_forecast"), "{text}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_is_asked_for_no_forecasts_makes_none() {
    let mut light = HubFleet::without_hub(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.forecast_runs = 0;
    light.start_hub().unwrap();
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    minutes(10).await;
    let status = light.status("spring").await.unwrap();
    assert_eq!((status.forecast, status.estimated_completion_time), (None, None));
    let complete = light.until_complete("spring").await.unwrap();
    assert_eq!(complete.forecast, None);
    minutes(2).await;
    assert_eq!(recorded(&light).await.0, [Value::Null]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_retry_or_a_cluster_that_joins_is_another_rollout_than_the_one_that_was_forecast() {
    for joins in [false, true] {
        let light = fleet(4, &[60]).await;
        light.spokes.with("c01", |cluster, _| {
            cluster.always(Stage::Update, StageOutcome::Fails);
        });
        let change = json!({"upgradeStrategy": {"maxConcurrency": 1}});
        let five = with(spec_of(&["c01", "c02", "c03", "c04", "c05"]), &change);
        light.upgrade("spring", five).await.unwrap();
        let has_failed = |status: &ManagedClustersUpgradeStatus| {
            status.clusters_summery.is_some_and(|summary| summary.failed == 1)
        };
        let status = light.until("spring", WEEK, has_failed).await.unwrap();
        minutes(3).await;
        assert!(forecast(&status).at_start.is_some());
        if joins {
            light.join(&Joining::new("c05")).await.unwrap();
        } else {
            let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "again"}}});
            light.edit("spring", retry).await.unwrap();
        }
        minutes(3).await;
        let now = forecast(&light.status("spring").await.unwrap());
        assert_eq!((now.at_start, now.late), (None, None), "joins: {joins}");
        assert!(now.p50.is_some(), "joins: {joins}");
        light.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_changes_as_a_rollout_begins_is_part_of_the_forecast_of_its_start() {
    let light = fleet(4, &[6]).await;
    let change = json!({"upgradeStrategy": {"maxConcurrency": 3}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02", "c03", "c04"]), &change))
        .await
        .unwrap();
    minutes(2).await;
    let first = forecast(&light.status("spring").await.unwrap()).at_start.unwrap();
    // The later upgrade takes it.
    light.upgrade("summer", spec_of(&["c04"])).await.unwrap();
    minutes(2).await;
    let start = forecast(&light.status("spring").await.unwrap()).at_start.unwrap();
    assert_eq!(start.rollout_since, first.rollout_since);
    assert_ne!(start.fingerprint, first.fingerprint);
    light.until_complete("spring").await.unwrap();
    minutes(2).await;
    let (scored, _) = recorded(&light).await;
    assert!(scored[0]["errorSeconds"].is_i64(), "{scored:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn time_that_passes_renews_a_forecast_every_ten_minutes() {
    let light = fleet(4, &[180]).await;
    light.upgrade("spring", four(4)).await.unwrap();
    minutes(100).await;
    // Clusters have lasted longer than most of what is published: each ten minutes more are news, and nothing else happens.
    let writes = status_writes(&light);
    let before = forecast(&light.status("spring").await.unwrap());
    minutes(61).await;
    let after = forecast(&light.status("spring").await.unwrap());
    assert!(after.p50 > before.p50 && after.computed_at > before.computed_at);
    let writes = writes.lock().unwrap().clone();
    assert!((5..=7).contains(&writes.len()), "{writes:?}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn clusters_that_cannot_start_are_no_part_of_what_was_forecast() {
    let light = fleet(4, &[60]).await;
    light.available("c04", false).await.unwrap();
    light.upgrade("spring", four(3)).await.unwrap();
    minutes(5).await;
    let first = forecast(&light.status("spring").await.unwrap());
    assert!(first.p50.is_some() && first.at_start.is_some());
    assert_eq!(
        (first.stop_percent, first.stop_reason.as_deref()),
        (Some(100), Some("ClustersBlocked"))
    );
    let rest = |status: &ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| summary.complete == 3)
    };
    light.until("spring", WEEK, rest).await.unwrap();
    minutes(30).await;
    let (scored, _) = recorded(&light).await;
    assert!(scored[0]["errorSeconds"].is_i64(), "{scored:?}");
    let status = light.status("spring").await.unwrap();
    let now = forecast(&status);
    assert_eq!((now.p50, now.at_start, now.late), (None, None, None));
    assert_eq!(now.stop_reason.as_deref(), Some("ClustersBlocked"));

    minutes(24 * 60).await;
    light.available("c04", true).await.unwrap();
    light.until_complete("spring").await.unwrap();
    let (now, _) = recorded(&light).await;
    assert_eq!(now, scored, "it is scored once");
    let events = light.events().await.unwrap();
    assert!(
        !events.iter().any(|(reason, _)| reason == "RolloutLate"),
        "{events:?}"
    );
    light.shut_down().await;
}
