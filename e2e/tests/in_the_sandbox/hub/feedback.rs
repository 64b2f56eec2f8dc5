//! What a cluster says, and what it does not.

use drydock_api::names::REVISION_ANNOTATION;
use drydock_e2e::hub_fleet::{HubFleet, Joining, WEEK, is_true, minutes, spec_of, with};
use kube_sandbox::access::Key;
use ocm_sandbox::kinds::{MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK};
use ocm_sandbox::spokes::{Stage, StageOutcome, StubWorkAgentSettings, image_of};
use serde_json::{Value, json};

fn failed(status: &drydock_api::mcu::ManagedClustersUpgradeStatus) -> bool {
    is_true(status, "Failed")
}

/// The add-on of the agent is Available on a cluster.
async fn agent(light: &HubFleet, cluster: &str) {
    let addon = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "drydock-agent", "namespace": cluster}, "spec": {},
    });
    let mut addon = light
        .user
        .create(&MANAGED_CLUSTER_ADD_ON, addon)
        .await
        .unwrap()
        .value()
        .clone();
    addon["status"] = json!({"conditions": [{
        "type": "Available", "status": "True", "reason": "a", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    light
        .user
        .replace_status(&MANAGED_CLUSTER_ADD_ON, addon)
        .await
        .unwrap();
}

fn by_agent(image: Option<&str>) -> Value {
    let target = match image {
        Some(version) => json!({"channel": null, "version": null, "image": image_of(version)}),
        None => json!({}),
    };
    with(
        spec_of(&["c01"]),
        &json!({"clusterVersion": target, "upgradeStrategy": {"upgradeVia": "Agent"}}),
    )
}

#[tokio::test(start_paused = true)]
async fn an_older_upgraded_upgrade_config_is_no_answer() {
    for image in [Some("4.14.12"), None] {
        let light = HubFleet::start(1, StubWorkAgentSettings::default())
            .await
            .unwrap();
        agent(&light, "c01").await;
        let older = json!({
            "metadata": {"name": "managed-upgrade-config", "namespace": "openshift-managed-upgrade-operator", "generation": 1},
            "spec": {"desired": {"version": "4.14.9", "channel": "stable-4.14"}},
            "status": {"history": [{"version": "4.14.9", "phase": "Upgraded"}]},
        });
        light
            .spokes
            .with("c01", |cluster, _| cluster.put("UpgradeConfig", older));
        light.upgrade("spring", by_agent(image)).await.unwrap();
        minutes(30).await;
        assert!(!is_true(&light.status("spring").await.unwrap(), "Complete"));
        light.until_complete("spring").await.unwrap();
        assert_eq!(light.version("c01"), "4.14.12");
        light.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn why_a_work_is_not_applied_is_said() {
    let settings = StubWorkAgentSettings {
        late: 100,
        ..StubWorkAgentSettings::default()
    };
    let mut said = false;
    for seed in 1..=8 {
        let light = HubFleet::start(
            1,
            StubWorkAgentSettings {
                seed,
                ..settings.clone()
            },
        )
        .await
        .unwrap();
        light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
        for _ in 0..400 {
            minutes(1).await;
            let (state, reason, message) = light.entry("spring", "c01").await.unwrap();
            let is_refusal = reason == "WaitingForApply"
                && message.contains("is forbidden: the work agent may not do that");
            assert!(!is_refusal || state == "Initialized", "{state}");
            said |= is_refusal;
        }
        light.shut_down().await;
    }
    assert!(said, "no seed has refused a work");
}

#[tokio::test(start_paused = true)]
async fn on_plain_ocm_a_cluster_is_read_first_and_never_asked_for_an_older_version() {
    let light = HubFleet::start(0, StubWorkAgentSettings::default())
        .await
        .unwrap();
    for (name, version) in [("below", "4.14.9"), ("there", "4.14.12"), ("beyond", "4.15.1")] {
        let plain = Joining {
            version,
            claims: false,
            ..Joining::new(name)
        };
        light.join(&plain).await.unwrap();
    }
    light
        .upgrade("spring", spec_of(&["below", "there", "beyond"]))
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(600).await;
    let asked = light.asked();
    assert_eq!(asked.keys().collect::<Vec<_>>(), ["below"]);
    for (name, version) in [("below", "4.14.12"), ("there", "4.14.12"), ("beyond", "4.15.1")] {
        assert_eq!(light.version(name), version);
        let desired = light.spokes.with(name, |cluster, _| {
            cluster.object("ClusterVersion", "", "version").unwrap()["spec"]["desiredUpdate"].clone()
        });
        assert_eq!(desired.is_null(), name != "below", "{name}: {desired}");
    }
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_of_the_update_service_fails_no_cluster_and_a_lasting_refusal_does() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Waits);
    });
    light.spokes.with("c02", |cluster, _| {
        cluster.always(Stage::Update, StageOutcome::Fails);
    });
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    minutes(8).await;
    assert!(
        !failed(&light.status("spring").await.unwrap()),
        "it may not have heard of the release"
    );
    let over = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| (summary.complete, summary.failed) == (1, 1))
    };
    light.until("spring", WEEK, over).await.unwrap();
    let (state, reason, _) = light.entry("spring", "c02").await.unwrap();
    assert_eq!((state.as_str(), reason.as_str()), ("Failed", "InvalidTarget"));
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_signature_was_not_verified_completes_with_a_warning() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.spokes.with("c01", |cluster, _| cluster.verifies(false));
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(5).await;
    let entries = light.entries().await.unwrap();
    assert!(entries[0].1.message.contains("not verified"), "{entries:?}");
    let events = light.events().await.unwrap();
    assert!(
        events
            .iter()
            .any(|(_, note)| note.contains("c01") && note.contains("not verified")),
        "{events:#?}"
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn feedback_that_cannot_be_read_says_what_to_do() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    minutes(10).await;
    let bare = json!({"metadata": {"annotations": {REVISION_ANNOTATION: null}}});
    let key = Key::namespaced("c01", "c01-cluster-upgrade");
    light.user.merge_patch(&MANIFEST_WORK, &key, bare).await.unwrap();
    minutes(10).await;
    let (_, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!(reason, "Unreadable");
    assert!(
        message.contains("delete the work to start the cluster over"),
        "{message}"
    );
    light
        .user
        .delete(&MANIFEST_WORK, &key, &kube_sandbox::access::Removal::default())
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn nonsense_that_a_cluster_feeds_back_is_waited_out() {
    let settings = StubWorkAgentSettings {
        nonsense: 100,
        ..StubWorkAgentSettings::default()
    };
    let light = HubFleet::start(2, settings).await.unwrap();
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_state_that_somebody_else_writes_on_a_work_ends_nothing() {
    for state in ["Complete", "Failed"] {
        let light = HubFleet::start(1, StubWorkAgentSettings::default())
            .await
            .unwrap();
        light.spokes.with("c01", |cluster, _| {
            cluster.always(Stage::Update, StageOutcome::Hangs);
        });
        light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
        minutes(10).await;
        let key = Key::namespaced("c01", "c01-cluster-upgrade");
        let label = json!({"metadata": {"labels": {"drydock.dev/state": state}}});
        light.user.merge_patch(&MANIFEST_WORK, &key, label).await.unwrap();
        minutes(10).await;
        let summary = light.status("spring").await.unwrap().clusters_summery.unwrap();
        assert_eq!((summary.complete, summary.failed), (0, 0), "{state}");
        let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
        assert_eq!(work.label("drydock.dev/state"), None, "it is taken off");
        let strategy = &work["spec"]["manifestConfigs"][0]["updateStrategy"]["type"];
        assert_eq!(strategy, "ServerSideApply");
        assert!(light.entries().await.unwrap().is_empty());
        light.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_stops_what_is_enforced_wherever_its_configuration_stands() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    minutes(5).await;
    let key = Key::namespaced("c01", "c01-cluster-upgrade");
    let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
    let mut configs = work["spec"]["manifestConfigs"].clone();
    configs.as_array_mut().unwrap().reverse();
    let edit = json!({"spec": {"manifestConfigs": configs}});
    light.user.merge_patch(&MANIFEST_WORK, &key, edit).await.unwrap();
    light.until_complete("spring").await.unwrap();
    let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
    let configs = work["spec"]["manifestConfigs"].as_array().unwrap();
    let ours = configs
        .iter()
        .find(|config| config["resourceIdentifier"]["resource"] == "clusterversions");
    assert_eq!(ours.unwrap()["updateStrategy"]["type"], "ReadOnly");
    // A label that is put back takes no state away.
    let unlabelled = json!({"metadata": {"labels": {"drydock.dev/kind": null}}});
    light
        .user
        .merge_patch(&MANIFEST_WORK, &key, unlabelled)
        .await
        .unwrap();
    minutes(10).await;
    let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
    assert_eq!(work.label("drydock.dev/kind"), Some("cluster"));
    assert_eq!(work.label("drydock.dev/state"), Some("Complete"));
    let events = light.events().await.unwrap();
    let completed = events.iter().filter(|(reason, _)| reason == "ClusterCompleted");
    assert_eq!(completed.count(), 1);
    light.shut_down().await;
}
