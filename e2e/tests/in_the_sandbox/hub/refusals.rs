//! What cannot be written is a reason: it is reported, it ends, and nobody else waits for it.

use drydock_api::names::{HUB_MANAGER, KIND_LABEL, WorkKind};
use drydock_e2e::hub_fleet::{HubFleet, Joining, WEEK, action, is_true, is_work, minutes, spec_of, with};
use kube_sandbox::access::Key;
use kube_sandbox::server::Verb;
use ocm_sandbox::kinds::MANIFEST_WORK;
use ocm_sandbox::spokes::StubWorkAgentSettings;
use serde_json::json;

const WEBHOOK: &str = "admission webhook \"policy.example.com\" denied the request: not in this quarter";

/// In the words of OCM's own webhook.
const EXECUTOR: &str = "admission webhook \"manifestworkvalidators.admission.work.open-cluster-management.io\" denied the request: user \
    system:serviceaccount:drydock:drydock-hub cannot manipulate the Manifestwork with executor upgrade-actions/backup in namespace c01";

async fn notes_of(light: &HubFleet, reason: &str) -> Vec<String> {
    let events = light.events().await.unwrap();
    let notes = events.into_iter().filter(|(known, _)| known == reason);
    notes.map(|(_, note)| note).collect()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_namespace_takes_no_slot_and_is_reported() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light
        .join_without_namespace(&Joining::new("a-new"))
        .await
        .unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["a-new", "c01"]), &one))
        .await
        .unwrap();
    let done = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| summary.complete == 1)
    };
    light.until("spring", WEEK, done).await.unwrap();
    let (state, reason, message) = light.entry("spring", "a-new").await.unwrap();
    assert_eq!(
        (state.as_str(), reason.as_str()),
        ("NotStarted", "NamespaceMissing")
    );
    assert!(message.contains("namespaces \"a-new\" not found"), "{message}");
    let notes = notes_of(&light, "WriteRefused").await;
    assert!(notes.iter().any(|note| note.contains("a-new")), "{notes:?}");
    // It continues by itself when the namespace is there.
    light.namespace("a-new").await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_post_action_that_a_webhook_refuses_fails_by_its_timeout_in_the_webhooks_words() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let after = with(action("after"), &json!({"timeout": "2h"}));
    light
        .upgrade(
            "spring",
            with(spec_of(&["c01"]), &json!({"postUpgradeAction": after})),
        )
        .await
        .unwrap();
    minutes(30).await;
    assert_eq!(light.spokes.asked().len(), 1);
    light.refuse(WEBHOOK, |asked| is_work(asked, Verb::Create));
    let failed = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| is_true(status, "Failed");
    let mut refused = String::new();
    let deadline = light.now() + jiff::SignedDuration::from_hours(12);
    while !failed(&light.status("spring").await.unwrap()) {
        assert!(
            light.now() < deadline,
            "it does not fail: {:#?}",
            light.status("spring").await.unwrap()
        );
        let (_, reason, message) = light.entry("spring", "c01").await.unwrap();
        if reason == "WriteRefused" {
            refused = message;
        }
        minutes(1).await;
    }
    assert!(
        refused.contains("denied the request: not in this quarter"),
        "{refused}"
    );
    let (state, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!((state.as_str(), reason.as_str()), ("Failed", "PostActionRefused"));
    assert!(
        message.contains("denied the request: not in this quarter"),
        "{message}"
    );
    let notes = notes_of(&light, "WriteRefused").await;
    assert_eq!(notes.len(), 1, "once for the same words: {notes:?}");
    let entries = light.entries().await.unwrap();
    assert_eq!(
        (entries.len(), entries[0].1.reason.as_str()),
        (1, "PostActionRefused")
    );
    // What the webhook lets through after a retry continues with the action alone.
    light.accept();
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "1"}}});
    light.edit("spring", retry).await.unwrap();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.spokes.asked().len(), 1);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_on_record_alone_is_taken_up_again_by_a_retry() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let after = with(action("after"), &json!({"timeout": "2h"}));
    let spec = with(spec_of(&["c01"]), &json!({"postUpgradeAction": after}));
    light.upgrade("spring", spec).await.unwrap();
    minutes(30).await;
    // Neither the work that follows can be made, nor the outcome be written on the one that is there.
    light.refuse(WEBHOOK, |asked| {
        is_work(asked, Verb::Create) || is_work(asked, Verb::Patch)
    });
    let failed = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| is_true(status, "Failed");
    light.until("spring", WEEK, failed).await.unwrap();
    assert_eq!(light.entries().await.unwrap().len(), 1);
    let retry = json!({"metadata": {"annotations": {"drydock.dev/retry": "1"}}});
    light.edit("spring", retry).await.unwrap();
    minutes(10).await;
    light.accept();
    light.until_complete("spring").await.unwrap();
    assert_eq!(light.spokes.asked().len(), 1);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_the_hub_may_not_use_is_reported_in_the_webhooks_words_until_it_may() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.refuse(EXECUTOR, |asked| is_work(asked, Verb::Create));
    let account = json!({"namespace": "upgrade-actions", "name": "backup"});
    let executor = json!({"subject": {"type": "ServiceAccount", "serviceAccount": account}});
    let before = with(action("before"), &json!({"manifestWork": {"executor": executor}}));
    light
        .upgrade(
            "spring",
            with(spec_of(&["c01"]), &json!({"preUpgradeAction": before})),
        )
        .await
        .unwrap();
    minutes(10).await;
    let (state, reason, message) = light.entry("spring", "c01").await.unwrap();
    assert_eq!((state.as_str(), reason.as_str()), ("PreAction", "WriteRefused"));
    assert!(message.contains(EXECUTOR), "{message}");
    let notes = notes_of(&light, "WriteRefused").await;
    assert_eq!(notes.len(), 1, "once for the same words: {notes:?}");
    assert!(
        notes[0].contains("cannot manipulate the Manifestwork with executor"),
        "{notes:?}"
    );
    // The right was granted.
    light.accept();
    minutes(2).await;
    let key = Key::namespaced("c01", WorkKind::Pre.work_name(&"c01".into()));
    let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
    assert_eq!(work.value()["spec"]["executor"], executor);
    light.until_complete("spring").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_whose_first_work_is_refused_holds_its_slot_until_the_timeout_and_survives_restarts() {
    let mut light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.refuse(WEBHOOK, |asked| {
        asked.namespace == Some("c01") && is_work(asked, Verb::Create)
    });
    let strategy = json!({"upgradeStrategy": {"maxConcurrency": 1, "clusterUpgradeTimeout": "4h"}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02"]), &strategy))
        .await
        .unwrap();
    minutes(120).await;
    assert!(light.asked().is_empty(), "the slot is taken");
    light.restart_hub().await.unwrap();
    let over = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| (summary.complete, summary.failed) == (1, 1))
    };
    // The time before the restart counts.
    light
        .until("spring", std::time::Duration::from_hours(4), over)
        .await
        .unwrap();
    let (state, reason, _) = light.entry("spring", "c01").await.unwrap();
    assert_eq!((state.as_str(), reason.as_str()), ("Failed", "UpgradeRefused"));
    let entries = light.entries().await.unwrap();
    assert!(
        entries.iter().any(|(_, entry)| entry.reason == "UpgradeRefused"),
        "{entries:?}"
    );
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_write_that_is_about_no_cluster_is_tried_again() {
    for plural in ["managedclustersupgrades", "placements"] {
        let light = HubFleet::start(1, StubWorkAgentSettings::default())
            .await
            .unwrap();
        light.refuse(WEBHOOK, move |asked| {
            let is_kind = asked.kind.is_some_and(|kind| kind.plural == plural);
            is_kind && asked.subresource.is_none() && asked.verb == Verb::Patch
        });
        light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
        minutes(60).await;
        assert!(light.asked().is_empty(), "{plural}");
        assert_eq!(notes_of(&light, "WriteRefused").await.len(), 1, "{plural}");
        light.accept();
        // Nothing else happens that would make the hub look.
        minutes(6).await;
        assert_eq!(light.asked().len(), 1, "{plural}");
        light.until_complete("spring").await.unwrap();
        light.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_deletion_is_reported_and_the_upgrade_goes_when_it_is_allowed() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    light.refuse(WEBHOOK, |asked| is_work(asked, Verb::Delete));
    light.delete("spring").await.unwrap();
    minutes(60).await;
    let (status, reason, message) = light.condition("spring", "Deleting").await.unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "DeletionRefused"));
    assert!(
        message.contains("c01") && message.contains("not in this quarter"),
        "{message}"
    );
    assert_eq!(notes_of(&light, "DeletionRefused").await.len(), 1);
    light.accept();
    minutes(10).await;
    assert!(light.find("spring").await.unwrap().is_none());
    light.shut_down().await;
}

fn refuse_records(light: &HubFleet) {
    light.refuse("exceeded quota: records", |asked| {
        asked
            .kind
            .is_some_and(|kind| kind.plural == "managedclustersupgraderecords")
            && matches!(asked.verb, Verb::Create | Verb::Patch)
    });
}

#[tokio::test(start_paused = true)]
async fn records_that_are_refused_keep_the_works_and_are_reported() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    refuse_records(&light);
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(30).await;
    let (status, reason, message) = light.condition("spring", "Failed").await.unwrap();
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("True", "RecordsRefused"),
        "{message}"
    );
    assert!(message.contains("exceeded quota: records"), "{message}");
    light.delete("spring").await.unwrap();
    minutes(30).await;
    let (_, reason, _) = light.condition("spring", "Deleting").await.unwrap();
    assert_eq!(reason, "RecordsRefused");
    assert_eq!(
        light.works_of("c01").await.unwrap().len(),
        1,
        "the outcome is on the work alone"
    );
    light.accept();
    minutes(10).await;
    assert!(light.find("spring").await.unwrap().is_none());
    assert_eq!(light.entries().await.unwrap()[0].1.outcome, "Complete");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn records_that_were_refused_for_hours_are_written_though_nothing_else_happens() {
    let light = HubFleet::start(1, StubWorkAgentSettings::default())
        .await
        .unwrap();
    refuse_records(&light);
    light.upgrade("spring", spec_of(&["c01"])).await.unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(300).await;
    light.accept();
    minutes(5).await;
    assert_eq!(light.entries().await.unwrap().len(), 1);
    let (status, _, message) = light.condition("spring", "Failed").await.unwrap();
    assert_eq!(status, "False", "{message}");
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_work_that_lost_its_labels_blocks_nobody_else_and_gets_them_back() {
    let light = HubFleet::start(3, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.upgrade("one", spec_of(&["c01"])).await.unwrap();
    minutes(20).await;
    let asked = || {
        light
            .server
            .requests()
            .iter()
            .filter(|(key, _)| key.identity == HUB_MANAGER)
            .map(|(_, n)| n)
            .sum::<u64>()
    };
    let before = asked();
    let bare = json!({"metadata": {"labels": {KIND_LABEL: null}}});
    let key = Key::namespaced("c01", WorkKind::Cluster.work_name(&"c01".into()));
    light.user.merge_patch(&MANIFEST_WORK, &key, bare).await.unwrap();
    light.upgrade("two", spec_of(&["c02"])).await.unwrap();
    minutes(3).await;
    assert_eq!(
        light.works_of("c02").await.unwrap().len(),
        1,
        "the other upgrade starts"
    );
    let work = light.user.get(&MANIFEST_WORK, &key).await.unwrap();
    assert_eq!(work.label(KIND_LABEL), Some("cluster"), "its label is back");
    let requests = asked() - before;
    assert!(requests < 40, "{requests} requests in three minutes");
    light.until_complete("one").await.unwrap();
    light.until_complete("two").await.unwrap();
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_deleted_midway_takes_its_works_and_nobody_waits_for_ever() {
    let light = HubFleet::start(2, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let one = json!({"upgradeStrategy": {"maxConcurrency": 1}});
    light
        .upgrade("spring", with(spec_of(&["c01", "c02"]), &one))
        .await
        .unwrap();
    minutes(20).await;
    let key = Key::cluster("c01");
    let now = kube_sandbox::access::Removal::default();
    light
        .user
        .delete(&ocm_sandbox::kinds::NAMESPACE, &key, &now)
        .await
        .unwrap();
    let done = |status: &drydock_api::mcu::ManagedClustersUpgradeStatus| {
        status
            .clusters_summery
            .is_some_and(|summary| summary.complete == 1)
    };
    light.until("spring", WEEK, done).await.unwrap();
    light.namespace("c01").await.unwrap();
    light.until_complete("spring").await.unwrap();
    let entries = light.entries().await.unwrap();
    let outcomes: Vec<(&str, &str)> = entries
        .iter()
        .map(|(_, entry)| (entry.cluster.as_str(), entry.outcome.as_str()))
        .collect();
    // The upgrade that was under way on c01 has gone on without its work.
    let expected = [("c01", "Abandoned"), ("c01", "Complete"), ("c02", "Complete")];
    assert_eq!(outcomes, expected, "{entries:#?}");
    assert_eq!(notes_of(&light, "ClusterAbandoned").await.len(), 1);
    light.shut_down().await;
}
