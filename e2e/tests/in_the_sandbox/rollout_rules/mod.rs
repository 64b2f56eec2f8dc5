//! What keeps further clusters from starting, and how failed ones start over.

mod agents;
mod canaries;
mod failures;
mod freezes;
mod windows;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drydock_api::mcu::{ClusterStatusEntry, ManagedClustersUpgrade};
use drydock_api::names::RETRY_ANNOTATION;
use drydock_api::ocm::ManagedCluster;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_sandbox::test_env::TestEnvSettings;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

const HOUR: Duration = Duration::from_hours(1);

fn clusters(count: usize) -> TestEnvSettings {
    let mut settings = TestEnvSettings::demo(count, 5);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    settings
}

/// The sample upgrade of these clusters, dev1 being the canary, with this laid over its strategy.
fn upgrade(settings: &TestEnvSettings, strategy: &Value) -> ManagedClustersUpgrade {
    let mut upgrade = serde_json::to_value(fleet::upgrade(&settings.clusters).unwrap()).unwrap();
    for (field, value) in strategy.as_object().unwrap() {
        upgrade["spec"]["upgradeStrategy"][field] = value.clone();
    }
    serde_json::from_value(upgrade).unwrap()
}

fn condition(upgrade: &ManagedClustersUpgrade, type_: &str) -> (String, String, String) {
    let conditions = upgrade.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition.type_ == type_)
        .unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

async fn read(hub: &Client) -> ManagedClustersUpgrade {
    fleet::upgrades(hub).get(fleet::UPGRADE).await.unwrap()
}

/// When each cluster's upgrade work was made.
async fn starts(hub: &Client) -> BTreeMap<String, Timestamp> {
    let works = fleet::works(hub).await.unwrap();
    let kind = |name: &str| name.ends_with("-cluster-upgrade");
    works
        .iter()
        .filter(|work| kind(&work.name_any()))
        .map(|work| (work.namespace().unwrap(), work.creation_timestamp().unwrap().0))
        .collect()
}

/// Injects a failure mode into a cluster, or lifts what there is.
async fn fault(hub: &Client, cluster: &str, code: &Value) {
    let patch = json!({"metadata": {"annotations": {"sandbox.drydock.dev/fault": code}}});
    Api::<ManagedCluster>::all(hub.clone())
        .patch(cluster, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

async fn retry(hub: &Client, moment: &str) {
    let patch = json!({"metadata": {"annotations": {RETRY_ANNOTATION: moment}}});
    fleet::upgrades(hub)
        .patch(fleet::UPGRADE, &PatchParams::default(), &Patch::Merge(patch))
        .await
        .unwrap();
}

fn complete(upgrade: &ManagedClustersUpgrade) -> usize {
    let summary = upgrade.status.as_ref().and_then(|status| status.clusters_summery);
    summary.map_or(0, |summary| usize::try_from(summary.complete).unwrap())
}
