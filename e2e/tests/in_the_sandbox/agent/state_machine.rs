//! The state machine: what a user sees who writes an UpgradeConfig.

use drydock_api::machine_api::{MachineSet, NAMESPACE};
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::openshift::ClusterVersion;
use drydock_api::upgradeconfig::{UpgradeCondition, UpgradePhase};
use drydock_e2e::spoke::Spoke;
use jiff::Timestamp;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use super::{HOUR, MINUTE, fire, spoke};

#[tokio::test(start_paused = true)]
async fn an_upgrade_starts_at_its_time_and_tells_each_of_its_steps_once() {
    for kind in ["OSD", "ARO"] {
        let spoke = spoke().await;
        spoke
            .ask(json!({"type": kind, "upgradeAt": "2026-01-05T10:00:00Z"}))
            .await
            .unwrap();
        tokio::time::sleep(HOUR).await;
        let phase = spoke.entry().await.unwrap().phase;
        assert_eq!(phase, UpgradePhase::Pending, "its time is at ten");
        tokio::time::sleep(5 * HOUR).await;
        let entry = spoke.entry().await.unwrap();
        assert_eq!(entry.phase, UpgradePhase::Upgraded);
        assert_eq!(
            spoke.events().await.unwrap(),
            [
                "UpgradeStarted",
                "ControlPlaneUpgradeStarted",
                "ControlPlaneUpgradeFinished",
                "WorkerUpgradeFinished",
                "UpgradeCompleted"
            ],
            "{kind}"
        );
        assert!(entry.worker_start_time.is_some() && entry.worker_complete_time.is_some());
        spoke.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_config_of_another_name_is_reported_and_left_alone() {
    let spoke = spoke().await;
    let mine = serde_json::from_value(json!({
        "apiVersion": "upgrade.managed.openshift.io/v1alpha1", "kind": "UpgradeConfig",
        "metadata": {"name": "mine"},
        "spec": {
            "type": "OSD", "upgradeAt": "2026-01-01T00:00:00Z", "PDBForceDrainTimeout": 60,
            "desired": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    }))
    .unwrap();
    spoke
        .upgrades()
        .create(&PostParams::default(), &mine)
        .await
        .unwrap();
    tokio::time::sleep(12 * HOUR).await;
    assert_eq!(spoke.events().await.unwrap(), ["IgnoredUpgradeConfig"]);
    assert!(spoke.upgrades().get("mine").await.unwrap().status.is_none());
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_configuration_that_makes_no_sense_is_refused_and_the_last_good_one_stays_in_force() {
    let spoke = spoke().await;
    spoke.configure("upgradeWindow: {timeOut: 60}").await.unwrap();
    spoke
        .ask(json!({"upgradeAt": "2026-01-05T10:00:00Z"}))
        .await
        .unwrap();
    tokio::time::sleep(HOUR / 2).await;
    spoke.configure("upgradeWindow: {timeOut: -5}").await.unwrap();
    tokio::time::sleep(5 * HOUR).await;
    let reasons = spoke.events().await.unwrap();
    let refusals = reasons.iter().filter(|reason| *reason == "InvalidConfiguration");
    assert_eq!(refusals.count(), 1, "{reasons:?}");
    let phase = spoke.entry().await.unwrap().phase;
    assert_eq!(
        phase,
        UpgradePhase::Upgraded,
        "the last good configuration was enough"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_on_its_way_already_is_upgrading_from_the_moment_it_is_seen() {
    let spoke = spoke().await;
    let asked = json!({"spec": {"desiredUpdate": {"version": "4.14.12"}}});
    spoke.change::<ClusterVersion>("version", &asked).await.unwrap();
    tokio::time::sleep(MINUTE).await;
    let now = spoke.fleet.clock.now();
    spoke
        .ask(json!({"upgradeAt": "2027-01-01T00:00:00Z"}))
        .await
        .unwrap();
    tokio::time::sleep(MINUTE / 6).await;
    let entry = spoke.entry().await.unwrap();
    assert_eq!(entry.phase, UpgradePhase::Upgrading);
    assert!(entry.start_time.unwrap().0 >= now);
    let skipped = spoke.condition("ClusterHealthyBeforeUpgrade").await.unwrap();
    assert_eq!(skipped.status, "True", "what precedes commencement is over");
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn hours_ahead_the_health_is_looked_at_once_and_reported_and_blocks_nothing() {
    let spoke = spoke().await;
    spoke
        .configure("featureGate: {enabled: [PreHealthCheck]}")
        .await
        .unwrap();
    fire(&spoke, "Broken").await;
    spoke
        .ask(json!({"upgradeAt": "2026-01-05T12:00:00Z"}))
        .await
        .unwrap();
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(spoke.entry().await.unwrap().phase, UpgradePhase::Pending);
    let ahead = spoke.condition("ClusterHealthyAhead").await.unwrap();
    assert_eq!(
        (ahead.status.as_str(), ahead.reason.as_deref()),
        ("False", Some("critical_alerts_firing"))
    );
    let notified = spoke.notifications().await.unwrap();
    assert_eq!(
        notified,
        [(
            "StatePreHealthCheckSL".to_owned(),
            "critical alerts fire: Broken".to_owned()
        )]
    );
    tokio::time::sleep(HOUR).await;
    assert_eq!(spoke.notifications().await.unwrap(), notified);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_pending_starts_at_its_second() {
    let spoke = spoke().await;
    spoke
        .ask(json!({"upgradeAt": "2026-01-05T09:17:43Z"}))
        .await
        .unwrap();
    let entry = spoke.until(UpgradePhase::Upgrading).await.unwrap();
    let expected: Timestamp = "2026-01-05T09:17:43Z".parse().unwrap();
    let late = entry.start_time.unwrap().0.duration_since(expected);
    assert!((0..=1).contains(&late.as_secs()), "{late}");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_stays_pending_and_is_measured_and_what_is_no_upgrade_says_so() {
    let spoke = spoke().await;
    let failed = ["upgradeconfig_validation_failed", "managed-upgrade-config"];
    for (version, reason, measured) in [
        ("4.14.99", "InvalidUpgradeConfig", 1.0),
        ("4.14.9", "NotAnUpgrade", 0.0),
        ("4.13.1", "NotAnUpgrade", 0.0),
    ] {
        spoke.ask(json!({"desired": {"version": version}})).await.unwrap();
        tokio::time::sleep(10 * MINUTE).await;
        assert_eq!(
            spoke.entry().await.unwrap().phase,
            UpgradePhase::Pending,
            "{version}"
        );
        let validated = spoke.condition("UpgradeConfigValidated").await.unwrap();
        assert_eq!(validated.reason.as_deref(), Some(reason), "{version}");
        assert_eq!(spoke.metric(&failed).unwrap(), Some(measured), "{version}");
        spoke.withdraw().await.unwrap();
        tokio::time::sleep(10 * MINUTE).await;
    }
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_does_not_commence_in_its_window_fails_and_is_cleaned_up_on_osd_only() {
    for (kind, ends) in [("OSD", UpgradePhase::Failed), ("ARO", UpgradePhase::Upgrading)] {
        let spoke = spoke().await;
        spoke.ask(json!({"type": kind, "capacityReservation": true, "desired": {"version": "4.15.2", "channel": "none-4.15"}})).await.unwrap();
        tokio::time::sleep(HOUR).await;
        let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
        let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
        let count = async || sets.list(&extra).await.unwrap().items.len();
        assert_eq!(count().await, 3, "{kind}");
        tokio::time::sleep(3 * HOUR).await;
        let entry = spoke.entry().await.unwrap();
        assert_eq!(entry.phase, ends, "{kind}");
        let notified = spoke.notifications().await.unwrap();
        let failed = notified.iter().find(|(event, _)| event == "StateFailed");
        if ends == UpgradePhase::Failed {
            let condition = spoke.condition("FailedUpgrade").await.unwrap();
            assert_eq!(condition.reason.as_deref(), Some("UpgradeWindowBreached"));
            let text = "the upgrade has not commenced within 120 minutes: UpgradeCommenced is not done";
            assert!(failed.unwrap().1.starts_with(text), "{failed:?}");
            assert_eq!(spoke.metric(&["upgrade_window_breached"]).unwrap(), Some(1.0));
            assert_eq!(count().await, 0);
        } else {
            assert_eq!(failed, None);
            assert_eq!(count().await, 3);
        }
        spoke.fleet.shut_down().await.unwrap();
    }
}

async fn edit(spoke: &Spoke, version: &str) {
    let patch = Patch::Merge(json!({"spec": {"desired": {"version": version}}}));
    spoke
        .upgrades()
        .patch(UPGRADE_CONFIG, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_edit_before_commencement_is_validated_again_and_makes_an_entry_of_its_own() {
    let spoke = spoke().await;
    fire(&spoke, "Broken").await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until(UpgradePhase::Upgrading).await.unwrap();
    edit(&spoke, "4.14.99").await;
    tokio::time::sleep(10 * MINUTE).await;
    let entry = spoke.entry().await.unwrap();
    assert_eq!(
        (entry.version.as_deref(), entry.phase),
        (Some("4.14.99"), UpgradePhase::Pending)
    );
    let validated = spoke.condition("UpgradeConfigValidated").await.unwrap();
    assert_eq!(validated.reason.as_deref(), Some("InvalidUpgradeConfig"));
    edit(&spoke, "4.14.13").await;
    spoke
        .configure("healthCheck: {ignoredCriticals: [Broken]}")
        .await
        .unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    assert_eq!(entry.version.as_deref(), Some("4.14.13"));
    let upgrade = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap();
    let history = upgrade.status.unwrap().history.unwrap();
    for (past, version) in history[1..].iter().zip(["4.14.99", "4.14.12"]) {
        assert_eq!(
            (past.version.as_deref(), past.phase),
            (Some(version), UpgradePhase::Failed)
        );
        let conditions = past.conditions.as_ref().unwrap();
        let superseded = |condition: &UpgradeCondition| condition.reason.as_deref() == Some("Superseded");
        assert!(conditions.iter().any(superseded), "{conditions:#?}");
    }
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_edit_after_commencement_is_refused_with_a_condition_and_follows_the_end() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    spoke.until_done("UpgradeCommenced").await.unwrap();
    edit(&spoke, "4.14.13").await;
    tokio::time::sleep(10 * MINUTE).await;
    let entry = spoke.entry().await.unwrap();
    assert_eq!(entry.version.as_deref(), Some("4.14.12"));
    let accepted = spoke.condition("UpgradeConfigAccepted").await.unwrap();
    assert_eq!(accepted.reason.as_deref(), Some("InvalidChange"));
    assert!(
        accepted
            .message
            .unwrap()
            .contains("cannot be changed; the change of spec.desired.version to 4.14.13 is ignored")
    );
    tokio::time::sleep(8 * HOUR).await;
    let upgrade = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap();
    let history: Vec<(Option<String>, UpgradePhase)> = upgrade
        .status
        .unwrap()
        .history
        .unwrap()
        .into_iter()
        .map(|entry| (entry.version, entry.phase))
        .collect();
    let upgraded = |version: &str| (Some(version.to_owned()), UpgradePhase::Upgraded);
    assert_eq!(history, [upgraded("4.14.13"), upgraded("4.14.12")]);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_times_of_the_workers_are_those_of_their_pool() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    let entry = spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let condition = |type_: &str| {
        let conditions = entry.conditions.iter().flatten();
        let mut found = conditions.filter(|condition| condition.type_ == type_);
        found.next().unwrap().complete_time.clone().unwrap().0
    };
    let (began, ended) = (
        entry.worker_start_time.unwrap().0,
        entry.worker_complete_time.unwrap().0,
    );
    let is_in_order = condition("UpgradeCommenced") <= began && began < ended;
    assert!(
        is_in_order && ended <= condition("WorkerNodesUpgraded"),
        "{began} {ended}"
    );
    spoke.fleet.shut_down().await.unwrap();
}
