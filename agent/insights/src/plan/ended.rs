//! Acceptances that have ended (insights.md, section 1.6): what one covered has become worse, and it accepts nothing any more, also when that is
//! better again. The plan's status keeps which, by ids: whatever is changed about an acceptance makes it another, and what is taken off and put
//! back as it was is the same. It ends also while it is off the plan, as in the turn of another upgrade that plans the same release.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{AcceptedInsight, Insight, PlanAcceptedRisk, PlanInsight, SeenRisk, UpdatePlan};

use super::acceptance::{covers, is_about};
use crate::identity;
use crate::informer_name::InformerName;

/// How many ids are kept of acceptances that are not on the plan any more.
const MOST_BEFORE: usize = 128;
/// How many acceptances are known that are on the plan, or were.
const MOST_SEEN: usize = 128;
/// How many are kept of those in UpdatePlanInsights, there or not.
const MOST_OF_INSIGHTS: usize = 1024;
/// How many letters tell one acceptance from another.
const DIGEST: usize = 16;

/// The acceptances that have ended, by their ids: one ends as a whole when a finding that it covered becomes worse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedAcceptances {
    /// Of the plan itself, those that are on it.
    risks: BTreeSet<String>,
    /// Of the plan itself, those that are not on it any more, those first that ended or were taken off last.
    before: Vec<String>,
    /// All of the plan itself, ended or not, that are on it, and then those that were.
    seen: Vec<SeenRisk>,
    /// Of UpdatePlanInsights, whether they are there or not.
    insights: BTreeSet<String>,
    /// The same, those first that ended last.
    last_first: Vec<String>,
}

impl EndedAcceptances {
    /// Those that are known to have ended: the plan says so, or one of its findings does. Those that have been changed are others.
    pub fn of<'a>(plan: &UpdatePlan, findings: impl Iterator<Item = &'a PlanInsight>) -> Self {
        let mut known: BTreeSet<&str> = said_of_risks(plan).collect();
        let mut ended_now = Vec::new();
        let said: Vec<&str> = said_of_insights(plan).collect();
        let mut insights: BTreeSet<String> = said.iter().map(|id| (*id).to_owned()).collect();
        let mut last_first = Vec::new();
        for found in findings {
            let ended = found.ended_risks.iter().map(String::as_str);
            ended_now.extend(ended.filter(|id| known.insert(id)));
            let id = found.ended_acceptance.as_ref();
            if let Some(id) = id.filter(|id| insights.insert((*id).clone())) {
                last_first.push(id.clone());
            }
        }
        last_first.extend(said.into_iter().map(str::to_owned));
        let risks = plan.spec.accepted_risks.iter();
        let on_plan: BTreeMap<String, bool> = risks
            .map(|risk| (id_of_risk(risk), risk.ended == Some(true)))
            .collect();
        let before = ended_now.into_iter().chain(said_of_risks(plan));
        let before = before.filter(|id| !on_plan.contains_key(*id)).map(str::to_owned);
        let before = before.take(MOST_BEFORE).collect();
        let risks = on_plan.into_iter();
        let risks = risks.filter(|(id, is_ended)| *is_ended || known.contains(id.as_str()));
        Self {
            risks: risks.map(|(id, _)| id).collect(),
            before,
            seen: seen(plan),
            insights,
            last_first,
        }
    }

    /// Those on the plan, as its status has them; nothing if there are none.
    pub fn risks_in_words(&self) -> Option<String> {
        in_words(self.risks.iter().map(String::as_str))
    }

    /// Those that are not on the plan any more, as its status has it; nothing if there are none.
    pub fn before_in_words(&self) -> Option<String> {
        in_words(self.before.iter().map(String::as_str))
    }

    /// The acceptances on the plan, and those that were there before, as its status has them.
    pub fn seen(&self) -> &[SeenRisk] {
        &self.seen
    }

    /// Those of UpdatePlanInsights, as the plan's status has them: those first that ended last, so many are kept.
    pub fn insights_in_words(&self) -> Option<String> {
        in_words(self.last_first.iter().map(String::as_str).take(MOST_OF_INSIGHTS))
    }

    pub(crate) fn has_risk(&self, risk: &PlanAcceptedRisk) -> bool {
        self.risks.contains(&id_of_risk(risk))
    }

    pub(super) fn has_insight(&self, informer: &InformerName, accepted: &AcceptedInsight) -> bool {
        !self.insights.is_empty() && self.insights.contains(&id_in_part(informer, accepted))
    }
}

fn in_words<'a>(ids: impl Iterator<Item = &'a str>) -> Option<String> {
    let ids: Vec<&str> = ids.collect();
    (!ids.is_empty()).then(|| ids.join(" "))
}

/// Whether an acceptance has ended for a finding while it was off the plan, and nobody has said so yet. `known` are all findings as they were.
pub(super) fn has_ended_off_plan<'a>(
    plan: &UpdatePlan,
    found: &PlanInsight,
    known: impl Iterator<Item = &'a PlanInsight>,
) -> bool {
    if found.ended_risks.is_empty() {
        return false;
    }
    let mut is_said: BTreeSet<&str> = said_of_risks(plan).collect();
    is_said.extend(known.flat_map(|known| &known.ended_risks).map(String::as_str));
    let on_plan: Vec<String> = plan.spec.accepted_risks.iter().map(id_of_risk).collect();
    let mut ended = found.ended_risks.iter();
    ended.any(|id| !is_said.contains(id.as_str()) && !on_plan.contains(id))
}

/// The ids of acceptances on the plan itself that its status says have ended: those on the plan first.
fn said_of_risks(plan: &UpdatePlan) -> impl Iterator<Item = &str> {
    let status = plan.status.iter();
    let said = status.flat_map(|status| [&status.ended_risks, &status.ended_before]);
    said.flatten().flat_map(|ids| ids.split_whitespace())
}

/// The ids of acceptances in UpdatePlanInsights that its status says have ended.
fn said_of_insights(plan: &UpdatePlan) -> impl Iterator<Item = &str> {
    let said = plan
        .status
        .iter()
        .filter_map(|status| status.ended_insights.as_ref());
    said.flat_map(|ids| ids.split_whitespace())
}

/// The acceptances on the plan, and the last of those that were there before.
pub(super) fn seen(plan: &UpdatePlan) -> Vec<SeenRisk> {
    let mut known = BTreeSet::new();
    let on_plan = plan.spec.accepted_risks.iter().map(|risk| SeenRisk {
        id: id_of_risk(risk),
        uuid: risk.uuid.clone(),
        informer: risk.informer.clone(),
        uid: risk.uid.clone(),
        level: risk.level,
    });
    let before = plan
        .status
        .iter()
        .flat_map(|status| status.seen_risks.iter().cloned());
    let all = on_plan.chain(before);
    all.filter(|risk| known.insert(risk.id.clone()))
        .take(MOST_SEEN)
        .collect()
}

/// The ids of the acceptances, on the plan or there before, that have ended for a finding: those of before, and those that do not cover it now,
/// unless it was known to be as bad when it was asked the last time. What it was before nobody knows that has not seen it.
pub(super) fn ended_on_plan(
    seen: &[SeenRisk],
    informer: &InformerName,
    insight: &Insight,
    known: Option<&PlanInsight>,
) -> Vec<String> {
    let has_ended = |risk: &SeenRisk| known.is_some_and(|known| known.ended_risks.contains(&risk.id));
    let is_worse = |risk: &SeenRisk| {
        let covered = known.is_none_or(|known| covers(risk.level, known.insight.impact.level));
        covered && !covers(risk.level, insight.impact.level)
    };
    let about = seen
        .iter()
        .filter(|risk| is_about([&risk.uuid, &risk.informer, &risk.uid], informer, insight));
    let ended = about.filter(|risk| is_worse(risk) || has_ended(risk));
    ended.map(|risk| risk.id.clone()).collect()
}

/// The id of the acceptance of a finding in its informer's part, if that has ended: what is there is worse than was accepted, or has been. There
/// is one of a finding in a part.
pub(super) fn ended_in_part(
    accepted: &[AcceptedInsight],
    informer: &InformerName,
    insight: &Insight,
    ended: &EndedAcceptances,
) -> Option<String> {
    let mut about = accepted.iter().filter(|accepted| accepted.uuid == insight.uuid);
    // Also one whose time is over, or is still to come: until when, and from when on it counts can be changed.
    let has_ended = |accepted: &&AcceptedInsight| {
        !covers(accepted.level, insight.impact.level) || ended.has_insight(informer, accepted)
    };
    about
        .find(has_ended)
        .map(|accepted| id_in_part(informer, accepted))
}

/// The short name of an acceptance on the plan: any other has another. Until when it is meant to count makes no other of it.
fn id_of_risk(risk: &PlanAcceptedRisk) -> String {
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
        until: _,
    } = risk;
    let accepted_at = accepted_at.as_ref().map(|time| time.0);
    let reason = given(reason.as_deref());
    id(&format!(
        "{uuid:?} {informer:?} {uid:?} {level:?} {accepted_by:?} {reason:?} {accepted_at:?}"
    ))
}

/// The short name of an acceptance in an informer's part: any other has another. Until when it is meant to count makes no other of it.
fn id_in_part(informer: &InformerName, accepted: &AcceptedInsight) -> String {
    let AcceptedInsight {
        uuid,
        level,
        accepted_by,
        accepted_at,
        reason,
        until: _,
    } = accepted;
    let (informer, accepted_at) = (informer.as_str(), accepted_at.0);
    let reason = given(reason.as_deref());
    id(&format!(
        "{informer:?} {uuid:?} {level:?} {accepted_by:?} {reason:?} {accepted_at:?}"
    ))
}

/// What is empty is not given: some tools leave it out when they write an object back.
fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

fn id(text: &str) -> String {
    identity::digest(text).chars().take(DIGEST).collect()
}
