//! The labels of an object, small: a fleet has tens of thousands of them.

use std::collections::BTreeMap;

/// Labels, sorted by key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// The value of a label.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.0.binary_search_by(|(other, _)| (**other).cmp(key)).ok()?;
        Some(&self.0.get(found)?.1)
    }

    /// All labels, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is such a label.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

impl From<&BTreeMap<String, String>> for Labels {
    fn from(labels: &BTreeMap<String, String>) -> Self {
        let labels = labels.iter();
        Self(
            labels
                .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_found_wherever_it_stands() {
        let labels: BTreeMap<String, String> = ["b", "a", "ab", "c"]
            .into_iter()
            .map(|key| (key.to_owned(), format!("of {key}")))
            .collect();
        let small = Labels::from(&labels);
        for (key, value) in &labels {
            assert_eq!(small.get(key), Some(value.as_str()));
        }
        assert!(!small.contains_key("aa") && !Labels::default().contains_key("a"));
    }
}
