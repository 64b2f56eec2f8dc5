//! Label selectors, as Kubernetes defines them: one that cannot be used is an error, and selects neither nothing nor everything.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use thiserror::Error;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// The longest name in a key, and the longest value.
const LONGEST_NAME: usize = 63;
/// The longest prefix of a key.
const LONGEST_PREFIX: usize = 253;

/// Why a selector cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidSelector {
    /// An operator that Kubernetes does not know.
    #[error("operator {operator:?} of the label {key:?} is none of In, NotIn, Exists and DoesNotExist")]
    Operator {
        /// The key.
        key: String,
        /// What was given.
        operator: String,
    },
    /// In and NotIn need values, Exists and DoesNotExist take none.
    #[error("operator {operator} of the label {key:?} {needs}")]
    Values {
        /// The key.
        key: String,
        /// The operator.
        operator: String,
        /// What it needs.
        needs: &'static str,
    },
    /// A key that no label can have.
    #[error("{0:?} is not a key that a label can have")]
    Key(String),
    /// A value that no label can have.
    #[error("{value:?} is not a value that the label {key:?} can have")]
    Value {
        /// The key.
        key: String,
        /// What was given.
        value: String,
    },
}

/// Are these labels selected? An empty selector selects everything.
///
/// # Errors
/// If the selector cannot be used.
pub fn selects(selector: &LabelSelector, labels: &Labels) -> Result<bool, InvalidSelector> {
    let mut all = true;
    for (key, value) in selector.match_labels.iter().flatten() {
        check(key, std::slice::from_ref(value))?;
        all &= labels.get(key) == Some(value);
    }
    for requirement in selector.match_expressions.iter().flatten() {
        all &= meets(requirement, labels)?;
    }
    Ok(all)
}

fn meets(requirement: &LabelSelectorRequirement, labels: &Labels) -> Result<bool, InvalidSelector> {
    let LabelSelectorRequirement {
        key,
        operator,
        values,
    } = requirement;
    let values = values.as_deref().unwrap_or_default();
    check(key, values)?;
    let label = labels.get(key);
    let needs = |needs| InvalidSelector::Values {
        key: key.clone(),
        operator: operator.clone(),
        needs,
    };
    match (operator.as_str(), values.is_empty()) {
        ("In", false) => Ok(label.is_some_and(|label| values.contains(label))),
        ("NotIn", false) => Ok(label.is_none_or(|label| !values.contains(label))),
        ("Exists", true) => Ok(label.is_some()),
        ("DoesNotExist", true) => Ok(label.is_none()),
        ("In" | "NotIn", true) => Err(needs("needs at least one value")),
        ("Exists" | "DoesNotExist", false) => Err(needs("takes no values")),
        _ => Err(InvalidSelector::Operator {
            key: key.clone(),
            operator: operator.clone(),
        }),
    }
}

fn check(key: &str, values: &[String]) -> Result<(), InvalidSelector> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let is_prefix = |prefix: &str| {
        let letters = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == b'-';
        let is_part = |part: &str| is_name(part, LONGEST_NAME) && part.bytes().all(letters);
        prefix.len() <= LONGEST_PREFIX && prefix.split('.').all(is_part)
    };
    if !is_name(name, LONGEST_NAME) || !prefix.is_none_or(is_prefix) {
        return Err(InvalidSelector::Key(key.to_owned()));
    }
    let wrong = values
        .iter()
        .find(|value| !value.is_empty() && !is_name(value, LONGEST_NAME));
    match wrong {
        Some(value) => Err(InvalidSelector::Value {
            key: key.to_owned(),
            value: value.clone(),
        }),
        None => Ok(()),
    }
}

/// Letters and digits, with `-`, `_` and `.` between them.
fn is_name(text: &str, longest: usize) -> bool {
    let is_end = |letter: Option<&u8>| letter.is_some_and(u8::is_ascii_alphanumeric);
    let letters = text.as_bytes();
    letters.len() <= longest
        && is_end(letters.first())
        && is_end(letters.last())
        && letters
            .iter()
            .all(|letter| letter.is_ascii_alphanumeric() || b"-_.".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(key: &str, operator: &str, values: &[&str]) -> LabelSelector {
        LabelSelector {
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: key.to_owned(),
                operator: operator.to_owned(),
                values: Some(values.iter().map(|value| (*value).to_owned()).collect()),
            }]),
            match_labels: None,
        }
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn operators_mean_what_kubernetes_means() {
        let (with, without) = (labels(&[("pool", "worker")]), labels(&[]));
        for (operator, values, selects_with, selects_without) in [
            ("In", &["worker", "infra"][..], true, false),
            ("In", &["infra"], false, false),
            ("NotIn", &["worker"], false, true),
            ("NotIn", &["infra"], true, true),
            ("Exists", &[], true, false),
            ("DoesNotExist", &[], false, true),
        ] {
            let selector = selector("pool", operator, values);
            assert_eq!(
                selects(&selector, &with),
                Ok(selects_with),
                "{operator} {values:?}"
            );
            assert_eq!(
                selects(&selector, &without),
                Ok(selects_without),
                "{operator} {values:?}"
            );
        }
        let by_label = LabelSelector {
            match_labels: Some(with.clone()),
            match_expressions: None,
        };
        assert_eq!(selects(&by_label, &with), Ok(true));
        assert_eq!(selects(&by_label, &without), Ok(false));
        assert_eq!(selects(&LabelSelector::default(), &without), Ok(true));
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        for (key, operator, values, words) in [
            ("pool", "Equals", &["a"][..], "none of In, NotIn"),
            ("pool", "In", &[], "needs at least one value"),
            ("pool", "Exists", &["a"], "takes no values"),
            ("", "Exists", &[], "not a key"),
            ("a pool", "Exists", &[], "not a key"),
            ("example.com/", "Exists", &[], "not a key"),
            ("Example.com/pool", "Exists", &[], "not a key"),
            ("pool", "In", &["a b"], "not a value"),
            ("pool", "In", &["-"], "not a value"),
        ] {
            let refusal = selects(&selector(key, operator, values), &labels(&[])).unwrap_err();
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
        for (key, value) in [("example.com/pool_1.2", ""), ("a", "A-b_c.9")] {
            assert!(selects(&selector(key, "In", &[value]), &labels(&[])).is_ok());
        }
    }
}
