//! Whether a finding is accepted (insights.md, section 1.6): this finding, for this target, no worse than it was, and no longer than was said.

use std::collections::BTreeSet;

use drydock_api::insights::{
    AcceptanceState, AcceptedInsight, Insight, Level, PlanAcceptedRisk, PlanInsight, UpdatePlan,
    UpdatePlanInsight,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;

use crate::hooks::MAX_SKEW_MINUTES;
use crate::identity;
use crate::informer_name::InformerName;
use crate::merge::is_truncation;

/// The most acceptances on a plan that count for one finding.
const MOST_ABOUT_ONE: usize = 16;
/// How many ids of acceptances are kept that have ended and are not on the plan any more.
const MOST_ENDED_BEFORE: usize = 128;
/// How many letters tell one acceptance on a plan from another.
const DIGEST: usize = 16;

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

/// What the acceptances come to for a finding; nothing if nobody has accepted it. Of several the best counts. Those of before it became worse,
/// at `raised`, count no more.
pub fn acceptance(
    accepted: &[AcceptedInsight],
    insight: &Insight,
    raised: Option<Timestamp>,
    now: Timestamp,
) -> Option<AcceptanceState> {
    of_finding(accepted, insight, now)
        .map(|(accepted, state)| match state {
            AcceptanceState::Accepted if is_outdone(accepted, raised) => AcceptanceState::LevelRaised,
            state => state,
        })
        .min()
}

/// When a finding last became worse than was accepted: as of now if it has since that was `known` to have happened. Never before it was
/// accepted, whatever clock that was by: it is noted once.
pub(super) fn raised_at(
    accepted: &[AcceptedInsight],
    insight: &Insight,
    known: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    let since = of_finding(accepted, insight, now).filter(|(accepted, _)| !is_outdone(accepted, known));
    let best = since.clone().map(|(_, state)| state).min();
    if best != Some(AcceptanceState::LevelRaised) {
        return known;
    }
    since.map(|(accepted, _)| accepted.accepted_at.0.max(now)).max()
}

/// The acceptances of a finding, each with what it comes to as of now.
fn of_finding<'a>(
    accepted: &'a [AcceptedInsight],
    insight: &'a Insight,
    now: Timestamp,
) -> impl Iterator<Item = (&'a AcceptedInsight, AcceptanceState)> + Clone {
    let of_insight = accepted.iter().filter(|accepted| accepted.uuid == insight.uuid);
    let past = of_insight.filter(move |accepted| is_past(&accepted.accepted_at, now));
    past.map(move |accepted| {
        let state = state(accepted.level, accepted.until.as_ref(), insight.impact.level, now);
        (accepted, state)
    })
}

/// Has the finding become worse since it was accepted?
fn is_outdone(accepted: &AcceptedInsight, raised: Option<Timestamp>) -> bool {
    raised.is_some_and(|raised| accepted.accepted_at.0 <= raised)
}

/// What is remembered of a finding that became worse than was accepted: the acceptances of before end with that.
#[derive(Clone, Copy, Debug)]
pub struct Raised<'a> {
    /// When it last did; acceptances of the informer's part that are older have ended.
    pub at: Option<Timestamp>,
    /// The acceptances on the plan itself that have ended, of whatever finding.
    pub ended: &'a EndedRisks,
}

impl<'a> Raised<'a> {
    /// As a finding and its plan have it.
    pub fn of(found: &PlanInsight, ended: &'a EndedRisks) -> Self {
        let at = found.raised_at.as_ref().map(|raised| raised.0);
        Self { at, ended }
    }
}

/// The acceptances on a plan that have ended, by their ids: one ends as a whole when a finding that it covered becomes worse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedRisks(BTreeSet<String>);

impl EndedRisks {
    /// Those that are known to have ended: the plan says so, or one of its findings does. Those that have been changed are others.
    pub fn of<'a>(plan: &UpdatePlan, findings: impl Iterator<Item = &'a PlanInsight>) -> Self {
        let said = said(plan);
        let found = findings.flat_map(|found| found.ended_risks.iter().map(String::as_str));
        let said: BTreeSet<&str> = said.chain(found).collect();
        let risks = plan.spec.accepted_risks.iter();
        let risks = risks.map(|risk| (id_of(risk), risk.ended == Some(true)));
        let ended = risks.filter(|(id, is_ended)| *is_ended || said.contains(id.as_str()));
        Self(ended.map(|(id, _)| id).collect())
    }

    /// Those that have ended and are not on the plan any more, as its status has it: what was taken off last is the first, so many are kept.
    pub fn before_in_words(plan: &UpdatePlan) -> Option<String> {
        let on_plan: BTreeSet<String> = plan.spec.accepted_risks.iter().map(id_of).collect();
        let away = said(plan).filter(|id| !id.is_empty() && !on_plan.contains(*id));
        let ids: Vec<&str> = away.take(MOST_ENDED_BEFORE).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    /// As a plan's status has it; nothing if none have ended.
    pub fn in_words(&self) -> Option<String> {
        let ids: Vec<&str> = self.0.iter().map(String::as_str).collect();
        (!ids.is_empty()).then(|| ids.join(" "))
    }

    fn contains(&self, risk: &PlanAcceptedRisk) -> bool {
        self.0.contains(&id_of(risk))
    }
}

/// The ids that a plan's status says have ended: those on the plan first.
fn said(plan: &UpdatePlan) -> impl Iterator<Item = &str> {
    let status = plan.status.iter();
    let said = status.flat_map(|status| [&status.ended_risks, &status.ended_before]);
    said.flatten().flat_map(|ids| ids.split(' '))
}

/// What all acceptances come to for a finding: those of the plan itself, and those of the informer's part. Of several the best counts.
pub fn acceptance_of(
    plan: &UpdatePlan,
    object: Option<&UpdatePlanInsight>,
    informer: &InformerName,
    insight: &Insight,
    raised: Raised<'_>,
    now: Timestamp,
) -> Option<AcceptanceState> {
    let of_part = object.map(|object| accepted(plan, object)).unwrap_or_default();
    let on_plan = on_plan(&plan.spec.accepted_risks, informer, insight);
    let on_plan =
        on_plan.map(
            |risk| match state(risk.level, risk.until.as_ref(), insight.impact.level, now) {
                AcceptanceState::Accepted if raised.ended.contains(risk) => AcceptanceState::LevelRaised,
                state => state,
            },
        );
    on_plan.chain(acceptance(of_part, insight, raised.at, now)).min()
}

/// What is known of a finding from the last time that its informer was asked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before<'a> {
    /// Nothing: the informer has not answered for this plan, or not all of its answer is kept.
    Unknown,
    /// All was well at this time.
    Absent(Timestamp),
    /// It was there.
    Found(&'a PlanInsight),
}

/// The ids of the acceptances on the plan itself that have ended for a finding: those of before, and those that covered it as it was, or were
/// given before all was well, and do not cover it now.
pub(super) fn ended_on_plan(
    plan: &UpdatePlan,
    informer: &InformerName,
    insight: &Insight,
    before: Before<'_>,
    now: Timestamp,
) -> Vec<String> {
    let covered = |risk: &PlanAcceptedRisk| match before {
        Before::Unknown => false,
        // Who says that they accept in the future may have done so at any time.
        Before::Absent(since) => {
            let at = risk.accepted_at.as_ref().filter(|at| is_past(at, now));
            at.is_none_or(|at| at.0 <= since)
        }
        Before::Found(known) => covers(risk.level, known.insight.impact.level),
    };
    let has_ended = |id: &String| matches!(before, Before::Found(known) if known.ended_risks.contains(id));
    let is_worse = |risk: &PlanAcceptedRisk| covered(risk) && !covers(risk.level, insight.impact.level);
    let about = on_plan(&plan.spec.accepted_risks, informer, insight);
    let about = about.map(|risk| (id_of(risk), is_worse(risk)));
    let ended = about.filter(|(id, is_worse)| *is_worse || has_ended(id));
    ended.map(|(id, _)| id).collect()
}

/// The short name of an acceptance on the plan: any other has another.
fn id_of(risk: &PlanAcceptedRisk) -> String {
    if let Some(id) = &risk.id {
        return id.chars().take(DIGEST).collect();
    }
    let PlanAcceptedRisk {
        id: _,
        ended: _,
        uuid,
        informer,
        uid,
        level,
        accepted_by,
        reason,
        accepted_at,
        until,
    } = risk;
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let (accepted_at, until) = (time(accepted_at), time(until));
    let text = format!(
        "{uuid:?} {informer:?} {uid:?} {level:?} {accepted_by:?} {reason:?} {accepted_at:?} {until:?}"
    );
    identity::digest(&text).chars().take(DIGEST).collect()
}

/// The acceptances on the plan itself that are about a finding: of too many the last. By informer and uid nobody accepts what says that
/// findings do not fit in: it is about others each time.
pub fn on_plan<'a>(
    risks: &'a [PlanAcceptedRisk],
    informer: &InformerName,
    insight: &Insight,
) -> impl Iterator<Item = &'a PlanAcceptedRisk> {
    risks
        .iter()
        .rev()
        .filter(|risk| match (&risk.uuid, &risk.informer, &risk.uid) {
            (Some(uuid), None, None) => *uuid == insight.uuid,
            (None, Some(of), Some(uid)) => {
                of == informer.as_str() && *uid == insight.uid && !is_truncation(insight)
            }
            // What does not say one thing says nothing.
            _ => false,
        })
        .take(MOST_ABOUT_ONE)
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
