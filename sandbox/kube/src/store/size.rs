//! How much etcd takes in one request.

use serde_json::{Value, json};

use crate::apply::ManagedFields;

/// etcd's default `--max-request-bytes`.
const LARGEST_REQUEST: usize = 1_536 * 1024;

/// The longest text that one character becomes in JSON: `\u001f`.
const LONGEST_ESCAPE: usize = 6;

/// Whether an object can be stored with who manages its fields.
pub fn fits(object: &Value, managed: &ManagedFields) -> bool {
    // Nearly all are so small that nobody has to write them down to know.
    let length = length_without_escapes(object) + managed.length_without_escapes();
    if length.saturating_mul(LONGEST_ESCAPE) <= LARGEST_REQUEST {
        return true;
    }
    let entries = if managed.is_empty() {
        0
    } else {
        r#""managedFields":,"#.len() + json!(managed).to_string().len()
    };
    object.to_string().len() + entries <= LARGEST_REQUEST
}

/// The length of an object's JSON if no character in it needs an escape; numbers count as their longest.
fn length_without_escapes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => "false".len(),
        Value::Number(_) => 24,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            2 + items
                .iter()
                .map(|item| length_without_escapes(item) + 1)
                .sum::<usize>()
        }
        Value::Object(fields) => {
            let length = |(name, field): (&String, &Value)| name.len() + 4 + length_without_escapes(field);
            2 + fields.iter().map(length).sum::<usize>()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_the_text_that_is_stored() {
        let object = |letter: &str, count: usize| json!({"data": letter.repeat(count)});
        let frame = json!({"data": ""}).to_string().len();
        for (letter, bytes) in [("x", 1), ("ä", 2), ("\"", 2), ("\u{1f}", 6)] {
            let most = (LARGEST_REQUEST - frame) / bytes;
            let fits = |count: usize| fits(&object(letter, count), &ManagedFields::default());
            assert!(fits(most), "{letter:?}");
            assert!(!fits(most + 1), "{letter:?}");
        }
    }

    #[test]
    fn the_quick_look_never_says_less_than_the_text() {
        for value in [
            json!(null),
            json!(-1.797_693_134_862_315_7e308),
            json!(u64::MAX),
            json!([1, [], {}, [true]]),
            json!({"a": {"b": ["c", null]}}),
        ] {
            assert!(
                length_without_escapes(&value) >= value.to_string().len(),
                "{value}"
            );
        }
    }
}
