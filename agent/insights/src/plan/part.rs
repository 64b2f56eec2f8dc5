//! One informer's part of a plan.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{
    InformerState, Insight, Level, MAX_INSIGHTS, PlanInsight, UpdatePlanInsightStatus,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::acceptance::{acceptance_of, accepted, next_expiry, next_expiry_on_plan};
use super::ended::{EndedAcceptances, ended_in_part, ended_on_plan};
use super::lifecycle::Age;
use super::{Asked, Observed, PlanInformerFacts};
use crate::built_in::BuiltIn;
use crate::finding::worst_first;
use crate::hooks::Answer;
use crate::identity;
use crate::merge::{
    Attempt, GRACE, InformerRecord, Stage, end_of_grace, is_own, is_truncation, merge, truncated,
};
use crate::update_status::{settle, settle_insight, size};

/// After how long an informer is asked again that says Wait (insights.md, section 1.3).
const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(5);
/// After how long one is asked again that gave no answer.
const RETRY: SignedDuration = SignedDuration::from_mins(5);
/// The most bytes that the findings of one part take as JSON.
const BYTES: usize = 512 << 10;
/// The most bytes that those of all informers take that are not the agent's own.
const BYTES_OF_OTHERS: usize = 1 << 20;

/// The bytes that are kept free for what says that findings are left out.
const NOTICE: usize = 1 << 10;

/// A part as it should be.
pub(super) struct Part {
    pub status: UpdatePlanInsightStatus,
    /// Is the informer to be asked now?
    pub is_due: bool,
    /// When something may have to be done.
    pub wakes: Vec<Timestamp>,
}

pub(super) fn part(
    observed: &Observed<'_>,
    informer: &PlanInformerFacts,
    asked: Option<&Asked>,
    age: &Age,
    ended: &EndedAcceptances,
    now: Timestamp,
) -> Part {
    let object = observed.parts.get(&informer.name).copied();
    let known = object.and_then(|object| object.status.as_ref());
    let mut record = known.map(|known| record(known, now)).unwrap_or_default();
    let mut last_attempt = record.last_attempt;
    let mut edition = known.and_then(|known| known.informer_edition.clone());
    if !informer.is_enabled {
        // What it has found holds nothing and is kept: who switches it on again, or makes it anew, has not resolved it, and it may not answer.
        (record.state, record.message) = (InformerState::Disabled, None);
    } else if let Some(asked) = asked.filter(|asked| Some(asked.at) > last_attempt && asked.at >= age.since) {
        record = merged(
            informer,
            &record,
            &within_cap(&asked.attempt, age, asked.at),
            asked.at,
        );
        last_attempt = Some(asked.at);
        edition.clone_from(&informer.edition);
    }
    // Who has been edited may answer something else, or what holds an update where it does not answer may be another by now. An older definition
    // of the kind keeps no edition.
    let is_same = edition.is_none() || edition == informer.edition;
    let is_current = is_same && last_attempt.is_some_and(|attempt| attempt >= age.since);
    let due = if informer.is_enabled {
        due(&record, is_current, last_attempt, now)
    } else {
        None
    };
    let state = match record.state {
        // It has been switched on again, and has not answered yet.
        InformerState::Disabled if informer.is_enabled => InformerState::Pending,
        InformerState::Disabled => InformerState::Disabled,
        _ if !is_current => InformerState::Pending,
        state => state,
    };
    let mut status = UpdatePlanInsightStatus {
        plan_uid: observed.plan.metadata.uid.clone(),
        plan_generation: observed.plan.metadata.generation,
        informer_edition: edition,
        state,
        message: record.message.clone(),
        last_attempt: last_attempt.map(Time),
        last_success: record.last_success.map(Time),
        dropped: None,
        insights: Vec::new(),
    };
    fill(&mut status, informer, &record, observed, ended, now);
    if let Some(known) = known {
        settle_part(known, &mut status);
    }
    let accepted = object
        .map(|object| accepted(observed.plan, object))
        .unwrap_or_default();
    let on_plan = &observed.plan.spec.accepted_risks;
    let wakes = [due, next_expiry(accepted, now), next_expiry_on_plan(on_plan, now)];
    Part {
        status,
        is_due: due.is_some_and(|due| due <= now),
        wakes: wakes.into_iter().flatten().collect(),
    }
}

fn merged(
    informer: &PlanInformerFacts,
    record: &InformerRecord,
    attempt: &Attempt,
    at: Timestamp,
) -> InformerRecord {
    merge(
        &informer.name,
        record,
        attempt,
        informer.failure_policy,
        Stage::Open,
        at,
    )
}

/// Who is waited for too long counts as unavailable.
fn within_cap(attempt: &Attempt, age: &Age, at: Timestamp) -> Attempt {
    match attempt {
        Attempt::Answered(Answer::Wait { message }) if at >= age.cap() => {
            Attempt::Unavailable(format!("it has been looking for two minutes: {message}"))
        }
        attempt => attempt.clone(),
    }
}

/// When the informer has to be asked next.
fn due(
    record: &InformerRecord,
    is_current: bool,
    last_attempt: Option<Timestamp>,
    now: Timestamp,
) -> Option<Timestamp> {
    let Some(last) = last_attempt.filter(|_| is_current) else {
        return Some(now);
    };
    let pause = match record.state {
        InformerState::Pending => return Some(now),
        InformerState::Waiting => ASK_AGAIN,
        InformerState::Failure | InformerState::Unavailable => RETRY,
        // What is missing from an answer is missing for good only if it is missing again.
        InformerState::Success | InformerState::NotImplemented => {
            let end = end_of_grace(record)?;
            return Some(end.max(last.saturating_add(GRACE).unwrap_or(Timestamp::MAX)));
        }
        // It has been switched on again.
        InformerState::Disabled => return Some(now),
    };
    last.checked_add(pause).ok()
}

/// The findings, as many as fit in, with what their acceptance comes to.
fn fill(
    status: &mut UpdatePlanInsightStatus,
    informer: &PlanInformerFacts,
    record: &InformerRecord,
    observed: &Observed<'_>,
    ended: &EndedAcceptances,
    now: Timestamp,
) {
    let object = observed.parts.get(&informer.name).copied();
    let (mut insights, dropped) = bounded(informer, record, share(observed, informer), now);
    worst_first(&mut insights);
    status.dropped = (dropped > 0).then_some(dropped as i64);
    let accepted = object.map(|object| accepted(observed.plan, object));
    let accepted = accepted.unwrap_or_default();
    let before = object.and_then(|object| object.status.as_ref());
    let known = before.iter().flat_map(|status| &status.insights);
    let known: BTreeMap<&str, &PlanInsight> =
        known.map(|known| (known.insight.uuid.as_str(), known)).collect();
    status.insights = insights
        .into_iter()
        .map(|insight| {
            let known = known.get(insight.uuid.as_str()).copied();
            let ended_acceptance = ended_in_part(accepted, &informer.name, &insight, ended);
            PlanInsight {
                acceptance: acceptance_of(observed.plan, object, &informer.name, &insight, ended, now),
                ended_risks: ended_on_plan(ended.seen(), &informer.name, &insight, known),
                raised_at: raised_at(known, ended_acceptance.as_ref(), now),
                ended_acceptance,
                insight,
            }
        })
        .collect();
    // One ends as a whole: each is said once, however many findings there are that it has covered.
    let mut said = BTreeSet::new();
    for found in &mut status.insights {
        found.ended_risks.retain(|id| said.insert(id.clone()));
    }
}

/// When a finding last became worse than was accepted: now, if its acceptance was not known to have ended.
fn raised_at(known: Option<&PlanInsight>, ended: Option<&String>, now: Timestamp) -> Option<Time> {
    let before = known.and_then(|known| known.ended_acceptance.as_ref());
    match ended {
        Some(_) if ended != before => Some(Time(now)),
        _ => known?.raised_at.clone(),
    }
}

/// How many bytes the findings of an informer may take: the more others there are, the less.
fn share(observed: &Observed<'_>, informer: &PlanInformerFacts) -> usize {
    let is_own = |name| BuiltIn::of(name).is_some();
    if is_own(&informer.name) {
        return BYTES;
    }
    let others = observed
        .informers
        .iter()
        .filter(|informer| !is_own(&informer.name));
    BYTES.min(BYTES_OF_OTHERS / others.count().max(1))
}

/// What fits in, and how much does not. What says so is another finding whenever it is about others: nobody has accepted what was
/// never shown.
fn bounded(
    informer: &PlanInformerFacts,
    record: &InformerRecord,
    bytes: usize,
    now: Timestamp,
) -> (Vec<Insight>, usize) {
    // What says that findings are left out has a place of its own, so that it is never left out itself.
    let found = || record.insights.iter().filter(|insight| !is_truncation(insight));
    let is_all = found().map(size).sum::<usize>() <= bytes;
    let mut left = if is_all {
        bytes
    } else {
        bytes.saturating_sub(NOTICE)
    };
    let mut kept: Vec<_> = record
        .insights
        .iter()
        .filter(|insight| is_truncation(insight))
        .cloned()
        .collect();
    let mut out = Vec::new();
    for insight in found() {
        let size = size(insight);
        if size <= left && out.is_empty() {
            left -= size;
            kept.push(insight.clone());
        } else {
            out.push(insight);
        }
    }
    let dropped = out.iter().filter(|insight| !is_own(insight)).count() + record.dropped;
    if out.is_empty() && (record.dropped == 0 || kept.iter().any(is_truncation)) {
        return (kept, dropped);
    }
    let level = out
        .iter()
        .map(|insight| insight.impact.level)
        .max()
        .unwrap_or(Level::Unknown);
    let uuids: Vec<_> = out.iter().map(|insight| insight.uuid.as_str()).collect();
    let which = identity::digest(&format!("{} {}", uuids.join(" "), record.dropped));
    let which: String = which.chars().take(16).collect();
    kept.retain(|insight| !is_truncation(insight));
    kept.truncate(MAX_INSIGHTS - 1);
    kept.push(truncated(&informer.name, dropped, level, Some(&which), now).insight(&informer.name, now));
    (kept, dropped)
}

/// What is known from before. What was asked in the future, by a clock that has been set back since, was asked at no time.
fn record(status: &UpdatePlanInsightStatus, now: Timestamp) -> InformerRecord {
    let time = |time: &Option<Time>| time.as_ref().map(|time| time.0).filter(|time| *time <= now);
    InformerRecord {
        state: status.state,
        message: status.message.clone(),
        last_attempt: time(&status.last_attempt),
        last_success: time(&status.last_success),
        insights: status
            .insights
            .iter()
            .map(|found| found.insight.clone())
            .collect(),
        dropped: status
            .dropped
            .and_then(|dropped| usize::try_from(dropped).ok())
            .unwrap_or_default(),
    }
}

/// Takes the times as they were, where they are about as good. When it was asked decides who is asked next, and stays exact.
fn settle_part(known: &UpdatePlanInsightStatus, status: &mut UpdatePlanInsightStatus) {
    for found in &mut status.insights {
        let before = known
            .insights
            .iter()
            .find(|before| before.insight.uuid == found.insight.uuid);
        if let Some(before) = before {
            settle_insight(&before.insight, &mut found.insight);
        }
    }
    settle(known.last_success.as_ref(), &mut status.last_success);
}
