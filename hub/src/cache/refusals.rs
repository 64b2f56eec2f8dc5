//! What may not be read, for who looks on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::runtime::watcher;

/// ConfigMaps, as calendars of freezes.
pub(super) const CALENDARS: &str = "calendars";
/// UpgradeRiskAcceptances: a hub of before does not have the kind.
pub(super) const ACCEPTANCES: &str = "acceptances";

/// Why kinds could not be read when that was last tried. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Refusals {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the answer to a watch. True if what it watches may not be read, and the rest shows without it.
    pub fn saw(&self, part: &'static str, error: Option<&watcher::Error>) -> bool {
        let Some(error) = error else {
            self.locked().remove(part);
            return false;
        };
        let (code, words) = answer(error);
        self.locked().insert(part, words);
        [CALENDARS, ACCEPTANCES].contains(&part) && matches!(code, Some(403 | 404))
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<&'static str, String> {
        self.locked().clone()
    }
}

fn answer(error: &watcher::Error) -> (Option<u16>, String) {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(refusal))
        | watcher::Error::WatchStartFailed(kube::Error::Api(refusal))
        | watcher::Error::WatchFailed(kube::Error::Api(refusal))
        | watcher::Error::WatchError(refusal) => (Some(refusal.code), refusal.message.clone()),
        _ => (None, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(code: u16) -> watcher::Error {
        let status = Status::failure("ann may not", "Forbidden").with_code(code);
        watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)))
    }

    #[test]
    fn only_what_the_rest_shows_without_is_left_out() {
        let refusals = Refusals::default();
        assert!(refusals.saw(ACCEPTANCES, Some(&refused(404))));
        assert!(refusals.saw(CALENDARS, Some(&refused(403))));
        assert!(!refusals.saw(CALENDARS, Some(&refused(500))), "it may come back");
        assert!(!refusals.saw("works", Some(&refused(403))));
        assert_eq!(refusals.all()["works"], "ann may not");
        assert!(!refusals.saw("works", None));
        assert!(!refusals.all().contains_key("works"));
    }
}
