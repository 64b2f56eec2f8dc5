//! Updates that are planned (insights.md, sections 1.6 and 1.7): whom to ask, what has been found and accepted, and whether one may start.
//!
//! What has been found is kept in one UpdatePlanInsight for each informer; a plan that is asked for anew goes on from there.

pub mod acceptance;
pub mod ended;
mod events;
mod lifecycle;
mod part;
pub mod prune;
mod status;
#[cfg(test)]
mod tests;
pub mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::fact::Fact;
use drydock_api::insights::{
    FailurePolicy, PlanInsight, PlanPhase, UpdatePlan, UpdatePlanInsight, UpdatePlanInsightStatus,
    UpdatePlanStatus,
};
use jiff::Timestamp;

use crate::informer_name::InformerName;
use crate::merge::Attempt;
pub use drydock_api::insights::plan_name;
use ended::EndedAcceptances;
pub use events::PlanEvent;
pub use lifecycle::other_request;
pub use prune::ReleaseFacts;

/// An informer that is asked about plans.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanInformerFacts {
    /// Its name.
    pub name: InformerName,
    /// Whether it may be asked.
    pub is_enabled: bool,
    /// What it means that it does not answer.
    pub failure_policy: FailurePolicy,
    /// Its uid and generation, unless it is the agent's own: see `status.informerEdition` of the UpdatePlanInsight.
    pub edition: Option<String>,
}

/// What is seen of a plan.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The plan.
    pub plan: &'a UpdatePlan,
    /// The UpdatePlanInsights of its target, by informer, and also those whose informer is gone.
    pub parts: BTreeMap<InformerName, &'a UpdatePlanInsight>,
    /// All informers, the agent's own included.
    pub informers: Vec<PlanInformerFacts>,
    /// The cluster.
    pub cluster: Fact<ReleaseFacts>,
}

/// What came of asking an informer about this generation of a plan.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When.
    pub at: Timestamp,
    /// What came of it.
    pub attempt: Attempt,
}

/// What is to be done about a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Informers to ask now. Their answers are given to the next decision.
    pub ask: Vec<InformerName>,
    /// The parts as they should be, where they are not.
    pub parts: BTreeMap<InformerName, UpdatePlanInsightStatus>,
    /// The status as it should be.
    pub status: UpdatePlanStatus,
    /// What has happened.
    pub events: Vec<PlanEvent>,
    /// When to decide again if nothing changes: every plan has such a moment, since it becomes old.
    pub wake: Option<Timestamp>,
}

/// Decides about a plan, with the answers that informers have just given.
pub fn decide(observed: &Observed<'_>, asked: &BTreeMap<InformerName, Asked>, now: Timestamp) -> Plan {
    if lifecycle::is_over(observed.plan, &observed.cluster) {
        return over(observed.plan, now);
    }
    let age = lifecycle::age(observed.plan, &observed.cluster, now);
    let parts_with = |ended: &EndedAcceptances| -> Vec<(InformerName, part::Part)> {
        let informers = observed.informers.iter();
        let parts = informers.map(|informer| {
            let part = part::part(observed, informer, asked.get(&informer.name), &age, ended, now);
            (informer.name.clone(), part)
        });
        parts.collect()
    };
    let mut ended = known_ended(observed);
    let mut all = parts_with(&ended);
    // What an answer ends for one finding, it ends for all.
    let found = all.iter().flat_map(|(_, part)| part.status.insights.iter());
    let ended_now = EndedAcceptances::of(observed.plan, found.chain(known_findings(observed)));
    if ended_now != ended {
        ended = ended_now;
        all = parts_with(&ended);
    }
    let mut parts = BTreeMap::new();
    let mut ask = Vec::new();
    let mut wakes = vec![age.stale_at];
    for (name, part) in all {
        if part.is_due {
            ask.push(name.clone());
        }
        wakes.extend(part.wakes.iter().copied().map(Some));
        parts.insert(name, part.status);
    }
    let status = status::status(observed, &parts, &age, &ended, now);
    parts.extend(without_informer(observed, &age, &ended, now));
    let events = events::events(observed, &parts, &status);
    wakes.push(prune::next_prune(observed.plan, now));
    let wake = wakes.into_iter().flatten().filter(|wake| *wake > now).min();
    parts.retain(|name, status| {
        let known = observed.parts.get(name).and_then(|part| part.status.as_ref());
        known != Some(status)
    });
    Plan {
        ask,
        parts,
        status,
        events,
        wake,
    }
}

/// An informer's part of a plan with the answer that it has just given, and what has happened to it: it can be written before the others have
/// answered, so that not all answers are in memory at once. `None` if the plan is over, or there is no such informer.
pub fn answered(
    observed: &Observed<'_>,
    name: &InformerName,
    asked: &Asked,
    now: Timestamp,
) -> Option<(UpdatePlanInsightStatus, Vec<PlanEvent>)> {
    if lifecycle::is_over(observed.plan, &observed.cluster) {
        return None;
    }
    let age = lifecycle::age(observed.plan, &observed.cluster, now);
    let informer = observed
        .informers
        .iter()
        .find(|informer| informer.name == *name)?;
    let part = part::part(observed, informer, Some(asked), &age, &known_ended(observed), now);
    let events = events::of_part(observed, name, &part.status);
    Some((part.status, events))
}

/// The acceptances that are known to have ended.
fn known_ended(observed: &Observed<'_>) -> EndedAcceptances {
    EndedAcceptances::of(observed.plan, known_findings(observed))
}

fn known_findings<'a>(observed: &'a Observed<'_>) -> impl Iterator<Item = &'a PlanInsight> {
    let statuses = observed.parts.values().filter_map(|part| part.status.as_ref());
    statuses.flat_map(|status| &status.insights)
}

/// The parts of informers that are gone: they hold nothing any more, as those of one that is switched off. What they have found, and what of it
/// is accepted, stays for as long as the plan does, in case the informer comes back.
fn without_informer(
    observed: &Observed<'_>,
    age: &lifecycle::Age,
    ended: &EndedAcceptances,
    now: Timestamp,
) -> BTreeMap<InformerName, UpdatePlanInsightStatus> {
    let known: BTreeSet<_> = observed.informers.iter().map(|informer| &informer.name).collect();
    let gone = observed.parts.keys().filter(|name| !known.contains(name));
    gone.map(|name| {
        let informer = PlanInformerFacts {
            name: name.clone(),
            is_enabled: false,
            failure_policy: FailurePolicy::Ignore,
            edition: None,
        };
        (
            name.clone(),
            part::part(observed, &informer, None, age, ended, now).status,
        )
    })
    .collect()
}

/// A plan whose update has begun stays as it was, to be looked up: nobody is asked any more.
fn over(plan: &UpdatePlan, now: Timestamp) -> Plan {
    let status = UpdatePlanStatus {
        observed_generation: plan.metadata.generation,
        phase: Some(PlanPhase::Stale),
        ..plan.status.clone().unwrap_or_default()
    };
    Plan {
        ask: Vec::new(),
        parts: BTreeMap::new(),
        status,
        events: Vec::new(),
        wake: prune::next_prune(plan, now),
    }
}

/// The name of an informer's part of a plan.
pub fn part_name(target: &str, informer: &InformerName) -> String {
    format!("{}.{informer}", plan_name(target))
}
