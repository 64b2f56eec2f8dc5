//! What is shown of one upgrade.

use std::collections::BTreeMap;

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgrade};
use drydock_objects::status::NotSeen;
use drydock_rollout::{
    ConditionStatus, ConditionType, Counts, Halt, Report, UpgradeCondition, UpgradeKey, upgrade_conditions,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use crate::access::Scope;
use crate::hidden::hide;
use crate::rows::Seen;

/// How many clusters of an upgrade are where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CountsView {
    selected: usize,
    not_started: usize,
    in_flight: usize,
    complete: usize,
    failed: usize,
    other: usize,
}

impl CountsView {
    fn of(counts: &Counts) -> Self {
        let named = counts.pending + counts.in_flight + counts.complete + counts.failed;
        Self {
            // One that is being deleted selects nothing, and ends what it has begun.
            selected: counts.total.max(named),
            not_started: counts.pending,
            in_flight: counts.in_flight,
            complete: counts.complete,
            failed: counts.failed,
            other: counts.total.saturating_sub(named),
        }
    }
}

/// Why no further cluster starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct HaltView {
    reason: &'static str,
    message: String,
}

/// When an upgrade is expected to end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BandView {
    #[serde(skip_serializing_if = "Option::is_none")]
    p10: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90: Option<i64>,
    /// The chance that it stops before its end, in percent, and why most probably.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_percent: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<String>,
    /// The p90 of its start, where it is expected after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    late_after: Option<i64>,
}

impl BandView {
    fn of(forecast: &ForecastStatus) -> Self {
        let seconds = |time: &Option<Time>| time.as_ref().map(|time| time.0.as_second());
        Self {
            p10: seconds(&forecast.p10),
            p50: seconds(&forecast.p50),
            p90: seconds(&forecast.p90),
            stop_percent: forecast.stop_percent.filter(|percent| *percent > 0),
            stop_reason: forecast.stop_reason.clone(),
            late_after: forecast
                .at_start
                .as_ref()
                .filter(|_| forecast.late == Some(true))
                .and_then(|start| seconds(&start.p90)),
        }
    }
}

/// An upgrade among others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UpgradeSummary {
    key: String,
    /// Another one of the same name has another.
    uid: String,
    /// The edition of its spec.
    generation: i64,
    target: String,
    phase: &'static str,
    paused: bool,
    /// What no hub has taken up yet, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<&'static str>,
    counts: CountsView,
    states: BTreeMap<&'static str, usize>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    halt: Option<HaltView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<BandView>,
}

impl UpgradeSummary {
    /// The upgrade as it is seen now.
    pub fn of(key: &UpgradeKey, seen: &Seen<'_>, scope: &Scope) -> Self {
        let Seen { object, report } = seen;
        let status = object.status.as_ref();
        let conditions = upgrade_conditions(report);
        let states = report.states.iter();
        let halt = report.halt.as_ref().map(|halt| {
            let (reason, message) = cause_of(halt, report, &conditions);
            HaltView {
                reason,
                message: hide(&message, scope).into_owned(),
            }
        });
        Self {
            key: key.to_string(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            generation: object.metadata.generation.unwrap_or_default(),
            target: target(object, &report.target),
            phase: phase(report),
            paused: object.spec.paused.unwrap_or(false),
            not_seen: NotSeen::of(object).map(NotSeen::words),
            counts: CountsView::of(&report.counts),
            states: states.map(|(state, count)| (state.as_str(), *count)).collect(),
            message: hide(&newest_words(&conditions), scope).into_owned(),
            halt,
            started_at: report.rollout_since.map(Timestamp::as_second),
            forecast: status
                .and_then(|status| status.forecast.as_ref())
                .map(BandView::of),
        }
    }
}

/// Where the upgrade as a whole is: the reason why no further cluster starts, where there is one that a user knows.
fn phase(report: &Report) -> &'static str {
    let counts = &report.counts;
    match &report.halt {
        _ if report.deletion.is_some() => "Deleting",
        _ if report.complete() => "Complete",
        _ if report.invalid.is_some() => "Failed",
        Some(halt) if Halt::ALL.contains(&halt.as_str()) => halt.as_str(),
        _ if counts.in_flight + report.starting > 0 => "InProgress",
        _ if counts.pending == 0 && counts.failed > 0 => "Failed",
        _ if report.rollout_since.is_some() => "InProgress",
        _ => "NotStarted",
    }
}

/// What is asked for, also where the spec is invalid.
fn target(object: &ManagedClustersUpgrade, of_report: &str) -> String {
    if !of_report.is_empty() {
        return of_report.to_owned();
    }
    let platform = object.spec.cluster_version.as_ref();
    let platform = platform.and_then(|version| version.version.clone().or(version.image.clone()));
    platform.unwrap_or_else(|| "operators".to_owned())
}

/// Why no further cluster starts: the condition that says most about it.
fn cause_of(halt: &Halt, report: &Report, conditions: &[UpgradeCondition]) -> (&'static str, String) {
    let of = |type_| conditions.iter().find(|condition| condition.type_ == type_);
    let failed = of(ConditionType::Failed).filter(|_| report.invalid.is_some());
    let selected = of(ConditionType::Selected).filter(|selected| selected.status != ConditionStatus::True);
    match failed.or(selected) {
        Some(cause) => (cause.reason, cause.message.clone()),
        None => (halt.as_str(), said_of(conditions, ConditionType::InProgress)),
    }
}

fn said_of(conditions: &[UpgradeCondition], type_: ConditionType) -> String {
    let found = conditions.iter().find(|condition| condition.type_ == type_);
    found
        .map(|condition| condition.message.clone())
        .unwrap_or_default()
}

/// The sentence that says most: what keeps a deletion, else what happens.
fn newest_words(conditions: &[UpgradeCondition]) -> String {
    let deleting = said_of(conditions, ConditionType::Deleting);
    if deleting.is_empty() {
        said_of(conditions, ConditionType::InProgress)
    } else {
        deleting
    }
}
