//! The series about maintenance schedules (Maintenance schedules, sections 5 and 11).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use drydock_api::schedule::{ManagedClusterVersion, UpgradeConfig};
use drydock_schedule::metrics::{FAMILIES, MetricKind, Series, of_cluster_version, of_config, of_window};
use serde_json::json;
use shared::{Cluster, at, window};

fn of(series: &[Series], kind: MetricKind) -> Vec<(Vec<&str>, f64)> {
    let series = series.iter().filter(|series| series.kind == kind);
    series
        .map(|series| (series.labels.iter().map(String::as_str).collect(), series.value))
        .collect()
}

#[test]
fn each_series_has_a_value_for_each_label() {
    let mut cluster = Cluster::new("0 22 * * 2");
    cluster.decide("2026-11-18T10:00:00Z");
    let window = window("holidays", "2026-12-18T00:00:00Z", "2027-01-04T00:00:00Z");
    let version: ManagedClusterVersion = serde_json::from_value(json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "ClusterVersion",
        "metadata": {"namespace": "maintenance", "name": "version"},
        "spec": {
            "template": {"spec": {"clusterID": "c", "capabilities": {"baselineCapabilitySet": "None"}}},
            "overlays": [{"from": "2027-01-01T00:00:00Z", "overlay": {"spec": {"channel": "stable-4.18"}}}],
        },
    }))
    .unwrap();
    let mut series = of_config(&cluster.config);
    series.extend(of_window(&window, [&cluster.config]));
    series.extend(of_cluster_version(&version, at("2026-11-18T10:00:00Z")));
    for family in FAMILIES {
        let known = of(&series, family.kind);
        assert!(!known.is_empty(), "{}", family.name);
        for (labels, _) in known {
            assert_eq!(labels.len(), family.labels.len(), "{}", family.name);
            assert_eq!(labels[0], "maintenance", "{}", family.name);
        }
    }
    let overlay = [
        "maintenance",
        "version",
        "None",
        "stable-4.18",
        "c",
        "",
        "2027-01-01T00:00:00Z",
    ];
    assert_eq!(
        of(&series, MetricKind::Overlay),
        [(overlay.to_vec(), 1_798_761_600.0)]
    );
    let current = ["maintenance", "version", "None", "", "c", ""];
    assert_eq!(of(&series, MetricKind::VersionInfo), [(current.to_vec(), 1.0)]);
}

#[test]
fn what_cannot_be_read_has_no_series_and_breaks_no_other() {
    let mut cluster = Cluster::new("never");
    cluster.change(&json!({"pinVersionWindow": "soon"}));
    let series = of_config(&cluster.config);
    assert_eq!(of(&series, MetricKind::ConfigInfo).len(), 1);
    assert_eq!(of(&series, MetricKind::PinVersionWindow), []);
    let nameless = UpgradeConfig::new("", cluster.config.spec.clone());
    assert_eq!(of_config(&nameless).len(), 1);
}
