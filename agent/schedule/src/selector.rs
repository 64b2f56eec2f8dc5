//! Which objects a label selector selects (Maintenance schedules, section 1). An absent one selects nothing or everything, depending on
//! the field; one that cannot be used is an error, and selects neither.

use std::collections::{BTreeMap, BTreeSet};

use drydock_api::selector::{is_label_key, is_label_value};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::{Expression, Selector, SelectorExt};
use thiserror::Error;

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

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

/// Which objects a selector selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// None.
    Nothing,
    /// Those with matching labels; an empty selector matches all.
    Matching(Selector),
}

impl Selection {
    /// Reads a selector that selects nothing if it is absent.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn or_nothing(selector: Option<&LabelSelector>) -> Result<Self, InvalidSelector> {
        selector.map_or(Ok(Self::Nothing), Self::of)
    }

    /// Reads a selector that selects everything if it is absent.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn or_everything(selector: Option<&LabelSelector>) -> Result<Self, InvalidSelector> {
        selector.map_or_else(|| Ok(Self::Matching(Selector::default())), Self::of)
    }

    /// Reads a selector. Kubernetes refuses more than [`Selector`] does: that is an error here, too.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn of(selector: &LabelSelector) -> Result<Self, InvalidSelector> {
        let mut expressions: Vec<Expression> = Vec::new();
        for (key, value) in selector.match_labels.iter().flatten() {
            check(key, std::slice::from_ref(value))?;
            expressions.push(Expression::Equal(key.clone(), value.clone()));
        }
        for requirement in selector.match_expressions.iter().flatten() {
            expressions.push(expression(requirement)?);
        }
        Ok(Self::Matching(expressions.into_iter().collect()))
    }

    /// Does it select an object with these labels?
    pub fn selects(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::Matching(selector) => selector.matches(labels),
        }
    }
}

fn expression(requirement: &LabelSelectorRequirement) -> Result<Expression, InvalidSelector> {
    let LabelSelectorRequirement {
        key,
        operator,
        values,
    } = requirement;
    let values = values.as_deref().unwrap_or_default();
    check(key, values)?;
    let set = || -> BTreeSet<String> { values.iter().cloned().collect() };
    let needs = |needs| InvalidSelector::Values {
        key: key.clone(),
        operator: operator.clone(),
        needs,
    };
    match (operator.as_str(), values.is_empty()) {
        ("In", false) => Ok(Expression::In(key.clone(), set())),
        ("NotIn", false) => Ok(Expression::NotIn(key.clone(), set())),
        ("Exists", true) => Ok(Expression::Exists(key.clone())),
        ("DoesNotExist", true) => Ok(Expression::DoesNotExist(key.clone())),
        ("In" | "NotIn", true) => Err(needs("needs at least one value")),
        ("Exists" | "DoesNotExist", false) => Err(needs("takes no values")),
        _ => Err(InvalidSelector::Operator {
            key: key.clone(),
            operator: operator.clone(),
        }),
    }
}

fn check(key: &str, values: &[String]) -> Result<(), InvalidSelector> {
    if !is_label_key(key) {
        return Err(InvalidSelector::Key(key.to_owned()));
    }
    match values.iter().find(|value| !is_label_value(value)) {
        Some(value) => Err(InvalidSelector::Value {
            key: key.to_owned(),
            value: value.clone(),
        }),
        None => Ok(()),
    }
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
    fn an_absent_selector_selects_nothing_or_everything_and_an_empty_one_everything() {
        let empty = LabelSelector::default();
        for (selection, expected) in [
            (Selection::or_nothing(None), false),
            (Selection::or_everything(None), true),
            (Selection::or_nothing(Some(&empty)), true),
            (Selection::or_everything(Some(&empty)), true),
        ] {
            assert_eq!(selection.unwrap().selects(&Labels::new()), expected);
        }
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
            let selection = Selection::of(&selector).unwrap();
            assert_eq!(selection.selects(&with), selects_with, "{operator} {values:?}");
            assert_eq!(
                selection.selects(&without),
                selects_without,
                "{operator} {values:?}"
            );
        }
        let by_label = LabelSelector {
            match_labels: Some(with.clone()),
            match_expressions: None,
        };
        let selection = Selection::of(&by_label).unwrap();
        assert!(selection.selects(&with) && !selection.selects(&without));
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
            let refusal = Selection::of(&selector(key, operator, values)).unwrap_err();
            assert!(refusal.to_string().contains(words), "{refusal}");
        }
        for (key, value) in [("example.com/pool_1.2", ""), ("a", "A-b_c.9")] {
            assert!(Selection::of(&selector(key, "In", &[value])).is_ok());
        }
    }
}
