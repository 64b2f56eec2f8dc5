//! What is said of one upgrade may name another one, of which a viewer may not know.

use std::borrow::Cow;

use drydock_objects::ClusterDetails;
use drydock_objects::works::pre_checks::ASKED_FOR;
use drydock_rollout::{BELONGS_TO, EARLIER, LEFT_TO};

use crate::access::Scope;

/// How such texts begin, before the namespace and the name.
const NAMING: [&str; 4] = [BELONGS_TO, LEFT_TO, ASKED_FOR, EARLIER];

/// A text without the names of upgrades that are not shown.
pub(crate) fn hide<'a>(text: &'a str, scope: &Scope) -> Cow<'a, str> {
    let mut shown = Cow::Borrowed(text);
    if scope.namespaces.is_none() {
        return shown;
    }
    for naming in NAMING {
        let mut from = 0;
        while let Some(begin) = shown.get(from..).and_then(|rest| rest.find(naming)) {
            let begin = from + begin + naming.len();
            let named = shown
                .get(begin..)
                .and_then(|rest| rest.split([' ', ';', ',', '\n']).next());
            let named = named.unwrap_or_default();
            let namespace = named.split_once('/').map_or(named, |(namespace, _)| namespace);
            from = begin;
            if !scope.shows(namespace) {
                let end = begin + named.len();
                shown.to_mut().replace_range(begin..end, "(of another namespace)");
            }
        }
    }
    shown
}

/// The same of what is said of a cluster.
pub(crate) fn hide_in(details: &mut ClusterDetails, scope: &Scope) {
    if let Cow::Owned(shown) = hide(&details.message, scope) {
        details.message = shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_upgrade_is_named_that_is_not_shown() {
        let one = Scope::of(Some("team-a"));
        let hidden = "c1: the cluster belongs to upgrade team-b/secret until that upgrade has finished there; its agent is asked for team-b/other at present; \
                      2 clusters wait in the earlier upgrade team-b/third, too";
        assert_eq!(
            hide(hidden, &one),
            "c1: the cluster belongs to upgrade (of another namespace) until that upgrade has finished there; \
             its agent is asked for (of another namespace) at present; \
             2 clusters wait in the earlier upgrade (of another namespace), too"
        );
        let own = hidden.replace("team-b", "team-a");
        assert_eq!(hide(&own, &one), own);
        assert_eq!(hide(hidden, &Scope::of(None)), hidden);
    }
}
