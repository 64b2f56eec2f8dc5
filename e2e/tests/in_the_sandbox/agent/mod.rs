//! The real agent on a simulated cluster.

mod bench;
mod capacity;
mod deletion;
mod drains;
mod fault_matrix;
mod faults;
mod health;
mod hostile;

mod killed;
mod metrics;
pub(crate) mod notifications;
mod order;

mod provider;
mod restarts;
mod silences;
mod state_machine;
mod steps;
mod validation;

use std::collections::BTreeMap;
use std::time::Duration;

use drydock_api::machine_api::{MachineSet, NAMESPACE};
use drydock_e2e::spoke::Spoke;
use drydock_sandbox::test_env::TestEnvSettings;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use openshift_sandbox::cluster::Fault;
use serde_json::json;

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

async fn spoke() -> Spoke {
    Spoke::start(|_| {}, |outside| outside).await.unwrap()
}

async fn faulty(faults: &[Fault]) -> Spoke {
    let change = |settings: &mut TestEnvSettings| settings.clusters[0].faults.extend(faults);
    Spoke::start(change, |outside| outside).await.unwrap()
}

/// Lets an alert fire for as long as its rule is there.
async fn fire(spoke: &Spoke, alert: &str) {
    let rules = GroupVersionKind::gvk("monitoring.coreos.com", "v1", "PrometheusRule");
    let (kind, _) = kube::discovery::pinned_kind(&spoke.client, &rules).await.unwrap();
    let rule: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule",
        "metadata": {"name": alert.to_lowercase(), "namespace": "openshift-monitoring"},
        "spec": {"groups": [{"name": "ours", "rules": [
            {"alert": alert, "expr": "vector(1)", "labels": {"severity": "critical"}},
        ]}]},
    }))
    .unwrap();
    let api: Api<DynamicObject> = Api::namespaced_with(spoke.client.clone(), "openshift-monitoring", &kind);
    api.create(&PostParams::default(), &rule).await.unwrap();
}

/// The description of an event; empty if it was not notified.
async fn description(spoke: &Spoke, event: &str) -> String {
    let notified: BTreeMap<String, String> = spoke.notifications().await.unwrap().into_iter().collect();
    notified.get(event).cloned().unwrap_or_default()
}

async fn is_notified(spoke: &Spoke, event: &str) -> bool {
    let notified = spoke.notifications().await.unwrap();
    notified.iter().any(|(known, _)| known == event)
}

/// Takes the label away by which MachineSets are found.
async fn hide_machine_sets(spoke: &Spoke) {
    let sets: Api<MachineSet> = Api::namespaced(spoke.client.clone(), NAMESPACE);
    let hidden = json!({"metadata": {"labels": {"hive.openshift.io/machine-pool": null}}});
    for set in sets.list(&ListParams::default()).await.unwrap().items {
        let as_user = PatchParams::default();
        sets.patch(&set.name_any(), &as_user, &Patch::Merge(&hidden))
            .await
            .unwrap();
    }
}
