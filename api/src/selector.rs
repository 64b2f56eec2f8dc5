//! Names and labels: what may be one, and selecting clusters by them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The longest name in the key of a label, and the longest value, in bytes.
const LONGEST_NAME: usize = 63;
/// The longest DNS name, such as the prefix of a key, in bytes.
const LONGEST_DNS_NAME: usize = 253;

/// Whether a text may be the key of a label: `[prefix/]name`, the prefix a DNS name.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_dns_name(prefix) && is_name(name),
        None => is_name(key),
    }
}

/// Whether a text may be the value of a label, which may be empty.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

/// Whether a text is a DNS label (RFC 1123), as the name of a namespace has to be.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= LONGEST_NAME && is_of_dns(text)
}

/// Whether a text is what Kubernetes calls a DNS name, as the names of most objects have to be: its parts have any length.
pub fn is_dns_name(text: &str) -> bool {
    text.len() <= LONGEST_DNS_NAME && text.split('.').all(is_of_dns)
}

/// Letters and digits as DNS has them, with `-` between them.
fn is_of_dns(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    has_ends(text) && text.bytes().all(letters)
}

/// Letters and digits, with `-`, `_` and `.` between them.
fn is_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && has_ends(name)
}

/// The same, of any length.
fn has_ends(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let bytes = name.as_bytes();
    is_end(bytes.first()) && is_end(bytes.last()) && bytes.iter().all(is_inner)
}

/// One requirement on a label of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = Rule::new("self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0")
        .message("In and NotIn need values; Exists and DoesNotExist take none")
)]
pub struct LabelRequirement {
    /// The label's key.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,
    /// How the label must relate to the values: `In`, `NotIn`, `Exists` or `DoesNotExist`.
    #[schemars(extend("enum" = ["In", "NotIn", "Exists", "DoesNotExist"]))]
    pub operator: String,
    /// The values; at least one for `In` and `NotIn`, none for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500), inner(length(max = 63)))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub values: Option<Vec<String>>,
}

impl From<&LabelRequirement> for LabelSelectorRequirement {
    fn from(requirement: &LabelRequirement) -> Self {
        Self {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.clone(),
        }
    }
}

/// A selector over the labels of ManagedClusters: all requirements must match; an empty one selects every cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelMatch {
    /// Requirements on labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub match_expressions: Option<Vec<LabelRequirement>>,
    /// Labels that a cluster must have with exactly these values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxProperties" = 32))]
    pub match_labels: Option<BTreeMap<String, String>>,
}

impl From<&LabelMatch> for LabelSelector {
    fn from(selector: &LabelMatch) -> Self {
        Self {
            match_expressions: selector
                .match_expressions
                .as_ref()
                .map(|requirements| requirements.iter().map(Into::into).collect()),
            match_labels: selector.match_labels.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only the labels of DNS have 63 bytes at most, as the names of namespaces: the API server takes any object with a longer name.
    #[test]
    fn names_of_objects_are_those_of_kubernetes() {
        let long = |length: usize| "a".repeat(length);
        for (text, is_label, is_name) in [
            ("spring", true, true),
            ("spring-4.14", false, true),
            (&long(63), true, true),
            (&long(64), false, true),
            (&long(253), false, true),
            (&long(254), false, false),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("A", false, false),
            ("a_b", false, false),
            ("a/b", false, false),
        ] {
            assert_eq!(
                (is_dns_label(text), is_dns_name(text)),
                (is_label, is_name),
                "{text}"
            );
        }
    }

    #[test]
    fn keys_and_values_of_labels_are_those_of_kubernetes() {
        let (longest, too_long) = ("a".repeat(63), "a".repeat(64));
        let prefix = |length: usize| format!("{}a/b", "a.".repeat((length - 1) / 2));
        for (text, is_key, is_value) in [
            ("region", true, true),
            ("A-b_c.9", true, true),
            ("example.com/pool_1.2", true, false),
            ("", false, true),
            ("-", false, false),
            ("-eu", false, false),
            ("eu.", false, false),
            ("e u", false, false),
            ("example.com/", false, false),
            ("/pool", false, false),
            ("Example.com/pool", false, false),
            ("example..com/pool", false, false),
            ("a/b/c", false, false),
            (&longest, true, true),
            (&too_long, false, false),
            (&prefix(253), true, false),
            (&prefix(255), false, false),
        ] {
            assert_eq!(is_label_key(text), is_key, "key {text:?}");
            assert_eq!(is_label_value(text), is_value, "value {text:?}");
        }
    }
}
