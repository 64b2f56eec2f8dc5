//! Fields that a server-side apply leaves out, and the hash that shows whether the rest changed.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use kube_sandbox::object;

use crate::names;

/// What is sent when fields are ignored.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The manifest without the ignored fields, sent if the resource exists.
    pub trimmed: Value,
    /// The whole manifest, sent if it does not.
    pub whole: Value,
    /// The hash of the trimmed manifest, which both carry as an annotation.
    pub hash: String,
}

/// Prepares a manifest; none if no field is ignored. The error is the message of a path that cannot be used.
pub fn prepare(manifest: &Value, server_side_apply: &Value) -> Result<Option<Prepared>, String> {
    let rules = object::list(&server_side_apply["ignoreFields"]);
    if rules.is_empty() {
        return Ok(None);
    }
    let mut trimmed = manifest.clone();
    // Fields ignored on a change of the spoke count in the hash, so a change of the work still applies them.
    for rule in rules.iter().filter(|rule| rule["condition"] != "OnSpokeChange") {
        for path in object::string_list(&rule["jsonPaths"]) {
            remove_path(&mut trimmed, &path);
        }
        for pointer in object::string_list(&rule["jsonPointers"]) {
            remove_pointer(&mut trimmed, &pointer)?;
        }
        if let Some(expression) = object::string_list(&rule["jqPathExpressions"]).first() {
            remove_jq(&mut trimmed, expression)?;
        }
    }
    let hash = hash(&trimmed);
    let mut whole = manifest.clone();
    for body in [&mut trimmed, &mut whole] {
        body["metadata"]["annotations"][names::SPEC_HASH_ANNOTATION] = Value::String(hash.clone());
    }
    Ok(Some(Prepared { trimmed, whole, hash }))
}

/// True if the resource was applied from the same manifest.
pub fn is_applied(existing: &Value, hash: &str) -> bool {
    object::annotation(existing, names::SPEC_HASH_ANNOTATION) == Some(hash)
}

fn hash(value: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// Removes the last key of a dotted path from the maps that the rest of it leads to.
fn remove_path(value: &mut Value, path: &str) {
    let keys: Vec<&str> = path.trim_start_matches('.').split('.').collect();
    let Some((last, parents)) = keys.split_last() else {
        return;
    };
    let mut found = vec![value];
    for key in parents {
        let (name, all) = key.strip_suffix("[*]").map_or((*key, false), |name| (name, true));
        found = found
            .into_iter()
            .filter_map(|parent| parent.get_mut(name))
            .flat_map(|child| {
                if all && child.is_array() {
                    JqStep::All.descend(child)
                } else {
                    vec![child]
                }
            })
            .collect();
    }
    for parent in found {
        if let Some(fields) = parent.as_object_mut() {
            fields.remove(*last);
        }
    }
}

/// Removes what an RFC 6901 pointer names; a pointer to nothing is no error.
fn remove_pointer(value: &mut Value, pointer: &str) -> Result<(), String> {
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return Err(format!(
            "JSON Pointer error in '{pointer}': failed to apply JSON Pointer patch: invalid path"
        ));
    };
    let key = last.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&key);
        }
        Some(Value::Array(entries)) => {
            if let Some(index) = key.parse().ok().filter(|&index: &usize| index < entries.len()) {
                entries.remove(index);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Only plain paths of jq are understood: `.a.b`, `.a["b"]`, `.a[0]`, `.a[]`.
fn remove_jq(value: &mut Value, expression: &str) -> Result<(), String> {
    let error = || format!("JQ expression error in '{expression}': failed to parse jq expression");
    let mut steps = Vec::new();
    let mut rest = expression.trim();
    while !rest.is_empty() {
        let (step, tail) = jq_step(rest).ok_or_else(error)?;
        steps.push(step);
        rest = tail;
    }
    let (last, parents) = steps.split_last().ok_or_else(error)?;
    let mut found = vec![value];
    for step in parents {
        found = found
            .into_iter()
            .flat_map(|parent| step.descend(parent))
            .collect();
    }
    for parent in found {
        last.remove_from(parent);
    }
    Ok(())
}

enum JqStep {
    Key(String),
    Index(usize),
    All,
}

fn jq_step(text: &str) -> Option<(JqStep, &str)> {
    if let Some(inner) = text.strip_prefix(".[").or_else(|| text.strip_prefix('[')) {
        let (content, tail) = inner.split_once(']')?;
        let step = if content.is_empty() {
            JqStep::All
        } else if let Some(key) = content.strip_prefix('"').and_then(|key| key.strip_suffix('"')) {
            JqStep::Key(key.to_owned())
        } else {
            JqStep::Index(content.parse().ok()?)
        };
        return Some((step, tail));
    }
    let text = text.strip_prefix('.')?;
    let end = text
        .find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'))
        .unwrap_or(text.len());
    (end > 0).then(|| (JqStep::Key(text[..end].to_owned()), &text[end..]))
}

impl JqStep {
    fn descend<'a>(&self, value: &'a mut Value) -> Vec<&'a mut Value> {
        match (self, value) {
            (Self::Key(key), Value::Object(fields)) => fields.get_mut(key).into_iter().collect(),
            (Self::Index(index), Value::Array(entries)) => entries.get_mut(*index).into_iter().collect(),
            (Self::All, Value::Array(entries)) => entries.iter_mut().collect(),
            (Self::All, Value::Object(fields)) => fields.values_mut().collect(),
            _ => Vec::new(),
        }
    }

    fn remove_from(&self, value: &mut Value) {
        match (self, value) {
            (Self::Key(key), Value::Object(fields)) => {
                fields.remove(key);
            }
            (Self::Index(index), Value::Array(entries)) if *index < entries.len() => {
                entries.remove(*index);
            }
            (Self::All, Value::Array(entries)) => entries.clear(),
            (Self::All, Value::Object(fields)) => fields.clear(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ignored_fields_are_left_out_whatever_names_them() {
        let manifest = json!({"spec": {"a": 1, "b": {"c": 2}, "list": [{"x": 1, "y": 2}]}});
        let cases = [
            (
                json!({"jsonPaths": [".spec.a"]}),
                json!({"b": {"c": 2}, "list": [{"x": 1, "y": 2}]}),
            ),
            (
                json!({"jsonPaths": [".spec.list[*].x"]}),
                json!({"a": 1, "b": {"c": 2}, "list": [{"y": 2}]}),
            ),
            (
                json!({"jsonPointers": ["/spec/b/c"]}),
                json!({"a": 1, "b": {}, "list": [{"x": 1, "y": 2}]}),
            ),
            (
                json!({"jsonPointers": ["/spec/none/c"]}),
                manifest["spec"].clone(),
            ),
            (
                json!({"jqPathExpressions": [".spec.list[].y"]}),
                json!({"a": 1, "b": {"c": 2}, "list": [{"x": 1}]}),
            ),
            (
                json!({"jqPathExpressions": [".spec[\"a\"]"]}),
                json!({"b": {"c": 2}, "list": [{"x": 1, "y": 2}]}),
            ),
            (
                json!({"condition": "OnSpokeChange", "jsonPaths": [".spec.a"]}),
                manifest["spec"].clone(),
            ),
        ];
        for (rule, expected) in cases {
            let prepared = prepare(&manifest, &json!({"ignoreFields": [rule]}))
                .unwrap()
                .unwrap();
            assert_eq!(prepared.trimmed["spec"], expected, "{rule}");
            assert_eq!(prepared.whole["spec"], manifest["spec"]);
            assert!(is_applied(&prepared.trimmed, &prepared.hash));
        }
        assert_eq!(prepare(&manifest, &json!({})).unwrap(), None);
        let broken = json!({"ignoreFields": [{"jqPathExpressions": ["a b"]}]});
        assert!(
            prepare(&manifest, &broken)
                .unwrap_err()
                .starts_with("JQ expression error in 'a b'")
        );
    }
}
