//! One cluster with all that is to be said of it.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::Response;
use drydock_objects::{ClusterDetails, ClusterSchedule, Fleet};
use drydock_rollout::{ClusterName, ClusterPreChecks, FindingAcceptance, UpgradeKey};
use jiff::Timestamp;
use serde::Serialize;

use crate::access::{Scope, Viewer};
use crate::attempts::HistoryRow;
use crate::body::Named;
use crate::error::{ApiError, unless_forbidden};
use crate::hidden::hide;
use crate::reading::pieces;
use crate::rows::{keys, todo};
use crate::server::Dashboard;

/// Where a cluster is in one upgrade.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterUpgradeView {
    key: String,
    state: &'static str,
    reason: String,
    message: String,
    canary: bool,
    todo: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<ScheduleView>,
}

/// When a cluster may be started.
#[derive(Debug, Serialize)]
struct ScheduleView {
    /// Why it is frozen now.
    #[serde(skip_serializing_if = "Option::is_none")]
    frozen: Option<String>,
    spans: Vec<SpanView>,
}

#[derive(Debug, Serialize)]
struct SpanView {
    opens: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    closes: Option<i64>,
}

impl ScheduleView {
    fn of(schedule: &ClusterSchedule) -> Self {
        let spans = schedule.spans.iter().map(|span| SpanView {
            opens: span.opens.as_second(),
            closes: span.closes.map(Timestamp::as_second),
        });
        Self {
            frozen: schedule.frozen.as_deref().map(str::to_owned),
            spans: spans.collect(),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct ClusterFindingView {
    level: &'static str,
    informer: String,
    r#type: String,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    remedy: String,
    /// What it is to its informer.
    #[serde(skip_serializing_if = "Option::is_none")]
    uid: Option<String>,
    accepted: bool,
    /// Somebody has accepted it, and the cluster's agent has not been asked since.
    unconfirmed: bool,
    /// Who has accepted it.
    #[serde(rename = "acceptedBy", skip_serializing_if = "Option::is_none")]
    accepted_by: Option<String>,
    /// Until when that counts, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    /// Why an acceptance counts no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<&'static str>,
}

/// One cluster.
#[derive(Debug, Default, Serialize)]
struct ClusterView {
    name: String,
    version: String,
    available: bool,
    labels: BTreeMap<String, String>,
    upgrades: Vec<ClusterUpgradeView>,
    findings: Vec<ClusterFindingView>,
}

/// One cluster with what became of it before.
#[derive(Serialize)]
struct WithHistory<'a> {
    #[serde(flatten)]
    view: &'a ClusterView,
    history: Vec<HistoryRow<'a>>,
}

/// `GET /api/clusters/NAME`
pub(crate) async fn cluster(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Named(name): Named<ClusterName>,
) -> Result<Response, ApiError> {
    let is_not_there = || ApiError::not_found(format!("the hub has no cluster {name}"));
    if viewer.scope.shows_nothing() {
        return Err(is_not_there());
    }
    let place = dashboard.reading().enter(&viewer.user).await?;
    dashboard.is_current()?;
    let seen = dashboard
        .live()
        .read(|fleet, now| ClusterView::of(fleet, now, &name, &viewer.scope));
    let view = seen.flatten().ok_or_else(is_not_there)?;
    // Who may not read the records sees all else.
    let attempts = dashboard.attempts(&viewer, |cluster| cluster == name.as_str());
    let attempts = unless_forbidden(attempts.await)?;
    let pieces = pieces(&WithHistory {
        view: &view,
        history: attempts.rows(),
    })?;
    Ok(place.answer(pieces, dashboard.settings().speed))
}

impl ClusterView {
    fn of(fleet: &mut Fleet, now: Timestamp, name: &ClusterName, scope: &Scope) -> Option<Self> {
        let mut view = Self {
            name: name.to_string(),
            ..Self::default()
        };
        let mut is_known = false;
        if let Some(facts) = fleet.cluster(name) {
            is_known = scope.all_clusters;
            view.available = facts.available;
            view.version = facts
                .version
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            let labels = facts.labels.iter();
            view.labels = labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect();
        }
        for key in keys(fleet, scope) {
            let Some((_, clusters)) = fleet.look(&key, now) else {
                continue;
            };
            let Some(details) = clusters.iter().find(|one| one.name == name.as_str()) else {
                continue;
            };
            is_known = true;
            if view.version.is_empty() {
                view.version = details.version.clone().unwrap_or_default();
            }
            let schedule = fleet.schedule(&key, name, now);
            view.upgrades.push(ClusterUpgradeView {
                schedule: schedule.as_ref().map(ScheduleView::of),
                message: hide(&details.message, scope).into_owned(),
                ..in_upgrade(&key, details, scope)
            });
            let found = fleet.pre_checks(&key, now).remove(name);
            for finding in found.iter().flat_map(findings) {
                if !view.findings.contains(&finding) {
                    view.findings.push(finding);
                }
            }
        }
        is_known.then_some(view)
    }
}

fn in_upgrade(key: &UpgradeKey, details: &ClusterDetails, scope: &Scope) -> ClusterUpgradeView {
    let seconds = |at: Option<Timestamp>| at.map(Timestamp::as_second);
    ClusterUpgradeView {
        key: key.to_string(),
        state: details.state.as_str(),
        reason: details.reason.clone(),
        message: details.message.clone(),
        canary: details.canary,
        todo: todo(&scope.named(key), details),
        since: seconds(details.since),
        started_at: seconds(details.started_at),
        ended_at: seconds(details.ended_at),
        schedule: None,
    }
}

fn findings(checks: &ClusterPreChecks) -> impl Iterator<Item = ClusterFindingView> + '_ {
    let findings = checks.answer.iter().flat_map(|answer| answer.findings.iter());
    findings.map(|finding| ClusterFindingView {
        level: finding.level.as_str(),
        informer: finding.informer.to_string(),
        r#type: finding.impact.to_string(),
        message: finding.summary.to_string(),
        remedy: finding.remedy.to_string(),
        uid: finding.uid.as_deref().map(str::to_owned),
        accepted: finding.acceptance.is_accepted(),
        unconfirmed: finding.acceptance == FindingAcceptance::Unconfirmed,
        accepted_by: finding.accepted_by.as_ref().map(|by| by.user.to_string()),
        until: finding
            .accepted_by
            .as_ref()
            .and_then(|by| by.until)
            .map(Timestamp::as_second),
        ended: finding.acceptance.why_ended(),
    })
}
