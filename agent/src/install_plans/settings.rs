//! The settings of the command, from the environment of its container.

use std::fmt;

use jiff::SignedDuration;
use thiserror::Error;

/// How long to wait, if nothing is said.
const DEFAULT_WAIT: SignedDuration = SignedDuration::from_mins(10);

/// Subscriptions by name and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorList(Vec<(String, String)>);

impl OperatorList {
    /// Reads `name,namespace` pairs that are separated by white space.
    ///
    /// # Errors
    /// If one is no pair.
    pub fn parse(text: &str) -> Result<Self, InvalidSettings> {
        let pair = |word: &str| {
            let (name, namespace) = word
                .split_once(',')
                .filter(|(name, namespace)| !name.is_empty() && !namespace.is_empty())
                .ok_or_else(|| InvalidSettings::Pair(word.to_owned()))?;
            Ok((name.to_owned(), namespace.to_owned()))
        };
        text.split_whitespace()
            .map(pair)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn names(&self, name: &str, namespace: &str) -> bool {
        self.0
            .iter()
            .any(|(known, wanted)| known == name && wanted == namespace)
    }
}

impl fmt::Display for OperatorList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> = self
            .0
            .iter()
            .map(|(name, namespace)| format!("{namespace}/{name}"))
            .collect();
        f.write_str(&pairs.join(" "))
    }
}

/// The environment cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidSettings {
    /// Not a pair.
    #[error("{0:?} in INCLUDELIST or EXCLUDELIST is not NAME,NAMESPACE of a Subscription")]
    Pair(String),
    /// Not a number of seconds.
    #[error("WAITTIME is {0:?}: give a number of seconds")]
    Wait(String),
}

/// Which operators, and how long to wait for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovalSettings {
    /// How long to wait.
    pub wait: SignedDuration,
    /// These; empty means all.
    pub include: OperatorList,
    /// Never these.
    pub exclude: OperatorList,
}

impl ApprovalSettings {
    /// Reads the variables `WAITTIME`, `INCLUDELIST` and `EXCLUDELIST`.
    ///
    /// # Errors
    /// If one of them cannot be read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidSettings> {
        let list = |name: &str| OperatorList::parse(&variable(name).unwrap_or_default());
        let wait = match variable("WAITTIME").filter(|text| !text.trim().is_empty()) {
            None => DEFAULT_WAIT,
            Some(text) => text
                .trim()
                .parse::<u32>()
                .map(|seconds| SignedDuration::from_secs(i64::from(seconds)))
                .map_err(|_| InvalidSettings::Wait(text))?,
        };
        Ok(Self {
            wait,
            include: list("INCLUDELIST")?,
            exclude: list("EXCLUDELIST")?,
        })
    }

    /// Whether a Subscription's upgrades are to be approved. Exclude wins.
    pub(super) fn wants(&self, name: &str, namespace: &str) -> bool {
        let included = self.include.0.is_empty() || self.include.names(name, namespace);
        included && !self.exclude.names(name, namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(wait: &str, include: &str, exclude: &str) -> Result<ApprovalSettings, InvalidSettings> {
        ApprovalSettings::from_variables(|name| {
            let text = match name {
                "WAITTIME" => wait,
                "INCLUDELIST" => include,
                _ => exclude,
            };
            Some(text.to_owned())
        })
    }

    #[test]
    fn nothing_included_means_all_and_exclude_wins() {
        let all = read("90", "", "etcd,operators").unwrap();
        assert_eq!(all.wait, SignedDuration::from_secs(90));
        assert!(all.wants("vault", "operators"));
        assert!(!all.wants("etcd", "operators"));
        assert!(all.wants("etcd", "elsewhere"));
        let some = read("", "etcd,operators vault,operators", "vault,operators").unwrap();
        assert_eq!(some.wait, DEFAULT_WAIT);
        assert!(some.wants("etcd", "operators"));
        assert!(!some.wants("vault", "operators"));
        assert!(!some.wants("other", "operators"));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(
            read("soon", "", ""),
            Err(InvalidSettings::Wait("soon".to_owned()))
        );
        for list in ["etcd", "etcd,", ",operators"] {
            assert_eq!(
                read("", list, ""),
                Err(InvalidSettings::Pair(list.to_owned())),
                "{list}"
            );
        }
    }
}
