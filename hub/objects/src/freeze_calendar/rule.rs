//! How an event recurs (RFC 5545, section 3.3.10), as far as holidays and maintenance need it.

use std::collections::BTreeSet;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan};

use super::event::Moment;
use super::shortened;

/// Periods that are looked at without finding an occurrence, before the rule counts as one that never occurs again.
const EMPTY_PERIODS: usize = 100;
/// The most occurrences that may be counted.
const MOST_COUNTED: usize = 10_000;
/// The largest INTERVAL.
const LARGEST_INTERVAL: i64 = 1000;

/// The period in which a rule repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequency {
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// A day of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DayOfMonth {
    /// From the first, or, negative, from the last.
    Number(i8),
    /// All of a weekday.
    Every(Weekday),
    /// The so-manieth of a weekday; negative from the last.
    Nth(i8, Weekday),
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    frequency: Frequency,
    interval: i64,
    weekdays: Vec<Weekday>,
    days: Vec<DayOfMonth>,
    week_start: Weekday,
    /// The last moment at which an occurrence may start.
    until: Option<DateTime>,
    count: Option<usize>,
}

impl Rule {
    /// Reads a rule of an event that starts then.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(text: &str, start: &Moment) -> Result<Self, String> {
        let mut rule = Self {
            frequency: Frequency::Daily,
            interval: 1,
            weekdays: Vec::new(),
            days: Vec::new(),
            week_start: Weekday::Monday,
            until: None,
            count: None,
        };
        let mut seen = BTreeSet::new();
        let mut by_day = None;
        for part in text.trim().split(';').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = name.trim().to_ascii_uppercase();
            let value = value.trim();
            let wrong = || {
                format!(
                    "RRULE: {}={:?} is not understood",
                    shortened(&name),
                    shortened(value)
                )
            };
            if !seen.insert(name.clone()) {
                return Err(format!("RRULE: {} is given twice", shortened(&name)));
            }
            match name.as_str() {
                "FREQ" => rule.frequency = frequency(value).ok_or_else(wrong)?,
                "INTERVAL" => rule.interval = within(value, 1, LARGEST_INTERVAL).ok_or_else(wrong)?,
                "COUNT" => {
                    let count = within(value, 1, MOST_COUNTED as i64);
                    let count = count.ok_or_else(|| format!("{}: give at most {MOST_COUNTED}", wrong()))?;
                    rule.count = usize::try_from(count).ok();
                }
                "UNTIL" => rule.until = Some(until(value, start).ok_or_else(wrong)?),
                "WKST" => rule.week_start = weekday(value).ok_or_else(wrong)?,
                "BYDAY" => by_day = Some(value),
                "BYMONTH" => {
                    let is_own = within(value, 1, 12) == Some(i64::from(start.at.month()));
                    is_own
                        .then_some(())
                        .ok_or_else(|| format!("{}: give the month of DTSTART", wrong()))?;
                }
                "BYMONTHDAY" => rule.days = days_of_month(value).ok_or_else(wrong)?,
                _ => return Err(wrong()),
            }
        }
        if !seen.contains("FREQ") {
            return Err("RRULE: it has no FREQ".to_owned());
        }
        if rule.until.is_some() && rule.count.is_some() {
            return Err("RRULE: it has both UNTIL and COUNT".to_owned());
        }
        if let Some(days) = by_day {
            rule.read_days(days)?;
        }
        let has_month_days = !rule.days.is_empty();
        let has_month = seen.contains("BYMONTH");
        let is_yearly = rule.frequency == Frequency::Yearly;
        if has_month_days && rule.frequency != Frequency::Monthly && !(is_yearly && has_month) {
            let why =
                "RRULE: days of a month are understood with FREQ=MONTHLY, and with FREQ=YEARLY and BYMONTH";
            return Err(why.to_owned());
        }
        if has_month && !is_yearly {
            return Err("RRULE: BYMONTH is understood with FREQ=YEARLY only".to_owned());
        }
        Ok(rule)
    }

    /// How many occurrences have to be counted to find the last one.
    pub fn counted(&self) -> usize {
        self.count.unwrap_or_default()
    }

    fn read_days(&mut self, text: &str) -> Result<(), String> {
        for day in text.split(',') {
            let wrong = || format!("RRULE: BYDAY={:?} is not understood", shortened(day));
            let day = day.trim();
            let split = day
                .len()
                .checked_sub(2)
                .filter(|split| day.is_char_boundary(*split));
            let (number, name) = day.split_at(split.ok_or_else(wrong)?);
            let weekday = weekday(name).ok_or_else(wrong)?;
            match (self.frequency, number) {
                (Frequency::Weekly, "") => self.weekdays.push(weekday),
                (Frequency::Monthly | Frequency::Yearly, "") => self.days.push(DayOfMonth::Every(weekday)),
                (Frequency::Monthly | Frequency::Yearly, number) => {
                    let number = within(number, -5, 5).filter(|number| *number != 0);
                    let number = number.and_then(|number| i8::try_from(number).ok());
                    self.days
                        .push(DayOfMonth::Nth(number.ok_or_else(wrong)?, weekday));
                }
                _ => {
                    return Err(format!(
                        "{}: with FREQ=WEEKLY days, with FREQ=MONTHLY and FREQ=YEARLY also the so-manieth",
                        wrong()
                    ));
                }
            }
        }
        if self.days.iter().any(|day| matches!(day, DayOfMonth::Number(_)))
            && self.days.iter().any(|day| !matches!(day, DayOfMonth::Number(_)))
        {
            return Err("RRULE: BYDAY and BYMONTHDAY together are not understood".to_owned());
        }
        Ok(())
    }

    /// The starts from the first one on that are not before `from`, and before `to`.
    pub fn starts(&self, first: &Moment, from: DateTime, to: DateTime) -> impl Iterator<Item = DateTime> {
        let first_start = first.at;
        let until = self.until.unwrap_or(DateTime::MAX);
        let count = self.count.unwrap_or(usize::MAX);
        // Occurrences are counted from the first one; without a count those before can be left out.
        let skipped = if self.count.is_some() {
            0
        } else {
            self.periods_before(first_start.date(), from.date())
        };
        self.all_starts(first_start, skipped)
            .take_while(move |start| *start <= until && *start < to)
            .take(count)
            .filter(move |start| *start >= from)
    }

    /// How many periods end before a date, or some less.
    fn periods_before(&self, first: Date, date: Date) -> i64 {
        let days = i64::from(
            first
                .until((jiff::Unit::Day, date))
                .map_or(0, |span| span.get_days()),
        );
        let length = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => 31,
            Frequency::Yearly => 366,
        };
        (days / (length * self.interval) - 2).max(0)
    }

    /// All starts, from a period on.
    fn all_starts(&self, first: DateTime, skipped: i64) -> impl Iterator<Item = DateTime> {
        let mut period = skipped;
        let mut empty = 0;
        let mut found: std::vec::IntoIter<Date> = Vec::new().into_iter();
        let rule = self.clone();
        // The first one counts, whether the rule has it or not.
        let own = (skipped == 0).then_some(first);
        let others = std::iter::from_fn(move || {
            loop {
                if let Some(date) = found.next() {
                    return Some(date.to_datetime(first.time()));
                }
                let dates = rule.dates(first.date(), period)?;
                period += 1;
                empty = if dates.is_empty() { empty + 1 } else { 0 };
                if empty > EMPTY_PERIODS {
                    return None;
                }
                found = dates.into_iter();
            }
        });
        own.into_iter().chain(others.filter(move |start| *start > first))
    }

    /// The dates of a period; none at the end of time.
    fn dates(&self, first: Date, period: i64) -> Option<Vec<Date>> {
        let step = period.checked_mul(self.interval)?;
        let mut dates = match self.frequency {
            Frequency::Daily => vec![first.checked_add(Span::new().try_days(step).ok()?).ok()?],
            Frequency::Weekly => {
                let back = first.weekday().since(self.week_start);
                let week = first.checked_sub(i64::from(back).days()).ok()?;
                let week = week.checked_add(Span::new().try_weeks(step).ok()?).ok()?;
                let weekdays = if self.weekdays.is_empty() {
                    vec![first.weekday()]
                } else {
                    self.weekdays.clone()
                };
                let days = weekdays.into_iter();
                days.filter_map(|day| {
                    week.checked_add(i64::from(day.since(self.week_start)).days())
                        .ok()
                })
                .collect()
            }
            Frequency::Monthly => {
                let month = first
                    .first_of_month()
                    .checked_add(Span::new().try_months(step).ok()?)
                    .ok()?;
                self.dates_of_month(first, month)
            }
            Frequency::Yearly => {
                let month = first
                    .first_of_month()
                    .checked_add(Span::new().try_years(step).ok()?)
                    .ok()?;
                self.dates_of_month(first, month)
            }
        };
        dates.sort_unstable();
        dates.dedup();
        Some(dates)
    }

    fn dates_of_month(&self, first: Date, month: Date) -> Vec<Date> {
        if self.days.is_empty() {
            return day_of_month(month, first.day()).into_iter().collect();
        }
        let weekday = |number: i8, weekday| month.nth_weekday_of_month(number, weekday).ok();
        let mut dates = Vec::new();
        for day in &self.days {
            match *day {
                DayOfMonth::Number(number) if number > 0 => dates.extend(day_of_month(month, number)),
                DayOfMonth::Number(number) => {
                    dates.extend(day_of_month(month, month.days_in_month() + 1 + number));
                }
                DayOfMonth::Nth(number, name) => dates.extend(weekday(number, name)),
                DayOfMonth::Every(name) => dates.extend((1..=5).filter_map(|number| weekday(number, name))),
            }
        }
        dates
    }
}

/// The days of BYMONTHDAY.
fn days_of_month(text: &str) -> Option<Vec<DayOfMonth>> {
    let day = |text: &str| {
        let number = within(text, -31, 31).filter(|number| *number != 0)?;
        i8::try_from(number).ok().map(DayOfMonth::Number)
    };
    text.split(',').map(day).collect()
}

/// A day of the month, if it has it.
fn day_of_month(month: Date, day: i8) -> Option<Date> {
    Date::new(month.year(), month.month(), day).ok()
}

fn frequency(text: &str) -> Option<Frequency> {
    Some(match text.to_ascii_uppercase().as_str() {
        "DAILY" => Frequency::Daily,
        "WEEKLY" => Frequency::Weekly,
        "MONTHLY" => Frequency::Monthly,
        "YEARLY" => Frequency::Yearly,
        _ => return None,
    })
}

fn weekday(text: &str) -> Option<Weekday> {
    Some(match text.to_ascii_uppercase().as_str() {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

fn within(text: &str, least: i64, most: i64) -> Option<i64> {
    let number: i64 = text.trim().trim_start_matches('+').parse().ok()?;
    (least..=most).contains(&number).then_some(number)
}

/// The last start on the clock of the first one: a whole day is part of it. Some programs write a moment for events of whole days, too, of UTC's day or
/// the zone's: the later day counts, as one more is safer than one less.
fn until(text: &str, start: &Moment) -> Option<DateTime> {
    let is_numeric = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b'T' | b'Z'));
    if !is_numeric {
        return None;
    }
    if text.len() == 8 {
        let date = Date::strptime("%Y%m%d", text).ok()?;
        return Some(date.at(23, 59, 59, 0));
    }
    let of_utc = text.strip_suffix('Z');
    let written = DateTime::strptime("%Y%m%dT%H%M%S", of_utc.unwrap_or(text)).ok()?;
    let at = match of_utc {
        Some(_) => {
            let instant = jiff::tz::TimeZone::UTC.to_timestamp(written).ok()?;
            start.zone.to_datetime(instant)
        }
        None => written,
    };
    Some(if start.is_day {
        at.date().max(written.date()).at(23, 59, 59, 0)
    } else {
        at
    })
}
