//! What the containers of a hook are given to read: the event and the UpgradeJob as JSON, whole and leaf by leaf.

use std::collections::BTreeMap;

use serde_json::Value;

/// The environment: a root is given whole under its name, and its leaves under the names that lead to them.
pub(super) fn encode(roots: &[(&str, &Value)]) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in roots {
        variables.insert((*name).to_owned(), literal(value));
        if value.is_object() || value.is_array() {
            flatten(name, value, &mut variables);
        }
    }
    variables
}

fn flatten(name: &str, value: &Value, variables: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                flatten(&format!("{name}_{}", variable(key)), value, variables);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                flatten(&format!("{name}_{index}"), value, variables);
            }
        }
        leaf => {
            variables.entry(name.to_owned()).or_insert_with(|| literal(leaf));
        }
    }
}

fn variable(key: &str) -> String {
    let keep = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    key.chars().map(keep).collect()
}

/// A value as the container is to see it. The kubelet replaces `$(…)` by other variables, and `$$` by `$`.
fn literal(value: &Value) -> String {
    value.to_string().replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Maintenance schedules, section 3.6: objects by key, lists by index, `null` stays, empty lists vanish, texts keep their quotes.
    #[test]
    fn values_are_flattened_to_their_leaves() {
        let job = json!({
            "metadata": { "name": "j", "labels": { "my-var.io/info": "x" } },
            "spec": { "count": 3, "on": true, "nothing": null, "none": [], "empty": {} },
            "status": { "conditions": [{ "type": "Started" }] },
        });
        let variables = encode(&[("JOB", &job)]);
        let expected = [
            ("JOB_metadata_labels_my_var_io_info", "\"x\""),
            ("JOB_metadata_name", "\"j\""),
            ("JOB_spec_count", "3"),
            ("JOB_spec_nothing", "null"),
            ("JOB_spec_on", "true"),
            ("JOB_status_conditions_0_type", "\"Started\""),
        ];
        let leaves: Vec<_> = variables
            .iter()
            .filter(|(name, _)| name.as_str() != "JOB")
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(leaves, expected);
        assert_eq!(variables["JOB"], job.to_string());
    }

    #[test]
    fn what_looks_like_a_reference_is_not_one() {
        let annotation = json!({ "note": "costs $5, see $(HOME) and $$" });
        let variables = encode(&[("JOB", &annotation)]);
        assert_eq!(variables["JOB_note"], "\"costs $$5, see $$(HOME) and $$$$\"");
    }
}
