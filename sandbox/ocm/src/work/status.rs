//! What the status of a work should be, from what is on the spoke: pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    feedback, manifest,
    rules::{self, REASON_PREFIX},
    wire::{ManifestStatus, ResourceMeta, WorkStatus},
};
use kube_sandbox::{
    condition::{self, Condition, Status},
    object::Shared,
};

/// What a look at a manifest's resource found.
#[derive(Clone, Debug)]
pub enum ObservedResource {
    /// The object.
    Object(Shared),
    /// Nothing of that name.
    NotFound,
    /// The server did not answer.
    Failed(String),
}

/// How applying one manifest went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// It is as the manifest says, or nothing was to be done.
    Applied,
    /// It is not; `reason` is the condition's.
    Failed {
        /// Such as `AppliedManifestFailed`.
        reason: &'static str,
        /// The error.
        message: String,
    },
}

/// Sets `Available`, `StatusFeedbackSynced`, the values and the rules' conditions of each manifest, and their
/// aggregates. `seen` has one entry a manifest of the status.
pub fn observe(
    status: &mut WorkStatus,
    spec: &Value,
    generation: i64,
    seen: &[ObservedResource],
    now: Timestamp,
) {
    for (manifest, seen) in status.resource_status.manifests.iter_mut().zip(seen) {
        condition::set(
            &mut manifest.conditions,
            available(&manifest.resource_meta, seen),
            now,
        );
        if let (true, ObservedResource::Object(object)) = (manifest.resource_meta.is_complete(), seen) {
            observe_object(manifest, spec, generation, object, now);
        }
    }
    for aggregate in aggregate(&status.resource_status.manifests, generation) {
        condition::set(&mut status.conditions, aggregate, now);
    }
    prune(&mut status.conditions, generation);
}

fn available(meta: &ResourceMeta, seen: &ObservedResource) -> Condition {
    let (status, reason, message) = match seen {
        _ if !meta.is_complete() => (
            Status::Unknown,
            "IncompleteResourceMeta",
            "Resource meta is incomplete".to_owned(),
        ),
        ObservedResource::Object(_) => (
            Status::True,
            "ResourceAvailable",
            "Resource is available".to_owned(),
        ),
        ObservedResource::NotFound => (
            Status::False,
            "ResourceNotAvailable",
            "Resource is not available".to_owned(),
        ),
        ObservedResource::Failed(error) => (
            Status::Unknown,
            "FetchingResourceFailed",
            format!("Failed to fetch resource: {error}"),
        ),
    };
    Condition::new("Available", status, reason, message)
}

fn observe_object(
    manifest: &mut ManifestStatus,
    spec: &Value,
    generation: i64,
    object: &Value,
    now: Timestamp,
) {
    let configuration = manifest::configuration(spec, &manifest.resource_meta);
    let (values, synced) = feedback::read(object, configuration);
    // When values change the condition is removed and set again, which moves it to the end of the list.
    if values != manifest.status_feedback.values {
        manifest.conditions.retain(|present| present.kind != synced.kind);
    }
    condition::set(&mut manifest.conditions, synced, now);
    manifest.status_feedback.values = values;
    for computed in rules::evaluate(object, configuration) {
        condition::set(&mut manifest.conditions, computed.observed(generation), now);
    }
    prune(&mut manifest.conditions, generation);
}

/// Drops the conditions of rules that are gone: a rule's removal raises the generation.
fn prune(conditions: &mut Vec<Condition>, generation: i64) {
    conditions.retain(|condition| {
        !condition.reason.starts_with(REASON_PREFIX) || condition.observed_generation == generation
    });
}

#[derive(Default)]
struct Count {
    met: usize,
    fails: usize,
    unknown: usize,
    message: String,
}

/// `Available` of the whole work, and one condition for each type that rules computed, sorted by type.
fn aggregate(manifests: &[ManifestStatus], generation: i64) -> Vec<Condition> {
    let mut counts: BTreeMap<&str, Count> = BTreeMap::from([("Available", Count::default())]);
    for condition in manifests.iter().flat_map(|manifest| &manifest.conditions) {
        if condition.kind != "Available" && !condition.reason.starts_with(REASON_PREFIX) {
            continue;
        }
        let count = counts.entry(&condition.kind).or_default();
        match condition.status {
            Status::True => count.met += 1,
            Status::False => count.fails += 1,
            Status::Unknown => count.unknown += 1,
        }
        if !condition.message.is_empty() {
            count.message.clone_from(&condition.message);
        }
    }
    counts
        .into_iter()
        .map(|(kind, count)| match kind {
            "Available" => aggregate_available(&count, manifests.len()),
            _ => aggregate_rules(kind, count),
        })
        .map(|condition| condition.observed(generation))
        .collect()
}

fn aggregate_available(count: &Count, total: usize) -> Condition {
    let (status, reason, message) = if count.fails > 0 {
        (
            Status::False,
            "ResourcesNotAvailable",
            format!("{} of {total} resources are not available", count.fails),
        )
    } else if count.unknown > 0 {
        (
            Status::Unknown,
            "ResourcesStatusUnknown",
            format!("{} of {total} resources have unknown status", count.unknown),
        )
    } else if count.met == 0 {
        (
            Status::Unknown,
            "ResourcesStatusUnknown",
            "cannot get any available resource ".to_owned(),
        )
    } else {
        (
            Status::True,
            "ResourcesAvailable",
            "All resources are available".to_owned(),
        )
    };
    Condition::new("Available", status, reason, message)
}

/// `Progressing` is true if any manifest progresses; in all others one False decides.
fn aggregate_rules(kind: &str, count: Count) -> Condition {
    let progressing = kind == "Progressing";
    let status = if progressing && count.met > 0 {
        Status::True
    } else if count.fails > 0 && !progressing {
        Status::False
    } else if count.unknown > 0 {
        Status::Unknown
    } else if count.fails > 0 || progressing {
        Status::False
    } else {
        Status::True
    };
    let total = count.met + count.fails + count.unknown;
    let message = if total == 1 && !count.message.is_empty() {
        count.message
    } else {
        format!("Aggregated from {total} manifest conditions")
    };
    Condition::new(kind, status, "ConditionRulesAggregated", message)
}

/// Sets `Applied` of each manifest and of the work. Conditions that a manifest had stay, its `Applied` moves to
/// the end once it was computed for another generation.
pub fn record_apply(
    status: &mut WorkStatus,
    results: Vec<(ResourceMeta, ApplyOutcome)>,
    generation: i64,
    now: Timestamp,
) {
    let old = std::mem::take(&mut status.resource_status.manifests);
    let mut all_applied = true;
    for (meta, outcome) in results {
        let applied = match outcome {
            ApplyOutcome::Applied => Condition::new(
                "Applied",
                Status::True,
                "AppliedManifestComplete",
                "Apply manifest complete",
            ),
            ApplyOutcome::Failed { reason, message } => Condition::new(
                "Applied",
                Status::False,
                reason,
                format!("Failed to apply manifest: {message}"),
            ),
        }
        .observed(generation);
        all_applied &= applied.status == Status::True;
        let known = old.iter().find(|known| known.resource_meta == meta).or_else(|| {
            old.iter()
                .find(|known| known.resource_meta.is_same_resource(&meta))
        });
        let mut merged = known.cloned().unwrap_or_default();
        merged.resource_meta = meta;
        place_applied(&mut merged.conditions, applied, now);
        status.resource_status.manifests.push(merged);
    }
    if status.resource_status.manifests.is_empty() {
        return;
    }
    let whole = if all_applied {
        Condition::new(
            "Applied",
            Status::True,
            "AppliedManifestWorkComplete",
            "Apply manifest work complete",
        )
    } else {
        Condition::new(
            "Applied",
            Status::False,
            "AppliedManifestWorkFailed",
            "Failed to apply manifest work",
        )
    };
    condition::set(&mut status.conditions, whole.observed(generation), now);
}

fn place_applied(conditions: &mut Vec<Condition>, applied: Condition, now: Timestamp) {
    let moved = conditions
        .iter()
        .position(|present| present.kind == applied.kind)
        .filter(|&index| conditions[index].observed_generation != applied.observed_generation)
        .map(|index| conditions.remove(index));
    if let Some(old) = moved {
        conditions.push(old);
    }
    condition::set(conditions, applied, now);
}
