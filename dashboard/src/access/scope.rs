//! What of a hub somebody may see.

use std::collections::BTreeSet;

use drydock_objects::hint;
use drydock_rollout::UpgradeKey;

/// What of a hub somebody may see. Who may see the same is shown the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scope {
    /// The namespaces whose upgrades are shown; none for all of them.
    pub namespaces: Option<BTreeSet<String>>,
    /// Whether clusters are shown that none of these upgrades concerns.
    pub all_clusters: bool,
    /// The namespace that the kubeconfig of who looks names, where it is known.
    pub own_namespace: Option<String>,
}

impl Scope {
    /// Everything, or the upgrades of one namespace.
    pub fn of(namespace: Option<&str>) -> Self {
        Self {
            namespaces: namespace.map(|namespace| BTreeSet::from([namespace.to_owned()])),
            all_clusters: true,
            own_namespace: None,
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
        let own = self.own_namespace.as_deref();
        self.only_namespace().or(own).unwrap_or(hint::DEFAULT_NAMESPACE)
    }

    /// How a command of the plugin names an upgrade.
    pub fn named(&self, upgrade: &UpgradeKey) -> String {
        hint::named(&upgrade.namespace, &upgrade.name, self.namespace_of_commands())
    }

    /// The namespace that commands of the viewer mean where they name none; empty if that is not known, as on the page of a hub.
    pub fn namespace_of_commands(&self) -> &str {
        self.own_namespace.as_deref().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A command is copied into a shell whose kubeconfig names what it does; of the users of a hub nobody knows that.
    #[test]
    fn commands_name_namespaces_that_the_reader_does_not_begin_with() {
        let own = |namespace: &str| Some(namespace.to_owned());
        let key = UpgradeKey::new("default", "spring");
        for (own_namespace, only, named, meant) in [
            (own("default"), None, "spring", "default"),
            (own("platform"), None, "spring -n default", "platform"),
            (own("platform"), Some("default"), "spring -n default", "default"),
            (None, None, "spring -n default", "default"),
        ] {
            let scope = Scope {
                own_namespace,
                ..Scope::of(only)
            };
            assert_eq!(scope.named(&key), named, "{scope:?}");
            assert_eq!(scope.default_namespace(), meant, "{scope:?}");
        }
    }
}
