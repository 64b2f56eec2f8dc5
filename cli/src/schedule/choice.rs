//! By which labels a suspension window selects one object: windows know no names.

use std::collections::BTreeMap;

use drydock_api::names::NAME_LABEL;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// The longest value of a label.
const LONGEST_VALUE: usize = 63;

/// By which labels an object is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The label that the object has to be given first.
    pub new_label: Option<(String, String)>,
}

impl Choice {
    /// Labels of an object that select it, and as little else as can be: the one that names it alone if it has that, or is to be given
    /// it; else those whose value is the object's name; else all of them. Nothing if it has none.
    pub fn of(object: &ObjectMeta, give_label: bool) -> Option<Self> {
        let present = object.labels.clone().unwrap_or_default();
        let own = own_label(object);
        let only = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        if present.get(NAME_LABEL) == Some(&own) {
            return Some(Self::present(only(NAME_LABEL, &own)));
        }
        if give_label {
            return Some(Self {
                labels: only(NAME_LABEL, &own),
                new_label: Some((NAME_LABEL.to_owned(), own)),
            });
        }
        let named: BTreeMap<String, String> = present
            .iter()
            .filter(|(_, value)| Some(*value) == object.name.as_ref())
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let labels = if named.is_empty() { present } else { named };
        (!labels.is_empty()).then(|| Self::present(labels))
    }

    fn present(labels: BTreeMap<String, String>) -> Self {
        Self {
            labels,
            new_label: None,
        }
    }

    /// The selector of a window.
    pub fn selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: Some(self.labels.clone()),
            match_expressions: None,
        }
    }

    /// The labels as kubectl writes them.
    pub fn shown(&self) -> String {
        let pairs: Vec<String> = self
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        pairs.join(",")
    }
}

/// The value of the label that names an object alone: its name, or its UID if that is too long for a label.
fn own_label(object: &ObjectMeta) -> String {
    let name = object.name.clone().unwrap_or_default();
    if name.len() <= LONGEST_VALUE {
        return name;
    }
    object.uid.clone().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, labels: &[(&str, &str)]) -> ObjectMeta {
        let labels = labels.iter();
        let labels = labels.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ObjectMeta {
            name: Some(name.to_owned()),
            uid: Some("uid-1".to_owned()),
            labels: Some(labels.collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn an_object_is_selected_by_the_labels_that_mean_it_most() {
        for (labels, shown) in [
            (
                &[("app", "x"), ("helm.sh/chart", "y-1")][..],
                Some("app=x,helm.sh/chart=y-1"),
            ),
            (&[("app", "nights"), ("helm.sh/chart", "y-1")], Some("app=nights")),
            (
                &[("app", "nights"), (NAME_LABEL, "nights")],
                Some("drydock.dev/name=nights"),
            ),
            // That of the object which this one was copied from.
            (&[("app", "nights"), (NAME_LABEL, "days")], Some("app=nights")),
            (&[], None),
        ] {
            let choice = Choice::of(&object("nights", labels), false);
            assert_eq!(choice.as_ref().map(Choice::shown).as_deref(), shown, "{labels:?}");
            assert_eq!(choice.and_then(|choice| choice.new_label), None);
        }
    }

    #[test]
    fn a_label_of_its_own_is_given_once_and_fits() {
        let choice = Choice::of(&object("nights", &[("app", "x")]), true).unwrap();
        assert_eq!(choice.shown(), "drydock.dev/name=nights");
        assert_eq!(
            choice.new_label,
            Some((NAME_LABEL.to_owned(), "nights".to_owned()))
        );
        let again = Choice::of(&object("nights", &[(NAME_LABEL, "nights")]), true).unwrap();
        assert_eq!(again.new_label, None);
        let long = "n".repeat(64);
        let choice = Choice::of(&object(&long, &[]), true).unwrap();
        assert_eq!(choice.shown(), "drydock.dev/name=uid-1");
    }
}
