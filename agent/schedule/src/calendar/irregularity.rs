//! Times at which a schedule does not do what one would expect of it: to be shown before they come.

use std::fmt;

use jiff::civil::{DateTime, ISOWeekDate, Weekday};
use jiff::{SignedDuration, Timestamp};

use super::expression::Expression;
use super::{Calendar, IsoWeeks, clock};
use crate::instants::earlier;

/// Years with a week 53 are no further apart.
const YEARS_APART: i16 = 7;
/// Week 52, and some days more, before the end of week 53.
const AROUND: SignedDuration = SignedDuration::from_hours(24 * 16);
/// A schedule of every minute has so many times in three weeks.
const MOST_TIMES: usize = 40_000;

/// A time at which a schedule is not regular.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Irregularity {
    /// Two odd weeks, 53 and 1, are in a row.
    ConsecutiveWeeks {
        /// The last time in week 53.
        in_week_53: Timestamp,
        /// The first time in week 1.
        in_week_1: Timestamp,
    },
    /// Between two even weeks, 52 and 2, there are two odd ones.
    ThreeWeeksApart {
        /// The last time in week 52.
        in_week_52: Timestamp,
        /// The first time in week 2.
        in_week_2: Timestamp,
    },
    /// The clocks skip a time.
    SkippedTime {
        /// The time that they skip.
        clock: DateTime,
        /// When it comes instead.
        comes: Timestamp,
    },
    /// The clocks show a time twice.
    RepeatedTime {
        /// The time.
        clock: DateTime,
        /// When it comes.
        comes: Timestamp,
        /// When it does not come again.
        repeated: Timestamp,
    },
}

impl fmt::Display for Irregularity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConsecutiveWeeks {
                in_week_53,
                in_week_1,
            } => write!(
                formatter,
                "weeks 53 and 1 are both odd: there are maintenances in two weeks in a row, at {in_week_53} and {in_week_1}"
            ),
            Self::ThreeWeeksApart {
                in_week_52,
                in_week_2,
            } => write!(
                formatter,
                "weeks 53 and 1 are both odd: between {in_week_52} and {in_week_2} there are three weeks"
            ),
            Self::SkippedTime { clock, comes } => {
                write!(formatter, "the clocks skip {clock}: it comes at {comes}")
            }
            Self::RepeatedTime {
                clock,
                comes,
                repeated,
            } => write!(
                formatter,
                "the clocks show {clock} twice: it comes at {comes}, and not again at {repeated}"
            ),
        }
    }
}

impl Calendar {
    /// What is not regular among the next `count` times after `after`.
    pub fn irregularities(&self, anchor: Timestamp, after: Timestamp, count: usize) -> Vec<Irregularity> {
        let times: Vec<Timestamp> = self.times(anchor, after).take(count).collect();
        let of_clocks = times.iter().filter_map(|time| self.irregular_clock(*time));
        let of_weeks = times.windows(2).filter_map(|pair| match pair {
            [one, other] => self.irregular_weeks(*one, *other),
            _ => None,
        });
        of_clocks.chain(of_weeks).collect()
    }

    /// What is not regular about the weeks the next time that a year with a week 53 ends; nothing where only one week, or every week, counts.
    ///
    /// Such years are up to seven years apart: whoever looks only at the next times does not see it.
    pub fn next_irregular_weeks(&self, anchor: Timestamp, after: Timestamp) -> Option<Irregularity> {
        if !matches!(self.weeks, IsoWeeks::Odd | IsoWeeks::Even) {
            return None;
        }
        let year = self.week(after).year();
        let last_weeks = (year..=year.saturating_add(YEARS_APART)).filter_map(|year| {
            let last = ISOWeekDate::new(year, 53, Weekday::Sunday).ok()?;
            let monday = self.location.to_zoned(last.date().tomorrow().ok()?.into());
            Some(monday.ok()?.start_of_day().ok()?.timestamp())
        });
        let mut ends = last_weeks.filter(|end| *end > after);
        ends.find_map(|end| {
            let begin = earlier(end, AROUND).max(after);
            let mut times = self.times(anchor, begin);
            let mut one = times.next()?;
            for other in times.take(MOST_TIMES) {
                if let Some(found) = self.irregular_weeks(one, other) {
                    return Some(found);
                }
                if one >= end {
                    return None;
                }
                one = other;
            }
            None
        })
    }

    fn irregular_clock(&self, time: Timestamp) -> Option<Irregularity> {
        let Expression::Times(times) = &self.expression else {
            return None;
        };
        if let Some(clock) = clock::skipped(times, &self.clock, time) {
            return Some(Irregularity::SkippedTime { clock, comes: time });
        }
        let repeated = clock::repeated(&self.clock, time).filter(|_| !times.every_hour)?;
        Some(Irregularity::RepeatedTime {
            clock: self.clock.to_datetime(time),
            comes: time,
            repeated,
        })
    }

    fn irregular_weeks(&self, one: Timestamp, other: Timestamp) -> Option<Irregularity> {
        let (first, second) = (self.week(one), self.week(other));
        let is_next_year = second.year() == first.year() + 1;
        match (self.weeks, first.week(), second.week()) {
            (IsoWeeks::Odd, 53, 1) if is_next_year => Some(Irregularity::ConsecutiveWeeks {
                in_week_53: one,
                in_week_1: other,
            }),
            (IsoWeeks::Even, 52, 2) if is_next_year && first.weeks_in_year() == 53 => {
                Some(Irregularity::ThreeWeeksApart {
                    in_week_52: one,
                    in_week_2: other,
                })
            }
            _ => None,
        }
    }
}
