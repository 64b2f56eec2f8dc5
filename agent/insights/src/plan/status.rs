//! The status of a plan.

use std::collections::BTreeMap;

use drydock_api::conditions::{Condition, DesiredCondition, FALSE, TRUE, set};
use drydock_api::insights::{
    InformerState, PlanInformer, PlanPhase, UpdatePlanInsightStatus, UpdatePlanStatus, Verdict, condition,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::Observed;
use super::ended::EndedAcceptances;
use super::lifecycle::Age;
use super::verdict::{InformerPart, Judgement, judge};
use crate::informer_name::InformerName;

pub(super) fn status(
    observed: &Observed<'_>,
    parts: &BTreeMap<InformerName, UpdatePlanInsightStatus>,
    age: &Age,
    ended: &EndedAcceptances,
    now: Timestamp,
) -> UpdatePlanStatus {
    let previous = observed.plan.status.clone().unwrap_or_default();
    let judgement = judge(
        &parts
            .iter()
            .map(|(name, part)| InformerPart {
                name,
                state: part.state,
                insights: &part.insights,
            })
            .collect::<Vec<_>>(),
    );
    let phase = phase(parts);
    let was_collected = previous
        .collected_at
        .filter(|at| at.0 >= age.since && at.0 <= now);
    let target = &observed.plan.spec.target_release;
    let cluster = observed.cluster.as_ref().ok();
    let is_offered = cluster.and_then(|cluster| Some(cluster.offered.as_ref()?.contains(target)));
    UpdatePlanStatus {
        observed_generation: observed.plan.metadata.generation,
        base_version: age.base.clone(),
        base_request: age.request.clone(),
        phase: Some(phase),
        collecting_since: Some(Time(age.since)),
        collected_at: match phase {
            // That one informer is asked anew makes no answer of another newer.
            PlanPhase::Collecting | PlanPhase::Stale => was_collected,
            PlanPhase::Ready | PlanPhase::Failed => Some(was_collected.unwrap_or(Time(now))),
        },
        informers: parts
            .iter()
            .map(|(name, part)| PlanInformer {
                name: name.to_string(),
                state: part.state,
                last_attempt: part.last_attempt.clone(),
            })
            .collect(),
        offered: if is_offered == Some(true) {
            is_offered
        } else {
            previous.offered
        },
        conditions: conditions(previous.conditions, observed, phase, &judgement, now),
        counts: Some(judgement.counts),
        // Until everybody has answered, there is none.
        verdict: (phase != PlanPhase::Collecting).then_some(judgement.verdict),
        last_verdict: match phase {
            PlanPhase::Collecting => previous.last_verdict.or(previous.verdict),
            PlanPhase::Ready | PlanPhase::Failed | PlanPhase::Stale => Some(judgement.verdict),
        },
        ended_risks: ended.risks_in_words(),
        ended_insights: ended.insights_in_words(),
        ended_before: ended.before_in_words(),
        seen_risks: ended.seen().to_vec(),
        reasons: judgement.reasons,
    }
}

fn phase(parts: &BTreeMap<InformerName, UpdatePlanInsightStatus>) -> PlanPhase {
    let is_any = |states: &[InformerState]| parts.values().any(|part| states.contains(&part.state));
    if is_any(&[InformerState::Pending, InformerState::Waiting]) {
        PlanPhase::Collecting
    } else if is_any(&[InformerState::Failure, InformerState::Unavailable]) {
        PlanPhase::Failed
    } else {
        PlanPhase::Ready
    }
}

fn conditions(
    mut conditions: Vec<Condition>,
    observed: &Observed<'_>,
    phase: PlanPhase,
    judgement: &Judgement,
    now: Timestamp,
) -> Vec<Condition> {
    let unaccepted = judgement.counts.unaccepted;
    let populated = match phase {
        PlanPhase::Ready => (TRUE, "AsExpected", "every informer has answered".to_owned()),
        PlanPhase::Failed => {
            let message =
                "every informer has answered or was given up: status.informers says which".to_owned();
            (TRUE, "InformersFailed", message)
        }
        PlanPhase::Collecting | PlanPhase::Stale => {
            (FALSE, "Collecting", "informers are still being asked".to_owned())
        }
    };
    let accepted = match unaccepted {
        0 => (
            TRUE,
            "AsExpected",
            "nothing is left that has to be accepted".to_owned(),
        ),
        _ => (FALSE, "RisksNotAccepted", judgement.unaccepted()),
    };
    let startable = match (&observed.cluster, judgement.verdict) {
        (Err(why), _) => (FALSE, "CannotDetermine", format!("ClusterVersion: {why}")),
        (Ok(_), Verdict::Stop) if populated.0 == FALSE => populated.clone(),
        (Ok(_), Verdict::Stop) => accepted.clone(),
        (Ok(_), Verdict::Caution) => (
            TRUE,
            "Caution",
            "what was found is accepted or ignored".to_owned(),
        ),
        (Ok(_), Verdict::Go) => (TRUE, "AsExpected", "nothing speaks against the update".to_owned()),
    };
    let said = [
        (condition::POPULATED, populated),
        (condition::ACCEPTED, accepted),
        (condition::STARTABLE, startable),
    ];
    for (type_, (status, reason, message)) in said {
        let wanted = DesiredCondition {
            type_,
            status,
            reason,
            message: &message,
            observed_generation: observed.plan.metadata.generation,
        };
        set(&mut conditions, &wanted, now);
    }
    conditions
}
