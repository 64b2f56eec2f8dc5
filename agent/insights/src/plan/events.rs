//! What is said about a plan, once.

use std::collections::BTreeMap;

use drydock_api::insights::{
    AcceptanceState, InformerState, NOT_ACCEPTED, UpdatePlanInsightStatus, UpdatePlanStatus, Verdict,
};

use super::ended::has_ended_off_plan;
use super::{Observed, known_findings};
use crate::informer_name::InformerName;

/// Something that has happened to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanEvent {
    /// The acceptance of a finding counts no more.
    AcceptanceEnded {
        /// Who reports the finding.
        informer: InformerName,
        /// The finding's headline.
        summary: String,
        /// Why.
        why: AcceptanceState,
    },
    /// The verdict is another.
    Verdict {
        /// What it is now.
        verdict: Verdict,
        /// How many findings hold the update.
        unaccepted: i64,
    },
}

impl PlanEvent {
    /// Why, as one CamelCase word.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::AcceptanceEnded { .. } => "RiskNoLongerAccepted",
            Self::Verdict { .. } => "PlanJudged",
        }
    }

    /// Is it something to look at?
    pub fn is_warning(&self) -> bool {
        match self {
            Self::AcceptanceEnded { .. } => true,
            Self::Verdict { verdict, .. } => *verdict == Verdict::Stop,
        }
    }

    /// What has happened, in words.
    pub fn note(&self) -> String {
        match self {
            Self::AcceptanceEnded {
                informer,
                summary,
                why,
            } => {
                let why = match why {
                    AcceptanceState::Expired => "the time for which it was accepted is over",
                    AcceptanceState::LevelRaised => "it has become worse",
                    AcceptanceState::Accepted => "it is accepted",
                };
                format!("a finding of {informer} has to be accepted anew, {why}: {summary}")
            }
            Self::Verdict { verdict, unaccepted } => {
                let verdict = verdict.as_str();
                format!("the verdict is {verdict}; {NOT_ACCEPTED}: {unaccepted}")
            }
        }
    }
}

pub(super) fn events(
    observed: &Observed<'_>,
    parts: &BTreeMap<InformerName, UpdatePlanInsightStatus>,
    status: &UpdatePlanStatus,
) -> Vec<PlanEvent> {
    let mut events = Vec::new();
    for (name, part) in parts {
        events.extend(of_part(observed, name, part));
    }
    let before = observed.plan.status.as_ref();
    let before = before.and_then(|status| status.verdict.or(status.last_verdict));
    if let Some(verdict) = status.verdict
        && before != Some(verdict)
    {
        events.push(PlanEvent::Verdict {
            verdict,
            unaccepted: status.counts.as_ref().map_or(0, |counts| counts.unaccepted),
        });
    }
    events
}

/// What has happened to the acceptances of one informer's findings.
pub(super) fn of_part(
    observed: &Observed<'_>,
    name: &InformerName,
    part: &UpdatePlanInsightStatus,
) -> Vec<PlanEvent> {
    if part.state == InformerState::Disabled {
        return Vec::new();
    }
    let known = observed.parts.get(name).and_then(|part| part.status.as_ref());
    let state_before = |uuid: &str| {
        let mut known = known?.insights.iter();
        known.find(|before| before.insight.uuid == uuid)?.acceptance
    };
    let mut events = Vec::new();
    for found in &part.insights {
        let was_accepted = state_before(&found.insight.uuid) == Some(AcceptanceState::Accepted);
        let lost = found
            .acceptance
            .filter(|why| was_accepted && *why != AcceptanceState::Accepted);
        let off_plan = || {
            has_ended_off_plan(observed.plan, found, known_findings(observed))
                .then_some(AcceptanceState::LevelRaised)
        };
        if let Some(why) = lost.or_else(off_plan) {
            events.push(PlanEvent::AcceptanceEnded {
                informer: name.clone(),
                summary: found.insight.impact.summary.clone(),
                why,
            });
        }
    }
    events
}
