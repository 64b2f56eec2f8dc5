//! The series about maintenance schedules (Maintenance schedules, sections 5 and 11).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use std::collections::BTreeSet;

use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{ManagedClusterVersion, UpgradeConfig, UpgradeJob};
use drydock_schedule::force_drain::{self, Deletion, PodDeletion};
use drydock_schedule::job;
use drydock_schedule::metrics::{FAMILIES, FamilyKind, Sample, of_cluster_version, of_config, of_window};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use shared::{Cluster, at, window};

/// The samples of a family, by the end of its name: their labels and values.
fn of<'a>(samples: &'a [Sample], family: &str) -> Vec<(Vec<&'a str>, f64)> {
    let name = format!("openshift_upgrade_controller_{family}");
    assert!(FAMILIES.iter().any(|family| family.name == name), "{name}");
    let samples = samples.iter().filter(|sample| sample.family.name == name);
    samples
        .map(|sample| (sample.labels.iter().map(String::as_str).collect(), sample.value))
        .collect()
}

#[test]
fn each_family_has_samples_with_a_value_for_each_label() {
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
    let mut samples = of_config(&cluster.config);
    samples.extend(of_window(&window, [&cluster.config]));
    samples.extend(of_cluster_version(&version, at("2026-11-18T10:00:00Z")));
    let mut of_job = job::metrics::of_jobs(&[UpgradeJob::default()], &[]);
    samples.append(&mut of_job);
    let (upstream, pool) = (ClusterVersion::default(), MachineConfigPool::default());
    samples.extend(job::metrics::of_cluster(Some(&upstream), &[pool]));
    samples.extend(force_drain::metrics::of_nodes(&[Node::default()]));
    for deletion in [Deletion::Delete, Deletion::Terminate] {
        samples.push(force_drain::metrics::of_deletion(
            "drain",
            &pod_deletion(deletion),
        ));
    }
    for family in FAMILIES {
        let own: Vec<&Sample> = samples.iter().filter(|sample| sample.family == *family).collect();
        assert!(!own.is_empty(), "{}", family.name);
        assert!(
            own.iter()
                .all(|sample| sample.labels.len() == family.labels.len()),
            "{}",
            family.name
        );
    }
    assert!(samples.iter().all(|sample| FAMILIES.contains(&sample.family)));
    let overlay = [
        "version",
        "None",
        "stable-4.18",
        "c",
        "",
        "2027-01-01T00:00:00Z",
        "maintenance",
    ];
    assert_eq!(
        of(&samples, "cluster_version_overlay_timestamp_seconds"),
        [(overlay.to_vec(), 1_798_761_600.0)]
    );
    let current = ["version", "None", "", "c", "", "maintenance"];
    assert_eq!(of(&samples, "cluster_version_info"), [(current.to_vec(), 1.0)]);
    let matching = ["holidays", "nights", "maintenance"];
    assert_eq!(
        of(&samples, "upgradesuspensionwindow_matching_config"),
        [(matching.to_vec(), 1.0)]
    );
}

fn pod_deletion(deletion: Deletion) -> PodDeletion {
    PodDeletion {
        node: "n".to_owned(),
        namespace: "shop".to_owned(),
        name: "p".to_owned(),
        uid: "1".to_owned(),
        deletion,
    }
}

/// The original's names and labels (section 5), to which ours adds the namespace of namespaced objects.
#[test]
fn names_and_labels_are_the_originals_with_the_namespace_after_them() {
    let job = "upgradejob";
    let version = "cluster_version baseline_capability_set channel cluster_id upstream";
    let window = "upgradesuspensionwindow";
    for (name, labels) in [
        ("cluster_upgrading", ""),
        ("machine_config_pools_upgrading", "pool"),
        ("machine_config_pools_paused", "pool"),
        (
            "upgradejob_state",
            "upgradejob start_after start_before desired_version_force desired_version_image desired_version_version state reason \
             matches_disruptive_hooks namespace",
        ),
        (
            "upgradejob_start_after_timestamp_seconds",
            &format!("{job} namespace"),
        ),
        (
            "upgradejob_start_before_timestamp_seconds",
            &format!("{job} namespace"),
        ),
        (
            "upgradeconfig_info",
            "upgradeconfig cron location suspended namespace",
        ),
        (
            "upgradeconfig_pin_version_window_seconds",
            "upgradeconfig namespace",
        ),
        (
            "upgradeconfig_next_possible_schedule_timestamp_seconds",
            "upgradeconfig n timestamp namespace",
        ),
        (
            "upgradesuspensionwindow_info",
            &format!("{window} reason namespace"),
        ),
        (
            "upgradesuspensionwindow_start_timestamp_seconds",
            &format!("{window} namespace"),
        ),
        (
            "upgradesuspensionwindow_end_timestamp_seconds",
            &format!("{window} namespace"),
        ),
        (
            "upgradesuspensionwindow_matching_config",
            &format!("{window} config namespace"),
        ),
        ("cluster_version_info", &format!("{version} namespace")),
        (
            "cluster_version_overlay_timestamp_seconds",
            &format!("{version} from namespace"),
        ),
        ("node_draining", "node"),
        (
            "node_force_drain_pod_deletions_total",
            "node_force_drain node namespace pod_name pod_uid",
        ),
        (
            "node_force_drain_pod_terminations_total",
            "node_force_drain node namespace pod_name pod_uid",
        ),
    ] {
        let name = format!("openshift_upgrade_controller_{name}");
        let family = FAMILIES.iter().find(|family| family.name == name);
        let family = family.unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(family.labels.join(" "), labels, "{name}");
        let is_counter = name.ends_with("_total");
        assert_eq!(family.kind == FamilyKind::Counter, is_counter, "{name}");
    }
}

#[test]
fn no_two_families_have_one_name() {
    let names: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    assert_eq!(names.len(), FAMILIES.len());
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("openshift_upgrade_controller_"))
    );
}

#[test]
fn what_cannot_be_read_has_no_series_and_breaks_no_other() {
    let mut cluster = Cluster::new("never");
    cluster.change(&json!({"pinVersionWindow": "soon"}));
    let samples = of_config(&cluster.config);
    assert_eq!(of(&samples, "upgradeconfig_info").len(), 1);
    assert_eq!(of(&samples, "upgradeconfig_pin_version_window_seconds"), []);
    let nameless = UpgradeConfig::new("", cluster.config.spec.clone());
    assert_eq!(of_config(&nameless).len(), 1);
}
