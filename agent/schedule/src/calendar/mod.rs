//! When maintenances may start: a cron expression, in some weeks, in a time zone (Maintenance schedules, sections 2.1 to 2.3).

mod clock;
mod expression;
mod irregularity;
mod weeks;

use drydock_api::schedule::{LOCAL, Schedule};
use jiff::civil::ISOWeekDate;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use thiserror::Error;

use crate::instants::{just_before, later};
use expression::Expression;
pub use expression::InvalidCron;
pub use irregularity::Irregularity;
pub use weeks::IsoWeeks;

/// After so many years the Gregorian calendar, its days of the week and its weeks are the same again: what has not come by then never does.
const CALENDAR_REPEATS_AFTER: SignedDuration = SignedDuration::from_hours(146_097 * 24);

/// Why a schedule is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidSchedule {
    /// The cron expression.
    #[error(transparent)]
    Cron(#[from] InvalidCron),
    /// The time zone in front of the cron expression.
    #[error("cron names the time zone {0:?}, which does not exist: write an IANA name such as Europe/Zurich")]
    CronZone(String),
    /// The weeks.
    #[error("isoWeek {0:?} must be @odd, @even or the number of a week from 1 to 53")]
    Week(String),
    /// The time zone.
    #[error("location {0:?} is no time zone: write an IANA name such as Europe/Zurich, or Local")]
    Location(String),
    /// The dates of the expression are in none of the weeks.
    #[error("cron {cron:?} never occurs in isoWeek {week:?}: correct one of them")]
    Never {
        /// The expression.
        cron: String,
        /// The weeks.
        week: String,
    },
}

impl InvalidSchedule {
    /// Why, as one word: the reason of a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Cron(InvalidCron::Never(_)) | Self::Never { .. } => "NeverOccurs",
            Self::Cron(_) => "InvalidCron",
            Self::CronZone(_) | Self::Location(_) => "InvalidLocation",
            Self::Week(_) => "InvalidIsoWeek",
        }
    }
}

/// A schedule that can be searched.
///
/// Where the clocks change, a time that they skip comes once, with the first moment after the gap, and a time that they show twice comes
/// once, the first time. Schedules for every hour follow the hours that pass: nothing is added at a gap, and nothing left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calendar {
    expression: Expression,
    /// The zone whose clocks the expression means.
    clock: TimeZone,
    weeks: IsoWeeks,
    /// The zone in which weeks begin.
    location: TimeZone,
}

impl Calendar {
    /// Reads a schedule. `local` is the time zone that `Local` means.
    ///
    /// # Errors
    /// If a part of it cannot be read, or it has no times at all.
    pub fn parse(schedule: &Schedule, local: &TimeZone) -> Result<Self, InvalidSchedule> {
        let location = zone(&schedule.location, local)
            .ok_or_else(|| InvalidSchedule::Location(schedule.location.clone()))?;
        let (clock, text) = match expression::split_zone(&schedule.cron) {
            (None, text) => (location.clone(), text),
            // Of an empty name the original takes UTC here.
            (Some(""), text) => (TimeZone::UTC, text),
            (Some(name), text) => {
                let clock = zone(name, local).ok_or_else(|| InvalidSchedule::CronZone(name.to_owned()))?;
                (clock, text)
            }
        };
        let week = schedule.iso_week.as_deref().unwrap_or_default();
        let calendar = Self {
            expression: expression::parse(text)?,
            clock,
            weeks: IsoWeeks::parse(week).ok_or_else(|| InvalidSchedule::Week(week.to_owned()))?,
            location,
        };
        let some = Timestamp::UNIX_EPOCH;
        calendar
            .next(some, some)
            .is_some()
            .then_some(calendar)
            .ok_or_else(|| InvalidSchedule::Never {
                cron: schedule.cron.clone(),
                week: week.to_owned(),
            })
    }

    /// The next time after `after`. An interval (`@every`) is counted from `anchor`: from the last time that was decided, or else
    /// from the creation of the object.
    ///
    /// Weeks that do not match are passed over as a whole: a far week costs no more than a near one.
    pub fn next(&self, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        let end = later(after, CALENDAR_REPEATS_AFTER);
        let mut from = after;
        loop {
            let time = self.next_in_any_week(anchor, from).filter(|time| *time <= end)?;
            let date = self.location.to_datetime(time).date();
            if self.weeks.contains(date.iso_week_date()) {
                return Some(time);
            }
            let monday = self.weeks.next_monday(date)?;
            let midnight = self
                .location
                .to_zoned(monday.into())
                .and_then(|midnight| midnight.start_of_day())
                .ok()?;
            // Where clocks go back over the midnight, the Monday may have begun before.
            from = just_before(midnight.timestamp()).max(time);
        }
    }

    /// The times after `after`, in order.
    pub fn times(&self, anchor: Timestamp, after: Timestamp) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.next(anchor, after), move |last| self.next(anchor, *last))
    }

    /// The times after `after` in whatever week they are, in order.
    pub fn times_in_any_week(
        &self,
        anchor: Timestamp,
        after: Timestamp,
    ) -> impl Iterator<Item = Timestamp> + '_ {
        std::iter::successors(self.next_in_any_week(anchor, after), move |last| {
            self.next_in_any_week(anchor, *last)
        })
    }

    /// Is a moment in one of the weeks in which maintenances start?
    pub fn is_in_weeks(&self, time: Timestamp) -> bool {
        self.weeks.contains(self.week(time))
    }

    /// The ISO week of a moment, as the schedule counts weeks.
    pub fn week(&self, time: Timestamp) -> ISOWeekDate {
        self.location.to_datetime(time).date().iso_week_date()
    }

    /// The time zone whose clocks the cron expression means: another one than [`Self::location`] only after `CRON_TZ=`.
    pub fn clock(&self) -> &TimeZone {
        &self.clock
    }

    /// The time zone in which the schedule is written.
    pub fn location(&self) -> &TimeZone {
        &self.location
    }

    fn next_in_any_week(&self, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        match &self.expression {
            Expression::Times(times) => clock::next(times, &self.clock, after),
            Expression::Every(interval) => next_interval(*interval, anchor, after),
        }
    }
}

/// The first moment after `after` that is a whole number of intervals after `anchor`.
fn next_interval(interval: SignedDuration, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
    let anchor = anchor.as_second();
    let passed = after.as_second().checked_sub(anchor)?;
    let intervals = (passed.div_euclid(interval.as_secs()) + 1).max(0);
    let next = interval.as_secs().checked_mul(intervals)?.checked_add(anchor)?;
    Timestamp::from_second(next).ok()
}

/// A time zone by its name; nothing if there is none.
fn zone(name: &str, local: &TimeZone) -> Option<TimeZone> {
    match name {
        "" | LOCAL => Some(local.clone()),
        _ => TimeZone::get(name).ok(),
    }
}
