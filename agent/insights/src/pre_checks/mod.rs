//! What would be a problem with an update, for who wants to start it: of a plan whose informers the agent has asked, or of the cluster's
//! objects, where there is no agent. Both are judged by the same rules (insights.md, section 1.6).

mod findings;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use drydock_api::insights::{
    FailurePolicy, InformerState, InsightCounts, PlanAcceptedRisk, PlanInsight, PlanPhase, UpdatePlan,
    UpdatePlanInsight, Verdict,
};
use jiff::Timestamp;
use serde::Serialize;

use crate::built_in::{BuiltIn, BuiltInFacts, Question};
use crate::informer_name::InformerName;
use crate::merge::{InformerRecord, Stage, merge};
use crate::plan::acceptance::acceptance_of;
use crate::plan::ended::EndedAcceptances;
use crate::plan::verdict::{InformerPart, judge};
pub use findings::{CheckedAcceptance, CheckedFinding};

/// What would be a problem with an update.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreChecks {
    /// The version that the cluster runs, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_version: Option<String>,
    /// The version that the update would lead to.
    pub target_release: String,
    /// The upgrade of the fleet for which the hub has it asked at present, if it has: what the hub has accepted counts for that upgrade
    /// alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_for: Option<String>,
    /// Is it of the cluster's objects alone, where no plan can say what is accepted?
    pub computed: bool,
    /// Whether it should be started.
    pub verdict: Verdict,
    /// How many findings there are.
    pub counts: InsightCounts,
    /// How each informer answered, by name.
    pub informers: Vec<CheckedInformer>,
    /// What was found: what holds the update comes first, and of that the worst.
    pub findings: Vec<CheckedFinding>,
}

impl PreChecks {
    /// Does something hold the update that nobody has accepted?
    pub fn is_held(&self) -> bool {
        self.verdict == Verdict::Stop
    }

    /// A finding by its `uuid`.
    pub fn finding(&self, uuid: &str) -> Option<&CheckedFinding> {
        self.findings.iter().find(|finding| finding.insight.uuid == uuid)
    }

    /// The informers in a state.
    pub fn informers_in(&self, state: InformerState) -> impl Iterator<Item = &CheckedInformer> {
        self.informers
            .iter()
            .filter(move |informer| informer.state == state)
    }
}

/// How an informer answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedInformer {
    /// The informer.
    pub name: String,
    /// How it answered.
    pub state: InformerState,
    /// Why, where it is not Success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One informer's part, before it is judged.
struct CheckedPart<'a> {
    name: InformerName,
    state: InformerState,
    message: Option<String>,
    insights: Vec<PlanInsight>,
    object: Option<&'a UpdatePlanInsight>,
    /// What is accepted on the plan itself.
    accepted_risks: &'a [PlanAcceptedRisk],
    /// Which of that has ended.
    ended: Option<&'a EndedAcceptances>,
}

/// What is missing of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Population {
    /// Nothing: every informer has answered, or was given up.
    Populated,
    /// The agent has not looked at it since it was changed.
    Unseen,
    /// These informers have not answered.
    Awaits(Vec<String>),
    /// The update has begun, or the cluster has gone beyond it: nobody is asked any more.
    Over,
}

/// Says what is missing of a plan.
pub fn population(plan: &UpdatePlan) -> Population {
    let Some(status) = plan
        .status
        .as_ref()
        .filter(|status| status.observed_generation == plan.metadata.generation)
    else {
        return Population::Unseen;
    };
    match status.phase {
        Some(PlanPhase::Ready | PlanPhase::Failed) => Population::Populated,
        Some(PlanPhase::Stale) => Population::Over,
        Some(PlanPhase::Collecting) => {
            let informers = status.informers.iter();
            let awaited =
                informers.filter(|one| matches!(one.state, InformerState::Pending | InformerState::Waiting));
            Population::Awaits(awaited.map(|one| one.name.clone()).collect())
        }
        None => Population::Unseen,
    }
}

/// What a plan says at this moment. `objects` are the UpdatePlanInsights of its target. Acceptances are judged here, so that one that
/// has just been written counts, and one that has just ended does not.
pub fn of_plan(plan: &UpdatePlan, objects: &[UpdatePlanInsight], now: Timestamp) -> PreChecks {
    let status = plan.status.clone().unwrap_or_default();
    // What has ended by the agent's clock has ended, also where that of the API server is behind.
    let changes = status.conditions.iter().map(|known| known.last_transition_time.0);
    let now = changes.fold(now, Timestamp::max);
    let of_informer: BTreeMap<_, _> = objects
        .iter()
        .filter(|object| object.spec.target_release == plan.spec.target_release)
        .map(|object| (object.spec.update_informer.as_str(), object))
        .collect();
    let found = of_informer.values().filter_map(|object| object.status.as_ref());
    let ended = EndedAcceptances::of(plan, found.flat_map(|status| &status.insights));
    let parts = status
        .informers
        .iter()
        .map(|informer| {
            let object = of_informer.get(informer.name.as_str()).copied();
            part(plan, (&informer.name, informer.state), object, &ended, now)
        })
        .collect();
    PreChecks {
        asked_for: plan.spec.upgrade().map(str::to_owned),
        ..judged(&plan.spec.target_release, status.base_version, parts)
    }
}

/// The same for an update that is requested on behalf of an upgrade of the hub, or of nobody there: what the hub has accepted counts for the
/// upgrade for which it has the plan asked, and for nothing else.
pub fn of_plan_for(
    plan: &UpdatePlan,
    upgrade: Option<&str>,
    objects: &[UpdatePlanInsight],
    now: Timestamp,
) -> PreChecks {
    if plan.spec.upgrade() == upgrade || plan.spec.accepted_risks.is_empty() {
        return of_plan(plan, objects, now);
    }
    let mut own = plan.clone();
    own.spec.accepted_risks.clear();
    of_plan(&own, objects, now)
}

/// One informer's part. What was written for another plan of this name, or before it was changed, is no answer.
fn part<'a>(
    plan: &'a UpdatePlan,
    (name, state): (&str, InformerState),
    object: Option<&'a UpdatePlanInsight>,
    ended: &'a EndedAcceptances,
    now: Timestamp,
) -> CheckedPart<'a> {
    let name = InformerName::recorded(name);
    let status = object.and_then(|object| object.status.as_ref()).filter(|status| {
        status.plan_uid == plan.metadata.uid && status.plan_generation == plan.metadata.generation
    });
    let (Some(object), Some(status)) = (object, status) else {
        let state = match state {
            InformerState::Disabled => state,
            _ => InformerState::Pending,
        };
        return CheckedPart {
            name,
            state,
            message: None,
            insights: Vec::new(),
            object,
            accepted_risks: &plan.spec.accepted_risks,
            ended: Some(ended),
        };
    };
    // What one has found that is switched off holds nothing.
    let found = status
        .insights
        .iter()
        .filter(|_| status.state != InformerState::Disabled);
    let insights = found.map(|found| PlanInsight {
        acceptance: acceptance_of(plan, Some(object), &name, &found.insight, ended, now),
        ..found.clone()
    });
    let insights: Vec<_> = insights.collect();
    CheckedPart {
        name,
        state: status.state,
        message: status.message.clone(),
        insights,
        object: Some(object),
        accepted_risks: &plan.spec.accepted_risks,
        ended: Some(ended),
    }
}

/// What the agent's own informers find in a cluster's objects, where no agent asks them. Nothing is accepted.
pub fn of_objects(facts: &BuiltInFacts, target: &str, now: Timestamp) -> PreChecks {
    let parts = BuiltIn::ALL
        .into_iter()
        .map(|informer| {
            let name = informer.name();
            let attempt = informer.attempt(facts, Question::of_version(target), now);
            let unknown = InformerRecord::default();
            let record = merge(&name, &unknown, &attempt, FailurePolicy::Fail, Stage::Open, now);
            let insights = record.insights.into_iter().map(|insight| PlanInsight {
                insight,
                acceptance: None,
                raised_at: None,
                ended_risks: Vec::new(),
                ended_acceptance: None,
            });
            let not_looked_at = (record.state == InformerState::NotImplemented).then(|| {
                "the cluster's objects that it looks at are not there, or cannot be read".to_owned()
            });
            CheckedPart {
                name,
                state: record.state,
                message: record.message.or(not_looked_at),
                insights: insights.collect(),
                object: None,
                accepted_risks: &[],
                ended: None,
            }
        })
        .collect();
    let cluster = facts.cluster.as_ref().ok();
    let base = cluster.and_then(|cluster| Some(crate::cluster::facts(cluster).ok()?.version));
    let mut checks = judged(target, base, parts);
    checks.computed = true;
    // Nobody says go of what was not looked at.
    let is_partial = checks
        .informers_in(InformerState::NotImplemented)
        .next()
        .is_some();
    if is_partial && checks.verdict == Verdict::Go {
        checks.verdict = Verdict::Caution;
    }
    checks
}

fn judged(target: &str, base_version: Option<String>, parts: Vec<CheckedPart<'_>>) -> PreChecks {
    let judgement = judge(
        &parts
            .iter()
            .map(|part| InformerPart {
                name: &part.name,
                state: part.state,
                insights: &part.insights,
            })
            .collect::<Vec<_>>(),
    );
    // A plan of which nobody has said anything may have anything.
    let verdict = if parts.is_empty() {
        Verdict::Stop
    } else {
        judgement.verdict
    };
    PreChecks {
        asked_for: None,
        base_version,
        target_release: target.to_owned(),
        computed: false,
        verdict,
        counts: judgement.counts,
        findings: findings::of_parts(&parts),
        informers: parts
            .into_iter()
            .map(|part| CheckedInformer {
                name: part.name.to_string(),
                state: part.state,
                message: part.message,
            })
            .collect(),
    }
}
