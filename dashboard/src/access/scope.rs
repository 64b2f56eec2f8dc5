//! What of a hub somebody may see.

use std::collections::BTreeSet;

/// What of a hub somebody may see. Who may see the same is shown the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    /// The namespaces whose upgrades are shown; none for all of them.
    pub namespaces: Option<BTreeSet<String>>,
    /// Whether clusters are shown that none of these upgrades concerns.
    pub all_clusters: bool,
}

impl Scope {
    /// Everything, or the upgrades of one namespace.
    pub fn of(namespace: Option<&str>) -> Self {
        Self {
            namespaces: namespace.map(|namespace| BTreeSet::from([namespace.to_owned()])),
            all_clusters: true,
        }
    }

    /// Whether upgrades of a namespace are shown.
    pub fn shows(&self, namespace: &str) -> bool {
        let all = self.namespaces.as_ref();
        all.is_none_or(|namespaces| namespaces.contains(namespace))
    }

    /// Whether no upgrades are shown at all.
    pub fn is_without_upgrades(&self) -> bool {
        self.namespaces.as_ref().is_some_and(BTreeSet::is_empty)
    }

    /// Whether nothing is shown at all: who may see nothing keeps nobody else waiting.
    pub fn shows_nothing(&self) -> bool {
        self.is_without_upgrades() && !self.all_clusters
    }

    /// The namespace, if there is only one.
    pub fn only_namespace(&self) -> Option<&str> {
        let only = self.namespaces.iter().flatten().next();
        only.filter(|_| self.namespaces.as_ref().is_some_and(|all| all.len() == 1))
            .map(String::as_str)
    }

    /// The namespace that is meant where none is named.
    pub fn default_namespace(&self) -> &str {
        self.only_namespace().unwrap_or("default")
    }
}
