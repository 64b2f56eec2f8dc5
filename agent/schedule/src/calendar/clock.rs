//! Times of the clock as moments: what happens where the clocks change (Maintenance schedules, sections 2.3 and 11).
//!
//! `croner` searches on the plain clock, which knows no time zone and so has every time once; each hit is then placed in the time zone.
//! Searching in the time zone itself would find nothing after a day that a zone has left out (Pacific/Apia, 2011-12-30), and nothing on
//! the day of a gap for times such as `*/30 2`.

use croner::Cron;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneTransition};
use jiff::{SignedDuration, Timestamp};

use super::expression::ClockTimes;
use crate::instants::{just_before, later};

/// The next moment after `after`, if there is one that can be written down.
pub(super) fn next(times: &ClockTimes, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    if times.every_hour {
        next_hour_that_passes(&times.cron, zone, after)
    } else {
        next_time_of_the_clock(&times.cron, zone, after)
    }
}

/// A time that the clocks skip is the first moment after the gap, and one that they show twice is the first of both.
fn next_time_of_the_clock(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut clock = zone.to_datetime(after);
    loop {
        clock = cron.find_next_occurrence(&clock, false).ok()?;
        // Skipped times of one gap are the same moment; times that come again are over when they do.
        let moment = first_moment(zone, clock)?;
        if moment > after {
            return Some(moment);
        }
    }
}

/// The first moment at which the clocks show this time, or have gone beyond it.
fn first_moment(zone: &TimeZone, clock: DateTime) -> Option<Timestamp> {
    match zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(clock).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(clock).ok(),
        AmbiguousOffset::Gap { before, .. } => {
            let beyond = before.to_timestamp(clock).ok()?;
            Some(last_change(zone, beyond)?.timestamp())
        }
    }
}

/// With every hour, nothing is skipped or repeated: between two changes of the clocks they show each time once.
fn next_hour_that_passes(cron: &Cron, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
    let mut from = after;
    let mut offset = zone.to_offset(after);
    let mut changes = zone.following(after);
    loop {
        let change = changes.next();
        let clock = cron.find_next_occurrence(&offset.to_datetime(from), false).ok()?;
        let moment = offset.to_timestamp(clock).ok()?;
        match change {
            Some(change) if moment >= change.timestamp() => {
                from = just_before(change.timestamp());
                offset = change.offset();
            }
            _ => return Some(moment),
        }
    }
}

/// The last change of the clocks at or before a moment.
fn last_change(zone: &TimeZone, moment: Timestamp) -> Option<TimeZoneTransition<'_>> {
    zone.preceding(later(moment, SignedDuration::from_nanos(1)))
        .next()
}

/// The first time that the clocks skip at this moment and that is wanted.
pub(super) fn skipped(times: &ClockTimes, zone: &TimeZone, moment: Timestamp) -> Option<DateTime> {
    let change = last_change(zone, moment).filter(|change| change.timestamp() == moment)?;
    let gap_start = zone.to_offset(just_before(moment)).to_datetime(moment);
    let gap_end = change.offset().to_datetime(moment);
    let wanted = times.cron.find_next_occurrence(&gap_start, true).ok()?;
    (!times.every_hour && wanted < gap_end).then_some(wanted)
}

/// When the clocks show the time of this moment again.
pub(super) fn repeated(zone: &TimeZone, moment: Timestamp) -> Option<Timestamp> {
    let clock = zone.to_datetime(moment);
    match zone.to_ambiguous_timestamp(clock).offset() {
        AmbiguousOffset::Fold { after, .. } => after.to_timestamp(clock).ok().filter(|again| *again > moment),
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => None,
    }
}
