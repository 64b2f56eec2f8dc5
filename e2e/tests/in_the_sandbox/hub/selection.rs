//! Which clusters are upgraded, when the selection changes.

use drydock_e2e::hub_fleet::{HubFleet, Joining, PLACE, WEEK, is_true, minutes, spec_of, with};
use kube_sandbox::access::{Key, Removal};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, PLACEMENT, PLACEMENT_DECISION};
use ocm_sandbox::spokes::StubWorkAgentSettings;
use serde_json::{Value, json};

fn placement(clusters: &[&str]) -> Value {
    json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "fleet", "namespace": PLACE},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {
            "matchExpressions": [{"key": "name", "operator": "In", "values": clusters}],
        }}}]},
    })
}

#[tokio::test(start_paused = true)]
async fn one_edit_that_resumes_and_selects_less_upgrades_only_what_it_selects() {
    let light = HubFleet::start(4, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let all = spec_of(&["c01", "c02", "c03", "c04"]);
    light
        .upgrade("spring", with(all, &json!({"paused": true})))
        .await
        .unwrap();
    minutes(10).await;
    let only = json!({"spec": {"paused": false, "clusterSelector": spec_of(&["c04"])["clusterSelector"]}});
    light.edit("spring", only).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(600).await;
    assert_eq!(light.asked().keys().collect::<Vec<_>>(), ["c04"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_narrower_selection_together_with_a_higher_limit_starts_nothing_that_it_leaves_out() {
    let light = HubFleet::start(5, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let names = ["c01", "c02", "c03", "c04", "c05"];
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&names), &one))
        .await
        .unwrap();
    minutes(10).await;
    let less = json!({"spec": {
        "clusterSelector": spec_of(&["c01", "c05"])["clusterSelector"], "upgradeStrategy": {"maxConcurrency": 5},
    }});
    light.edit("spring", less).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(600).await;
    assert_eq!(light.asked().keys().collect::<Vec<_>>(), ["c01", "c05"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn labels_that_changed_a_moment_ago_are_respected_before_ocm_has_decided() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02", "c03"]), &one))
        .await
        .unwrap();
    minutes(10).await;
    // The placement controller is away: its decisions stay as they are.
    light.server.set_fault_hook(Some(std::sync::Arc::new(|asked| {
        use kube_sandbox::server::FaultAction;
        match asked.identity.name() {
            "placement" => FaultAction::Unreachable,
            _ => FaultAction::Pass,
        }
    })));
    let other = json!({"metadata": {"labels": {"name": "elsewhere"}}});
    light
        .user
        .merge_patch(&MANAGED_CLUSTER, &Key::cluster("c02"), other)
        .await
        .unwrap();
    minutes(600).await;
    assert_eq!(light.asked().keys().collect::<Vec<_>>(), ["c01", "c03"]);
    let (state, reason, _) = light.entry("spring", "c02").await.unwrap();
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("NotStarted", "NoLongerMatches")
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn decisions_of_a_placement_that_was_deleted_and_created_again_do_not_count() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light
        .user
        .create(&PLACEMENT, placement(&["c01", "c02"]))
        .await
        .unwrap();
    let by_placement = json!({
        "clusterSelector": null, "placement": [{"name": "fleet", "namespace": PLACE}], "paused": true,
    });
    light
        .upgrade("spring", with(spec_of(&[]), &by_placement))
        .await
        .unwrap();
    minutes(5).await;
    let page = Key::namespaced(PLACE, "fleet-decision-1");
    let old = light.user.get(&PLACEMENT_DECISION, &page).await.unwrap();
    // Created again while nobody decides and the garbage collector has not come by: the old page is still there.
    light.server.set_fault_hook(Some(std::sync::Arc::new(|asked| {
        use kube_sandbox::server::FaultAction;
        match asked.identity.name() {
            "placement" => FaultAction::Unreachable,
            _ => FaultAction::Pass,
        }
    })));
    let now = Removal::default();
    let key = Key::namespaced(PLACE, "fleet");
    light.user.delete(&PLACEMENT, &key, &now).await.unwrap();
    minutes(1).await;
    let recreated = light.user.create(&PLACEMENT, placement(&["c03"])).await.unwrap();
    // What has no owner any more is deleted here at once, so the page gets an owner that is not this Placement.
    let other = with(placement(&[]), &json!({"metadata": {"name": "other"}}));
    let other = light.user.create(&PLACEMENT, other).await.unwrap();
    let mut left = old.value().clone();
    left["metadata"] = json!({
        "name": "fleet-decision-1", "namespace": PLACE, "labels": old["metadata"]["labels"],
        "ownerReferences": [{
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "other",
            "uid": other.uid(),
        }],
    });
    let mut left = light
        .user
        .create(&PLACEMENT_DECISION, left)
        .await
        .unwrap()
        .value()
        .clone();
    left["status"] = old["status"].clone();
    light
        .user
        .replace_status(&PLACEMENT_DECISION, left)
        .await
        .unwrap();
    let mut decided = recreated.value().clone();
    decided["status"] = json!({"numberOfSelectedClusters": 2, "decisionGroups": [{
        "decisionGroupIndex": 0, "decisionGroupName": "", "clustersCount": 2, "decisions": ["fleet-decision-1"],
    }], "conditions": []});
    light.user.replace_status(&PLACEMENT, decided).await.unwrap();
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    minutes(60).await;
    assert!(light.asked().is_empty(), "{:?}", light.asked());
    light.user.delete(&PLACEMENT_DECISION, &page, &now).await.unwrap();
    light.accept();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.asked().keys().collect::<Vec<_>>(), ["c03"]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn why_a_placement_finds_no_cluster_is_said_in_ocms_words() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.bind("global", "team").await.unwrap_or_default();
    let elsewhere = with(
        placement(&["c01"]),
        &json!({"metadata": {"namespace": "unbound"}}),
    );
    light.namespace("unbound").await.unwrap();
    light.user.create(&PLACEMENT, elsewhere).await.unwrap();
    let by_placement =
        json!({"clusterSelector": null, "placement": [{"name": "fleet", "namespace": "unbound"}]});
    light
        .upgrade("spring", with(spec_of(&[]), &by_placement))
        .await
        .unwrap();
    minutes(5).await;
    let (status, reason, message) = light.condition("spring", "Selected").await.unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "PlacementUnsatisfied")
    );
    assert!(message.contains("NoManagedClusterSetBindings"), "{message}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_another_product_takes_no_slot_and_is_named() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let eks = Joining {
        product: Some("EKS"),
        claims: false,
        ..Joining::new("a-eks")
    };
    light.join(&eks).await.unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["a-eks", "c01", "c02"]), &one))
        .await
        .unwrap();
    let done = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| summary.complete == 2)
    };
    let status = light.until("spring", WEEK, done).await.unwrap();
    assert_eq!(status.clusters_summery.unwrap().pending, 1);
    let (state, reason, message) = light.entry("spring", "a-eks").await.unwrap();
    assert_eq!((state.as_str(), reason.as_str()), ("NotStarted", "NotOpenShift"));
    assert!(message.contains("EKS"), "{message}");
    let leave_out = json!({"spec": {"clusterSelector": spec_of(&["c01", "c02"])["clusterSelector"]}});
    light.edit("spring", leave_out).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_canary_that_leaves_the_fleet_after_its_soak_has_passed() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let canary = json!({"upgradeStrategy": {"maxConcurrency": 1, "canaryClusters": {
        "clusterSelector": {"matchLabels": {"name": "c01"}}, "soakTime": "30m",
    }}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02", "c03"]), &canary))
        .await
        .unwrap();
    while !light.asked().contains_key("c02") {
        minutes(1).await;
    }
    light
        .user
        .delete(&MANAGED_CLUSTER, &Key::cluster("c01"), &Removal::default())
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    assert!(light.asked().contains_key("c03"));
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn another_channel_alone_is_set_on_clusters_that_are_complete() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01", "c02"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light
        .edit(
            "spring",
            json!({"spec": {"clusterVersion": {"channel": "eus-4.14"}}}),
        )
        .await
        .unwrap();
    minutes(30).await;
    let after = light.status("spring").await.unwrap();
    assert!(is_true(&after, "Complete"), "{after:#?}");
    for name in ["c01", "c02"] {
        let channel = light.spokes.with(name, |cluster, _| {
            cluster.object("ClusterVersion", "", "version").unwrap()["spec"]["channel"].clone()
        });
        assert_eq!(channel, "eus-4.14", "{name}");
    }
    assert_eq!(light.spokes.asked().len(), 2, "no version was asked for again");
    light.shut_down().await;
}
