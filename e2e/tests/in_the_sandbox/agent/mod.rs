//! The real agent on a simulated cluster.

mod deletion;
mod drains;
mod faults;
mod hostile;

mod killed;
mod metrics;
mod notifications;
mod order;

mod provider;
mod state_machine;
mod steps;
mod validation;

use std::time::Duration;

use drydock_e2e::spoke::Spoke;
use drydock_sandbox::bed::BedSettings;
use drydock_sandbox::cluster::Fault;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use serde_json::json;

const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);

async fn spoke() -> Spoke {
    Spoke::start(|_| {}, |outside| outside).await.unwrap()
}

async fn faulty(faults: &[Fault]) -> Spoke {
    let change = |settings: &mut BedSettings| settings.clusters[0].faults.extend(faults);
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
