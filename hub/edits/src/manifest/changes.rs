//! What differs between what was there and what is written.

use drydock_api::mcu::ManagedClustersUpgrade;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::compare::{Comparison, visible};
use super::{GIVEN, Written};

/// How many changes are listed: a person can scroll through them. Where there are more, nothing is written.
const LISTED: usize = 2000;
/// So many of them may be of labels, and of annotations.
const MARKS_LISTED: usize = 200;

/// A field that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its path: `spec.clusterVersion.version`.
    pub field: String,
    /// What it was: a text as it is, or in quotes where it could be taken for a number, say, or has what cannot be seen; all else as JSON. Nothing
    /// if it was not there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is; nothing if it is taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// What differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The first of them.
    pub listed: Vec<Change>,
    /// How many there are beside those, which nobody sees.
    pub more: usize,
}

impl Written {
    /// What of the spec and the metadata is not what it was: the spec first, which is what moves clusters, then who owns
    /// it; labels, annotations and actions, of any size, last.
    pub fn changes(&self) -> Changes {
        let mut before = self.before.as_ref().map_or(Value::Null, content);
        let mut after = content(&self.after);
        let mut take = |pointer: &str, field: &str| {
            let of = |content: &mut Value| content.pointer_mut(pointer)?.as_object_mut()?.remove(field);
            (of(&mut before), of(&mut after))
        };
        let many = ["labels", "annotations"].map(|field| (field, take("/metadata", field)));
        let actions = ["preUpgradeAction", "postUpgradeAction"].map(|action| (action, take("/spec", action)));
        let mut found = Comparison::default();
        for part in ["spec", "metadata"] {
            found.of_fields(part, before.get(part), after.get(part), LISTED);
        }
        for (field, (old, new)) in &many {
            let most = LISTED.min(found.listed() + MARKS_LISTED);
            found.of_value(&format!("metadata.{field}"), old.as_ref(), new.as_ref(), most);
        }
        for (action, (old, new)) in &actions {
            found.of_value(&format!("spec.{action}"), old.as_ref(), new.as_ref(), LISTED);
        }
        found.changes
    }

    /// The version, the image and the channel that were asked for, with a space between; nothing if it is new.
    pub fn target_before(&self) -> Option<String> {
        self.before.as_ref().map(target)
    }

    /// The version, the image and the channel that are asked for, with a space between; empty if none.
    pub fn target_after(&self) -> String {
        target(&self.after)
    }

    /// Whether the upgrades of all operators are approved.
    pub fn approves_all_operators(&self) -> bool {
        let operators = self.after.spec.ocp_operators.as_ref();
        operators.is_some_and(|operators| operators.approve_all_upgrades == Some(true))
    }
}

fn target(upgrade: &ManagedClustersUpgrade) -> String {
    let Some(target) = &upgrade.spec.cluster_version else {
        return String::new();
    };
    let given = [&target.version, &target.image, &target.channel];
    let given = given.into_iter().flatten().filter(|text| !text.is_empty());
    given.map(|text| visible(text)).collect::<Vec<_>>().join(" ")
}

/// What people write of an upgrade, but for its name.
pub(super) fn content(upgrade: &ManagedClustersUpgrade) -> Value {
    let mut metadata = json!(upgrade.metadata);
    if let Some(fields) = metadata.as_object_mut() {
        let is_written = |field: &str| !GIVEN.contains(&field) && !["name", "namespace"].contains(&field);
        fields.retain(|field, _| is_written(field));
    }
    json!({"metadata": metadata, "spec": upgrade.spec})
}

/// The merge patch that makes one value of another; nothing if they are equal.
pub(super) fn difference(before: &Value, after: &Value) -> Option<Value> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return (before != after).then(|| after.clone());
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let mut patch: Map<_, _> = gone.map(|key| (key.clone(), Value::Null)).collect();
    for (key, value) in new {
        let known = old.get(key).unwrap_or(&Value::Null);
        // What is new is taken whole: in a patch of it an empty object would be none.
        let changed = if known.is_object() {
            difference(known, value)
        } else {
            (known != value).then(|| value.clone())
        };
        if let Some(changed) = changed {
            patch.insert(key.clone(), changed);
        }
    }
    (!patch.is_empty()).then_some(Value::Object(patch))
}

#[cfg(test)]
mod tests;
