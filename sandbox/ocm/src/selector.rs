//! Label selectors, with the semantics and the words of apimachinery.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

use kube_sandbox::object;

/// A selector that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum SelectorError {
    /// An operator that does not exist.
    #[error("\"{0}\" is not a valid label selector operator")]
    Operator(String),
    /// `In` or `NotIn` without values.
    #[error("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// `Exists` or `DoesNotExist` with values.
    #[error("values: Invalid value: {0:?}: values set must be empty for exists and does not exist")]
    Values(Vec<String>),
}

/// All requirements must match; none means everything matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Reads `{matchLabels, matchExpressions}`; an absent selector matches everything.
    pub fn parse(selector: &Value) -> Result<Self, SelectorError> {
        let mut requirements: Vec<Requirement> = object::strings(&selector["matchLabels"])
            .into_iter()
            .map(|(key, value)| Requirement {
                key,
                operator: Operator::In(vec![value]),
            })
            .collect();
        for expression in object::list(&selector["matchExpressions"]) {
            requirements.push(Requirement {
                key: expression["key"].as_str().unwrap_or_default().to_owned(),
                operator: Operator::parse(expression)?,
            });
        }
        Ok(Self(requirements))
    }

    /// True if these labels satisfy every requirement.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.operator.matches(labels.get(&requirement.key)))
    }
}

impl Operator {
    fn parse(expression: &Value) -> Result<Self, SelectorError> {
        let values = object::string_list(&expression["values"]);
        match expression["operator"].as_str().unwrap_or_default() {
            "In" | "NotIn" if values.is_empty() => Err(SelectorError::NoValues),
            "In" => Ok(Self::In(values)),
            "NotIn" => Ok(Self::NotIn(values)),
            "Exists" | "DoesNotExist" if !values.is_empty() => Err(SelectorError::Values(values)),
            "Exists" => Ok(Self::Exists),
            "DoesNotExist" => Ok(Self::DoesNotExist),
            other => Err(SelectorError::Operator(other.to_owned())),
        }
    }

    fn matches(&self, value: Option<&String>) -> bool {
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Self::Exists => value.is_some(),
            Self::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_as_kubernetes_does() {
        let labels = BTreeMap::from([("name".to_owned(), "dev1".to_owned())]);
        let cases = [
            (json!(null), true),
            (json!({}), true),
            (json!({"matchLabels": {"name": "dev1"}}), true),
            (json!({"matchLabels": {"name": "dev2"}}), false),
            (
                json!({"matchExpressions": [{"key": "name", "operator": "In", "values": ["dev1", "x"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["x"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "other", "operator": "Exists"}]}),
                false,
            ),
            (
                json!({"matchExpressions": [{"key": "other", "operator": "DoesNotExist"}]}),
                true,
            ),
        ];
        for (selector, expected) in cases {
            assert_eq!(
                Selector::parse(&selector).unwrap().matches(&labels),
                expected,
                "{selector}"
            );
        }
    }

    #[test]
    fn an_unknown_operator_is_refused_in_apimachinerys_words() {
        let error =
            Selector::parse(&json!({"matchExpressions": [{"key": "a", "operator": "Near"}]})).unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"Near\" is not a valid label selector operator"
        );
    }
}
