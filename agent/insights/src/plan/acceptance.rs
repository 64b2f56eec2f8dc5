//! Whether a finding is accepted (insights.md, section 1.6): this finding, for this target, no worse than it was, and no longer than was said.

use drydock_api::insights::{
    AcceptanceState, AcceptedInsight, Insight, Level, UpdatePlan, UpdatePlanInsight,
};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

use crate::hooks::MAX_SKEW_MINUTES;

/// What has been accepted of a plan's findings. Nothing, where the object belongs to another plan, or to one of the same name that is gone.
pub fn accepted<'a>(plan: &UpdatePlan, object: &'a UpdatePlanInsight) -> &'a [AcceptedInsight] {
    let is_of_target = object.spec.target_release == plan.spec.target_release;
    let owners = object.owner_references();
    let is_of_plan = owners.is_empty() || owners.iter().any(|owner| Some(&owner.uid) == plan.uid().as_ref());
    if is_of_target && is_of_plan {
        &object.spec.accepted_insights
    } else {
        &[]
    }
}

/// What the acceptances come to for a finding; nothing if nobody has accepted it. Of several the best counts.
pub fn acceptance(
    accepted: &[AcceptedInsight],
    insight: &Insight,
    now: Timestamp,
) -> Option<AcceptanceState> {
    let of_insight = accepted.iter().filter(|accepted| accepted.uuid == insight.uuid);
    of_insight
        .filter(|accepted| is_past(accepted, now))
        .map(|accepted| state(accepted, insight.impact.level, now))
        .min()
}

/// Nobody accepts in the future what may have become worse by then.
fn is_past(accepted: &AcceptedInsight, now: Timestamp) -> bool {
    accepted.accepted_at.0.duration_since(now) <= SignedDuration::from_mins(MAX_SKEW_MINUTES)
}

fn state(accepted: &AcceptedInsight, level: Level, now: Timestamp) -> AcceptanceState {
    if accepted.until.as_ref().is_some_and(|until| until.0 <= now) {
        AcceptanceState::Expired
    } else if covers(accepted.level, level) {
        AcceptanceState::Accepted
    } else {
        AcceptanceState::LevelRaised
    }
}

/// Does the acceptance of one level cover another? What could not be judged may be anything, so that only who has accepted the worst, or
/// that it cannot be judged, has accepted it.
pub fn covers(accepted: Level, found: Level) -> bool {
    match (accepted, found) {
        (_, Level::Status | Level::Info) => true,
        (Level::Unknown, found) => found == Level::Unknown,
        (accepted, Level::Unknown) => accepted == Level::Critical,
        (accepted, found) => found <= accepted,
    }
}

/// When the next acceptance runs out.
pub fn next_expiry(accepted: &[AcceptedInsight], now: Timestamp) -> Option<Timestamp> {
    let ends = accepted.iter().filter_map(|accepted| accepted.until.as_ref());
    ends.map(|until| until.0).filter(|until| *until > now).min()
}

#[cfg(test)]
mod tests;
