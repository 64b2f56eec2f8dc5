//! The present moment, which remembers to what it was compared.

use std::cell::Cell;

use jiff::Timestamp;

/// The present moment. What is decided by comparing it holds until the earliest moment that had not come: so an assessment knows by
/// itself for how long it stands.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    now: Timestamp,
    until: Cell<Option<Timestamp>>,
}

impl Present {
    pub fn new(now: Timestamp) -> Self {
        Self {
            now,
            until: Cell::new(None),
        }
    }

    /// The moment itself, to be written down.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether a moment has come.
    pub fn has_reached(&self, moment: Timestamp) -> bool {
        if moment <= self.now {
            return true;
        }
        // The end of all time is no moment to wait for.
        if moment < Timestamp::MAX {
            self.until.set(self.until.get().into_iter().chain([moment]).min());
        }
        false
    }

    /// The earliest moment that was asked for and had not come.
    pub fn until(&self) -> Option<Timestamp> {
        self.until.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_moment_that_has_not_come_is_remembered_and_the_end_of_time_is_none() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let present = Present::new(at(10));
        assert!(present.has_reached(at(10)) && present.until().is_none());
        assert!(!present.has_reached(Timestamp::MAX) && present.until().is_none());
        assert!(!present.has_reached(at(30)) && !present.has_reached(at(20)));
        assert_eq!(present.until(), Some(at(20)));
    }
}
