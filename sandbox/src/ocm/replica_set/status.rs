//! What a ManifestWorkReplicaSet says of its works (fleet reference 1.7).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::condition::{self, Condition, Status};
use super::super::object;
use super::plan::Observed;
use super::standing::{Standing, State};

const VERIFIED: &str = "PlacementVerified";
const ROLLED_OUT: &str = "PlacementRolledOut";
const APPLIED: &str = "ManifestworkApplied";

/// How many works there are, and of how many a condition is True.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Summary {
    total: usize,
    applied: usize,
    available: usize,
    degraded: usize,
    progressing: usize,
}

impl Summary {
    fn count(&mut self, work: &Value) {
        let conditions = condition::parse(&work["status"]["conditions"]);
        for (kind, counter) in [
            ("Applied", &mut self.applied),
            ("Available", &mut self.available),
            ("Degraded", &mut self.degraded),
            ("Progressing", &mut self.progressing),
        ] {
            *counter += usize::from(condition::is_true(&conditions, kind));
        }
    }

    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.applied += other.applied;
        self.available += other.available;
        self.degraded += other.degraded;
        self.progressing += other.progressing;
    }

    /// `desiredTotal` and `updated` are there and never counted.
    fn value(self) -> Value {
        json!({
            "total": self.total, "applied": self.applied, "available": self.available,
            "degraded": self.degraded, "progressing": self.progressing, "desiredTotal": 0, "updated": 0,
        })
    }

    fn reason(self) -> &'static str {
        if self.available == self.total && self.progressing == 0 && self.degraded == 0 {
            "AsExpected"
        } else if self.progressing > 0 && self.degraded == 0 {
            "Processing"
        } else {
            "NotAsExpected"
        }
    }
}

/// A condition that is True for one reason only.
fn verdict(kind: &str, reason: &str, good: &str) -> Condition {
    let status = if reason == good {
        Status::True
    } else {
        Status::False
    };
    Condition::new(kind, status, reason, "")
}

/// The status of a set whose Placement does not exist: nothing else of it changes.
pub fn without_placement(set: &Value, now: Timestamp) -> Value {
    let mut status = set["status"].clone();
    let condition = verdict(VERIFIED, "PlacementDecisionNotFound", "AsExpected");
    status["conditions"] = with_conditions(set, [condition], now);
    status
}

/// The status of a set, once its works are written. What could not be written is not there: a set none of whose works
/// could be says that its Placement selects nothing, as the real one does.
pub fn status(observed: &Observed, set: &Value, now: Timestamp) -> Value {
    let namespace = object::namespace(set);
    let mut all = Summary::default();
    let (mut selected, mut succeeded) = (0, 0);
    let mut placements = Vec::new();
    for reference in object::list(&set["spec"]["placementRefs"]) {
        let name = reference["name"].as_str().unwrap_or_default();
        let Some(placement) = observed.placements.get(&(namespace.to_owned(), name.to_owned())) else {
            continue;
        };
        let clusters = observed.selected(namespace, name);
        let mut summary = Summary::default();
        for work in observed.current_works(set, name) {
            if !clusters.contains(object::namespace(work)) {
                continue;
            }
            summary.total += 1;
            succeeded += usize::from(Standing::of(work).state == State::Succeeded);
            if !object::is_deleting(work) {
                summary.count(work);
            }
        }
        let says = &placement["status"];
        let says_selected = says["numberOfSelectedClusters"].as_u64().unwrap_or_default();
        let groups = object::list(&says["decisionGroups"]).len();
        selected += says_selected;
        placements.push(json!({
            "name": name,
            "availableDecisionGroups": format!("{groups} ({} / {says_selected} clusters applied)", summary.total),
            "summary": summary.value(),
        }));
        all.add(summary);
    }
    let rolled_out = if selected == succeeded as u64 {
        "Complete"
    } else {
        "Progressing"
    };
    let (verified, applied) = if all.total == 0 {
        ("PlacementDecisionEmpty", "PlacementDecisionEmpty")
    } else {
        ("AsExpected", all.reason())
    };
    let conditions = [
        verdict(VERIFIED, verified, "AsExpected"),
        verdict(ROLLED_OUT, rolled_out, "Complete"),
        verdict(APPLIED, applied, "AsExpected"),
    ];
    json!({
        "conditions": with_conditions(set, conditions, now),
        "summary": all.value(),
        "placementSummary": placements,
    })
}

fn with_conditions(set: &Value, new: impl IntoIterator<Item = Condition>, now: Timestamp) -> Value {
    let mut conditions = condition::parse(&set["status"]["conditions"]);
    for condition in new {
        condition::set(&mut conditions, condition, now);
    }
    json!(conditions)
}
