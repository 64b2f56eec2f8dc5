//! What a status says of the future of an upgrade.

use drydock_api::mcu::{ForecastStatus, ManagedClustersUpgrade, ManagedClustersUpgradeStatus};
use drydock_forecast::StopCause;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::accuracy::Accuracy;
use super::table;

/// When an upgrade ended, or is expected to, for a row of a table.
pub fn short(status: &ManagedClustersUpgradeStatus) -> String {
    let moment = |time: &Option<Time>| time.as_ref().map(|time| time.0.to_string());
    moment(&status.completion_time)
        .or_else(|| moment(&status.estimated_completion_time).map(|at| format!("about {at}")))
        .unwrap_or_else(|| "-".to_owned())
}

/// The same at length: the band, what may stop it, what the forecast is based on, and whether it is late. Commands call the upgrade `named`.
pub fn lines(upgrade: &ManagedClustersUpgrade, named: &str, now: Timestamp) -> Vec<String> {
    let status = upgrade.status.clone().unwrap_or_default();
    let forecast = status.forecast.clone().unwrap_or_default();
    if let Some(completed) = &status.completion_time {
        let mut lines = vec![format!("  ends: {}", completed.0)];
        lines.extend(accuracy(&forecast, completed.0).map(|said| format!("  {said}")));
        return lines;
    }
    if upgrade.spec.paused == Some(true) && forecast.p50.is_none() {
        return vec!["  ends: paused: no end".to_owned()];
    }
    let cause = forecast.stop_reason.as_deref().unwrap_or_default();
    let words = StopCause::parse(cause).map(|cause| format!(" ({})", cause.as_str()));
    let cause = format!("{}{}", table::printable(cause), words.unwrap_or_default());
    if forecast.stop_percent == Some(100) && forecast.p50.is_none() {
        // It has come to a stop: nothing is simulated about that.
        let mut lines = vec![format!("  stopped: {cause}: {}", advice(&forecast, named))];
        lines.extend(late(&forecast));
        return lines;
    }
    let mut lines = vec![format!("  ends: {}", ends(&status, &forecast, now))];
    if let Some(percent) = forecast.stop_percent {
        lines.push(format!(
            "  stops: in {percent}% of the simulated rollouts, most often {cause}"
        ));
    }
    lines.extend(late(&forecast));
    if let Some(basis) = &forecast.basis {
        let computed = forecast.computed_at.as_ref();
        let ago = computed.map(|at| format!(", {} ago", table::short(now.duration_since(at.0))));
        lines.push(format!(
            "  forecast by {}{}",
            table::printable(basis),
            ago.unwrap_or_default()
        ));
    }
    lines
}

fn late(forecast: &ForecastStatus) -> Option<String> {
    let latest = forecast.at_start.as_ref()?.p90.as_ref()?;
    let is_late = forecast.late == Some(true);
    is_late.then(|| format!("  late: expected after the p90 of its start, {}", latest.0))
}

/// What to do about a rollout that has stopped.
fn advice(forecast: &ForecastStatus, name: &str) -> String {
    let cause = forecast.stop_reason.as_deref().and_then(StopCause::parse);
    let name = table::printable(name);
    match cause {
        Some(StopCause::CanaryFailed | StopCause::FailureBudgetSpent) => {
            format!("fix what made them fail, then kubectl drydock retry {name}")
        }
        _ => format!("kubectl drydock clusters {name} says what they wait for"),
    }
}

fn ends(status: &ManagedClustersUpgradeStatus, forecast: &ForecastStatus, now: Timestamp) -> String {
    let (Some(p10), Some(p50), Some(p90)) = (&forecast.p10, &forecast.p50, &forecast.p90) else {
        return short(status);
    };
    let wait = p50.0.duration_since(now);
    let wait = if wait.is_negative() {
        "overdue".to_owned()
    } else {
        format!("in {}", table::short(wait))
    };
    format!("about {} ({wait}); 8 in 10 from {} to {}", p50.0, p10.0, p90.0)
}

/// How good the forecast of the start was.
fn accuracy(forecast: &ForecastStatus, ended: Timestamp) -> Option<String> {
    let start = forecast.at_start.as_ref()?;
    let moment = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let accuracy = Accuracy {
        p10: moment(&start.p10)?,
        p50: moment(&start.p50)?,
        p90: moment(&start.p90)?,
        ended,
    };
    Some(accuracy.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(spec: &serde_json::Value, status: &serde_json::Value) -> String {
        let upgrade = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
            "metadata": {"name": "spring"}, "spec": spec, "status": status,
        });
        let upgrade: ManagedClustersUpgrade = serde_json::from_value(upgrade).unwrap();
        lines(&upgrade, "spring -n hub", "2026-03-01T12:00:00Z".parse().unwrap()).join("\n")
    }

    #[test]
    fn the_band_is_shown_and_whether_it_is_late() {
        let start = json!({
            "p10": "2026-03-01T13:00:00Z", "p50": "2026-03-01T13:30:00Z", "p90": "2026-03-01T14:00:00Z",
            "computedAt": "2026-03-01T10:00:00Z", "rolloutSince": "2026-03-01T10:00:00Z",
        });
        let forecast = json!({
            "p10": "2026-03-01T14:10:00Z", "p50": "2026-03-01T14:30:00Z", "p90": "2026-03-01T16:00:00Z",
            "computedAt": "2026-03-01T11:59:00Z", "basis": "214 z-stream upgrades of this fleet",
            "stopPercent": 12, "stopReason": "FailureBudgetSpent", "late": true, "atStart": start,
        });
        let cases = [
            (
                json!({}),
                json!({"forecast": forecast}),
                "  ends: about 2026-03-01T14:30:00Z (in 2h30m); 8 in 10 from 2026-03-01T14:10:00Z to 2026-03-01T16:00:00Z
  stops: in 12% of the simulated rollouts, most often FailureBudgetSpent (too many clusters fail)
  late: expected after the p90 of its start, 2026-03-01T14:00:00Z
  forecast by 214 z-stream upgrades of this fleet, 1m ago",
            ),
            (
                json!({"paused": true}),
                json!({"forecast": {"stopPercent": 100, "stopReason": "Paused"}}),
                "  ends: paused: no end",
            ),
            (
                json!({}),
                json!({"forecast": {"stopPercent": 100, "stopReason": "CanaryFailed"}}),
                "  stopped: CanaryFailed (a canary fails): fix what made them fail, then kubectl drydock retry spring -n hub",
            ),
            (json!({}), json!({}), "  ends: -"),
            (
                json!({}),
                json!({"completionTime": "2026-03-01T11:00:00Z"}),
                "  ends: 2026-03-01T11:00:00Z",
            ),
            (
                json!({}),
                json!({"completionTime": "2026-03-01T14:10:00Z", "forecast": {"atStart": start}}),
                "  ends: 2026-03-01T14:10:00Z
  forecast 2026-03-01T13:30:00Z, ended 2026-03-01T14:10:00Z, 40 min later, after the band (p10 to p90)",
            ),
        ];
        for (spec, status, expected) in cases {
            assert_eq!(said(&spec, &status), expected);
        }
    }
}
