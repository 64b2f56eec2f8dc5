//! The page of metrics is generated from the table of families: `UPDATE=1 cargo test -p drydock-engine --test metrics_page`
//! writes it again.

use std::fmt::Write as _;
use std::path::Path;

use drydock_engine::metrics::{CONDITION, FAMILIES, MetricKind};
use drydock_engine::steps::STEPS;

/// Families that others than a pass set.
const OTHERS: [(&str, &[&str], &str); 6] = [
    (
        "upgrade_notification_failed",
        &["upgradeconfig_name", "event"],
        "1 while a receiver could not be notified.",
    ),
    (
        "upgradeoperator_upgradeconfig_sync_timestamp",
        &["upgradeconfig_name"],
        "When the upgrade policy was last synchronized, in seconds since 1970.",
    ),
    (
        "drydock_agent_reconcile_errors_total",
        &[],
        "Reconciles that ended with an error.",
    ),
    (
        "drydock_transitions_total",
        &["kind", "reason", "type"],
        "What happened, by the reason that its Event has.",
    ),
    (
        "drydock_events_dropped_total",
        &[],
        "Events that could not be written.",
    ),
    (
        "drydock_api_requests_total",
        &["verb", "resource"],
        "Requests sent to the API server, attempts included.",
    ),
];

/// What managed-upgrade-operator has: its names and labels.
const ORIGINAL: [(&str, &[&str]); 21] = [
    (
        "upgradeoperator_upgradeconfig_validation_failed",
        &["upgradeconfig_name"],
    ),
    ("upgradeoperator_scaling_failed", &["upgradeconfig_name"]),
    ("upgradeoperator_upgrade_window_breached", &["upgradeconfig_name"]),
    (
        "upgradeoperator_controlplane_timeout",
        &["upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_worker_timeout",
        &["upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_healthcheck_failed",
        &["upgradeconfig_name", "state", "version", "reason"],
    ),
    ("upgradeoperator_node_drain_timeout", &["node_name"]),
    (
        "upgradeoperator_upgrade_notification",
        &["upgradeconfig_name", "event", "version"],
    ),
    ("upgrade_notification_failed", &["upgradeconfig_name", "event"]),
    (
        "upgradeoperator_upgrade_result",
        &[
            "upgradeconfig_name",
            "preceding_version",
            "stream",
            "version",
            "alerts",
        ],
    ),
    (
        "upgradeoperator_upgradeconfig_sync_timestamp",
        &["upgradeconfig_name"],
    ),
    (
        "upgradeoperator_upgrade_started_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_upgrade_completed_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_controlplane_upgrade_started_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_controlplane_upgrade_completed_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_workernode_upgrade_started_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "upgradeoperator_workernode_upgrade_completed_timestamp",
        &["_id", "upgradeconfig_name", "version"],
    ),
    (
        "managed_upgrade_upgrade_scheduled",
        &["version", "desired_version", "phase"],
    ),
    (
        "managed_upgrade_upgrade_start_timestamp",
        &["version", "desired_version", "phase"],
    ),
    (
        "managed_upgrade_upgrade_complete_timestamp",
        &["version", "desired_version", "phase"],
    ),
    (
        "managed_upgrade_upgrade_pdb_timeout_minutes",
        &["version", "desired_version"],
    ),
];

/// managed-upgrade-operator's conditions that have a metric, by what they are called there.
const ORIGINAL_CONDITIONS: [&str; 14] = [
    "notification_start",
    "health_check",
    "external_dep_check",
    "capacity_added",
    "control_plane_maint_start",
    "control_plane_upgrade_start",
    "control_plane_completion",
    "control_plane_maint_removed",
    "workers_maint_start",
    "workers_upgraded",
    "capacity_removed",
    "workers_maint_removed",
    "post_upgrade_healthcheck",
    "notification_complete",
];

/// Ours: name, labels, what it says.
fn ours() -> Vec<(String, Vec<&'static str>, &'static str)> {
    let families = FAMILIES
        .iter()
        .map(|family| (family.name.to_owned(), family.labels.to_vec(), family.help));
    let others = OTHERS
        .iter()
        .map(|(name, labels, help)| ((*name).to_owned(), labels.to_vec(), *help));
    let conditions = STEPS.iter().map(|step| {
        let name = format!("managed_upgrade_condition_{}_timestamp", step.metric);
        let help = "When the step was done, or began if it is not, in seconds since 1970.";
        (name, CONDITION.to_vec(), help)
    });
    families.chain(others).chain(conditions).collect()
}

/// The labels that managed-upgrade-operator gives a metric, if it has it.
fn original(name: &str) -> Option<Vec<&'static str>> {
    let known = ORIGINAL.iter().find(|(known, _)| *known == name);
    let of_condition = || {
        let part = name
            .strip_prefix("managed_upgrade_condition_")?
            .strip_suffix("_timestamp")?;
        ORIGINAL_CONDITIONS.contains(&part).then(|| CONDITION.to_vec())
    };
    known.map(|(_, labels)| labels.to_vec()).or_else(of_condition)
}

fn page() -> String {
    let mut page = "# The agent's metrics\n\nGenerated from the code. Metrics whose name ends in `_total` are counters; the others are \
                    gauges. Where\n[managed-upgrade-operator](https://github.com/openshift/managed-upgrade-operator) has a metric, \
                    name and labels are the same.\n\n| metric | labels | meaning | in managed-upgrade-operator |\n|---|---|---|---|\n"
        .to_owned();
    for (name, labels, help) in ours() {
        let has = if original(&name).is_some() { "yes" } else { "no" };
        let labels = labels.join(", ");
        let _written = writeln!(page, "| `{name}` | {labels} | {help} | {has} |");
    }
    page
}

#[test]
fn the_page_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        page(),
        "write it again: UPDATE=1 cargo test -p drydock-engine --test metrics_page"
    );
}

#[test]
fn every_metric_of_the_original_is_there_with_its_labels() {
    let ours = ours();
    let names = ORIGINAL.iter().map(|(name, _)| (*name).to_owned());
    let conditions = ORIGINAL_CONDITIONS
        .iter()
        .map(|part| format!("managed_upgrade_condition_{part}_timestamp"));
    for name in names.chain(conditions) {
        let found = ours.iter().find(|(known, ..)| *known == name);
        let (_, labels, _) = found.unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(Some(labels.clone()), original(&name), "{name}");
    }
    assert!(
        FAMILIES
            .iter()
            .any(|family| family.kind == MetricKind::StepOverdue && original(family.name).is_none())
    );
}
