//! How long an operator may be in a state before it is said, and before it is bad (insights.md, section 2.5).

use drydock_api::conditions::ForeignCondition;
use drydock_api::insights::Level;
use jiff::{SignedDuration, Timestamp};

use crate::times;

/// Strictly beyond these, a state is a warning, and an error.
pub(crate) struct Thresholds {
    warning: SignedDuration,
    error: SignedDuration,
}

impl Thresholds {
    /// Of an operator that is not available.
    pub(crate) const UNAVAILABLE: Self = Self {
        warning: SignedDuration::from_mins(5),
        error: SignedDuration::from_mins(20),
    };
    /// Of one that is degraded.
    pub(crate) const DEGRADED: Self = Self {
        warning: SignedDuration::from_mins(5),
        error: SignedDuration::from_mins(40),
    };

    /// How bad a state is that has lasted since its condition changed; nothing if that is too short to say, as while a node restarts. What began at
    /// an unknown time lasts long.
    pub(crate) fn level(&self, condition: &ForeignCondition, now: Timestamp) -> Option<Level> {
        let since = times::transition(condition);
        let lasts = since.map_or(SignedDuration::MAX, |since| now.duration_since(since));
        if lasts > self.error {
            Some(Level::Error)
        } else if lasts > self.warning {
            Some(Level::Warning)
        } else {
            None
        }
    }
}
