//! Moments that are computed, kept within those that can be written down.

use jiff::{SignedDuration, Timestamp};

/// The moment this much later, or earlier if the duration is negative.
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

/// The first whole second after a deadline that is itself still in time.
pub(crate) fn just_after(deadline: Timestamp) -> Timestamp {
    later(deadline, SignedDuration::from_secs(1))
}

/// A moment as it is on the wire.
pub(crate) fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}
