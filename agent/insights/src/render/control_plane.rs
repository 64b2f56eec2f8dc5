//! The section of the control plane.

use jiff::{SignedDuration, Timestamp};

use super::Details;
use super::columns::Columns;
use super::escape::line;
use crate::status::{ControlPlane, OperatorCounts, UpdatingOperator};
use crate::times;

/// What is shorter is not shown more exactly.
const VAGUE: SignedDuration = SignedDuration::from_mins(10);
/// The longest reason that is shown whole.
const LONGEST_REASON: usize = 20;
/// What a longer one ends with.
const ELLIPSIS: &str = "...";

/// The section.
pub fn section(control_plane: &ControlPlane, details: Details, now: Timestamp) -> String {
    let heading = "= Control Plane =\n";
    if let Some(completed_at) = control_plane.completed_at {
        return format!(
            "{heading}Update to {} successfully completed at {} (duration: {})\n",
            line(&control_plane.versions.target),
            completed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            times::short(control_plane.duration)
        );
    }
    let summary = summary(control_plane);
    let is_detailed = details.include(Details::Operators) && !control_plane.updating.is_empty();
    let operators = if is_detailed {
        operators(&control_plane.updating, now)
    } else {
        String::new()
    };
    format!("{heading}{summary}{operators}")
}

fn summary(control_plane: &ControlPlane) -> String {
    let OperatorCounts { updated, waiting, .. } = control_plane.operators;
    let names: Vec<_> = control_plane
        .updating
        .iter()
        .map(|operator| line(&operator.name))
        .collect();
    let mut lines = vec![
        format!("Assessment:      {}", control_plane.assessment.as_str()),
        format!("Target Version:  {}", line(&control_plane.versions.to_string())),
    ];
    if !names.is_empty() {
        lines.push(format!("Updating:        {}", names.join(", ")));
    }
    lines.push(format!(
        "Completion:      {:.0}% ({updated} operators updated, {} updating, {waiting} waiting)",
        control_plane.completion_percent,
        names.len(),
    ));
    lines.push(format!(
        "Duration:        {}{}",
        times::short(control_plane.duration),
        estimate(control_plane)
    ));
    lines.push(format!("Operator Health: {}", health(control_plane.operators)));
    lines.join("\n") + "\n"
}

/// How much longer it takes; nothing if that is just now.
fn estimate(control_plane: &ControlPlane) -> String {
    let remaining = control_plane.remaining;
    if remaining.is_zero() {
        return String::new();
    }
    let estimate = if control_plane.versions.is_multi_arch_migration {
        "N/A for Multi-Architecture Migration".to_owned()
    } else {
        vague(remaining, control_plane.estimated_duration)
    };
    format!(" (Est. Time Remaining: {estimate})")
}

/// `1h12m`, `<10m`, or that the estimate was wrong.
fn vague(remaining: SignedDuration, estimated: SignedDuration) -> String {
    if remaining < -VAGUE {
        format!("N/A; estimate duration was {}", times::short(estimated))
    } else if remaining < VAGUE {
        format!("<{}", times::short(VAGUE))
    } else {
        times::short(remaining)
    }
}

fn health(counts: OperatorCounts) -> String {
    let healthy = counts.total - counts.unavailable - counts.degraded;
    let mut parts = vec![format!("{healthy} Healthy")];
    if counts.unavailable > 0 {
        parts.push(format!("{} Unavailable", counts.unavailable));
    }
    if counts.degraded > 0 {
        parts.push(format!("{} Available but degraded", counts.degraded));
    }
    parts.join(", ")
}

fn operators(updating: &[UpdatingOperator], now: Timestamp) -> String {
    let mut table = Columns::new(&["NAME", "SINCE", "REASON", "MESSAGE"]);
    for operator in updating {
        let since = operator
            .since
            .map_or_else(|| "-".to_owned(), |since| times::short(now.duration_since(since)));
        table.push(
            &[&operator.name, &since, &reason(&operator.reason)],
            &operator.message,
        );
    }
    format!("\nUpdating Cluster Operators\n{table}")
}

fn reason(reason: &str) -> String {
    if reason.is_empty() {
        return "-".to_owned();
    }
    if reason.chars().count() <= LONGEST_REASON {
        return reason.to_owned();
    }
    let kept = reason.chars().take(LONGEST_REASON - ELLIPSIS.len());
    kept.chain(ELLIPSIS.chars()).collect()
}
