//! Alerts as the HTTP API of Prometheus, and of Thanos, answers them (`GET /api/v1/alerts`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    pub alerts: Vec<Alert>,
}

/// An alert.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Alert {
    /// What tells it from others; `alertname`, `severity`, `namespace`, …
    pub labels: BTreeMap<String, String>,
    /// What it says: `summary`, `description`, `message`, `runbook_url`.
    pub annotations: BTreeMap<String, String>,
    /// `pending` or `firing`.
    pub state: String,
    /// Since when (RFC 3339).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_at: Option<String>,
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
