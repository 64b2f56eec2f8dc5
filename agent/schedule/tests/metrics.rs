//! The series about maintenance schedules (Maintenance schedules, sections 5 and 11).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

mod shared;

use std::collections::BTreeSet;

use drydock_api::machine_api::Machine;
use drydock_api::openshift::{ClusterVersion, MachineConfigPool};
use drydock_api::schedule::{HookStatus, ManagedClusterVersion, UpgradeConfig, UpgradeJob};
use drydock_schedule::force_drain::{self, Deletion, PodDeletion};
use drydock_schedule::job;
use drydock_schedule::metrics::{
    FAMILIES, FamilyKind, Sample, of_cluster_version, of_config, of_machines, of_window,
};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use shared::{Cluster, at, end, window};

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
    cluster.decide("2026-11-24T22:00:00Z");
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
    end(&mut cluster.jobs[0], "Succeeded");
    let mut samples = of_config(&cluster.config, &cluster.jobs);
    samples.extend(of_window(&window, [&cluster.config]));
    samples.extend(of_cluster_version(&version, at("2026-11-18T10:00:00Z")));
    samples.extend(job::metrics::of_jobs(&[waiting_job()], &[]));
    let mut pool = MachineConfigPool::default();
    pool.status.get_or_insert_default();
    samples.extend(job::metrics::of_cluster(
        Some(&ClusterVersion::default()),
        &[pool],
    ));
    samples.extend(of_machines(&[Machine::default()]));
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

/// An UpgradeJob that waits, with a hook.
fn waiting_job() -> UpgradeJob {
    let mut job = UpgradeJob::default();
    end(&mut job, "Waiting");
    let status = job.status.get_or_insert_default();
    status.hook_tracker = Some(vec![HookStatus::default()]);
    job
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

/// The original's names and labels (section 5).
const ORIGINAL: &[(&str, &str)] = &[
    ("cluster_upgrading", ""),
    ("machine_config_pools_upgrading", "pool"),
    ("machine_config_pools_paused", "pool"),
    (
        "upgradejob_state",
        "upgradejob start_after start_before desired_version_force desired_version_image desired_version_version state reason \
         matches_disruptive_hooks",
    ),
    ("upgradejob_start_after_timestamp_seconds", "upgradejob"),
    ("upgradejob_start_before_timestamp_seconds", "upgradejob"),
    ("upgradeconfig_info", "upgradeconfig cron location suspended"),
    ("upgradeconfig_pin_version_window_seconds", "upgradeconfig"),
    (
        "upgradeconfig_next_possible_schedule_timestamp_seconds",
        "upgradeconfig n timestamp",
    ),
    ("upgradesuspensionwindow_info", "upgradesuspensionwindow reason"),
    (
        "upgradesuspensionwindow_start_timestamp_seconds",
        "upgradesuspensionwindow",
    ),
    (
        "upgradesuspensionwindow_end_timestamp_seconds",
        "upgradesuspensionwindow",
    ),
    (
        "upgradesuspensionwindow_matching_config",
        "upgradesuspensionwindow config",
    ),
    (
        "cluster_version_info",
        "cluster_version baseline_capability_set channel cluster_id upstream",
    ),
    (
        "cluster_version_overlay_timestamp_seconds",
        "cluster_version baseline_capability_set channel cluster_id upstream from",
    ),
    ("machine_info", "machine machineset node_ref provider_id phase"),
    ("node_draining", "node"),
    (
        "node_force_drain_pod_deletions_total",
        "node_force_drain node namespace pod_name pod_uid",
    ),
    (
        "node_force_drain_pod_terminations_total",
        "node_force_drain node namespace pod_name pod_uid",
    ),
];

/// A diverging point: the series of objects in namespaces have a label for it, after the original's.
#[test]
fn names_and_labels_are_the_originals_with_the_namespace_after_them() {
    for (name, labels) in ORIGINAL {
        let of_namespace = ["upgrade", "cluster_version"]
            .iter()
            .any(|kind| name.starts_with(kind));
        let mut expected: Vec<&str> = labels.split_whitespace().collect();
        if of_namespace {
            expected.push("namespace");
        }
        let name = format!("openshift_upgrade_controller_{name}");
        let family = FAMILIES.iter().find(|family| family.name == name);
        let family = family.unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(family.labels, expected, "{name}");
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
    let samples = of_config(&cluster.config, []);
    assert_eq!(of(&samples, "upgradeconfig_info").len(), 1);
    assert_eq!(of(&samples, "upgradeconfig_pin_version_window_seconds"), []);
    let nameless = UpgradeConfig::new("", cluster.config.spec.clone());
    assert_eq!(of_config(&nameless, []).len(), 1);
}

#[test]
fn whether_a_config_can_create_jobs_is_said_with_the_reason() {
    let mut cluster = Cluster::new("@daily");
    assert_eq!(of(&of_config(&cluster.config, []), "upgradeconfig_ready"), []);
    cluster.decide("2026-11-18T10:00:00Z");
    let labels = ["nights", "Scheduled", "maintenance"];
    assert_eq!(
        of(&of_config(&cluster.config, []), "upgradeconfig_ready"),
        [(labels.to_vec(), 1.0)]
    );
    cluster.change(&json!({"schedule": {"cron": "never"}}));
    cluster.decide("2026-11-18T10:00:00Z");
    let labels = ["nights", "InvalidCron", "maintenance"];
    assert_eq!(
        of(&of_config(&cluster.config, []), "upgradeconfig_ready"),
        [(labels.to_vec(), 0.0)]
    );
}

/// One that is skipped, has failed, or is another's is no success.
#[test]
fn the_last_success_is_that_of_its_own_jobs_that_were_not_skipped() {
    let mut cluster = Cluster::new("0 0 * * *");
    let family = "upgradeconfig_last_success_timestamp_seconds";
    for (day, how) in [
        (19, "Succeeded"),
        (20, "Failed"),
        (21, "Skipped"),
        (22, "Succeeded"),
    ] {
        let start = format!("2026-11-{day}T00:00:00Z");
        cluster.decide(&start);
        let job = cluster.jobs.last_mut().unwrap();
        if how == "Skipped" {
            skip(job);
        } else {
            end(job, how);
        }
    }
    let value = |cluster: &Cluster| {
        let samples = of_config(&cluster.config, &cluster.jobs);
        let values: Vec<f64> = of(&samples, family).into_iter().map(|(_, value)| value).collect();
        values
    };
    let seconds = |text: &str| vec![at(text).as_second() as f64];
    assert_eq!(value(&cluster), seconds("2026-11-22T00:00:00Z"));
    cluster.jobs[3].metadata.owner_references = None;
    assert_eq!(value(&cluster), seconds("2026-11-19T00:00:00Z"));
    cluster.jobs.remove(0);
    assert!(value(&cluster).is_empty());
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| letter != '_' && !letter.is_ascii_lowercase());
    words
        .filter(|word| word.starts_with("openshift_upgrade_controller_"))
        .collect()
}

#[test]
fn alerts_and_board_ask_for_metrics_that_there_are_and_the_page_describes_all() {
    let rules = include_str!("../../../manifests/agent/maintenance/prometheusrule.yaml");
    let board = include_str!("../../../manifests/agent/maintenance/grafana-dashboard.json");
    let known: BTreeSet<&str> = FAMILIES.iter().map(|family| family.name).collect();
    for (file, text) in [("prometheusrule.yaml", rules), ("grafana-dashboard.json", board)] {
        assert!(named(text).len() > 3, "{file}");
        for name in named(text) {
            assert!(known.contains(name), "{file} asks for {name}");
        }
    }
    let page = include_str!("../../../docs/maintenance-schedules.md");
    for family in FAMILIES {
        let name = family.name.trim_start_matches("openshift_upgrade_controller_");
        assert!(page.contains(&format!("`{name}`")), "{name} is not described");
    }
}

/// Each alert has tests.
#[test]
fn each_alert_is_tested() {
    let rules = include_str!("../../../manifests/agent/maintenance/prometheusrule.yaml");
    let tests = include_str!("../../../manifests/agent/maintenance/tests.yaml");
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() > 3);
    for alert in alerts {
        // Once it fires, and once it does not.
        assert!(
            tests.contains(&format!("        alertname: {alert}\n")),
            "{alert}"
        );
        assert!(tests.contains(&format!(", alertname: {alert}}}")), "{alert}");
    }
}

fn skip(job: &mut UpgradeJob) {
    end(job, "Succeeded");
    let conditions = job.status.as_mut().unwrap().conditions.as_mut().unwrap();
    "Skipped".clone_into(&mut conditions[0].reason);
}
