//! The findings of all informers, as they are shown.

use std::collections::BTreeMap;

use drydock_api::insights::{AcceptanceState, InformerState, Insight};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::CheckedPart;
use crate::plan::acceptance::{covers, on_plan};
use crate::update_status::causes;

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
    follow(&mut findings);
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
    below_their_causes(findings)
}

/// Says of each finding what it follows from.
fn follow(findings: &mut [CheckedFinding]) {
    let known: Vec<_> = findings
        .iter()
        .map(|finding| (finding.informer.as_str(), &finding.insight))
        .collect();
    let causes = causes(&known);
    for finding in findings {
        finding.insight.caused_by = causes.get(&finding.insight.uuid).cloned();
    }
}

/// Each finding that follows from another one comes right after it, if both hold the update or neither does.
fn below_their_causes(findings: Vec<CheckedFinding>) -> Vec<CheckedFinding> {
    let place: BTreeMap<String, usize> = findings
        .iter()
        .enumerate()
        .map(|(index, finding)| (finding.insight.uuid.clone(), index))
        .collect();
    let group = |finding: &CheckedFinding| (finding.holds, finding.insight.impact.level.gates());
    let root = |index: usize| {
        let mut root = index;
        // A finding follows from an operator, and that from a node, and no further.
        for _ in 0..2 {
            let cause = findings[root].insight.caused_by.as_ref();
            let Some(next) = cause.and_then(|cause| place.get(cause)) else {
                break;
            };
            if group(&findings[*next]) != group(&findings[index]) {
                break;
            }
            root = *next;
        }
        root
    };
    let roots: Vec<usize> = (0..findings.len()).map(root).collect();
    let mut placed: Vec<_> = findings.into_iter().enumerate().collect();
    placed.sort_by_key(|(index, _)| (roots[*index], roots[*index] != *index, *index));
    placed.into_iter().map(|(_, finding)| finding).collect()
}

fn of_part<'a>(part: &'a CheckedPart<'_>) -> impl Iterator<Item = CheckedFinding> + 'a {
    part.insights.iter().map(|found| {
        let is_accepted = found.acceptance == Some(AcceptanceState::Accepted);
        let who = found.acceptance.and_then(|_| who(part, &found.insight));
        CheckedFinding {
            informer: part.name.to_string(),
            holds: found.insight.impact.level.gates() && !is_accepted,
            acceptance: found.acceptance.map(|state| CheckedAcceptance {
                state,
                accepted_by: who.as_ref().map(|who| who.accepted_by.to_owned()),
                reason: who.as_ref().and_then(|who| who.reason.cloned()),
                until: who.and_then(|who| who.until.cloned()),
            }),
            insight: found.insight.clone(),
        }
    })
}

/// Who accepts a finding, as it was written down.
struct Accepter<'a> {
    accepted_by: &'a str,
    reason: Option<&'a String>,
    until: Option<&'a Time>,
}

/// Who has accepted a finding: in the informer's part, where there is one entry for each finding, for the API server merges them by uuid;
/// else on the plan itself.
fn who<'a>(part: &CheckedPart<'a>, insight: &Insight) -> Option<Accepter<'a>> {
    let of_part = part.object.map(|object| object.spec.accepted_insights.as_slice());
    let mut of_part = of_part.unwrap_or_default().iter();
    let in_part = of_part
        .find(|accepted| accepted.uuid == insight.uuid)
        .map(|accepted| Accepter {
            accepted_by: &accepted.accepted_by,
            reason: accepted.reason.as_ref(),
            until: accepted.until.as_ref(),
        });
    in_part.or_else(|| {
        let about = on_plan(part.accepted_risks, &part.name, insight);
        // That which has not ended, covers it, and lasts longest: one that is over by now is not it.
        let risk = about.max_by_key(|risk| {
            let has_ended = part.ended.is_some_and(|ended| ended.has_risk(risk));
            let lasts = risk.until.as_ref().map_or(Timestamp::MAX, |until| until.0);
            (!has_ended, covers(risk.level, insight.impact.level), lasts)
        })?;
        Some(Accepter {
            accepted_by: &risk.accepted_by,
            reason: risk.reason.as_ref(),
            until: risk.until.as_ref(),
        })
    })
}
