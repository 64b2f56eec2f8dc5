//! The findings of all informers, as they are shown.

use drydock_api::insights::{AcceptanceState, AcceptedInsight, InformerState, Insight, UpdatePlanInsight};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::CheckedPart;

/// A finding, who reports it, and whether it is accepted.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedFinding {
    /// Who reports it.
    pub informer: String,
    /// The finding.
    #[serde(flatten)]
    pub insight: Insight,
    /// Does it hold the update?
    pub holds: bool,
    /// Its acceptance, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acceptance: Option<CheckedAcceptance>,
}

/// The acceptance of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedAcceptance {
    /// What it comes to.
    pub state: AcceptanceState,
    /// Who has accepted the finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Time>,
}

/// All findings: what holds the update, then what is accepted, then what needs no acceptance; the worst first.
pub(super) fn of_parts(parts: &[CheckedPart<'_>]) -> Vec<CheckedFinding> {
    let mut findings: Vec<_> = parts
        .iter()
        .filter(|part| part.state != InformerState::Disabled)
        .flat_map(of_part)
        .collect();
    findings.sort_by(|one, other| {
        let gates = |finding: &CheckedFinding| finding.insight.impact.level.gates();
        let (level, other_level) = (one.insight.impact.level, other.insight.impact.level);
        other
            .holds
            .cmp(&one.holds)
            .then_with(|| gates(other).cmp(&gates(one)))
            .then_with(|| other_level.cmp(&level))
            .then_with(|| one.informer.cmp(&other.informer))
            .then_with(|| one.insight.first_seen.cmp(&other.insight.first_seen))
            .then_with(|| one.insight.uuid.cmp(&other.insight.uuid))
    });
    findings
}

fn of_part<'a>(part: &'a CheckedPart<'_>) -> impl Iterator<Item = CheckedFinding> + 'a {
    part.insights.iter().map(|found| {
        let is_accepted = found.acceptance == Some(AcceptanceState::Accepted);
        let who = found
            .acceptance
            .and_then(|_| who(part.object?, &found.insight.uuid));
        CheckedFinding {
            informer: part.name.to_string(),
            holds: found.insight.impact.level.gates() && !is_accepted,
            acceptance: found.acceptance.map(|state| CheckedAcceptance {
                state,
                accepted_by: who.map(|who| who.accepted_by.clone()),
                reason: who.and_then(|who| who.reason.clone()),
                until: who.and_then(|who| who.until.clone()),
            }),
            insight: found.insight.clone(),
        }
    })
}

/// Who has accepted a finding. There is one entry for each finding: the API server merges them by uuid.
fn who<'a>(object: &'a UpdatePlanInsight, uuid: &str) -> Option<&'a AcceptedInsight> {
    let mut accepted = object.spec.accepted_insights.iter();
    accepted.find(|accepted| accepted.uuid == uuid)
}
