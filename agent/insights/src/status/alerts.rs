//! Alerts that matter for an update.

use drydock_api::insights::{ImpactType, Level};
use drydock_api::prometheus::Alert;
use jiff::Timestamp;

use crate::insight::{Insight, Resource, Scope};
use crate::times::moment;

/// Alerts that matter although they fire since before the update.
const KNOWN_TO_AFFECT_UPDATES: [&str; 2] = ["PodDisruptionBudgetLimit", "PodDisruptionBudgetAtLimit"];
/// What is said where an alert has no runbook.
pub const NO_RUNBOOK: &str = "<alert does not have a runbook_url annotation>";

/// The insights of alerts. What is pending or not at least a warning does not count, nor what began before the update, except where it is
/// known to affect updates.
pub fn insights(alerts: &[Alert], started: Option<Timestamp>) -> Vec<Insight> {
    alerts
        .iter()
        .filter_map(|alert| of_alert(alert, started))
        .collect()
}

/// The insight of an alert, if it matters.
pub fn of_alert(alert: &Alert, started: Option<Timestamp>) -> Option<Insight> {
    let name = alert.label("alertname");
    let level = level(alert)?;
    if name.is_empty() || alert.state == "pending" {
        return None;
    }
    let active_at = moment(alert.active_at.as_deref());
    let began = match (active_at > started, KNOWN_TO_AFFECT_UPDATES.contains(&name)) {
        (true, true) => "Alert known to affect updates started firing during the update.",
        (false, true) => "Alert known to affect updates has been firing since before the update started.",
        (true, false) => "Alert started firing during the update.",
        (false, false) => return None,
    };
    Some(Insight {
        started_at: active_at,
        scope: Scope::Cluster,
        resources: vec![Resource {
            namespace: alert.label("namespace").to_owned(),
            ..Resource::config("Alert", name)
        }],
        level,
        impact: ImpactType::Unknown,
        summary: format!("Alert is firing: {}", first(alert.annotation("summary"), name)),
        description: format!("{began}{}", description(alert)),
        reference: runbook(alert).to_owned(),
    })
}

fn level(alert: &Alert) -> Option<Level> {
    match alert.label("severity") {
        "warning" => Some(Level::Warning),
        "critical" => Some(Level::Critical),
        _ => None,
    }
}

/// Where to read about an alert.
pub fn runbook(alert: &Alert) -> &str {
    first(alert.annotation("runbook_url"), NO_RUNBOOK)
}

/// What an alert says of itself, as a sentence that follows another.
pub fn description(alert: &Alert) -> String {
    let (description, message) = (alert.annotation("description"), alert.annotation("message"));
    match (description, message) {
        ("", "") => " The alert has no description.".to_owned(),
        (text, "") | ("", text) => format!(" The alert description is: {text}"),
        (description, message) => format!(" The alert description is: {description} | {message}"),
    }
}

/// The first text, or another if it is empty.
pub fn first<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}
