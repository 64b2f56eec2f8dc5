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
        self.until.set(self.until.get().into_iter().chain([moment]).min());
        false
    }

    /// The earliest moment that was asked for and had not come.
    pub fn until(&self) -> Option<Timestamp> {
        self.until.get()
    }
}
