//! The rights in `manifests/hub` and `manifests/agent` are those that the programs use: none is missing, none is left over.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_agent::{SchedulePart, ScheduleSettings};
use drydock_api::conditions::is_true;
use drydock_api::insights::UpdatePlanInsight;
use drydock_api::mcu::{ManagedClustersUpgradeRecord, UpgradeRiskAcceptance};
use drydock_api::names::{
    AGENT_NAMESPACE, KIND_LABEL, PRE_CHECKS_KIND, UPGRADE_LOCK_ANNOTATION, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::ManifestWork;
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::UpgradeJob;
use drydock_api::upgradeconfig::UpgradePhase;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::manifests::{self, in_repository};
use drydock_e2e::spoke::{self, Spoke};
use drydock_runtime::client::{self, RequestMetrics};
use drydock_runtime::leader::{Election, Leadership, LeaseSettings, leader_only_writes};
use drydock_sandbox::test_env::TestEnvSettings;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kube_sandbox::server::{ApiServer, FaultAction, RequestInfo};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const HOUR: Duration = Duration::from_hours(1);

/// `group resource verb`.
type Rights = BTreeSet<String>;

/// The rights of a manifest's roles.
fn granted(file: &str) -> Rights {
    let objects = manifests::read(&in_repository(file)).unwrap();
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut rights = Rights::new();
    for rule in objects
        .iter()
        .filter_map(|object| object.data["rules"].as_array())
        .flatten()
    {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                rights.extend(
                    texts(&rule["verbs"])
                        .iter()
                        .map(|verb| format!("{group} {resource} {verb}")),
                );
            }
        }
    }
    rights
}

/// Notes what a program asks for.
fn watch(server: &ApiServer, who: &'static str) -> Arc<Mutex<Rights>> {
    let used = Arc::new(Mutex::new(Rights::new()));
    let seen = Arc::clone(&used);
    server.set_fault_hook(Some(Arc::new(move |asked: &RequestInfo<'_>| {
        if asked.identity.name() == who
            && let Some(kind) = asked.kind
        {
            let part = asked
                .subresource
                .map_or_else(String::new, |part| format!("/{}", part.as_str()));
            let verb = format!("{:?}", asked.verb).to_lowercase();
            let right = format!("{} {}{part} {verb}", kind.group, kind.plural);
            seen.lock().unwrap().insert(right);
        }
        FaultAction::Pass
    })));
    used
}

/// One record more than are kept of every upgrade.
async fn old_records(user: &kube::Client) {
    let records: Api<ManagedClustersUpgradeRecord> = Api::namespaced(user.clone(), "default");
    for year in 2000..=2010 {
        let record = json!({
            "metadata": {"name": format!("old-{year}-1"), "labels": {UPGRADE_UID_LABEL: year.to_string()}},
            "spec": {"upgrade": {
                "name": "old", "uid": year.to_string(), "target": "4.1.1", "goal": "x",
                "rolloutSince": format!("{year}-01-01T00:00:00Z"),
            }},
        });
        let record = serde_json::from_value(record).unwrap();
        records.create(&PostParams::default(), &record).await.unwrap();
    }
}

/// Somebody accepts a risk, and a cluster says that this has ended there.
async fn an_acceptance_ends(user: &kube::Client) {
    let acceptances: Api<UpgradeRiskAcceptance> = Api::namespaced(user.clone(), "default");
    let acceptance = json!({
        "metadata": {"name": "known"},
        "spec": {"upgrade": fleet::UPGRADE, "target": "4.14.12", "acceptedRisks": [
            {"informer": "mco", "uid": "paused", "reason": "known", "acceptedBy": "ann"},
        ]},
    });
    let acceptance = serde_json::from_value(acceptance).unwrap();
    let created = acceptances
        .create(&PostParams::default(), &acceptance)
        .await
        .unwrap();
    let id = drydock_objects::acceptance::digest(&created).risks[0]
        .id
        .to_string();
    tokio::time::sleep(Duration::from_mins(2)).await;
    let asked = ListParams::default().labels(&format!("{KIND_LABEL}={PRE_CHECKS_KIND}"));
    let works: Api<ManifestWork> = Api::all(user.clone());
    let work = works.list(&asked).await.unwrap().items.remove(0);
    let status = json!({"status": {"resourceStatus": {"manifests": [{
        "resourceMeta": {"ordinal": 0, "resource": "updateplans"}, "conditions": [],
        "statusFeedback": {"values": [{"name": "endedRisks", "fieldValue": {"type": "String", "string": id}}]},
    }]}}});
    let works: Api<ManifestWork> = Api::namespaced(user.clone(), &work.namespace().unwrap());
    works
        .patch_status(&work.name_any(), &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let status = acceptances.get("known").await.unwrap().status.unwrap();
    assert_eq!(status.ended[0].id, id);
}

#[tokio::test(start_paused = true)]
async fn the_hub_has_the_rights_that_it_uses_and_no_others() {
    let fleet = local_fleet::without_hub(fleet::three_clusters(9)).await.unwrap();
    let server = fleet.hub_server().unwrap();
    let used = watch(server, "drydock-hub");
    let metrics = || RequestMetrics::register(&prometheus::Registry::new()).unwrap();
    let (leadership, stop) = (Leadership::default(), CancellationToken::new());
    let own = client::from_service(server.service("drydock-hub"), "default", &metrics());
    let lease = LeaseSettings::new("default", "drydock-hub", "one");
    let settings = drydock_hub::Settings {
        election: Some(Arc::new(Election::new(
            own,
            lease,
            fleet.clock.clone(),
            leadership.clone(),
        ))),
        ..drydock_e2e::local_fleet::hub_settings()
    };
    let transport = leader_only_writes(server.service("drydock-hub"), leadership);
    let guarded = client::from_service(transport, "default", &metrics());
    let hub = tokio::spawn(drydock_hub::run(
        settings,
        guarded,
        fleet.clock.clone(),
        stop.clone(),
    ));

    // A whole life: selected by labels, with actions, upgraded, edited to a Placement, deleted; and records that are too old.
    let user = fleet.user().unwrap();
    old_records(&user).await;
    let clusters = fleet::three_clusters(9).clusters;
    fleet::start(&user, &fleet::upgrade(&clusters).unwrap())
        .await
        .unwrap();
    an_acceptance_ends(&user).await;
    let complete = |upgrade: &drydock_api::mcu::ManagedClustersUpgrade| fleet::is_true(upgrade, "Complete");
    fleet::until(&user, "complete", 24 * HOUR, complete)
        .await
        .unwrap();
    let placement = json!({"spec": {
        "clusterSelector": null, "placement": [{"name": "dev-clusters", "namespace": "dev"}],
    }});
    let upgrades = fleet::upgrades(&user);
    let edited = upgrades
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(placement))
        .await;
    edited.unwrap();
    tokio::time::sleep(HOUR).await;
    upgrades
        .delete(fleet::UPGRADE, &DeleteParams::default())
        .await
        .unwrap();
    fleet::until_tidy(&user, 0, HOUR).await.unwrap();
    stop.cancel();
    hub.await.unwrap().unwrap();

    let mut used = used.lock().unwrap().clone();
    // An apply that creates is checked as both. Required by no request: an owner that blocks deletion needs it. A work that exists already is read before it counts as
    // ours; that happens when an answer is lost.
    used.insert("cluster.open-cluster-management.io managedclustersupgrades/finalizers update".to_owned());
    used.insert("cluster.open-cluster-management.io placements create".to_owned());
    used.insert("work.open-cluster-management.io manifestworks get".to_owned());
    assert_eq!(used, granted("manifests/hub/rbac.yaml"));
    fleet.shut_down().await.unwrap();
}

/// Maintenances of which the first is left out and the others succeed at once, so that some are deleted.
async fn used_by_schedules() -> Rights {
    let schedule = ScheduleSettings {
        off: [SchedulePart::UpgradeJobs].into(),
        ..ScheduleSettings::default()
    };
    let spoke = Spoke::scheduled(|_| {}, |outside| outside, schedule)
        .await
        .unwrap();
    let server = spoke.fleet.env.spoke(spoke::NAME).unwrap();
    let used = watch(server, "drydock-agent");
    // What was watched before is watched again, so that it is seen.
    server.compact();
    server.cut_watches(|who, _| who == "drydock-agent");
    let id = spoke.version().await.unwrap().spec.cluster_id;
    let objects = [
        (
            "UpgradeConfig",
            "five-minutes",
            json!({
                "schedule": {"cron": "*/5 * * * *", "location": "UTC"}, "successfulJobsHistoryLimit": 1,
                "jobTemplate": {"spec": {"config": {
                    "upgradeTimeout": "6h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
                }}},
            }),
        ),
        (
            "UpgradeSuspensionWindow",
            "first",
            json!({
                "start": "2026-01-05T08:00:00Z", "end": "2026-01-05T08:06:00Z", "reason": "x", "configSelector": {},
            }),
        ),
        (
            "ClusterVersion",
            "version",
            json!({"template": {"spec": {"clusterID": id, "channel": "fast-4.14"}}}),
        ),
    ];
    for (kind, name, spec) in objects {
        create(&spoke, kind, name, &spec).await;
    }
    let jobs: Api<UpgradeJob> = Api::namespaced(spoke.client.clone(), AGENT_NAMESPACE);
    let succeeded = json!({"status": {"conditions": [{
        "type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "",
        "lastTransitionTime": "2026-01-05T08:00:00Z",
    }]}});
    for _ in 0..20 {
        tokio::time::sleep(HOUR / 60).await;
        for job in jobs.list(&ListParams::default()).await.unwrap().items {
            let patch = Patch::Merge(&succeeded);
            let name = job.name_any();
            jobs.patch_status(&name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        }
    }
    let mut used = used.lock().unwrap().clone();
    // Required by no request: an owner that blocks deletion needs it.
    used.insert("managedupgrade.appuio.io upgradeconfigs/finalizers update".to_owned());
    spoke.fleet.shut_down().await.unwrap();
    used
}

/// Creates an object of maintenance schedules.
async fn create(spoke: &Spoke, kind: &str, name: &str, spec: &Value) {
    let object = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": kind,
        "metadata": {"name": name, "namespace": AGENT_NAMESPACE}, "spec": spec,
    });
    let object = serde_json::from_value(object).unwrap();
    manifests::apply(&spoke.client, &object).await.unwrap();
}

/// A maintenance with a hook and a pool that is upgraded later, on a cluster with a stale lock and a drain that hangs.
async fn used_by_upgrade_jobs() -> Rights {
    let change = |settings: &mut TestEnvSettings| settings.clusters[0].faults.extend([Fault::DrainStuck]);
    let spoke = Spoke::start(change, |outside| outside).await.unwrap();
    let server = spoke.fleet.env.spoke(spoke::NAME).unwrap();
    let used = watch(server, "drydock-agent");
    server.compact();
    server.cut_watches(|who, _| who == "drydock-agent");
    let stale =
        json!({"metadata": {"annotations": {UPGRADE_LOCK_ANNOTATION: format!("{AGENT_NAMESPACE}/gone")}}});
    spoke.change::<ClusterVersion>("version", &stale).await.unwrap();
    let hook = json!({"events": ["Start"], "run": "Next", "template": {"spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "x", "image": "x"}],
    }}}}});
    create(&spoke, "UpgradeJobHook", "before", &hook).await;
    let drain = json!({
        "nodeSelector": {}, "namespaceSelector": {}, "nodeDrainGracePeriod": "1h", "podForceDeleteGracePeriod": "10m",
    });
    create(&spoke, "NodeForceDrain", "workers", &drain).await;
    let job = json!({
        "startAfter": "2026-01-05T09:00:00Z", "startBefore": "2026-01-05T10:00:00Z",
        "desiredVersion": {"version": "4.14.12"},
        "config": {
            "upgradeTimeout": "24h", "preUpgradeHealthChecks": {}, "postUpgradeHealthChecks": {},
            "machineConfigPools": [{"matchLabels": {}, "delayUpgrade": {"delayMin": "1h"}}],
        },
    });
    create(&spoke, "UpgradeJob", "one", &job).await;
    tokio::time::sleep(24 * HOUR).await;
    let jobs: Api<UpgradeJob> = Api::namespaced(spoke.client.clone(), AGENT_NAMESPACE);
    let status = jobs.get("one").await.unwrap().status.unwrap();
    assert!(is_true(&status.conditions.unwrap(), "Succeeded"));
    let mut planned = job;
    planned["config"]["preUpgradeHealthChecks"] = json!({"checkUpdatePlan": true});
    planned["startBefore"] = json!("2026-01-08T10:00:00Z");
    planned["startAfter"] = json!("2026-01-06T10:00:00Z");
    create(&spoke, "UpgradeJob", "planned", &planned).await;
    tokio::time::sleep(HOUR * 6).await;
    let mut used = used.lock().unwrap().clone();
    // An apply that creates is checked as both.
    used.insert("config.openshift.io updateplans create".to_owned());
    // Required by no request: an owner that blocks deletion needs it. A Job that exists already is read before it counts as ours, and
    // DaemonSets where their pods are on a node that is drained.
    used.insert("managedupgrade.appuio.io upgradejobs/finalizers update".to_owned());
    used.insert("batch jobs get".to_owned());
    used.insert("apps daemonsets list".to_owned());
    spoke.fleet.shut_down().await.unwrap();
    used
}

/// A plan that an informer is asked about which is not there, and which nobody needs a day later.
async fn used_by_insights() -> Rights {
    let spoke = Spoke::start(|_| {}, |outside| outside).await.unwrap();
    let server = spoke.fleet.env.spoke(spoke::NAME).unwrap();
    let used = watch(server, "drydock-agent");
    server.compact();
    server.cut_watches(|who, _| who == "drydock-agent");
    let service = json!({"namespace": "x", "name": "x"});
    let objects = [
        (
            "UpdateInformer",
            "x",
            json!({"clientConfig": {"service": service, "caBundle": "eA=="}}),
        ),
        (
            "UpdatePlan",
            "update-plan-4.99.0",
            json!({"targetRelease": "4.99.0"}),
        ),
    ];
    left_of_an_earlier_plan(&spoke.client).await;
    for (kind, name, spec) in objects {
        let object = json!({
            "apiVersion": "config.openshift.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": spec,
        });
        manifests::apply(&spoke.client, &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }
    tokio::time::sleep(25 * HOUR).await;
    let mut used = used.lock().unwrap().clone();
    // It was there before anybody looked. An apply that creates is checked as both.
    used.insert("config.openshift.io updatestatuses create".to_owned());
    used.insert("config.openshift.io updateplaninsights create".to_owned());
    // The simulated cluster has no such kind.
    used.insert("apiserver.openshift.io apirequestcounts list".to_owned());
    spoke.fleet.shut_down().await.unwrap();
    used
}

/// A part of a plan that was deleted without its parts: it is deleted for the next plan.
async fn left_of_an_earlier_plan(client: &Client) {
    let api: Api<UpdatePlanInsight> = Api::all(client.clone());
    let name = "update-plan-4.99.0.drydock.alerts";
    let part = json!({
        "metadata": {"name": name}, "spec": {"targetRelease": "4.99.0", "updateInformer": "drydock.alerts"},
    });
    let part = serde_json::from_value(part).unwrap();
    api.create(&PostParams::default(), &part).await.unwrap();
    let status = Patch::Merge(json!({"status": {"planUid": "earlier", "state": "Success"}}));
    api.patch_status(name, &PatchParams::default(), &status)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_agent_has_the_rights_that_it_uses_and_no_others() {
    let change = |settings: &mut TestEnvSettings| settings.clusters[0].faults.extend([Fault::DrainStuck]);
    let spoke = Spoke::start(change, |outside| outside).await.unwrap();
    let server = spoke.fleet.env.spoke(spoke::NAME).unwrap();
    let used = watch(server, "drydock-agent");
    // What was watched before is watched again, so that it is seen.
    server.compact();
    server.cut_watches(|who, _| who == "drydock-agent");
    spoke
        .configure("environment: {fedramp: true}\nnotify: {webhooks: [{url: 'https://x.example', secretRef: {name: x}}]}")
        .await
        .unwrap();
    // A version is read from an image's registry, for which the pull secret is read.
    let image = format!("quay.io/a/b@sha256:{}", "0".repeat(64));
    let fields = json!({
        "capacityReservation": true, "PDBForceDrainTimeout": 30,
        "desired": {"version": null, "channel": null, "image": image},
    });
    spoke.ask(fields).await.unwrap();
    tokio::time::sleep(HOUR / 4).await;
    let desired =
        json!({"spec": {"desired": {"version": "4.14.12", "channel": "stable-4.14", "image": null}}});
    let (upgrades, patch) = (spoke.upgrades(), Patch::Merge(desired));
    upgrades
        .patch("managed-upgrade-config", &PatchParams::default(), &patch)
        .await
        .unwrap();
    spoke.until(UpgradePhase::Upgraded).await.unwrap();
    let mut used = used.lock().unwrap().clone();
    // What a provider does, what is done about pods that hang in their deletion, and a kind that only FedRAMP clusters have.
    for verb in ["get", "create", "delete"] {
        used.insert(format!("upgrade.managed.openshift.io upgradeconfigs {verb}"));
    }
    used.insert(" pods patch".to_owned());
    for verb in ["get", "patch"] {
        used.insert(format!("fileintegrity.openshift.io fileintegrities {verb}"));
    }
    // An apply that creates is checked as both.
    used.insert(" configmaps create".to_owned());
    spoke.fleet.shut_down().await.unwrap();
    used.extend(used_by_schedules().await);
    used.extend(used_by_upgrade_jobs().await);
    used.extend(used_by_insights().await);
    assert_eq!(used, granted("manifests/agent/rbac.yaml"));
}
