//! One event of a calendar.

use std::collections::BTreeSet;
use std::sync::Arc;

use icalendar::parser::{Component, Property};
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, Unit};

use super::rule::Rule;
use super::{CalendarError, KNOWN_FROM, KNOWN_UNTIL, Occurrence, shortened, zone};

/// The longest event, in days.
const LONGEST_DAYS: f64 = 400.0;

/// A moment as an event has it: a whole day, or a time in a zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moment {
    /// The wall clock.
    pub at: DateTime,
    pub zone: TimeZone,
    pub is_day: bool,
}

impl Moment {
    /// The instant. A time that the clocks skip is as long after the gap as it is into it; of one that they show twice it is the first.
    fn instant(&self, at: DateTime) -> Option<Timestamp> {
        self.zone.to_timestamp(at).ok()
    }
}

/// An event.
#[derive(Clone, Debug)]
pub(super) struct CalendarEvent {
    summary: Arc<str>,
    start: Moment,
    length: Span,
    rule: Option<Rule>,
    /// Occurrences that are left out.
    except: BTreeSet<DateTime>,
    /// Occurrences beside those of the rule.
    more: BTreeSet<DateTime>,
}

impl CalendarEvent {
    /// Reads an event; none if it is cancelled.
    ///
    /// # Errors
    /// What cannot be used.
    pub fn read(component: &Component<'_>, zone: &TimeZone) -> Result<Option<Self>, CalendarError> {
        let text = |name: &str| find(component, name).map(|found| found.val.as_str());
        let summary = find(component, "SUMMARY").map(|found| found.val.clone().unescape_text());
        let summary = summary.map(|summary| shortened(summary.as_str()));
        let summary = summary.filter(|summary| !summary.is_empty());
        let which = summary.clone().or_else(|| text("UID").map(shortened));
        let refused = |why: String| CalendarError::Event {
            which: which
                .clone()
                .unwrap_or_else(|| "without SUMMARY and UID".to_owned()),
            why,
        };
        if text("STATUS").is_some_and(|status| status.trim().eq_ignore_ascii_case("CANCELLED")) {
            return Ok(None);
        }
        let event = Self::read_times(component, zone).map_err(&refused)?;
        Ok(Some(Self {
            summary: summary.unwrap_or_else(|| "freeze".to_owned()).into(),
            ..event
        }))
    }

    fn read_times(component: &Component<'_>, zone: &TimeZone) -> Result<Self, String> {
        for name in ["RECURRENCE-ID", "EXRULE"] {
            if find(component, name).is_some() {
                return Err(format!(
                    "{name} is not understood: write an event of its own, and an EXDATE"
                ));
            }
        }
        for name in ["DTSTART", "DTEND", "DURATION", "RRULE"] {
            if all(component, name).nth(1).is_some() {
                return Err(format!("it has more than one {name}"));
            }
        }
        let start = find(component, "DTSTART").ok_or("it has no DTSTART")?;
        let start = moment(start, start.val.as_str(), zone)?;
        let length = length(component, &start, zone)?;
        let rule = find(component, "RRULE").map(|rule| Rule::parse(rule.val.as_str(), &start));
        let mut dates = [BTreeSet::new(), BTreeSet::new()];
        for (name, dates) in ["EXDATE", "RDATE"].into_iter().zip(&mut dates) {
            for property in all(component, name) {
                for date in property.val.as_str().split(',') {
                    dates.insert(same_clock(&moment(property, date, zone)?, &start, name)?);
                }
            }
        }
        let [except, more] = dates;
        Ok(Self {
            summary: "".into(),
            start,
            length,
            rule: rule.transpose()?,
            except,
            more,
        })
    }

    /// How many occurrences have to be counted to find the last one.
    pub fn counted(&self) -> usize {
        self.rule.as_ref().map_or(0, Rule::counted)
    }

    /// All occurrences that matter, at most so many.
    pub fn occurrences(&self, most: usize) -> Option<Vec<Occurrence>> {
        let mut starts: BTreeSet<DateTime> = self.more.clone();
        match &self.rule {
            None => drop(starts.insert(self.start.at)),
            Some(rule) => {
                // What began before may last until then.
                let from = KNOWN_FROM.saturating_sub(Span::new().days(LONGEST_DAYS as i64));
                for start in rule.starts(&self.start, from, KNOWN_UNTIL) {
                    starts.insert(start);
                    if starts.len() > most {
                        break;
                    }
                }
            }
        }
        if starts.len() > most {
            return None;
        }
        let starts = starts.into_iter().filter(|start| !self.except.contains(start));
        Some(starts.filter_map(|start| self.occurrence(start)).collect())
    }

    fn occurrence(&self, start: DateTime) -> Option<Occurrence> {
        let from = self.start.instant(start)?;
        let has_days = self.length.get_days() != 0 || self.length.get_weeks() != 0;
        // Days and weeks are those of the clock, hours and minutes those that pass.
        let to = if has_days {
            let day = Span::new()
                .weeks(self.length.get_weeks())
                .days(self.length.get_days());
            let rest = self.length.weeks(0).days(0);
            let day = start.checked_add(day).ok()?;
            self.start.instant(day)?.checked_add(rest).ok()?
        } else {
            from.checked_add(self.length).ok()?
        };
        Some(Occurrence {
            from,
            to,
            summary: Arc::clone(&self.summary),
        })
    }
}

fn find<'a>(component: &'a Component<'a>, name: &str) -> Option<&'a Property<'a>> {
    all(component, name).next()
}

fn all<'a>(component: &'a Component<'a>, name: &str) -> impl Iterator<Item = &'a Property<'a>> {
    let properties = component.properties.iter();
    properties.filter(move |property| property.name.as_str().eq_ignore_ascii_case(name))
}

fn parameter<'a>(property: &'a Property<'a>, name: &str) -> Option<&'a str> {
    let mut parameters = property.params.iter();
    let found = parameters.find(|parameter| parameter.key.as_str().eq_ignore_ascii_case(name))?;
    found.val.as_ref().map(|value| value.as_str().trim_matches('"'))
}

/// A date, or a time of a date, of a property.
fn moment(property: &Property<'_>, text: &str, zone: &TimeZone) -> Result<Moment, String> {
    let text = text.trim();
    let name = property.name.as_str();
    let wrong = || {
        format!(
            "{name}: {:?} is neither a date such as 20261224 nor a time such as 20261224T180000",
            shortened(text)
        )
    };
    if parameter(property, "VALUE").is_some_and(|value| value.eq_ignore_ascii_case("PERIOD")) {
        return Err(format!("{name}: periods are not understood"));
    }
    // Years have no sign.
    let is_numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'T');
    if !is_numeric(text.strip_suffix('Z').unwrap_or(text)) {
        return Err(wrong());
    }
    if text.len() == 8 {
        let at = Date::strptime("%Y%m%d", text)
            .map_err(|_| wrong())?
            .at(0, 0, 0, 0);
        return Ok(Moment {
            at,
            zone: zone.clone(),
            is_day: true,
        });
    }
    let local = text.strip_suffix('Z').unwrap_or(text);
    let at = (local.len() == 15).then(|| DateTime::strptime("%Y%m%dT%H%M%S", local).ok());
    let at = at.flatten().ok_or_else(wrong)?;
    let zone = match parameter(property, "TZID") {
        _ if local.len() < text.len() => TimeZone::UTC,
        Some(id) => zone::named(id).ok_or_else(|| {
            let id = shortened(id);
            format!(
                "{name}: the time zone {id:?} is not known: name it as IANA or Windows does, for example Europe/Zurich"
            )
        })?,
        None => zone.clone(),
    };
    Ok(Moment {
        at,
        zone,
        is_day: false,
    })
}

/// A date of EXDATE or RDATE on the clock of the start.
fn same_clock(moment: &Moment, start: &Moment, name: &str) -> Result<DateTime, String> {
    if moment.is_day != start.is_day {
        return Err(format!("{name} and DTSTART must both be days, or both be times"));
    }
    if moment.is_day || moment.zone == start.zone {
        return Ok(moment.at);
    }
    let instant = moment
        .instant(moment.at)
        .ok_or_else(|| format!("{name} is out of range"))?;
    Ok(start.zone.to_datetime(instant))
}

/// How long an event lasts.
fn length(component: &Component<'_>, start: &Moment, zone: &TimeZone) -> Result<Span, String> {
    let length = match (find(component, "DTEND"), find(component, "DURATION")) {
        (Some(_), Some(_)) => return Err("it has both DTEND and DURATION".to_owned()),
        (Some(end), None) => {
            let end = moment(end, end.val.as_str(), zone)?;
            if end.is_day != start.is_day {
                return Err("DTSTART and DTEND must both be days, or both be times".to_owned());
            }
            between(start, &end)?
        }
        (None, Some(duration)) => {
            let text = shortened(duration.val.as_str());
            let span: Result<Span, _> = text.parse();
            span.map_err(|_| format!("DURATION: {text:?} is not a duration such as P2D or PT36H"))?
        }
        (None, None) if start.is_day => Span::new().days(1),
        (None, None) => return Err("it has neither DTEND nor DURATION".to_owned()),
    };
    let days = length
        .total((Unit::Day, SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| "its length has months or years: give it in days or hours".to_owned())?;
    if days <= 0.0 {
        return Err("it must end after it starts".to_owned());
    }
    if days > LONGEST_DAYS {
        return Err(format!("it lasts longer than {LONGEST_DAYS} days"));
    }
    Ok(length)
}

fn between(start: &Moment, end: &Moment) -> Result<Span, String> {
    if start.is_day {
        let days = start.at.until((Unit::Day, end.at));
        return days.map_err(|error| error.to_string());
    }
    let instants = start.instant(start.at).zip(end.instant(end.at));
    let (from, to) = instants.ok_or("its times are out of range")?;
    Ok(Span::new().seconds(to.duration_since(from).as_secs()))
}
