//! Whether a finding is accepted (insights.md, section 1.6): this finding, for this target, no worse than it was, and no longer than was said.

use drydock_api::insights::{
    AcceptanceState, AcceptedInsight, Insight, Level, PlanAcceptedRisk, UpdatePlan, UpdatePlanInsight,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use super::ended::EndedAcceptances;
use crate::hooks::MAX_SKEW_MINUTES;
use crate::informer_name::InformerName;
use crate::merge::is_truncation;

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

/// What the acceptances come to for a finding; nothing if nobody has accepted it. Of several the best counts. Those that have ended count no
/// more.
fn acceptance(
    accepted: &[AcceptedInsight],
    informer: &InformerName,
    insight: &Insight,
    ended: &EndedAcceptances,
    now: Timestamp,
) -> Option<AcceptanceState> {
    in_part(accepted, insight, now)
        .map(|(accepted, state)| match state {
            AcceptanceState::Accepted if ended.has_insight(informer, accepted) => {
                AcceptanceState::LevelRaised
            }
            state => state,
        })
        .min()
}

/// The acceptances of a finding in its informer's part, each with what it comes to as of now.
fn in_part<'a>(
    accepted: &'a [AcceptedInsight],
    insight: &'a Insight,
    now: Timestamp,
) -> impl Iterator<Item = (&'a AcceptedInsight, AcceptanceState)> {
    let of_insight = accepted.iter().filter(|accepted| accepted.uuid == insight.uuid);
    let past = of_insight.filter(move |accepted| is_past(&accepted.accepted_at, now));
    past.map(move |accepted| {
        let state = state(accepted.level, accepted.until.as_ref(), insight.impact.level, now);
        (accepted, state)
    })
}

/// What all acceptances come to for a finding: those of the plan itself, and those of the informer's part. Of several the best counts.
pub fn acceptance_of(
    plan: &UpdatePlan,
    object: Option<&UpdatePlanInsight>,
    informer: &InformerName,
    insight: &Insight,
    ended: &EndedAcceptances,
    now: Timestamp,
) -> Option<AcceptanceState> {
    let of_part = object.map(|object| accepted(plan, object)).unwrap_or_default();
    let on_plan = on_plan(&plan.spec.accepted_risks, informer, insight);
    let on_plan =
        on_plan.map(
            |risk| match state(risk.level, risk.until.as_ref(), insight.impact.level, now) {
                AcceptanceState::Accepted if ended.has_risk(risk) => AcceptanceState::LevelRaised,
                state => state,
            },
        );
    on_plan
        .chain(acceptance(of_part, informer, insight, ended, now))
        .min()
}

/// The acceptances on the plan itself that are about a finding. By informer and uid nobody accepts what says that findings do not fit in: it is
/// about others each time.
pub fn on_plan<'a>(
    risks: &'a [PlanAcceptedRisk],
    informer: &InformerName,
    insight: &Insight,
) -> impl Iterator<Item = &'a PlanAcceptedRisk> {
    let named = |risk: &'a PlanAcceptedRisk| [&risk.uuid, &risk.informer, &risk.uid];
    risks
        .iter()
        .filter(move |risk| is_about(named(risk), informer, insight))
}

/// Whether what names a finding by uuid, or by informer and uid, is about this one.
pub(super) fn is_about(
    [uuid, of, uid]: [&Option<String>; 3],
    informer: &InformerName,
    insight: &Insight,
) -> bool {
    match (uuid, of, uid) {
        (Some(uuid), None, None) => *uuid == insight.uuid,
        (None, Some(of), Some(uid)) => {
            of == informer.as_str() && *uid == insight.uid && !is_truncation(insight)
        }
        // What does not say one thing says nothing.
        _ => false,
    }
}

/// Nobody accepts in the future what may have become worse by then.
fn is_past(accepted_at: &Time, now: Timestamp) -> bool {
    accepted_at.0.duration_since(now) <= SignedDuration::from_mins(MAX_SKEW_MINUTES)
}

fn state(accepted: Level, until: Option<&Time>, level: Level, now: Timestamp) -> AcceptanceState {
    if until.is_some_and(|until| until.0 <= now) {
        AcceptanceState::Expired
    } else if covers(accepted, level) {
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

/// When the next acceptance on the plan itself runs out.
pub fn next_expiry_on_plan(risks: &[PlanAcceptedRisk], now: Timestamp) -> Option<Timestamp> {
    let ends = risks.iter().filter_map(|risk| risk.until.as_ref());
    ends.map(|until| until.0).filter(|until| *until > now).min()
}

/// When the next acceptance runs out.
pub fn next_expiry(accepted: &[AcceptedInsight], now: Timestamp) -> Option<Timestamp> {
    let ends = accepted.iter().filter_map(|accepted| accepted.until.as_ref());
    ends.map(|until| until.0).filter(|until| *until > now).min()
}

#[cfg(test)]
mod tests;
