//! `metadata.managedFields`: who set what.

use super::field_path::PathSet;
use crate::schema::go_quote;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Whether fields were set by an apply or by any other write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

impl Operation {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells one entry from another. Of an apply the version is no part.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub manager: String,
    pub operation: Operation,
    pub version: Option<String>,
    pub subresource: String,
}

impl Owner {
    /// As a conflict names it.
    pub(super) fn display(&self) -> String {
        let mut shown = go_quote(&self.manager);
        if !self.subresource.is_empty() {
            shown = format!("{shown} with subresource {}", go_quote(&self.subresource));
        }
        if let (Operation::Update, Some(version)) = (self.operation, &self.version) {
            shown = format!("{shown} using {version}");
        }
        shown
    }
}

/// The fields of one owner.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub fields: PathSet,
    pub version: String,
    pub time: Option<String>,
}

/// All owners of an object's fields.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed(pub BTreeMap<Owner, Owned>);

const MOST_UPDATERS: usize = 10;
const BUCKET: &str = "ancient-changes";

impl Managed {
    /// Reads the entries of an object; `None` when one is malformed.
    pub(super) fn decode(object: &Value) -> Option<Self> {
        let mut managed = Self::default();
        let Some(entries) = object["metadata"]["managedFields"].as_array() else {
            return Some(managed);
        };
        for entry in entries {
            let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let version = word("apiVersion");
            let operation = match entry["operation"].as_str()? {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            if version.is_empty() || entry["fieldsType"] != "FieldsV1" {
                return None;
            }
            let fields = match &entry["fieldsV1"] {
                Value::Null => PathSet::default(),
                fields => PathSet::decode(fields)?,
            };
            let owner = Owner {
                manager: word("manager"),
                operation,
                version: (operation == Operation::Update).then(|| version.clone()),
                subresource: word("subresource"),
            };
            let time = entry["time"].as_str().map(str::to_owned);
            managed.0.insert(
                owner,
                Owned {
                    fields,
                    version,
                    time,
                },
            );
        }
        Some(managed)
    }

    /// Writes the entries into an object, in the server's order.
    pub(super) fn write_to(&self, object: &mut Value) {
        clear(object);
        if self.0.is_empty() {
            return;
        }
        let mut sorted: Vec<(&Owner, &Owned)> = self.0.iter().collect();
        sorted.sort_by_key(|(owner, owned)| {
            (
                owner.operation,
                &owned.time,
                &owner.manager,
                &owned.version,
                &owner.subresource,
            )
        });
        let entries: Vec<Value> = sorted
            .into_iter()
            .map(|(owner, owned)| encode(owner, owned))
            .collect();
        set(object, entries);
    }

    /// Joins the oldest updaters into one entry when there are more than ten.
    pub(super) fn cap_updaters(&mut self) {
        let is_updater = |owner: &&Owner| owner.operation == Operation::Update;
        let mut updaters: Vec<(Option<String>, Owner)> = self
            .0
            .iter()
            .filter(|(owner, _)| is_updater(owner))
            .map(|(owner, owned)| (owned.time.clone(), owner.clone()))
            .collect();
        updaters.sort();
        let mut left = updaters.len();
        let mut first_of: BTreeMap<String, Owner> = BTreeMap::new();
        for (_, owner) in updaters {
            if left <= MOST_UPDATERS {
                return;
            }
            let version = owner.version.clone().unwrap_or_default();
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, owner);
                continue;
            };
            let bucket = Owner {
                manager: BUCKET.to_owned(),
                operation: Operation::Update,
                version: Some(version),
                subresource: String::new(),
            };
            if !self.0.contains_key(&bucket)
                && let Some(owned) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), owned);
            }
            if let (Some(joined), Some(into)) = (self.0.remove(&owner), self.0.get_mut(&bucket)) {
                into.fields = into.fields.union(&joined.fields);
                into.time = joined.time;
                left -= 1;
            }
        }
    }
}

fn encode(owner: &Owner, owned: &Owned) -> Value {
    let mut entry = json!({
        "manager": owner.manager,
        "operation": owner.operation.as_str(),
        "apiVersion": owned.version,
        "fieldsType": "FieldsV1",
        "fieldsV1": owned.fields.encode(),
    });
    if let Some(time) = &owned.time {
        entry["time"] = time.as_str().into();
    }
    if !owner.subresource.is_empty() {
        entry["subresource"] = owner.subresource.as_str().into();
    }
    entry
}

fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let fields = object.as_object_mut()?;
    fields
        .entry("metadata")
        .or_insert_with(|| json!({}))
        .as_object_mut()
}

/// Puts entries into an object.
pub(super) fn set(object: &mut Value, entries: Vec<Value>) {
    if let Some(metadata) = metadata(object) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// Takes the entries out of an object.
pub(super) fn clear(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Whether a request asks to forget all owners: `[]` or `[{}]`.
pub(super) fn asks_to_forget(object: &Value) -> bool {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        Some(_) | None => false,
    }
}
