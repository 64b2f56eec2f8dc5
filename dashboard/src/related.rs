//! What else the hub has about an upgrade: who has accepted what, and when no further cluster started.

use drydock_api::conditions;
use drydock_api::mcu::{
    AcceptedRisk, EndedRisk, ManagedClustersUpgrade, UpgradeRiskAcceptance, condition, reason,
};
use drydock_rollout::{FindingLevel, Halt, UpgradeKey, bounded};
use drydock_runtime::pages::each_page;
use jiff::Timestamp;
use kube::Api;
use kube::api::ListParams;
use serde::Serialize;

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
    level: String,
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
            let of = object.spec.target;
            let ended = object.status.map(|status| status.ended).unwrap_or_default();
            let risks = object.spec.accepted_risks.into_iter();
            found.extend(risks.map(|risk| acceptance(risk, of.clone(), counts, &ended)));
        }
    };
    let read = each_page(&api, ListParams::default(), AT_A_TIME, seen).await;
    read.map_err(|error| ApiError::of_server("listing the UpgradeRiskAcceptances", &error))?;
    Ok(found)
}

fn acceptance(risk: AcceptedRisk, target: String, counts: bool, ended: &[EndedRisk]) -> AcceptanceView {
    let on = reach(&risk);
    let named = risk.informer.zip(risk.uid);
    let named = named.map(|(informer, uid)| format!("{informer}/{uid}"));
    let finding = risk.finding.or(named).unwrap_or_default();
    let of_finding = ended.iter().filter(|ended| ended.finding == finding);
    let ended_on: Vec<String> = of_finding
        .map(|ended| some_clusters(ended.clusters.as_deref()))
        .collect();
    AcceptanceView {
        finding,
        level: risk
            .level
            .unwrap_or_else(|| FindingLevel::default().as_str().to_owned()),
        on,
        ended_on: ended_on.join(", "),
        reason: risk.reason,
        accepted_by: risk.accepted_by,
        target,
        counts,
        until: risk.until.map(|until| until.0.as_second()),
    }
}

/// On which clusters a risk is accepted.
fn reach(risk: &AcceptedRisk) -> String {
    let named = some_clusters(risk.clusters.as_deref());
    match &risk.cluster_selector {
        None => named,
        Some(selector) => {
            let labels = serde_json::to_string(selector).unwrap_or_default();
            format!("{named} with labels {}", bounded(&labels, LONGEST_SELECTOR))
        }
    }
}

fn some_clusters(names: Option<&[String]>) -> String {
    let Some(names) = names else {
        return "all clusters".to_owned();
    };
    let first = names.iter().take(NAMED_CLUSTERS).map(String::as_str);
    let first = first.collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_CLUSTERS) {
        0 => first,
        more => format!("{first} and {more} more"),
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
