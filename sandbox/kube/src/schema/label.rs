//! The syntax of labels and of names (`apimachinery/pkg/util/validation`), with its words.

use super::field_error::FieldError;
use serde_json::Value;

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
     alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
     '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
     '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
     '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex \
     used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const DNS_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
     alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
     validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// What is wrong with labels (or a selector's `matchLabels`) at `field`.
pub(super) fn check(labels: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        for broken in qualified_name(key) {
            errors.push(FieldError::invalid(field, key.as_str(), broken));
        }
        let value = value.as_str().unwrap_or_default();
        for broken in label_value(value) {
            errors.push(FieldError::invalid(field, value, broken));
        }
    }
    errors
}

/// What is wrong with a qualified name (`example.com/name`).
pub(super) fn qualified_name(key: &str) -> Vec<String> {
    let mut broken = Vec::new();
    let name = match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                broken.push("prefix part must be non-empty".to_owned());
            } else if let Some(reason) = subdomain(prefix) {
                broken.push(format!("prefix part {reason}"));
            }
            *name
        }
        _ => {
            let shape = QUALIFIED.trim_end();
            return vec![format!(
                "a qualified name {shape} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        broken.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        broken.push("name part must be no more than 63 bytes".to_owned());
    }
    if !is_qualified(name) {
        broken.push(format!("name part {QUALIFIED}"));
    }
    broken
}

/// What is wrong with a label's value.
pub(super) fn label_value(value: &str) -> Vec<String> {
    let mut broken = Vec::new();
    if value.len() > 63 {
        broken.push("must be no more than 63 bytes".to_owned());
    }
    if !value.is_empty() && !is_qualified(value) {
        broken.push(LABEL_VALUE.to_owned());
    }
    broken
}

/// What is wrong with a DNS-1123 subdomain.
pub(super) fn subdomain(name: &str) -> Option<String> {
    if name.len() > 253 {
        return Some("must be no more than 253 bytes".to_owned());
    }
    let valid = name.split('.').all(is_dns_label);
    (!valid).then(|| SUBDOMAIN.to_owned())
}

/// What is wrong with a DNS-1035 label.
pub(super) fn dns_1035(name: &str) -> Option<String> {
    if name.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    let valid = is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase());
    (!valid).then(|| DNS_1035.to_owned())
}

fn is_dns_label(part: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    part.starts_with(allowed)
        && part.ends_with(allowed)
        && part.chars().all(|letter| allowed(letter) || letter == '-')
}

fn is_qualified(part: &str) -> bool {
    let end = |letter: char| letter.is_ascii_alphanumeric();
    part.starts_with(end)
        && part.ends_with(end)
        && part.chars().all(|letter| end(letter) || "-_.".contains(letter))
}
