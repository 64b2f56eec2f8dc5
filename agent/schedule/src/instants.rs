//! Moments that are computed, kept within those that can be written down.

use jiff::{SignedDuration, Timestamp};

/// The moment this much later.
pub(crate) fn later(moment: Timestamp, duration: SignedDuration) -> Timestamp {
    moment.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

/// The moment this much earlier.
pub(crate) fn earlier(moment: Timestamp, duration: SignedDuration) -> Timestamp {
    moment.saturating_sub(duration).unwrap_or(Timestamp::MIN)
}

/// The last moment before this one.
pub(crate) fn just_before(moment: Timestamp) -> Timestamp {
    earlier(moment, SignedDuration::from_nanos(1))
}
