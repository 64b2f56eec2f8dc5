//! Alerts as the HTTP API of Prometheus, and of Thanos, answers them (`GET /api/v1/alerts`).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::bounded_list::BoundedList;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AlertsResponse {
    /// `success` or `error`.
    pub status: String,
    /// What was asked for.
    pub data: AlertsData,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The alerts of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlertsData {
    /// Those that are pending or firing.
    #[serde(deserialize_with = "alerts")]
    pub alerts: Vec<Alert>,
}

/// An alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Alert {
    /// What tells it from others; `alertname`, `severity`, `namespace`, …
    #[serde(deserialize_with = "null_as_default")]
    pub labels: BTreeMap<String, String>,
    /// What it says: `summary`, `description`, `message`, `runbook_url`.
    #[serde(deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
    /// `pending` or `firing`.
    pub state: String,
    /// Since when (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_at: Option<String>,
}

/// More alerts than that no cluster has that anybody looks after.
const MOST_ALERTS: usize = 10_000;

fn alerts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Alert>, D::Error> {
    null_as_default::<D, BoundedList<Alert, MOST_ALERTS>>(deserializer).map(|list| list.0)
}

/// As Go has it, nothing is empty: one odd alert must not take the others with it.
fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl Alert {
    /// A label; empty if there is none.
    pub fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// An annotation; empty if there is none.
    pub fn annotation(&self, name: &str) -> &str {
        self.annotations.get(name).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_alerts_than_any_cluster_has_are_refused_while_they_are_read() {
        let answer = |count: usize| {
            let text = format!(r#"{{"data": {{"alerts": [{}]}}}}"#, vec!["{}"; count].join(","));
            serde_json::from_str::<AlertsResponse>(&text)
        };
        assert_eq!(answer(MOST_ALERTS).unwrap().data.alerts.len(), MOST_ALERTS);
        let refused = answer(MOST_ALERTS + 1).unwrap_err().to_string();
        assert!(refused.contains("more than 10000 entries"), "{refused}");
        let null = serde_json::from_str::<AlertsResponse>(r#"{"data": {"alerts": null}}"#);
        assert!(null.unwrap().data.alerts.is_empty());
    }

    #[test]
    fn what_is_null_is_empty() {
        let text = r#"{"status": "success", "data": {"alerts": [
            {"labels": null, "annotations": null, "state": "firing"},
            {"labels": {"alertname": "A"}, "annotations": {}, "state": "firing"}
        ]}}"#;
        let response: AlertsResponse = serde_json::from_str(text).unwrap();
        let names: Vec<_> = response
            .data
            .alerts
            .iter()
            .map(|alert| alert.label("alertname"))
            .collect();
        assert_eq!(names, ["", "A"]);
        let none: AlertsResponse = serde_json::from_str(r#"{"data": {"alerts": null}}"#).unwrap();
        assert!(none.data.alerts.is_empty());
    }
}
