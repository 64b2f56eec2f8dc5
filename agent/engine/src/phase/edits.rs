//! Edits of the spec while an upgrade is under way: before it has commenced they count at once, after it there is no way back.
//! The spec with which an upgrade commences is noted in the status before ClusterVersion is written.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeConfigSpec, UpgradeHistory, UpgradePhase};
use jiff::Timestamp;
use serde_json::Value;

use crate::condition::{self, ConditionType};
use crate::facts::{Facts, Target, UpdateRequest};

/// When the upgrade under way began; now, if none is.
pub(super) fn began(facts: &Facts, newest: Option<&UpgradeHistory>) -> Timestamp {
    let under_way = newest.filter(|entry| entry.phase == UpgradePhase::Upgrading);
    let start = under_way.and_then(|entry| entry.start_time.as_ref());
    start.map_or(facts.now, |start| start.0)
}

/// What the status and the cluster's history say of what ClusterVersion asks for.
pub(super) fn request(facts: &Facts, newest: Option<&UpgradeHistory>) -> UpdateRequest {
    let has_commenced = |entry: &UpgradeHistory| {
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        condition::is(conditions, ConditionType::UpgradeCommenced, TRUE)
    };
    let under_way = newest.filter(|entry| entry.phase == UpgradePhase::Upgrading && has_commenced(entry));
    if let Some(version) = under_way.and_then(|entry| entry.version.clone())
        && facts.own_history().iter().any(|past| past.version == version)
    {
        return UpdateRequest::Commenced(version);
    }
    let Some(target) = facts.target() else {
        return UpdateRequest::AsSpecified;
    };
    let is_refused = target.version().is_some_and(|version| facts.refuses(version));
    let has_asked = newest.is_some_and(|entry| {
        entry.version.as_deref() == target.version()
            && (entry.accepted_spec.is_some() || has_commenced(entry))
    });
    if facts.asks_for(&target) && is_refused && !has_asked {
        UpdateRequest::RefusedBefore
    } else {
        UpdateRequest::AsSpecified
    }
}

/// The target of an upgrade under way that has commenced; none if it has not, or the cluster refuses it.
pub(super) fn commenced(facts: &Facts, entry: &UpgradeHistory) -> Option<Target> {
    if let Some(target) = facts.target().filter(|target| facts.has_commenced(target)) {
        return Some(target);
    }
    let version = entry.version.clone().filter(|_| facts.deleting_since.is_some())?;
    let target = Target::Version {
        version,
        channel: facts.cluster.channel.clone(),
    };
    facts.has_commenced(&target).then_some(target)
}

/// Makes the spec with which an upgrade commenced the one that is in force, and says what was changed since.
pub(super) fn evaluate(facts: &mut Facts, history: &mut [UpgradeHistory]) {
    let Some(entry) = history.first_mut() else {
        return;
    };
    if entry.phase != UpgradePhase::Upgrading {
        return;
    }
    let Some(accepted) = in_force(facts, entry) else {
        return;
    };
    let version = entry.version.clone().unwrap_or_default();
    let type_ = ConditionType::UpgradeConfigAccepted;
    let changed = changed(&accepted, &facts.spec);
    let conditions = entry.conditions.get_or_insert_default();
    if facts.deleting_since.is_some() {
        let message = format!(
            "the UpgradeConfig is being deleted: it is removed when the upgrade to {version} has ended. Changes made meanwhile \
             are lost; create a new UpgradeConfig for the next upgrade"
        );
        condition::set(conditions, type_, FALSE, "BeingDeleted", message, facts.now);
    } else if !changed.is_empty() {
        let message = format!(
            "the upgrade to {version} has commenced and cannot be changed; the change of {} is ignored until it has ended",
            changed.join(", ")
        );
        condition::set(conditions, type_, FALSE, "InvalidChange", message, facts.now);
    } else if condition::find(conditions, type_).is_some() {
        let message = "the UpgradeConfig is as it was when the upgrade commenced".to_owned();
        condition::set(conditions, type_, TRUE, "Unchanged", message, facts.now);
    }
    entry.accepted_spec = Some(accepted.clone());
    facts.spec = accepted;
}

/// The spec that is in force for an upgrade that has commenced.
fn in_force(facts: &Facts, entry: &UpgradeHistory) -> Option<UpgradeConfigSpec> {
    let version = entry.version.clone()?;
    if facts.refuses(&version) {
        return None;
    }
    let of_entry = version.clone();
    let has_commenced = |spec: &UpgradeConfigSpec| {
        let with = Facts {
            spec: spec.clone(),
            ..facts.clone()
        };
        let target = with.target();
        target.is_some_and(|target| {
            facts.has_commenced(&target) && target.version().is_none_or(|asked| asked == of_entry)
        })
    };
    if let Some(accepted) = entry.accepted_spec.clone() {
        return has_commenced(&accepted).then_some(accepted);
    }
    if has_commenced(&facts.spec) {
        return Some(facts.spec.clone());
    }
    // It commenced before its spec was noted: of what it was then, the version is known.
    let mut spec = facts.spec.clone();
    spec.desired.version = Some(version);
    spec.desired.image = None;
    spec.desired.channel = Some(facts.cluster.channel.clone());
    has_commenced(&spec).then_some(spec)
}

/// The fields that differ, by their names.
fn changed(before: &UpgradeConfigSpec, now: &UpgradeConfigSpec) -> Vec<String> {
    let fields = |spec: &UpgradeConfigSpec| {
        let mut spec = spec.clone();
        // Not to ask for extra workers is to ask for none.
        spec.capacity_reservation = spec.capacity_reservation.filter(|wanted| *wanted);
        serde_json::to_value(spec).unwrap_or_default()
    };
    let (before, now) = (fields(before), fields(now));
    let mut names = Vec::new();
    differences("spec", &before, &now, &mut names);
    names
}

fn differences(path: &str, before: &Value, now: &Value, names: &mut Vec<String>) {
    let empty = serde_json::Map::new();
    match (before, now) {
        (Value::Object(_), _) | (_, Value::Object(_)) => {
            let (before, now) = (
                before.as_object().unwrap_or(&empty),
                now.as_object().unwrap_or(&empty),
            );
            let mut keys: Vec<&String> = before.keys().chain(now.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let of =
                    |fields: &serde_json::Map<String, Value>| fields.get(key).cloned().unwrap_or_default();
                differences(&format!("{path}.{key}"), &of(before), &of(now), names);
            }
        }
        _ if before == now => {}
        _ if now.is_null() => names.push(format!("{path} (removed)")),
        _ => names.push(format!("{path} to {}", short(now))),
    }
}

/// A value as a message shows it.
fn short(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().take(LONGEST).collect()
}
