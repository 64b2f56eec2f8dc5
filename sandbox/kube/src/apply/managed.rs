//! `metadata.managedFields`: who set what.

use super::path_set::PathSet;
use crate::schema::go_quote;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// The fields of one owner. The versions of an object share them: most writes change nothing but the time.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub fields: Arc<PathSet>,
    pub version: String,
    pub time: Option<String>,
}

type Entries = BTreeMap<Owner, Owned>;

/// All owners of an object's fields. A copy costs nothing until it is changed.
#[derive(Clone, Debug, Default)]
pub struct ManagedFields(Arc<Entries>);

const MOST_UPDATERS: usize = 10;
const BUCKET: &str = "ancient-changes";

impl ManagedFields {
    /// Reads the entries of `metadata.managedFields`; `None` when one is malformed.
    pub(super) fn decode(entries: &Value) -> Option<Self> {
        let mut found = Entries::new();
        for entry in entries.as_array().into_iter().flatten() {
            let (owner, owned) = decode(entry)?;
            found.insert(owner, owned);
        }
        Some(Self(Arc::new(found)))
    }

    /// Whether nobody manages anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn entries(&self) -> &Entries {
        &self.0
    }

    pub(super) fn entries_mut(&mut self) -> &mut Entries {
        Arc::make_mut(&mut self.0)
    }

    /// In the server's order.
    fn sorted(&self) -> Vec<(&Owner, &Owned)> {
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
        sorted
    }

    /// Whether the same owners have the same fields, whenever they got them.
    pub fn is_same_but_for_times(&self, other: &Self) -> bool {
        let same = |one: &Owned, other: &Owned| {
            one.version == other.version
                && (Arc::ptr_eq(&one.fields, &other.fields) || one.fields == other.fields)
        };
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.len() == other.0.len()
                && self
                    .0
                    .iter()
                    .zip(other.0.iter())
                    .all(|((owner, one), (as_well, other))| owner == as_well && same(one, other)))
    }

    /// No less than the length of the entries' JSON if no character in it needs an escape.
    pub fn length_without_escapes(&self) -> usize {
        /// `{"apiVersion":"","fieldsType":"FieldsV1","fieldsV1":,"manager":"","operation":"Update","subresource":"","time":""},`
        const FRAME: usize = 120;
        let length = |(owner, owned): (&Owner, &Owned)| {
            let words = owner.manager.len() + owned.version.len() + owner.subresource.len();
            FRAME + words + owned.time.as_ref().map_or(0, String::len) + owned.fields.length_without_escapes()
        };
        2 + self.0.iter().map(length).sum::<usize>()
    }

    /// Joins the oldest updaters into one entry when there are more than ten.
    pub(super) fn cap_updaters(&mut self) {
        let is_updater = |owner: &&Owner| owner.operation == Operation::Update;
        let updaters = self.0.keys().filter(is_updater).count();
        if updaters <= MOST_UPDATERS {
            return;
        }
        let entries = self.entries_mut();
        let mut updaters: Vec<(Option<String>, Owner)> = entries
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
            if !entries.contains_key(&bucket)
                && let Some(owned) = entries.remove(first)
            {
                entries.insert(bucket.clone(), owned);
            }
            if let (Some(joined), Some(into)) = (entries.remove(&owner), entries.get_mut(&bucket)) {
                into.fields = Arc::new(into.fields.union(&joined.fields));
                into.time = joined.time;
                left -= 1;
            }
        }
    }
}

fn decode(entry: &Value) -> Option<(Owner, Owned)> {
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
    let owned = Owned {
        fields: Arc::new(fields),
        version,
        time: entry["time"].as_str().map(str::to_owned),
    };
    Some((owner, owned))
}

/// `metadata.managedFields`.
impl Serialize for ManagedFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.sorted().into_iter().map(|(owner, owned)| Entry {
            api_version: &owned.version,
            fields_type: "FieldsV1",
            fields_v1: &owned.fields,
            manager: &owner.manager,
            operation: owner.operation.as_str(),
            subresource: Some(owner.subresource.as_str()).filter(|name| !name.is_empty()),
            time: owned.time.as_deref(),
        });
        serializer.collect_seq(entries)
    }
}

/// An entry as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry<'e> {
    api_version: &'e str,
    fields_type: &'static str,
    fields_v1: &'e PathSet,
    manager: &'e str,
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    subresource: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'e str>,
}

/// Takes `metadata.managedFields` out of an object.
pub fn take_managed_fields(object: &mut Value) -> Option<Value> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    metadata.remove("managedFields")
}

/// Whether what a request says of `metadata.managedFields` asks to forget all owners: `[]` or `[{}]`.
pub(super) fn asks_to_forget(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        Some(_) | None => false,
    }
}
