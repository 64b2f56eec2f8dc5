//! The alerts of a platform, as far as the simulated cluster has what they are about, and those that
//! PrometheusRules add.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::alert::{Alert, Pairs};
use super::objects::Objects;
use super::query::constant;
use kube_sandbox::store::Object;

const VERSION: &str = "openshift-cluster-version";
const MONITORING: &str = "openshift-monitoring";
const MACHINE_CONFIG: &str = "openshift-machine-config-operator";

/// A rule: its name, its severity, and for how many minutes its expression must be true.
struct Rule(&'static str, &'static str, i64);

const WATCHDOG: Rule = Rule("Watchdog", "none", 0);
const UPDATE_AVAILABLE: Rule = Rule("UpdateAvailable", "info", 0);
const NOT_UPGRADEABLE: Rule = Rule("ClusterNotUpgradeable", "info", 60);
const OPERATOR_DOWN: Rule = Rule("ClusterOperatorDown", "critical", 10);
const OPERATOR_DEGRADED: Rule = Rule("ClusterOperatorDegraded", "warning", 30);
const NODE_NOT_READY: Rule = Rule("KubeNodeNotReady", "warning", 15);
const NODE_UNREACHABLE: Rule = Rule("KubeNodeUnreachable", "warning", 15);
const DRAIN_ERROR: Rule = Rule("MCCDrainError", "warning", 60);
const BUDGET_AT_LIMIT: Rule = Rule("PodDisruptionBudgetAtLimit", "warning", 60);
const BUDGET_LIMIT: Rule = Rule("PodDisruptionBudgetLimit", "critical", 15);

impl Rule {
    fn alert(&self, namespace: &str, since: Timestamp, labels: &[(&str, &str)], summary: String) -> Alert {
        let Self(name, severity, minutes) = self;
        let own = [
            ("alertname", *name),
            ("severity", severity),
            ("namespace", namespace),
        ];
        let labels = own.iter().chain(labels).filter(|(_, value)| !value.is_empty());
        Alert {
            labels: pairs(labels.copied()),
            annotations: Pairs::from([("summary".to_owned(), summary)]),
            active_at: since,
            pending_for: SignedDuration::from_mins(*minutes),
            value: 1.0,
        }
    }
}

fn pairs<'a>(entries: impl IntoIterator<Item = (&'a str, &'a str)>) -> Pairs {
    let entries = entries.into_iter();
    entries
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Everything that is pending or fires at `now`.
pub(super) fn alerts(objects: &Objects, now: Timestamp) -> Vec<Alert> {
    let mut alerts = Vec::new();
    for version in &objects.versions {
        alerts.extend(of_version(version));
    }
    alerts.extend(
        objects
            .operators
            .iter()
            .flat_map(|operator| of_operator(operator)),
    );
    alerts.extend(objects.nodes.iter().flat_map(|node| of_node(node)));
    alerts.extend(objects.budgets.iter().filter_map(|budget| of_budget(budget)));
    alerts.extend(objects.rules.iter().flat_map(|rule| of_rule(rule)));
    alerts.retain(|alert| alert.active_at <= now);
    alerts
}

/// A moment of an object; its beginning of time if it has none.
fn moment(value: &Value) -> Timestamp {
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.unwrap_or(Timestamp::UNIX_EPOCH)
}

fn created(object: &Object) -> Timestamp {
    moment(&object["metadata"]["creationTimestamp"])
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A condition that has this status: since when, and why.
fn condition<'a>(object: &'a Object, kind: &str, status: &str) -> Option<(Timestamp, &'a str)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind && condition["status"] == status)?;
    Some((moment(&found["lastTransitionTime"]), text(&found["reason"])))
}

fn of_version(version: &Object) -> Vec<Alert> {
    let watchdog = "The alerting pipeline works.".to_owned();
    let mut alerts = vec![WATCHDOG.alert(MONITORING, created(version), &[], watchdog)];
    let updates = version["status"]["availableUpdates"].as_array();
    if updates.is_some_and(|updates| !updates.is_empty()) {
        let since =
            condition(version, "RetrievedUpdates", "True").map_or(created(version), |(since, _)| since);
        let labels = [
            ("channel", text(&version["spec"]["channel"])),
            ("upstream", text(&version["spec"]["upstream"])),
        ];
        let summary = "The update service recommends an update.".to_owned();
        alerts.push(UPDATE_AVAILABLE.alert(VERSION, since, &labels, summary));
    }
    let name = ("name", "version");
    for (kind, status, rule, summary) in [
        (
            "Upgradeable",
            "False",
            NOT_UPGRADEABLE,
            "The cluster refuses minor updates.",
        ),
        (
            "Available",
            "False",
            OPERATOR_DOWN,
            "The version operator is not available.",
        ),
        (
            "Failing",
            "True",
            OPERATOR_DEGRADED,
            "The version operator is failing.",
        ),
    ] {
        if let Some((since, reason)) = condition(version, kind, status) {
            alerts.push(rule.alert(VERSION, since, &[name, ("reason", reason)], summary.to_owned()));
        }
    }
    alerts
}

fn of_operator(operator: &Object) -> Vec<Alert> {
    let name = operator.name();
    let cases = [
        ("Available", "False", OPERATOR_DOWN, "is not available"),
        ("Degraded", "True", OPERATOR_DEGRADED, "is degraded"),
    ];
    cases
        .into_iter()
        .filter_map(|(kind, status, rule, what)| {
            let (since, reason) = condition(operator, kind, status)?;
            let labels = [("name", name), ("reason", reason)];
            Some(rule.alert(
                VERSION,
                since,
                &labels,
                format!("Cluster operator {name} {what}."),
            ))
        })
        .collect()
}

fn of_node(node: &Object) -> Vec<Alert> {
    let name = node.name();
    let mut alerts = Vec::new();
    let not_ready = ["False", "Unknown"]
        .iter()
        .find_map(|status| condition(node, "Ready", status));
    let cordoned = node["spec"]["unschedulable"].as_bool().unwrap_or_default();
    if let Some((since, _)) = not_ready.filter(|_| !cordoned) {
        let labels = [("node", name), ("condition", "Ready"), ("status", "true")];
        let summary = format!("Node {name} is not ready.");
        alerts.push(NODE_NOT_READY.alert(MONITORING, since, &labels, summary));
    }
    let taints = node["spec"]["taints"].as_array();
    let taint = |key: &str| taints.into_iter().flatten().find(|taint| taint["key"] == key);
    if let Some(taint) = taint("node.kubernetes.io/unreachable").filter(|_| !cordoned) {
        let labels = [("node", name), ("key", "node.kubernetes.io/unreachable")];
        let summary = format!("Node {name} is unreachable.");
        alerts.push(NODE_UNREACHABLE.alert(MONITORING, moment(&taint["timeAdded"]), &labels, summary));
    }
    let annotations = &node["metadata"]["annotations"];
    let desired = text(&annotations["machineconfiguration.openshift.io/desiredDrain"]);
    let is_draining = desired.starts_with("drain-")
        && annotations["machineconfiguration.openshift.io/lastAppliedDrain"] != desired;
    if let Some(taint) = taint("node.kubernetes.io/unschedulable").filter(|_| is_draining) {
        let summary = format!("Node {name} cannot be drained.");
        alerts.push(DRAIN_ERROR.alert(
            MACHINE_CONFIG,
            moment(&taint["timeAdded"]),
            &[("exported_node", name)],
            summary,
        ));
    }
    alerts
}

/// At its limit as many pods are healthy as must be, below it fewer.
fn of_budget(budget: &Object) -> Option<Alert> {
    let count = |field: &str| budget["status"][field].as_i64().unwrap_or_default();
    let (healthy, desired) = (count("currentHealthy"), count("desiredHealthy"));
    if count("expectedPods") == 0 || healthy > desired {
        return None;
    }
    let since = condition(budget, "DisruptionAllowed", "False").map_or(created(budget), |(since, _)| since);
    let labels = [("poddisruptionbudget", budget.name())];
    let namespace = budget.namespace().unwrap_or_default();
    let (rule, what) = if healthy == desired {
        (BUDGET_AT_LIMIT, "allows no disruption")
    } else {
        (BUDGET_LIMIT, "lacks healthy pods")
    };
    let summary = format!("PodDisruptionBudget {namespace}/{} {what}.", budget.name());
    Some(rule.alert(namespace, since, &labels, summary))
}

/// The alerts of a PrometheusRule whose expressions are constants, such as `vector(1)`: they are true since it was created.
fn of_rule(rule: &Object) -> Vec<Alert> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let groups = list(&rule["spec"]["groups"]);
    let rules = groups.iter().flat_map(|group| list(&group["rules"]));
    rules.filter_map(|entry| constant_alert(rule, &entry)).collect()
}

fn constant_alert(rule: &Object, entry: &Value) -> Option<Alert> {
    let name = entry["alert"].as_str()?;
    let value = constant(text(&entry["expr"]))?;
    let pending_for = match text(&entry["for"]) {
        "" => SignedDuration::ZERO,
        given => SignedDuration::try_from(promql_parser::util::parse_duration(given).ok()?).ok()?,
    };
    let own = |map: &Value| -> Pairs {
        let entries = map.as_object().into_iter().flatten();
        pairs(entries.map(|(name, value)| (name.as_str(), text(value))))
    };
    let mut labels = pairs([
        ("alertname", name),
        ("namespace", rule.namespace().unwrap_or_default()),
    ]);
    labels.extend(own(&entry["labels"]));
    Some(Alert {
        labels,
        annotations: own(&entry["annotations"]),
        active_at: created(rule),
        pending_for,
        value,
    })
}
