//! The most frequent write of all, a controller's next status: it changes values of fields that its writer manages already
//! and nobody else does. Then only the time of the writer's entry changes, and nothing need be read, joined and written anew.

use serde_json::{Map, Value};

use super::Manager;
use super::field_path::{PathSet, Step};
use super::managed::Operation;

/// The entries of `metadata.managedFields` after a write of `changed`, if it left all fields with those who had them.
pub(super) fn entries(entries: &[Value], changed: &PathSet, manager: &Manager<'_>) -> Option<Vec<Value>> {
    let is_writers = |entry: &Value| {
        entry["manager"] == manager.name
            && entry["operation"] == Operation::Update.as_str()
            && entry["apiVersion"] == manager.api_version
            && entry["subresource"].as_str() == manager.subresource
    };
    let own = entries.iter().position(is_writers)?;
    for (index, entry) in entries.iter().enumerate() {
        let Some(fields) = entry["fieldsV1"].as_object() else {
            continue;
        };
        let stays = if index == own {
            covers(fields, changed)
        } else {
            !overlaps(fields, changed)
        };
        if !stays {
            return None;
        }
    }
    let mut entries = entries.to_vec();
    if !changed.is_empty() {
        entries[own]["time"] = Value::from(manager.time);
    }
    entries.sort_by(|one, other| order(one).cmp(&order(other)));
    Some(entries)
}

/// The server's order of entries.
fn order(entry: &Value) -> [&str; 5] {
    ["operation", "time", "manager", "apiVersion", "subresource"]
        .map(|field| entry[field].as_str().unwrap_or_default())
}

fn covers(fields: &Map<String, Value>, set: &PathSet) -> bool {
    let (members, children) = set.parts();
    members.iter().all(|step| is_member(fields, step))
        && children.iter().all(|(step, below)| {
            below.is_empty() || child(fields, step).is_some_and(|fields| covers(fields, below))
        })
}

fn overlaps(fields: &Map<String, Value>, set: &PathSet) -> bool {
    let (members, children) = set.parts();
    members.iter().any(|step| is_member(fields, step))
        || children
            .iter()
            .any(|(step, below)| child(fields, step).is_some_and(|fields| overlaps(fields, below)))
}

fn is_member(fields: &Map<String, Value>, step: &Step) -> bool {
    child(fields, step).is_some_and(|below| below.is_empty() || below.contains_key("."))
}

fn child<'f>(fields: &'f Map<String, Value>, step: &Step) -> Option<&'f Map<String, Value>> {
    fields.get(&step.encode())?.as_object()
}
