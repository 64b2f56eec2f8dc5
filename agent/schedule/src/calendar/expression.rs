//! Cron expressions in the dialect of the original (Maintenance schedules, section 2.1), translated for `croner`.

use std::collections::BTreeSet;

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use drydock_api::GoDuration;
use jiff::SignedDuration;
use thiserror::Error;

/// Why a cron expression is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidCron {
    /// It has not five fields.
    #[error(
        "cron {0:?} must have five fields (minute, hour, day of month, month, day of week), for example \"0 22 * * 2\", or be \
         a descriptor such as @weekly"
    )]
    Form(String),
    /// A field has something that it cannot have.
    #[error(
        "{field} {item:?} in cron must be from {least} to {most}, a range or *, each with an optional step"
    )]
    Field {
        /// The field.
        field: &'static str,
        /// What it has.
        item: String,
        /// The least value.
        least: u8,
        /// The greatest value.
        most: u8,
    },
    /// There is no such descriptor.
    #[error(
        "cron {0:?} must be @yearly, @monthly, @weekly, @daily, @hourly, \"@every\" with a duration such as 36h, or have five fields"
    )]
    Descriptor(String),
    /// None of its months has such a day.
    #[error("cron {0:?} never occurs: none of its months has such a day; correct the day or the month")]
    Never(String),
}

/// When an expression says that something happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// At times of the clock.
    Times(Box<ClockTimes>),
    /// In an interval, from the moment from which it is searched.
    Every(SignedDuration),
}

/// Times of the clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClockTimes {
    /// Finds them.
    pub(super) cron: Cron,
    /// Is no hour excluded? Then no time is missed, or happens twice, when the clocks change: it is every hour that passes.
    pub(super) every_hour: bool,
}

/// Splits off the time zone that an expression may have in front.
pub(super) fn split_zone(text: &str) -> (Option<&str>, &str) {
    let text = text.trim();
    let behind_zone = text.strip_prefix("CRON_TZ=").or_else(|| text.strip_prefix("TZ="));
    match behind_zone {
        Some(rest) => {
            let (zone, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (Some(zone), rest.trim())
        }
        None => (None, text),
    }
}

/// Reads an expression without its time zone.
pub(super) fn parse(text: &str) -> Result<Expression, InvalidCron> {
    if let Some(interval) = text.strip_prefix("@every ") {
        let interval = interval.trim().parse::<GoDuration>().map(GoDuration::signed);
        return match interval {
            Ok(interval) if !interval.is_negative() => Ok(Expression::Every(whole_seconds(interval))),
            Ok(_) | Err(_) => Err(InvalidCron::Descriptor(text.to_owned())),
        };
    }
    let fields = match text {
        "@yearly" | "@annually" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" | "@midnight" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        _ if text.starts_with('@') => return Err(InvalidCron::Descriptor(text.to_owned())),
        _ => text,
    };
    times(fields).map(|times| Expression::Times(Box::new(times)))
}

/// The original has no interval below a second, and drops parts of seconds.
fn whole_seconds(interval: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(interval.as_secs().max(1))
}

/// A field.
struct Field {
    name: &'static str,
    least: u8,
    most: u8,
    /// The names of values, from the least on.
    names: &'static [&'static str],
}

const MINUTE: Field = field("minute", 0, 59, &[]);
const HOUR: Field = field("hour", 0, 23, &[]);
const DAY: Field = field("day of month", 1, 31, &[]);
const MONTH: Field = field(
    "month",
    1,
    12,
    &[
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ],
);
// The original has no 7; elsewhere it is Sunday, as 0 is.
const WEEKDAY: Field = field(
    "day of week",
    0,
    SUNDAY_AGAIN,
    &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
);
const SUNDAY_AGAIN: u8 = 7;

const fn field(name: &'static str, least: u8, most: u8, names: &'static [&'static str]) -> Field {
    Field {
        name,
        least,
        most,
        names,
    }
}

/// The values of a field.
struct Values {
    values: BTreeSet<u8>,
    /// Does the field say `*`? It makes a difference where two fields say something about days.
    is_any: bool,
}

fn times(text: &str) -> Result<ClockTimes, InvalidCron> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return Err(InvalidCron::Form(text.to_owned()));
    };
    let (minutes, hours) = (MINUTE.values(minute)?, HOUR.values(hour)?);
    let (days, months) = (DAY.values(day)?, MONTH.values(month)?);
    let weekdays = WEEKDAY.values(weekday)?;
    if weekdays.is_any && !some_month_has_a_day(&months, &days) {
        return Err(InvalidCron::Never(text.to_owned()));
    }
    let every_hour = hours.values.len() == 24;
    let translated = [minutes, hours, days, months, weekdays].map(|field| field.translated());
    let cron = CronParser::builder()
        .seconds(Seconds::Disallowed)
        .year(Year::Disallowed)
        .build()
        .parse(&translated.join(" "))
        .map_err(|_| InvalidCron::Form(text.to_owned()))?;
    Ok(ClockTimes { cron, every_hour })
}

fn some_month_has_a_day(months: &Values, days: &Values) -> bool {
    let longest = months.values.iter().map(|month| match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    });
    longest.max() >= days.values.first().copied()
}

impl Field {
    fn values(&self, text: &str) -> Result<Values, InvalidCron> {
        let mut all = Values {
            values: BTreeSet::new(),
            is_any: false,
        };
        // The original drops empty items.
        for item in text.split(',').filter(|item| !item.is_empty()) {
            let values = self.item(item).ok_or_else(|| self.refuse(item))?;
            all.is_any |= values.is_any;
            all.values.extend(values.values);
        }
        if all.values.is_empty() {
            return Err(self.refuse(text));
        }
        Ok(all)
    }

    fn refuse(&self, item: &str) -> InvalidCron {
        InvalidCron::Field {
            field: self.name,
            item: item.to_owned(),
            least: self.least,
            most: self.most,
        }
    }

    /// `*`, a value or a range, with an optional step; a value with a step is a range to the end.
    fn item(&self, item: &str) -> Option<Values> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u8>().ok().filter(|step| *step > 0)?)),
            None => (item, None),
        };
        let is_star = matches!(range, "*" | "?");
        let (first, last) = match range.split_once('-') {
            _ if is_star => (self.least, self.end()),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None => {
                let value = self.value(range)?;
                (
                    value,
                    if step.is_some() {
                        self.end().max(value)
                    } else {
                        value
                    },
                )
            }
        };
        let is_to_sunday = self.most == SUNDAY_AGAIN && last == 0 && first > 0;
        let last = if is_to_sunday { SUNDAY_AGAIN } else { last };
        let step = step.unwrap_or(1);
        (first <= last).then(|| Values {
            values: (first..=last)
                .step_by(usize::from(step))
                .map(|value| {
                    if self.most == SUNDAY_AGAIN {
                        value % SUNDAY_AGAIN
                    } else {
                        value
                    }
                })
                .collect(),
            is_any: is_star && step == 1,
        })
    }

    /// The last value of all: Sunday comes first.
    fn end(&self) -> u8 {
        if self.most == SUNDAY_AGAIN {
            SUNDAY_AGAIN - 1
        } else {
            self.most
        }
    }

    fn value(&self, text: &str) -> Option<u8> {
        let lower = text.to_ascii_lowercase();
        let by_name = self.names.iter().position(|name| *name == lower);
        let number = match by_name {
            Some(index) => self.least + u8::try_from(index).ok()?,
            None if text.bytes().all(|letter| letter.is_ascii_digit()) => text.parse().ok()?,
            None => return None,
        };
        (self.least..=self.most).contains(&number).then_some(number)
    }
}

impl Values {
    /// As `croner` takes it: it reads steps, names and `?` otherwise than the original.
    fn translated(&self) -> String {
        if self.is_any {
            return "*".to_owned();
        }
        let values: Vec<String> = self.values.iter().map(u8::to_string).collect();
        values.join(",")
    }
}

#[cfg(test)]
mod tests;
