//! What an agent says of a planned update (UpdatePlan): whether something would go wrong, which passes, or not yet.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::{ClusterTimeline, Id, Timer, UPDATE_PLAN};
use kube_sandbox::object;

/// How long an agent takes to ask its informers.
const ANSWERS: Duration = Duration::from_secs(40);
/// What may be found: a budget that allows no eviction.
const FINDING: &str = "0123456789abcdef0123456789abcdef";

/// What an agent has said of a version, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanAnswer {
    /// When.
    pub at: Timestamp,
    /// Of which version.
    pub version: String,
    /// Something is found that nobody has accepted.
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
    let is_found = cluster.finds();
    let Some(plan) = cluster.objects.get_mut(id) else {
        return;
    };
    if object::generation(plan) != generation || plan["status"]["observedGeneration"] == generation {
        return;
    }
    let risks = object::list(&plan["spec"]["acceptedRisks"]);
    let is_accepted = risks.iter().any(|risk| risk["uuid"] == FINDING);
    let stops = is_found && !is_accepted;
    let found = is_found.then(|| {
        json!({
            "uuid": FINDING, "informer": "drydock.disruption-budgets", "level": "Warning",
            "summary": "budget shop/database allows no eviction", "accepted": is_accepted,
        })
    });
    let verdict = match (stops, is_found) {
        (true, _) => "Stop",
        (false, true) => "Caution",
        (false, false) => "Go",
    };
    plan["status"] = json!({
        "observedGeneration": generation, "collectedAt": now.to_string(), "verdict": verdict,
        "counts": {"unaccepted": u8::from(stops)}, "reasons": found.into_iter().collect::<Vec<Value>>(),
    });
    let version = plan["spec"]["targetRelease"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    cluster.answers.push(PlanAnswer {
        at: now,
        version,
        stops,
    });
}
