//! What an agent says of a planned update (UpdatePlan): whether something would go wrong, which passes, or not yet.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::{ClusterTimeline, Id, Timer, UPDATE_PLAN};
use kube_sandbox::object;

/// How long an agent takes to ask its informers.
const ANSWERS: Duration = Duration::from_secs(40);
/// Of a hundred findings, how many need an administrator.
const ERRORS: u64 = 40;

/// What may be found: a budget that allows no eviction.
pub mod finding {
    /// Its uuid.
    pub const UUID: &str = "0123456789abcdef0123456789abcdef";
    /// Who reports it.
    pub const INFORMER: &str = "drydock.disruption-budgets";
    /// What it is to who reports it.
    pub const UID: &str = "pdb-shop-database";
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlanLevel {
    /// Transient.
    Warning,
    /// An administrator is needed.
    Error,
}

impl PlanLevel {
    fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "Warning",
            Self::Error => "Error",
        }
    }

    /// Whether an accepted risk covers it that names this level, or none.
    pub fn is_covered_by(self, accepted: Option<&str>) -> bool {
        match accepted {
            Some("Critical" | "Error") => true,
            Some("Unknown") => false,
            _ => self == Self::Warning,
        }
    }
}

/// What an agent has said of a version, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAnswer {
    /// When.
    pub at: Timestamp,
    /// Of which version.
    pub version: String,
    /// What it has found.
    pub found: Option<PlanLevel>,
    /// Nobody has accepted it.
    pub stops: bool,
}

/// A plan was applied: the agent answers what it has not answered yet.
pub(super) fn consider(cluster: &mut ClusterTimeline) {
    let plans = cluster.objects.iter().filter(|(id, _)| id.0 == UPDATE_PLAN);
    let asked =
        plans.filter(|(_, plan)| plan["status"]["observedGeneration"] != plan["metadata"]["generation"]);
    let asked: Vec<(Id, i64)> = asked
        .map(|(id, plan)| (id.clone(), object::generation(plan)))
        .collect();
    for (id, generation) in asked {
        cluster.after(ANSWERS, Timer::Answers(id, generation));
    }
}

/// The agent answers.
pub(super) fn answer(cluster: &mut ClusterTimeline, id: &Id, generation: i64, now: Timestamp) {
    let found = cluster.finds(ERRORS);
    let plan = cluster.objects.get(id);
    let is_asked = plan.is_some_and(|plan| {
        object::generation(plan) == generation && plan["status"]["observedGeneration"] != generation
    });
    if is_asked {
        judge(cluster, id, found, now);
    }
}

/// The time of an acceptance is over: the agent judges what it had found once more.
pub(super) fn expire(cluster: &mut ClusterTimeline, id: &Id, generation: i64, now: Timestamp) {
    let Some(plan) = cluster.objects.get(id) else {
        return;
    };
    if plan["status"]["observedGeneration"] != generation {
        return;
    }
    let found = match plan["status"]["reasons"][0]["level"].as_str() {
        Some("Error") => Some(PlanLevel::Error),
        Some(_) => Some(PlanLevel::Warning),
        None => None,
    };
    judge(cluster, id, found, now);
}

/// Says what is found, and whether somebody has accepted it.
fn judge(cluster: &mut ClusterTimeline, id: &Id, found: Option<PlanLevel>, now: Timestamp) {
    let Some(plan) = cluster.objects.get_mut(id) else {
        return;
    };
    let generation = object::generation(plan);
    let risks = object::list(&plan["spec"]["acceptedRisks"]);
    let until = |risk: &Value| {
        risk["until"]
            .as_str()
            .and_then(|until| until.parse::<Timestamp>().ok())
    };
    let is_about = |risk: &&Value| {
        risk["uuid"] == finding::UUID || risk["informer"] == finding::INFORMER && risk["uid"] == finding::UID
    };
    let is_covering = |risk: &&Value| found.is_some_and(|level| level.is_covered_by(risk["level"].as_str()));
    let about = risks.iter().filter(is_about);
    let lasting = about
        .clone()
        .filter(|risk| until(risk).is_none_or(|until| now < until));
    let covering = lasting
        .clone()
        .filter(is_covering)
        .filter(|risk| risk["ended"] != true);
    let ends = covering.clone().map(until).collect::<Option<Vec<_>>>();
    let is_accepted = covering.count() > 0;
    let acceptance = match (is_accepted, lasting.count(), about.count()) {
        (true, ..) => Some("Accepted"),
        (false, 1.., _) => Some("LevelRaised"),
        (false, 0, 1..) => Some("Expired"),
        (false, 0, 0) => None,
    };
    let stops = found.is_some() && !is_accepted;
    let reasons = found.iter().map(|level| {
        json!({
            "uuid": finding::UUID, "informer": finding::INFORMER, "uid": finding::UID, "level": level.as_str(),
            "summary": "budget shop/database allows no eviction", "type": "Update Stalled",
            "action": "raise the number of replicas", "acceptance": acceptance,
        })
    });
    let verdict = match (stops, found) {
        (true, _) => "Stop",
        (false, Some(_)) => "Caution",
        (false, None) => "Go",
    };
    plan["status"] = json!({
        "observedGeneration": generation, "collectedAt": now.to_string(), "verdict": verdict,
        "counts": {"unaccepted": u8::from(stops)}, "reasons": reasons.collect::<Vec<Value>>(),
    });
    let version = plan["spec"]["targetRelease"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    cluster.answers.push(PlanAnswer {
        at: now,
        version,
        found,
        stops,
    });
    // Where all acceptances end, the last of them says when.
    if let Some(last) = ends.and_then(|ends| ends.into_iter().max()) {
        let wait = now.duration_until(last);
        let wait = Duration::try_from(wait).unwrap_or_default() + Duration::from_secs(1);
        cluster.after(wait, Timer::Expires(id.clone(), generation));
    }
}
