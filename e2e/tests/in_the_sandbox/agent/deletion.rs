//! An UpgradeConfig that is deleted (ours): before commencement it is cancelled, after it the upgrade continues.

use drydock_api::machine_api::{MachineSet, NAMESPACE};
use drydock_api::names::UPGRADE_CONFIG;
use drydock_api::openshift::ClusterVersion;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use kube_sandbox::server::Verb;
use openshift_sandbox::cluster::Fault;
use serde_json::json;

use super::bench::{self, Bench, Kind};
use super::{HOUR, faulty, spoke};

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_deleted_before_it_commences_leaves_nothing_behind() {
    let spoke = faulty(&[Fault::UnknownUpdate]).await;
    // The channel is another: that it offers nothing is found when everything else is ready.
    let fields =
        json!({"desired": {"version": "4.15.2", "channel": "stable-4.15"}, "capacityReservation": true});
    spoke.ask(fields).await.unwrap();
    tokio::time::sleep(HOUR).await;
    let commenced = spoke.condition("UpgradeCommenced").await.unwrap();
    assert_eq!(commenced.status, "False");
    assert_eq!(spoke.silences().await.unwrap()[0].1, "active");
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
    assert!(!sets.list(&extra).await.unwrap().items.is_empty());
    spoke.withdraw().await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert!(spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_none());
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    let left = sets.list(&extra).await.unwrap().items;
    let left: Vec<String> = left.iter().map(ResourceExt::name_any).collect();
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(
        spoke.metric(&["upgrade_started_timestamp"]).unwrap(),
        None,
        "its metrics went"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_that_is_deleted_after_it_has_commenced_continues_and_is_cleaned_up() {
    let spoke = spoke().await;
    spoke.ask(json!({})).await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    spoke.withdraw().await.unwrap();
    tokio::time::sleep(HOUR / 2).await;
    let upgrade = spoke.upgrades().get(UPGRADE_CONFIG).await.unwrap();
    assert!(
        upgrade.metadata.deletion_timestamp.is_some(),
        "it waits for the end"
    );
    tokio::time::sleep(4 * HOUR).await;
    assert!(spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_none());
    let versions: Api<ClusterVersion> = Api::all(spoke.client.clone());
    let history = versions.get("version").await.unwrap().status.unwrap().history;
    assert!(
        history
            .iter()
            .any(|past| past.version.as_deref() == Some("4.14.12") && past.is_completed())
    );
    let silences = spoke.silences().await.unwrap();
    assert!(
        silences.iter().all(|(_, state)| state == "expired"),
        "{silences:?}"
    );
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_an_upgrade_has_made_that_was_edited_since_goes_with_the_deletion() {
    let spoke = faulty(&[Fault::UnknownUpdate]).await;
    let fields =
        json!({"desired": {"version": "4.15.2", "channel": "stable-4.15"}, "capacityReservation": true});
    spoke.ask(fields).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(spoke.silences().await.unwrap()[0].1, "active");
    let invalid =
        Patch::Merge(json!({"spec": {"desired": {"version": "4.14.99", "channel": "stable-4.14"}}}));
    let as_user = PatchParams::default();
    spoke
        .upgrades()
        .patch(UPGRADE_CONFIG, &as_user, &invalid)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(spoke.entry().await.unwrap().version.as_deref(), Some("4.14.99"));
    spoke.withdraw().await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert!(spoke.upgrades().get_opt(UPGRADE_CONFIG).await.unwrap().is_none());
    assert_eq!(spoke.silences().await.unwrap()[0].1, "expired");
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let extra = ListParams::default().labels("upgrade.managed.openshift.io=true");
    assert!(sets.list(&extra).await.unwrap().items.is_empty());
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_its_finalizer_nothing_is_done_and_the_status_says_why() {
    let mut bench = Bench::make("{}", &[], |outside| outside).await;
    *bench.line.failing.lock().unwrap() =
        Some((Kind::Api(Verb::Patch, "upgradeconfigs"), bench::Fault::Code(403)));
    bench.start_agent();
    bench.ask().await;
    tokio::time::sleep(HOUR / 4).await;
    let conditions = bench.entry().await.conditions.unwrap();
    let condition = conditions
        .iter()
        .find(|condition| condition.reason.as_deref() == Some("UpgradeConfigNotWritten"));
    let message = condition
        .and_then(|condition| condition.message.as_deref())
        .unwrap_or_default();
    assert!(message.contains("refused with 403"), "{conditions:#?}");
    assert_eq!(bench.left().await, Vec::<String>::new());
    *bench.line.failing.lock().unwrap() = None;
    bench.until_done("UpgradeCommenced").await;
    bench.end().await;
}
