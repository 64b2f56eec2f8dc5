//! What clusters are asked before they start: by the real hub and the real agent, and what that costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::mcu::{
    ClusterStatusEntry, ManagedClustersUpgrade, ManagedClustersUpgradeRecord, UpgradeRiskAcceptance,
};
use drydock_api::names::{AGENT_NAMESPACE, HUB_MANAGER, PRE_CHECKS_KIND, UPGRADE_CONFIG};
use drydock_e2e::fleet;
use drydock_e2e::hub_fleet::{HubFleet, minutes, spec_of, with};
use drydock_e2e::local_fleet::{self, LocalFleet};
use drydock_sandbox::test_env::TestEnvSettings;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use kube_sandbox::access::{Access, Key, Kind};
use kube_sandbox::server::{FaultAction, RequestInfo};
use ocm_sandbox::spokes::StubWorkAgentSettings;
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);
const PLAN: Kind = Kind::new(
    "config.openshift.io",
    "v1beta1",
    "UpdatePlan",
    "updateplans",
    false,
);
const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
const UPGRADE_CONFIG_KIND: Kind = Kind::new(
    "upgrade.managed.openshift.io",
    "v1alpha1",
    "UpgradeConfig",
    "upgradeconfigs",
    true,
);
const VERSION: Kind = Kind::new(
    "config.openshift.io",
    "v1",
    "ClusterVersion",
    "clusterversions",
    false,
);

fn entry<'a>(upgrade: &'a ManagedClustersUpgrade, cluster: &str) -> Option<&'a ClusterStatusEntry> {
    let clusters = upgrade.status.as_ref()?.clusters.as_ref()?;
    clusters.iter().find(|entry| entry.name == cluster)
}

fn is_held(upgrade: &ManagedClustersUpgrade, cluster: &str) -> bool {
    entry(upgrade, cluster).is_some_and(|entry| entry.reason.as_deref() == Some("RisksNotAccepted"))
}

async fn questions(hub: &Client) -> usize {
    let api: Api<drydock_api::ocm::ManifestWork> = Api::all(hub.clone());
    let asked = ListParams::default().labels(&format!("drydock.dev/kind={PRE_CHECKS_KIND}"));
    api.list(&asked).await.unwrap().items.len()
}

#[expect(
    clippy::too_many_lines,
    reason = "one story, from the question to the end of what was asked"
)]
#[tokio::test(start_paused = true)]
async fn a_cluster_whose_finding_nobody_has_accepted_is_held_until_somebody_does() {
    let mut settings = TestEnvSettings::demo(3, 5);
    for (number, cluster) in settings.clusters.iter_mut().enumerate() {
        cluster.agent = number == 0;
        // To two of them the target is not recommended: one says so by its agent, one by its ClusterVersion.
        if number != 1 {
            cluster.faults.extend([Fault::NotRecommended]);
        }
    }
    let mut upgrade = json!(fleet::upgrade(&settings.clusters).unwrap());
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
    let spec = upgrade["spec"].as_object_mut().unwrap();
    for field in ["preUpgradeAction", "postUpgradeAction"] {
        spec.remove(field);
    }
    let strategy = spec["upgradeStrategy"].as_object_mut().unwrap();
    strategy.remove("canaryClusters");
    spec.insert("preChecks".to_owned(), json!({"mode": "Require"}));
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
    tokio::time::sleep(HOUR).await;
    fleet::start(&hub, &upgrade).await.unwrap();

    // The one of which nothing is found starts: those before it take no slot.
    let held = fleet::until(&hub, "held", 2 * HOUR, |upgrade| {
        let dev2 = entry(upgrade, "dev2");
        let is_started = dev2.is_none_or(|entry| entry.state != "NotStarted");
        is_held(upgrade, "dev1") && is_held(upgrade, "dev3") && is_started
    });
    let held = held.await.unwrap();
    let message = |cluster: &str| entry(&held, cluster).unwrap().message.clone().unwrap();
    assert!(message("dev1").contains("has the risk"), "{}", message("dev1"));
    assert!(
        message("dev3").contains("is not recommended"),
        "{}",
        message("dev3")
    );
    let passed = passed(&held).unwrap();
    assert_eq!((&*passed.status, &*passed.reason), ("False", "RisksNotAccepted"));
    let events: Api<Event> = Api::namespaced(hub.clone(), "default");
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let mut reasons = events.iter().filter_map(|event| event.reason.as_deref());
    assert!(reasons.any(|reason| reason == "RisksNotAccepted"));

    let risk = |uid: &str, cluster: &str| {
        json!({
            "informer": "drydock.cluster-version", "uid": uid, "clusters": [cluster],
            "reason": "it does not apply here", "acceptedBy": "ann",
        })
    };
    let acceptance: UpgradeRiskAcceptance = serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "UpgradeRiskAcceptance",
        "metadata": {"name": "known", "namespace": "default"},
        "spec": {"upgrade": fleet::UPGRADE, "target": "4.14.12", "acceptedRisks": [risk("update-risk", "dev1")]},
    }))
    .unwrap();
    let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.clone(), "default");
    acceptances
        .create(&PostParams::default(), &acceptance)
        .await
        .unwrap();
    let started = fleet::until(&hub, "started", HOUR, |upgrade| {
        entry(upgrade, "dev1").is_none_or(|entry| entry.state != "NotStarted")
    });
    let started = started.await.unwrap();
    assert!(is_held(&started, "dev3"), "nobody has accepted anything for it");
    let mut without_image = risk("image-required", "dev3");
    without_image["level"] = "Error".into();
    let risks = [
        risk("update-risk", "dev1"),
        risk("not-recommended", "dev3"),
        without_image,
    ];
    let more = json!({"spec": {"acceptedRisks": risks}});
    acceptances
        .patch("known", &PatchParams::default(), &Patch::Merge(more))
        .await
        .unwrap();
    let started = fleet::until(&hub, "all started", 24 * HOUR, |upgrade| {
        let status = upgrade.status.as_ref();
        let counts = status.and_then(|status| status.clusters_summery.as_ref());
        counts.is_some_and(|counts| counts.pending == 0)
    });
    started.await.unwrap();
    let plan = spoke
        .get(&PLAN, &Key::cluster("update-plan-4.14.12"))
        .await
        .unwrap();
    assert_eq!(plan["spec"]["acceptedRisks"][0]["acceptedBy"], "ann");

    // What was asked goes with the upgrade, on the cluster, too; ClusterVersion stays.
    fleet::upgrades(&hub)
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(questions(&hub).await, 0);
    assert!(
        spoke
            .find(&PLAN, &Key::cluster("update-plan-4.14.12"))
            .await
            .unwrap()
            .is_none()
    );
    spoke.get(&VERSION, &Key::cluster("version")).await.unwrap();
    fleet.shut_down().await.unwrap();
}

fn passed(upgrade: &ManagedClustersUpgrade) -> Option<&Condition> {
    let conditions = upgrade.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|one| one.type_ == "PreChecksPassed")
}

fn is_ready(upgrade: &ManagedClustersUpgrade) -> bool {
    passed(upgrade).is_some_and(|passed| passed.status == "True")
}

/// An upgrade of two clusters with agents, whose first one waits for the other: the turn of that does not come to its end meanwhile.
fn after_the_other(settings: &mut TestEnvSettings) -> ManagedClustersUpgrade {
    for cluster in &mut settings.clusters {
        cluster.agent = true;
    }
    let mut upgrade = json!(fleet::upgrade(&settings.clusters).unwrap());
    let spec = upgrade["spec"].as_object_mut().unwrap();
    spec["upgradeStrategy"]["canaryClusters"] =
        json!({"clusterSelector": {"matchLabels": {"name": "dev2"}}, "soakTime": "1000h"});
    spec.insert("preChecks".to_owned(), json!({"mode": "Require"}));
    serde_json::from_value(upgrade).unwrap()
}

/// The first cluster waits, answered, for the other one, when somebody requests another release of it, which it refuses.
#[tokio::test(start_paused = true)]
async fn what_somebody_has_requested_of_a_cluster_since_it_was_asked_is_not_replaced() {
    let mut settings = TestEnvSettings::demo(2, 5);
    settings.clusters[0].faults.extend([Fault::SignatureNotVerified]);
    let upgrade = after_the_other(&mut settings);
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
    tokio::time::sleep(HOUR).await;
    fleet::start(&hub, &upgrade).await.unwrap();
    fleet::until(&hub, "answered", 2 * HOUR, is_ready).await.unwrap();
    let request = json!({"spec": {"desiredUpdate": {"version": "4.14.11"}}});
    spoke
        .merge_patch(&VERSION, &Key::cluster("version"), request)
        .await
        .unwrap();
    let held = fleet::until(&hub, "held", HOUR, |upgrade| is_held(upgrade, "dev1"));
    let held = held.await.unwrap();
    let message = entry(&held, "dev1").unwrap().message.clone().unwrap();
    assert!(
        message.contains("An update to 4.14.11 has been requested"),
        "{message}"
    );
    // It is taken back.
    let request = json!({"spec": {"desiredUpdate": null}});
    spoke
        .merge_patch(&VERSION, &Key::cluster("version"), request)
        .await
        .unwrap();
    fleet::until(&hub, "answered anew", HOUR, is_ready).await.unwrap();
    fleet.shut_down().await.unwrap();
}

/// What somebody accepts of the first cluster.
fn known_since(accepted_at: &str) -> UpgradeRiskAcceptance {
    serde_json::from_value(json!({
        "metadata": {"name": "known", "namespace": "default"},
        "spec": {"upgrade": fleet::UPGRADE, "target": "4.14.12", "acceptedRisks": [{
            "informer": "drydock.cluster-version", "uid": "update-risk", "reason": "it does not apply here",
            "acceptedBy": "ann", "acceptedAt": accepted_at,
        }]},
    }))
    .unwrap()
}

/// What ended on a cluster has ended for good: also where the plan of the cluster is gone that remembered it.
#[tokio::test(start_paused = true)]
async fn an_acceptance_that_ended_on_a_cluster_is_not_forgotten_with_its_plan() {
    let mut settings = TestEnvSettings::demo(2, 5);
    settings.clusters[0].faults.extend([Fault::NotRecommended]);
    let upgrade = after_the_other(&mut settings);
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
    let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.clone(), "default");
    acceptances
        .create(&PostParams::default(), &known_since("2026-01-01T00:00:00Z"))
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    fleet::start(&hub, &upgrade).await.unwrap();
    fleet::until(&hub, "accepted", 2 * HOUR, is_ready).await.unwrap();

    // Its agent remembers that the finding was worse once.
    let key = Key::cluster("update-plan-4.14.12");
    let plan = spoke.get(&PLAN, &key).await.unwrap();
    let id = plan["spec"]["acceptedRisks"][0]["id"].clone();
    let remembers = json!({"status": {"endedRisks": id}});
    spoke.merge_patch_status(&PLAN, &key, remembers).await.unwrap();
    let held = fleet::until(&hub, "held again", HOUR, |upgrade| is_held(upgrade, "dev1"));
    held.await.unwrap();
    let status = acceptances.get("known").await.unwrap().status.unwrap();
    assert_eq!(
        json!(status.ended),
        json!([{"id": id, "finding": "drydock.cluster-version/update-risk", "clusters": ["dev1"]}])
    );

    // The upgrade is deleted, and the plan with it; then it is there again.
    let upgrades = fleet::upgrades(&hub);
    upgrades
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert!(spoke.find(&PLAN, &key).await.unwrap().is_none());
    fleet::start(&hub, &upgrade).await.unwrap();
    let held = fleet::until(&hub, "held still", HOUR, |upgrade| is_held(upgrade, "dev1"));
    let held = held.await.unwrap();
    let message = entry(&held, "dev1").unwrap().message.clone().unwrap();
    assert!(
        message.contains("beyond what was accepted, now or before"),
        "{message}"
    );

    let anew = json!({"spec": known_since("2026-01-02T00:00:00Z").spec});
    acceptances
        .patch("known", &PatchParams::default(), &Patch::Merge(anew))
        .await
        .unwrap();
    fleet::until(&hub, "accepted anew", HOUR, is_ready).await.unwrap();
    fleet.shut_down().await.unwrap();
}

/// An upgrade of one cluster without an agent, to which the target is not recommended, and its acceptance.
fn of_one_with_risks(settings: &mut TestEnvSettings) -> (ManagedClustersUpgrade, UpgradeRiskAcceptance) {
    settings.clusters[0].agent = false;
    settings.clusters[0].faults.extend([Fault::NotRecommended]);
    let mut upgrade = json!(fleet::upgrade(&settings.clusters).unwrap());
    let spec = upgrade["spec"].as_object_mut().unwrap();
    spec.remove("preUpgradeAction");
    spec["upgradeStrategy"]
        .as_object_mut()
        .unwrap()
        .remove("canaryClusters");
    spec.insert("preChecks".to_owned(), json!({"mode": "Require"}));
    let mut known = json!(known_since("2026-01-01T00:00:00Z"));
    let risk = |uid: &str| {
        let mut risk = known["spec"]["acceptedRisks"][0].clone();
        (risk["uid"], risk["level"]) = (json!(uid), json!("Error"));
        risk
    };
    known["spec"]["acceptedRisks"] = json!([risk("not-recommended"), risk("image-required")]);
    (
        serde_json::from_value(upgrade).unwrap(),
        serde_json::from_value(known).unwrap(),
    )
}

/// What a cluster has answered is news, whatever the counts of the clusters say.
#[tokio::test(start_paused = true)]
async fn no_end_is_forecast_once_all_clusters_are_held_by_their_answers() {
    let mut settings = TestEnvSettings::demo(1, 5);
    let (upgrade, _) = of_one_with_risks(&mut settings);
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    tokio::time::sleep(HOUR).await;
    fleet::start(&hub, &upgrade).await.unwrap();
    let stopped = fleet::until(&hub, "without an end", 3 * HOUR / 60, |upgrade| {
        let status = upgrade.status.as_ref();
        let forecast = status.and_then(|status| status.forecast.as_ref());
        let reason = forecast.and_then(|forecast| forecast.stop_reason.as_deref());
        reason == Some("ClustersBlocked") && is_held(upgrade, "dev1")
    });
    let status = stopped.await.unwrap().status.unwrap();
    assert_eq!(status.estimated_completion_time, None);
    fleet.shut_down().await.unwrap();
}

/// Somebody takes the acceptance back just when the work is there by which the cluster is read.
#[tokio::test(start_paused = true)]
async fn what_is_held_before_its_target_is_asked_for_gives_its_slot_back() {
    let mut settings = TestEnvSettings::demo(1, 5);
    let (upgrade, known) = of_one_with_risks(&mut settings);
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.clone(), "default");
    acceptances.create(&PostParams::default(), &known).await.unwrap();
    tokio::time::sleep(HOUR).await;
    // Nothing is heard of the work before that.
    let server = fleet.hub_server().unwrap();
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        if asked.name == "dev1-cluster-upgrade" && asked.subresource.is_some() {
            return FaultAction::Unreachable;
        }
        FaultAction::Pass
    })));
    fleet::start(&hub, &upgrade).await.unwrap();
    let works: Api<drydock_api::ocm::ManifestWork> = Api::namespaced(hub.clone(), "dev1");
    while works.get_opt("dev1-cluster-upgrade").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    acceptances
        .delete("known", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.set_fault_hook(None);

    let held = fleet::until(&hub, "held", HOUR, |upgrade| {
        is_held(upgrade, "dev1") && entry(upgrade, "dev1").unwrap().state == "NotStarted"
    });
    held.await.unwrap();
    assert!(works.get_opt("dev1-cluster-upgrade").await.unwrap().is_none());
    let records: Api<ManagedClustersUpgradeRecord> = Api::namespaced(hub.clone(), "default");
    let pages = records.list(&ListParams::default()).await.unwrap();
    let reasons = pages.items.iter().flat_map(|page| &page.spec.entries);
    let reasons: Vec<_> = reasons.map(|entry| &*entry.reason).collect();
    assert_eq!(reasons, ["AbandonedBeforeUpgrade"]);

    acceptances.create(&PostParams::default(), &known).await.unwrap();
    let again = fleet::until(&hub, "started again", HOUR, |upgrade| {
        entry(upgrade, "dev1").is_none_or(|entry| entry.state != "NotStarted")
    });
    again.await.unwrap();
    fleet.shut_down().await.unwrap();
}

/// A fleet of one cluster, whose agent waits for a finding that nobody has accepted, for as long as the cluster has.
async fn held_by_agent(pre_checks: &Value, timeout: &str) -> LocalFleet {
    let mut settings = TestEnvSettings::demo(1, 5);
    let cluster = &mut settings.clusters[0];
    cluster.agent = true;
    cluster.faults.extend([Fault::NotRecommended]);
    let mut upgrade = json!(fleet::upgrade(&settings.clusters).unwrap());
    let spec = upgrade["spec"].as_object_mut().unwrap();
    spec.remove("preUpgradeAction");
    let strategy = spec["upgradeStrategy"].as_object_mut().unwrap();
    strategy.remove("canaryClusters");
    strategy.insert("clusterUpgradeTimeout".to_owned(), json!(timeout));
    spec.insert("preChecks".to_owned(), pre_checks.clone());
    let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
    let fleet = local_fleet::start(settings).await.unwrap();
    let hub = fleet.user().unwrap();
    let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
    let configuration = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "managed-upgrade-operator-config", "namespace": AGENT_NAMESPACE},
        "data": {"config.yaml": "healthCheck: {checkUpdatePlan: true}"},
    });
    spoke
        .apply(&CONFIG_MAP, configuration, "user", true)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    fleet::start(&hub, &upgrade).await.unwrap();
    fleet
}

/// What an agent waits for by its own gate holds its cluster as what the hub requires does: it is counted, named, said once, and ended by an
/// acceptance on the hub, also where the hub asks nobody by itself.
#[tokio::test(start_paused = true)]
async fn what_an_agent_holds_at_its_own_gate_is_said_of_the_upgrade() {
    for mode in ["Report", "Off"] {
        let fleet = held_by_agent(&json!({"mode": mode}), "6h").await;
        let hub = fleet.user().unwrap();
        let held = fleet::until(&hub, "held", 2 * HOUR, |upgrade| is_held(upgrade, "dev1"));
        held.await.unwrap();
        // Its informers are asked each five minutes, and say the same.
        tokio::time::sleep(HOUR).await;
        let held = fleet::until(&hub, "held still", HOUR, |upgrade| is_held(upgrade, "dev1"));
        let held = held.await.unwrap();
        let row = entry(&held, "dev1").unwrap();
        assert_eq!(row.state, "PartialUpgrade");
        let message = row.message.as_ref().unwrap();
        assert!(
            message.contains("has the risk") && !message.contains("it fails at"),
            "{message}"
        );
        assert_eq!(questions(&hub).await, 1, "{mode}");
        if mode == "Report" {
            let said = passed(&held).unwrap();
            assert_eq!((&*said.status, &*said.reason), ("False", "RisksNotAccepted"));
            let words = &said.message;
            assert!(
                words.contains("held by their agents (checkUpdatePlan)") && words.contains("dev1: "),
                "{words}"
            );
            let events: Api<Event> = Api::namespaced(hub.clone(), "default");
            let events = events.list(&ListParams::default()).await.unwrap().items;
            let is_it = |event: &&Event| event.reason.as_deref() == Some("RisksNotAccepted");
            assert_eq!(events.iter().filter(is_it).count(), 1);
        }
        let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.clone(), "default");
        let known = known_since("2026-01-01T00:00:00Z");
        acceptances.create(&PostParams::default(), &known).await.unwrap();
        let goes_on = fleet::until(&hub, "goes on", HOUR, |upgrade| {
            !is_held(upgrade, "dev1") && passed(upgrade).is_none()
        });
        goes_on.await.unwrap();
        fleet.shut_down().await.unwrap();
    }
}

/// What is accepted on the hub from then on is for another target.
#[tokio::test(start_paused = true)]
async fn what_an_agent_holds_says_what_to_do_where_the_upgrade_has_another_target_since() {
    let fleet = held_by_agent(&json!({"mode": "Report"}), "6h").await;
    let hub = fleet.user().unwrap();
    let held = fleet::until(&hub, "held", 2 * HOUR, |upgrade| is_held(upgrade, "dev1"));
    let held = held.await.unwrap();
    let upgrades: Api<ManagedClustersUpgrade> = Api::namespaced(hub.clone(), "default");
    let edit = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    let edit = Patch::Merge(&edit);
    upgrades
        .patch(&held.name_any(), &PatchParams::default(), &edit)
        .await
        .unwrap();
    let said = fleet::until(&hub, "its own target", HOUR, |upgrade| {
        let row = entry(upgrade, "dev1");
        row.and_then(|row| row.message.as_ref()).is_some_and(|message| {
            message.contains("its own target is")
                && message.contains("accept on the cluster what it waits for")
        })
    });
    said.await.unwrap();
    fleet.shut_down().await.unwrap();
}

/// Its time is over while its agent waits: what ends that wait later does not let an update begin that nobody waits for any more.
#[tokio::test(start_paused = true)]
async fn what_an_agent_has_not_begun_when_its_time_is_over_does_not_begin() {
    let fleet = held_by_agent(&json!({"mode": "Report"}), "30m").await;
    let hub = fleet.user().unwrap();
    let failed = fleet::until(&hub, "failed", 3 * HOUR, |upgrade| {
        entry(upgrade, "dev1").is_some_and(|entry| entry.state == "Failed")
    });
    let failed = failed.await.unwrap();
    let row = entry(&failed, "dev1").unwrap();
    assert_eq!(row.reason.as_deref(), Some("UpgradeTimedOut"));
    let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(hub.clone(), "default");
    let known = known_since("2026-01-01T00:00:00Z");
    acceptances.create(&PostParams::default(), &known).await.unwrap();
    tokio::time::sleep(2 * HOUR).await;
    let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
    let version = spoke.get(&VERSION, &Key::cluster("version")).await.unwrap();
    assert_eq!(version["spec"]["desiredUpdate"], Value::Null);
    let key = Key::namespaced(AGENT_NAMESPACE, UPGRADE_CONFIG);
    let left = spoke.find(&UPGRADE_CONFIG_KIND, &key).await.unwrap();
    assert!(left.is_none(), "{left:?}");

    let anew = json!({"metadata": {"annotations": {"drydock.dev/retry": "1"}}});
    fleet::upgrades(&hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(anew))
        .await
        .unwrap();
    let begins = fleet::until(&hub, "begins", HOUR, |upgrade| {
        let entry = entry(upgrade, "dev1");
        entry.is_some_and(|entry| {
            entry
                .message
                .as_ref()
                .is_some_and(|message| message.contains("% done"))
        })
    });
    begins.await.unwrap();
    fleet.shut_down().await.unwrap();
}

/// The hub's requests about works, by verb, for a rollout of ten clusters one after the other; and those of ten idle hours after it.
async fn requests(mode: Option<&str>) -> (BTreeMap<String, usize>, usize) {
    let light = HubFleet::start(10, StubWorkAgentSettings::default())
        .await
        .unwrap();
    let counted = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let seen = Arc::clone(&counted);
    light
        .server
        .set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
            if asked.identity.name() == HUB_MANAGER
                && asked.kind.is_some_and(|kind| kind.plural == "manifestworks")
            {
                *seen
                    .lock()
                    .unwrap()
                    .entry(format!("{:?}", asked.verb))
                    .or_default() += 1;
            }
            FaultAction::Pass
        })));
    let names: Vec<String> = (1..=10).map(|number| format!("c{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let pre_checks = mode.map_or(Value::Null, |mode| json!({"mode": mode}));
    let change = json!({"upgradeStrategy": {"maxConcurrency": 1}, "preChecks": pre_checks});
    light
        .upgrade("spring", with(spec_of(&names), &change))
        .await
        .unwrap();
    light.until_complete("spring").await.unwrap();
    minutes(5).await;
    assert_eq!(light.questions().await.unwrap().len(), 0);
    let of_rollout = std::mem::take(&mut *counted.lock().unwrap());
    minutes(600).await;
    let idle = counted.lock().unwrap().values().sum();
    light.shut_down().await;
    (of_rollout, idle)
}

#[tokio::test(start_paused = true)]
async fn the_default_costs_two_requests_a_cluster_that_waits_and_none_while_idle() {
    let (without, idle_without) = requests(Some("Off")).await;
    let (with_default, idle) = requests(None).await;
    assert_eq!(idle, idle_without);
    let more: BTreeMap<&str, usize> = with_default
        .iter()
        .map(|(verb, count)| {
            (
                verb.as_str(),
                count - without.get(verb).copied().unwrap_or_default(),
            )
        })
        .filter(|(_, more)| *more > 0)
        .collect();
    // The first cluster starts at once, so that nobody asks it.
    assert_eq!(more.values().copied().collect::<Vec<_>>(), [9, 9], "{more:?}");
}
