//! What differs between what was there and what is written.

use std::collections::BTreeSet;

use drydock_api::mcu::ManagedClustersUpgrade;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{GIVEN, Written};

/// How many changes are listed, and how many letters of each value: a person is to read them.
const LISTED: usize = 200;
const SHOWN: usize = 1000;
/// So many letters are shown that are the same, before what differs in values that are longer than that.
const BEFORE: usize = 100;

/// A field that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Its path: `spec.clusterVersion.version`.
    pub field: String,
    /// What it was: a text as it is, all else as JSON; nothing if it was not there.
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
    /// How many there are beside those.
    pub more: usize,
}

impl Written {
    /// What of the spec and the metadata is not what it was, the spec first: that is what moves clusters.
    pub fn changes(&self) -> Changes {
        let before = self.before.as_ref().map_or(Value::Null, content);
        let after = content(&self.after);
        let mut changes = Changes::default();
        for part in ["spec", "metadata"] {
            changes.add(part, &before[part], &after[part]);
        }
        changes
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
    given.map(String::as_str).collect::<Vec<_>>().join(" ")
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

impl Changes {
    /// Adds what differs at a path, each field and each element of a list by itself.
    fn add(&mut self, path: &str, before: &Value, after: &Value) {
        if before == after {
            return;
        }
        if let Some(keys) = keys(before, after) {
            for key in keys {
                self.add(&format!("{path}{}", step(key)), &before[key], &after[key]);
            }
            return;
        }
        match (elements(before, after), elements(after, before)) {
            (Some(old), Some(new)) if is_set(old) && is_set(new) => self.add_elements(path, old, new),
            (Some(old), Some(new)) => {
                for index in 0..old.len().max(new.len()) {
                    let at = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
                    self.add(&format!("{path}[{index}]"), &at(old), &at(new));
                }
            }
            _ => self.list(path.to_owned(), before, after),
        }
    }

    /// Adds which texts or numbers a list has no more, and which it has that it had not; where only their order differs, all of it.
    fn add_elements(&mut self, path: &str, old: &[Value], new: &[Value]) {
        let gone = old.iter().filter(|element| !new.contains(element));
        let come = new.iter().filter(|element| !old.contains(element));
        let count = self.listed.len() + self.more;
        for element in gone {
            self.list(format!("{path}[]"), element, &Value::Null);
        }
        for element in come {
            self.list(format!("{path}[]"), &Value::Null, element);
        }
        if self.listed.len() + self.more == count {
            self.list(path.to_owned(), &json!(old), &json!(new));
        }
    }

    fn list(&mut self, field: String, before: &Value, after: &Value) {
        if self.listed.len() == LISTED {
            self.more += 1;
            return;
        }
        let (before, after) = (text(before), text(after));
        let same = match (&before, &after) {
            (Some(before), Some(after)) => {
                let pairs = before.chars().zip(after.chars());
                pairs.take_while(|(before, after)| before == after).count()
            }
            _ => 0,
        };
        self.listed.push(Change {
            field,
            before: before.map(|text| cut(&text, same)),
            after: after.map(|text| cut(&text, same)),
        });
    }
}

/// The keys of two objects, or of one where the other is not set.
fn keys<'a>(before: &'a Value, after: &'a Value) -> Option<BTreeSet<&'a str>> {
    let of = |value: &'a Value| value.as_object().map(|fields| fields.keys().map(String::as_str));
    match (of(before), of(after)) {
        (Some(old), Some(new)) => Some(old.chain(new).collect()),
        (Some(fields), None) if after.is_null() => Some(fields.collect()),
        (None, Some(fields)) if before.is_null() => Some(fields.collect()),
        _ => None,
    }
}

/// The elements of a list: none where it is not set, and the other one is a list.
fn elements<'a>(of: &'a Value, other: &Value) -> Option<&'a [Value]> {
    match of {
        Value::Array(elements) => Some(elements),
        Value::Null if other.is_array() => Some(&[]),
        _ => None,
    }
}

/// Whether a list has but texts, numbers and the like.
fn is_set(list: &[Value]) -> bool {
    list.iter()
        .all(|element| !element.is_object() && !element.is_array())
}

/// A key as a part of a path; one that has a dot in it cannot be taken for two.
fn step(key: &str) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if key.chars().all(is_plain) {
        format!(".{key}")
    } else {
        format!("[{}]", json!(key))
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// A text, or of a long one what is about its first letter that differs.
fn cut(text: &str, same: usize) -> String {
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let begin = same.saturating_sub(BEFORE);
    let shown: String = text.chars().skip(begin).take(SHOWN).collect();
    let begins = if begin > 0 { "…" } else { "" };
    let ends = if text.chars().count() > begin + SHOWN {
        "…"
    } else {
        ""
    };
    format!("{begins}{shown}{ends}")
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
mod tests {
    use super::super::write::state;
    use super::*;

    /// What the merge patch makes of the one is the other.
    #[test]
    fn an_edit_writes_what_differs_and_no_more() {
        let before = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}});
        for (after, patch) in [
            (before.clone(), None),
            (
                json!({"a": 2, "b": {"c": [1, 2], "d": "x"}, "e": {"f": 1}}),
                Some(json!({"a": 2})),
            ),
            (
                json!({"a": 1, "b": {"c": [2]}}),
                Some(json!({"b": {"c": [2], "d": null}, "e": null})),
            ),
            (
                json!({"a": {"new": {}}, "b": {"c": [1, 2], "d": "x"}, "e": 7}),
                Some(json!({"a": {"new": {}}, "e": 7})),
            ),
        ] {
            assert_eq!(difference(&before, &after), patch, "{after}");
        }
    }

    fn upgrade(spec: &Value, labels: &Value) -> ManagedClustersUpgrade {
        let metadata =
            json!({"name": "spring", "namespace": "default", "uid": "u", "generation": 7, "labels": labels});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    #[test]
    fn each_field_that_differs_is_listed() {
        let before = upgrade(
            &json!({"paused": true, "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"}, "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev1", "dev2"]}]}}),
            &json!({"example.com/team": "a", "same": "x"}),
        );
        let after = upgrade(
            &json!({"clusterVersion": {"version": "4.14.13", "channel": "stable-4.14"}, "clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev2", "dev3"]}]}, "ocpOperators": {"approveAllUpgrades": true}}),
            &json!({"example.com/team": "b", "same": "x"}),
        );
        let written = Written {
            before: Some(before),
            after,
        };
        let Changes { listed, more } = written.changes();
        let said = |change: &Change| {
            let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            format!(
                "{}: {} > {}",
                change.field,
                part(&change.before),
                part(&change.after)
            )
        };
        let listed: Vec<_> = listed.iter().map(said).collect();
        let expected = [
            "spec.clusterSelector.matchExpressions[0].values[]: dev1 > -",
            "spec.clusterSelector.matchExpressions[0].values[]: - > dev3",
            "spec.clusterVersion.version: 4.14.12 > 4.14.13",
            "spec.ocpOperators.approveAllUpgrades: - > true",
            "spec.paused: true > -",
            "metadata.labels[\"example.com/team\"]: a > b",
        ];
        assert_eq!(
            (listed.as_slice(), more),
            (expected.map(str::to_owned).as_slice(), 0)
        );
        assert_eq!(written.target_before().as_deref(), Some("4.14.12 stable-4.14"));
        assert_eq!(written.target_after(), "4.14.13 stable-4.14");
        assert!(written.approves_all_operators());
    }

    fn changes(before: Option<ManagedClustersUpgrade>, after: ManagedClustersUpgrade) -> Changes {
        Written { before, after }.changes()
    }

    /// Who pastes a text sees what it brings beside its target.
    #[test]
    fn all_of_a_new_upgrade_is_listed_with_who_owns_it() {
        let mut new = upgrade(&json!({"paused": true}), &json!({}));
        let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "1"});
        new.metadata.owner_references = serde_json::from_value(json!([owner])).unwrap();
        let listed = changes(None, new).listed;
        let fields: Vec<_> = listed.iter().map(|change| change.field.as_str()).collect();
        assert_eq!(fields[0], "spec.paused");
        assert!(fields.contains(&"metadata.ownerReferences[0].name"), "{fields:?}");
    }

    #[test]
    fn the_spec_comes_before_however_many_labels() {
        let labels = |value: &str| {
            let labels = (0..LISTED + 3).map(|i| (format!("l{i}"), json!(value)));
            Value::Object(labels.collect())
        };
        let before = upgrade(&json!({}), &labels("a"));
        let Changes { listed, more } = changes(Some(before), upgrade(&json!({"paused": true}), &labels("b")));
        assert_eq!((listed.len(), more), (LISTED, 4));
        assert_eq!(listed[0].field, "spec.paused");
    }

    /// Two values that differ never look the same.
    #[test]
    fn of_a_long_value_is_shown_what_differs() {
        let with = |end: &str| {
            let image = format!("{}{end}", "ä".repeat(SHOWN));
            upgrade(&json!({"clusterVersion": {"image": image}}), &json!({}))
        };
        let listed = changes(Some(with("1")), with("2")).listed;
        let shown = |end: &str| Some(format!("…{}{end}", "ä".repeat(BEFORE)));
        assert_eq!((&listed[0].before, &listed[0].after), (&shown("1"), &shown("2")));
    }

    #[test]
    fn a_list_of_texts_says_which_come_and_go_and_another_order_is_a_change() {
        let with = |sets: Value| upgrade(&json!({"clusterSelector": {"clusterSets": sets}}), &json!({}));
        let many: Vec<String> = (0..200).map(|number| format!("set{number}")).collect();
        let more: Vec<String> = many.iter().cloned().chain(["production".to_owned()]).collect();
        let listed = changes(Some(with(json!(many))), with(json!(more))).listed;
        let expected = Change {
            field: "spec.clusterSelector.clusterSets[]".to_owned(),
            before: None,
            after: Some("production".to_owned()),
        };
        assert_eq!(listed, [expected]);
        let listed = changes(Some(with(json!(["a", "b"]))), with(json!(["b", "a"]))).listed;
        assert_eq!(listed[0].after.as_deref(), Some("[\"b\",\"a\"]"));
    }

    /// Who retries a failed cluster writes an annotation.
    #[test]
    fn whatever_people_write_makes_another_state() {
        let with = |change: fn(&mut ManagedClustersUpgrade)| {
            let mut one = upgrade(&json!({"paused": true}), &json!({"a": "b"}));
            change(&mut one);
            one
        };
        let same = with(|_| {});
        let others = [
            with(|one| one.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into())),
            with(|one| one.metadata.finalizers = Some(vec!["a/b".to_owned()])),
            with(|one| one.metadata.labels = None),
            with(|one| one.metadata.uid = Some("v".to_owned())),
            with(|one| one.spec.paused = None),
        ];
        for other in others {
            assert_ne!(state(&same), state(&other), "{:?}", other.metadata);
        }
        let written = with(|one| one.metadata.resource_version = Some("7".to_owned()));
        assert_eq!(state(&same), state(&written));
    }
}
