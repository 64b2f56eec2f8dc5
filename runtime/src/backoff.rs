//! How long an object that failed to reconcile waits until it is tried again: an exponential back-off an object.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(5);

/// Counts failures by object.
#[derive(Debug)]
pub struct Backoff<K> {
    failures: Mutex<BTreeMap<K, u32>>,
}

impl<K> Default for Backoff<K> {
    fn default() -> Self {
        Self {
            failures: Mutex::new(BTreeMap::new()),
        }
    }
}

impl<K: Ord + Hash + Clone> Backoff<K> {
    /// Notes one more failure of `key` and says how long to wait: 1 s, 2 s, 4 s … 5 min, up to a tenth more, by object,
    /// so that objects that failed together do not come back together.
    pub fn failed(&self, key: &K) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(key.clone()).or_default();
        let delay = FIRST.saturating_mul(2_u32.saturating_pow(*count)).min(LONGEST);
        *count = count.saturating_add(1);
        let mut hasher = DefaultHasher::new();
        (key, *count).hash(&mut hasher);
        delay + delay.mul_f64((hasher.finish() % 100) as f64 / 1000.0)
    }

    /// Forgets the failures of `key`.
    pub fn succeeded(&self, key: &K) {
        self.failures
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_to_five_minutes_and_a_success_forgets() {
        let backoff = Backoff::default();
        let waits: Vec<u64> = (0..12).map(|_| backoff.failed(&"dev1").as_secs()).collect();
        assert_eq!(&waits[..4], &[1, 2, 4, 8]);
        assert!((300..=330).contains(&waits[11]), "{waits:?}");
        assert_eq!(
            backoff.failed(&"dev2").as_secs(),
            1,
            "objects do not share a wait"
        );
        backoff.succeeded(&"dev1");
        assert_eq!(backoff.failed(&"dev1").as_secs(), 1);
    }
}
