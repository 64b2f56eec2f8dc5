//! A label selector, as Kubernetes defines it.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use crate::Labels;

/// The selector cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidSelector {
    /// An operator that Kubernetes does not know.
    #[error("operator `{operator}` of key `{key}` is none of In, NotIn, Exists, DoesNotExist")]
    Operator {
        /// The key.
        key: String,
        /// What was given.
        operator: String,
    },
    /// In and NotIn need values, Exists and DoesNotExist take none.
    #[error("operator `{operator}` of key `{key}` {needs}")]
    Values {
        /// The key.
        key: String,
        /// The operator.
        operator: String,
        /// What it needs.
        needs: &'static str,
    },
    /// A requirement without a key.
    #[error("a requirement has an empty key")]
    Key,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    DoesNotExist(String),
}

/// A selector whose requirements must all hold. Without requirements it selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

impl Selector {
    /// A selector from `matchLabels`.
    pub fn labels(labels: &BTreeMap<String, String>) -> Self {
        let requirements = labels
            .iter()
            .map(|(key, value)| Requirement::In(key.clone(), BTreeSet::from([value.clone()])))
            .collect();
        Self { requirements }
    }

    /// Adds one of `matchExpressions`.
    ///
    /// # Errors
    /// If Kubernetes would refuse it.
    pub fn require(&mut self, key: &str, operator: &str, values: &[String]) -> Result<(), InvalidSelector> {
        if key.is_empty() {
            return Err(InvalidSelector::Key);
        }
        let needs = |needs| InvalidSelector::Values {
            key: key.to_owned(),
            operator: operator.to_owned(),
            needs,
        };
        let set = || values.iter().cloned().collect::<BTreeSet<String>>();
        let requirement = match (operator, values.is_empty()) {
            ("In", false) => Requirement::In(key.to_owned(), set()),
            ("NotIn", false) => Requirement::NotIn(key.to_owned(), set()),
            ("Exists", true) => Requirement::Exists(key.to_owned()),
            ("DoesNotExist", true) => Requirement::DoesNotExist(key.to_owned()),
            ("In" | "NotIn", true) => return Err(needs("needs at least one value")),
            ("Exists" | "DoesNotExist", false) => return Err(needs("takes no values")),
            _ => {
                return Err(InvalidSelector::Operator {
                    key: key.to_owned(),
                    operator: operator.to_owned(),
                });
            }
        };
        self.requirements.push(requirement);
        Ok(())
    }

    /// Whether these labels are selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.requirements.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::DoesNotExist(key) => !labels.contains_key(key),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let pairs = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Labels::from(&pairs.collect::<BTreeMap<_, _>>())
    }

    #[test]
    fn operators_mean_what_kubernetes_means() {
        let values = ["dev1".to_owned(), "dev2".to_owned()];
        for (operator, values, with, without) in [
            ("In", &values[..], true, false),
            ("NotIn", &values[..], false, true),
            ("Exists", &[], true, false),
            ("DoesNotExist", &[], false, true),
        ] {
            let mut selector = Selector::default();
            selector.require("name", operator, values).expect(operator);
            assert_eq!(selector.matches(&labels(&[("name", "dev1")])), with, "{operator}");
            assert_eq!(
                selector.matches(&labels(&[])),
                without,
                "{operator} without the label"
            );
        }
        assert!(Selector::default().matches(&labels(&[])));
    }

    #[test]
    fn what_kubernetes_refuses_is_refused() {
        let value = ["a".to_owned()];
        for (key, operator, values) in [
            ("name", "Equals", &value[..]),
            ("name", "In", &[]),
            ("name", "Exists", &value[..]),
            ("", "Exists", &[]),
        ] {
            Selector::default()
                .require(key, operator, values)
                .expect_err(operator);
        }
    }
}
