//! The most frequent write of all, a controller's next status: it changes values of fields that its writer manages already
//! and nobody else does. Then only the time of the writer's entry changes, and nothing need be read, joined and written anew.

use serde_json::{Map, Value};

use super::Manager;
use super::field_path::{PathSet, Step};
use super::managed::Operation;

/// The entry of the writer among those of `metadata.managedFields`, if a write of `changed` leaves all fields with those who
/// have them.
pub(super) fn writers_entry(entries: &[Value], changed: &PathSet, manager: &Manager<'_>) -> Option<usize> {
    let is_writers = |entry: &Value| {
        entry["manager"] == manager.name
            && entry["operation"] == Operation::Update.as_str()
            && entry["apiVersion"] == manager.api_version
            && entry["subresource"].as_str() == manager.subresource
    };
    let own = entries.iter().position(is_writers)?;
    let stays = |(index, entry): (usize, &Value)| match entry["fieldsV1"].as_object() {
        Some(fields) if index == own => covers(fields, changed),
        Some(fields) => !overlaps(fields, changed),
        None => true,
    };
    entries.iter().enumerate().all(stays).then_some(own)
}

/// Gives the writer's entry the time of its write.
pub(super) fn renew(entries: &mut [Value], own: usize, changed: &PathSet, manager: &Manager<'_>) {
    if let (false, Some(entry)) = (changed.is_empty(), entries.get_mut(own)) {
        entry["time"] = Value::from(manager.time);
    }
    entries.sort_by(|one, other| order(one).cmp(&order(other)));
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
