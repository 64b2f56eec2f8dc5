//! What else the hub has about an upgrade: who has accepted what, and when no further cluster started.

use std::collections::BTreeSet;

use drydock_api::conditions;
use drydock_api::mcu::{ManagedClustersUpgrade, UpgradeRiskAcceptance, condition, reason};
use drydock_api::selector::LabelMatch;
use drydock_objects::acceptance;
use drydock_rollout::{ClusterName, EndedOn, Halt, RiskAcceptance, UpgradeKey, bounded};
use drydock_runtime::pages::each_page;
use jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;
use serde::Serialize;
use serde_json::json;

use crate::access::{Right, Viewer};
use crate::error::ApiError;
use crate::events::EventView;

/// How many objects are read at a time.
const AT_A_TIME: u32 = 200;

/// How many clusters of an acceptance are named.
const NAMED_CLUSTERS: usize = 10;

/// The longest selector that is shown, in bytes.
const LONGEST_SELECTOR: usize = 256;

/// Who has accepted a finding, and why.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcceptanceView {
    finding: String,
    /// Up to which level.
    level: &'static str,
    /// On which clusters, in words.
    on: String,
    /// On which of them it has ended, because the finding went beyond it; empty if on none.
    ended_on: String,
    reason: String,
    accepted_by: String,
    /// For which target.
    target: String,
    /// It is about the target that the upgrade has now.
    counts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
}

/// A time in which no further cluster started.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HaltPeriod {
    from: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<i64>,
    reason: String,
    message: String,
}

/// What is accepted for the clusters of an upgrade.
///
/// # Errors
/// If it may not be read, or cannot be.
pub(crate) async fn acceptances(
    viewer: &Viewer,
    key: &UpgradeKey,
    upgrade: &ManagedClustersUpgrade,
) -> Result<Vec<AcceptanceView>, ApiError> {
    let client = viewer
        .reader(Right::LIST_ACCEPTANCES, Some(&key.namespace))
        .await?;
    let api: Api<UpgradeRiskAcceptance> = Api::namespaced(client, &key.namespace);
    let target = drydock_edits::target(upgrade).ok();
    let mut found = Vec::new();
    let seen = |page: Vec<UpgradeRiskAcceptance>| {
        let own = page
            .into_iter()
            .filter(|object| *object.spec.upgrade == *key.name);
        for object in own {
            let counts = target.as_ref() == Some(&object.spec.target);
            // An entry that cannot be read accepts nothing.
            found.extend(object.spec.accepted_risks.iter().filter_map(|entry| {
                let risk = acceptance::read(&object, entry)?;
                Some(AcceptanceView::of(&risk, entry.cluster_selector.as_ref(), counts))
            }));
        }
    };
    let read = each_page(&api, ListParams::default(), AT_A_TIME, seen).await;
    read.map_err(|error| ApiError::of_server("listing the UpgradeRiskAcceptances", &error))?;
    Ok(found)
}

impl AcceptanceView {
    fn of(risk: &RiskAcceptance, labels: Option<&LabelMatch>, counts: bool) -> Self {
        let named = risk.clusters.as_ref().map_or_else(everywhere, some_clusters);
        let labels = labels.map(|labels| json!(labels).to_string());
        let labels = labels.map(|labels| format!(" with labels {}", bounded(&labels, LONGEST_SELECTOR)));
        Self {
            finding: risk.finding.to_string(),
            level: risk.level.as_str(),
            on: named + &labels.unwrap_or_default(),
            ended_on: match &risk.ended {
                EndedOn::Clusters(names) => some_clusters(names),
                EndedOn::Everywhere => everywhere(),
            },
            reason: risk.reason.to_string(),
            accepted_by: risk.accepted_by.to_string(),
            target: risk.target.to_string(),
            counts,
            until: risk.until.map(Timestamp::as_second),
        }
    }
}

fn everywhere() -> String {
    "all clusters".to_owned()
}

/// The first of some clusters; empty if there are none.
fn some_clusters(names: &BTreeSet<ClusterName>) -> String {
    let first: Vec<&str> = names
        .iter()
        .take(NAMED_CLUSTERS)
        .map(ClusterName::as_str)
        .collect();
    match names.len().saturating_sub(NAMED_CLUSTERS) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The Events by which the hub reports that clusters start again, or that something else is so than a halt.
const OVER: [&str; 4] = [
    "Resumed",
    reason::COMPLETE,
    reason::CLUSTER_FAILED,
    reason::INVALID_SPEC,
];

/// The Event by which the hub reports that it has started a cluster.
const STARTED: &str = "ClusterStarted";

/// Why no further cluster starts now, and since when at the latest that is so.
pub(crate) struct Present<'a> {
    /// The reason, in CamelCase; none where clusters start.
    pub halt: Option<&'a str>,
    /// When the condition InProgress has become what it is.
    pub since: Option<Timestamp>,
    pub now: Timestamp,
}

impl<'a> Present<'a> {
    /// As the hub reports it at a moment.
    pub fn of(halt: Option<&'a Halt>, upgrade: &ManagedClustersUpgrade, now: Timestamp) -> Self {
        let status = upgrade.status.as_ref();
        let conditions = status.and_then(|status| status.conditions.as_deref());
        let is_in_progress = conditions.and_then(|all| conditions::find(all, condition::IN_PROGRESS));
        Self {
            halt: halt.map(Halt::as_str),
            since: is_in_progress.map(|condition| condition.last_transition_time.0),
            now,
        }
    }
}

/// The times in which no further cluster started, as far as Events say: each lasts until clusters start again, the upgrade has ended, or
/// another reason is reported. Not each end has an Event, so that what is no more at present is over.
pub(crate) fn halts(events: &[EventView], present: &Present<'_>) -> Vec<HaltPeriod> {
    let mut halts: Vec<HaltPeriod> = Vec::new();
    for event in events {
        let is_halt = Halt::ALL.contains(&event.reason.as_str());
        let is_start = event.reason == STARTED;
        if !is_halt && !is_start && !OVER.contains(&event.reason.as_str()) {
            continue;
        }
        // What was started at the same moment was started before.
        if let Some(before) = halts.last_mut().filter(|halt| !is_start || halt.from < event.at) {
            before.to.get_or_insert(event.at);
        }
        if is_halt {
            halts.push(HaltPeriod {
                from: event.at,
                to: None,
                reason: event.reason.clone(),
                message: event.message.clone(),
            });
        }
    }
    if let Some(last) = halts.last_mut().filter(|last| present.halt != Some(&last.reason)) {
        let since = present.since.map(Timestamp::as_second);
        let since = since.filter(|since| *since > last.from);
        last.to.get_or_insert(since.unwrap_or(present.now.as_second()));
    }
    halts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: i64, reason: &str) -> EventView {
        EventView {
            at,
            r#type: "Normal".to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
        }
    }

    fn present(halt: Option<&str>, since: i64) -> Present<'_> {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        Present {
            halt,
            since: Some(at(since)),
            now: at(100),
        }
    }

    /// Of Paused that becomes NotStarted and then InProgress the hub reports no end.
    #[test]
    fn a_halt_that_is_no_more_is_over_also_without_an_event() {
        type Case<'a> = (&'a [(i64, &'a str)], Option<&'a str>, i64, Option<i64>);
        let paused: &[_] = &[(2, "Paused")];
        let started: &[_] = &[(2, "Paused"), (2, STARTED), (9, STARTED), (12, STARTED)];
        let table: [Case<'_>; 6] = [
            (paused, Some("Paused"), 1, None),
            (paused, None, 1, Some(100)),
            (paused, None, 7, Some(7)),
            (paused, Some("CanaryFailed"), 7, Some(7)),
            (started, None, 1, Some(9)),
            (&[(2, "Paused"), (2, STARTED)], Some("Paused"), 1, None),
        ];
        for (events, halt, since, expected) in table {
            let events: Vec<_> = events.iter().map(|(at, reason)| event(*at, reason)).collect();
            let periods = halts(&events, &present(halt, since));
            assert_eq!(periods.len(), 1);
            assert_eq!(periods[0].to, expected, "{halt:?} since {since}");
        }
    }

    #[test]
    fn a_halt_lasts_until_clusters_start_again_or_something_else_keeps_them() {
        let events = [
            event(1, "ClusterStarted"),
            event(2, "Paused"),
            event(3, "ClusterCompleted"),
            event(4, "CanarySoaking"),
            event(5, "Resumed"),
            event(6, reason::COMPLETE),
            event(7, "FailureBudgetSpent"),
        ];
        let periods = halts(&events, &present(Some("FailureBudgetSpent"), 7));
        let times: Vec<_> = periods
            .iter()
            .map(|halt| (halt.reason.as_str(), halt.from, halt.to))
            .collect();
        let expected = [
            ("Paused", 2, Some(4)),
            ("CanarySoaking", 4, Some(5)),
            ("FailureBudgetSpent", 7, None),
        ];
        assert_eq!(times, expected);
    }
}
