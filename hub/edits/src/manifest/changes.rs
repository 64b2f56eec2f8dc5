//! What differs between what was there and what is written.

use drydock_api::mcu::ManagedClustersUpgrade;
use serde_json::{Map, Value, json};

use super::{GIVEN, Written};

/// How many changes are listed, and how much of each value: a person is to read them.
const LISTED: usize = 50;
const SHOWN: usize = 1000;

/// A field that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path: `spec.clusterVersion.version`.
    pub field: String,
    /// What it was: a text as it is, all else as JSON; nothing if it was not there.
    pub before: Option<String>,
    /// What it is; nothing if it is taken out.
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
    /// What of the spec and the metadata is not what it was.
    pub fn changes(&self) -> Changes {
        let before = self.before.as_ref().map_or(Value::Null, content);
        let after = content(&self.after);
        let mut changes = Changes::default();
        if let Some(patch) = difference(&before, &after) {
            changes.add(&mut String::new(), &patch, &before, &after);
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

/// What people write of an upgrade.
fn content(upgrade: &ManagedClustersUpgrade) -> Value {
    let mut metadata = json!(upgrade.metadata);
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|field, _| !GIVEN.contains(&field.as_str()));
    }
    json!({"metadata": metadata, "spec": upgrade.spec})
}

impl Changes {
    /// Adds what a merge patch changes of the value at a path.
    fn add(&mut self, path: &mut String, patch: &Value, before: &Value, after: &Value) {
        if let (Value::Object(fields), Value::Object(_), Value::Object(_)) = (patch, before, after) {
            for (key, patch) in fields {
                let length = path.len();
                path.push_str(&step(key, length == 0));
                self.add(path, patch, &before[key], &after[key]);
                path.truncate(length);
            }
        } else if self.listed.len() == LISTED {
            self.more += 1;
        } else {
            self.listed.push(Change {
                field: path.clone(),
                before: text(before),
                after: text(after),
            });
        }
    }
}

/// A key as a part of a path; one that has a dot in it cannot be taken for two.
fn step(key: &str, is_first: bool) -> String {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_');
    if !key.chars().all(is_plain) {
        format!("[{}]", json!(key))
    } else if is_first {
        key.to_owned()
    } else {
        format!(".{key}")
    }
}

fn text(value: &Value) -> Option<String> {
    let whole = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let end = whole.char_indices().nth(SHOWN);
    Some(match end {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    })
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
            &json!({"paused": true, "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"}, "clusterSelector": {"matchLabels": {"a": "b"}}}),
            &json!({"example.com/team": "a", "same": "x"}),
        );
        let after = upgrade(
            &json!({"clusterVersion": {"version": "4.14.13", "channel": "stable-4.14"}, "clusterSelector": {"matchLabels": {"a": "b"}}, "ocpOperators": {"approveAllUpgrades": true}}),
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
            "metadata.labels[\"example.com/team\"]: a > b",
            "spec.clusterVersion.version: 4.14.12 > 4.14.13",
            "spec.ocpOperators: - > {\"approveAllUpgrades\":true}",
            "spec.paused: true > -",
        ];
        assert_eq!(
            (listed.as_slice(), more),
            (expected.map(str::to_owned).as_slice(), 0)
        );
        assert_eq!(written.target_before().as_deref(), Some("4.14.12 stable-4.14"));
        assert_eq!(written.target_after(), "4.14.13 stable-4.14");
        assert!(written.approves_all_operators());
    }

    #[test]
    fn many_and_long_changes_are_cut() {
        let labels = |value: &str| {
            let labels = (0..LISTED + 3).map(|i| (format!("l{i}"), json!(value)));
            Value::Object(labels.collect())
        };
        let written = Written {
            before: Some(upgrade(&json!({}), &labels("a"))),
            after: upgrade(&json!({}), &labels(&"ä".repeat(SHOWN + 1))),
        };
        let Changes { listed, more } = written.changes();
        assert_eq!((listed.len(), more), (LISTED, 3));
        assert_eq!(listed[0].after, Some(format!("{}…", "ä".repeat(SHOWN))));
    }
}
