//! What speaks against updates, and what is printed of it.

mod choice;
mod concerns;
mod releases;

use std::collections::BTreeSet;

use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::ClusterVersion;
use drydock_api::prometheus::{Alert, AlertsData};
use serde_json::{Value, json};

use super::*;
use crate::render::{self, RecommendationView, Rendered};

/// A cluster of 4.16.27 with these updates.
#[expect(clippy::needless_pass_by_value, reason = "it is written where it is passed")]
fn version(available: &[&str], conditional: Value) -> ClusterVersion {
    let available: Vec<_> = available.iter().map(|version| release(version)).collect();
    read(json!({
        "metadata": {"name": "version"},
        "spec": {"channel": "stable-4.16"},
        "status": {
            "desired": {"version": "4.16.27", "channels": ["stable-4.16", "stable-4.17"]},
            "availableUpdates": available, "conditionalUpdates": conditional,
            "conditions": [
                {"type": "Failing", "status": "False"},
                {"type": "Progressing", "status": "False", "message": "Cluster version is 4.16.27"},
            ],
        },
    }))
}

fn read(version: Value) -> ClusterVersion {
    serde_json::from_value(version).unwrap()
}

fn release(version: &str) -> Value {
    json!({"version": version, "image": format!("image-of-{version}"), "url": format!("https://example.com/{version}")})
}

fn risky(version: &str, status: &str) -> Value {
    json!({"release": release(version), "risks": [{"name": "Fire", "message": "It may burn."}],
        "conditions": [{"type": "Recommended", "status": status, "reason": "Fire", "message": "It may burn.\n\nReally."}]})
}

fn with_condition(mut version: ClusterVersion, condition: Value) -> ClusterVersion {
    let status = version.status.as_mut().unwrap();
    let condition: ForeignCondition = serde_json::from_value(condition).unwrap();
    status.conditions.retain(|other| other.type_ != condition.type_);
    status.conditions.push(condition);
    version
}

fn alert(name: &str, severity: &str) -> Value {
    json!({"labels": {"alertname": name, "severity": severity, "namespace": "ns", "poddisruptionbudget": "budget"},
        "annotations": {"summary": "It burns", "description": "Look.", "runbook_url": "https://example.com"}, "state": "firing"})
}

#[expect(clippy::unnecessary_wraps, reason = "facts may be unread")]
fn alerts(alerts: &[Value]) -> Fact<Vec<Alert>> {
    let data: AlertsData = serde_json::from_value(json!({"alerts": alerts})).unwrap();
    Ok(data.alerts)
}

fn types(concerns: &[Concern]) -> Vec<&str> {
    let open = concerns.iter().filter(|concern| !concern.is_well());
    open.map(|concern| concern.type_.as_str()).collect()
}

fn of_alerts(found: &[Value]) -> Recommendation {
    assess(&version(&[], json!([])), &alerts(found), None)
}

fn show(version: &ClusterVersion, view: &RecommendationView) -> Rendered {
    render::recommendation(&assess(version, &alerts(&[]), None), view)
}

fn one(version: &str, accepted: &[&str]) -> RecommendationView {
    RecommendationView {
        version: Some(version.parse().unwrap()),
        accepted: accepted.iter().map(|name| (*name).to_owned()).collect(),
        ..RecommendationView::default()
    }
}
