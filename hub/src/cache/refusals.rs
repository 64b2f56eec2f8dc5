//! What may not be read, for who looks on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use kube::runtime::watcher;

/// ConfigMaps, as calendars of freezes.
pub(super) const CALENDARS: &str = "calendars";
/// UpgradeRiskAcceptances: a hub of before does not have the kind.
pub(super) const ACCEPTANCES: &str = "acceptances";

/// For how long attempts fail before what was seen counts as old. Who is asked every 25 seconds whether all is well says so within two minutes: of
/// a watch the next attempt shows that it still fails.
const FAILS_FOR: SignedDuration = SignedDuration::from_secs(30);
/// Without an error for so long a watch is well again. It does not say itself that it has begun again, as long as nothing changes; an attempt
/// follows the one before after a minute at most, and may take some time.
const WELL_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// Why kinds could not be read when that was last tried. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals(Arc<Mutex<BTreeMap<&'static str, Refusal>>>);

/// Attempts that have failed, one after the other.
#[derive(Clone, Debug)]
struct Refusal {
    first: Timestamp,
    last: Timestamp,
    why: String,
    /// A list has failed: the next one that comes says so.
    is_of_list: bool,
    /// The rest shows without it.
    is_left_out: bool,
}

impl Refusal {
    fn is_over(&self, now: Timestamp) -> bool {
        !self.is_of_list && now.duration_since(self.last) > WELL_AFTER
    }

    /// Whether what was seen counts as old.
    fn lasts(&self, now: Timestamp) -> bool {
        let until = if self.is_of_list { now } else { self.last };
        !self.is_left_out && !self.is_over(now) && until.duration_since(self.first) >= FAILS_FOR
    }
}

impl Refusals {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over the answer to a watch. True if what it watches may not be read, and the rest shows without it.
    pub fn saw(&self, part: &'static str, error: Option<&watcher::Error>, now: Timestamp) -> bool {
        let mut all = self.locked();
        let before = all.remove(part);
        // A watch that breaks off had begun: what had failed before has succeeded since, and it begins again in a moment.
        let Some(error) = error.filter(|error| !matches!(error, watcher::Error::WatchFailed(_))) else {
            return false;
        };
        let before = before.filter(|before| !before.is_over(now));
        let (code, why) = answer(error);
        let is_left_out = [CALENDARS, ACCEPTANCES].contains(&part) && matches!(code, Some(403 | 404));
        let refusal = Refusal {
            first: before.map_or(now, |before| before.first),
            last: now,
            why,
            is_of_list: matches!(error, watcher::Error::InitialListFailed(_)),
            is_left_out,
        };
        all.insert(part, refusal);
        is_left_out
    }

    /// All of them.
    pub fn all(&self) -> BTreeMap<&'static str, String> {
        self.those(|_| true)
    }

    /// Whether a kind may not be read, and the rest shows without it.
    pub fn leave_out(&self, part: &str) -> bool {
        self.locked().get(part).is_some_and(|refusal| refusal.is_left_out)
    }

    /// Those that last: what was seen of these kinds is old.
    pub fn lasting(&self, now: Timestamp) -> BTreeMap<&'static str, String> {
        self.those(|refusal| refusal.lasts(now))
    }

    fn those(&self, is_it: impl Fn(&Refusal) -> bool) -> BTreeMap<&'static str, String> {
        let all = self.locked();
        let some = all.iter().filter(|(_, refusal)| is_it(refusal));
        some.map(|(part, refusal)| (*part, refusal.why.clone())).collect()
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

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn only_what_the_rest_shows_without_is_left_out() {
        let refusals = Refusals::default();
        assert!(refusals.saw(ACCEPTANCES, Some(&refused(404)), at(0)));
        assert!(refusals.saw(CALENDARS, Some(&refused(403)), at(0)));
        assert!(refusals.lasting(at(3600)).is_empty());
        assert!(
            !refusals.saw(CALENDARS, Some(&refused(500)), at(0)),
            "it may come back"
        );
        assert!(!refusals.saw("works", Some(&refused(403)), at(0)));
        assert_eq!(refusals.all()["works"], "ann may not");
        assert!(!refusals.saw("works", None, at(1)));
        assert!(!refusals.all().contains_key("works"));
    }

    #[test]
    fn what_fails_again_and_again_is_old_until_it_is_read() {
        type Seen = (i64, Option<watcher::Error>);
        let list = || refused(500);
        let watch = || {
            let status = Status::failure("ann may not", "Forbidden").with_code(403);
            watcher::Error::WatchStartFailed(kube::Error::Api(Box::new(status)))
        };
        let cut = || watcher::Error::NoResourceVersion;
        let broken = || watcher::Error::WatchFailed(kube::Error::LinesCodecMaxLineLengthExceeded);
        let table: [(&str, Vec<Seen>, i64, bool); 10] = [
            (
                "it is broken off again and again, and begins again each time",
                (0..10).map(|cut| (cut * 40, Some(broken()))).collect(),
                361,
                false,
            ),
            (
                "it did not begin for a moment, twice, and began between",
                vec![
                    (0, Some(broken())),
                    (10, Some(watch())),
                    (70, Some(broken())),
                    (80, Some(watch())),
                ],
                82,
                false,
            ),
            ("a list fails", vec![(0, Some(list()))], 29, false),
            ("and is not read", vec![(0, Some(list()))], 30, true),
            ("and is not read for long", vec![(0, Some(list()))], 3600, true),
            ("it is read", vec![(0, Some(list())), (40, None)], 50, false),
            ("a watch is cut once", vec![(0, Some(cut()))], 60, false),
            (
                "it cannot begin again",
                vec![(0, Some(cut())), (10, Some(watch())), (40, Some(watch()))],
                99,
                true,
            ),
            (
                "it has begun again, and nothing changes",
                vec![(0, Some(watch())), (40, Some(watch()))],
                161,
                false,
            ),
            (
                "it is cut now and then",
                vec![(0, Some(cut())), (600, Some(cut()))],
                601,
                false,
            ),
        ];
        for (what, seen, when, is_old) in table {
            let refusals = Refusals::default();
            for (moment, error) in seen {
                refusals.saw("works", error.as_ref(), at(moment));
            }
            assert_eq!(refusals.lasting(at(when)).contains_key("works"), is_old, "{what}");
        }
    }
}
