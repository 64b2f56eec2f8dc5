//! Calendars of freezes, as text (RFC 5545): every event is a time in which no cluster is started.
//!
//! What is not understood is refused, as a freeze that is left out would let an upgrade start in the holidays. The text comes from a
//! ConfigMap and may be anything: its size, its events and their occurrences are bounded. Occurrences are known until [`KNOWN_UNTIL`].

mod event;
mod reference;
mod rule;
#[cfg(test)]
mod tests;
mod zone;

use std::sync::Arc;

use drydock_api::on_one_line;
use drydock_rollout::{Freeze, FreezeCalendar};
use icalendar::parser::{Component, read_components, unfold};
use jiff::Timestamp;
use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use thiserror::Error;

use event::CalendarEvent;
pub use reference::CalendarRef;

/// The longest text: that of a ConfigMap.
const LONGEST_TEXT: usize = 1024 * 1024;
/// The most events.
const MOST_EVENTS: usize = 2000;
/// The most occurrences of all events together.
const MOST_OCCURRENCES: usize = 50_000;
/// How deep components are nested: a calendar, its events, their alarms, and one more.
const DEEPEST: usize = 4;
/// Summaries that a reason names, and their characters.
const SUMMARIES: usize = 3;
const LONGEST_SUMMARY: usize = 256;

/// Occurrences are known from here.
const KNOWN_FROM: DateTime = date(2020, 1, 1).at(0, 0, 0, 0);
/// And until here.
const KNOWN_UNTIL: DateTime = date(2040, 1, 1).at(0, 0, 0, 0);

/// Why a calendar cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CalendarError {
    /// It is too long.
    #[error("it has more than 1 MiB: give the events of the next years only")]
    TooLong,
    /// It is no calendar.
    #[error("it is not an iCalendar text (RFC 5545): {0}")]
    NoCalendar(String),
    /// It has too many events, or they occur too often.
    #[error("it has more than {limit} {what} until 2040: give less, or rules with an UNTIL")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most.
        limit: usize,
    },
    /// An event cannot be used.
    #[error("event {which:?}: {why}")]
    Event {
        /// Its summary or UID.
        which: String,
        /// Why not.
        why: String,
    },
}

/// Reads a calendar. Whole days, and times without a zone, are those of `zone`.
///
/// # Errors
/// What cannot be used.
pub fn parse(text: &str, zone: &TimeZone) -> Result<FreezeCalendar, CalendarError> {
    if text.len() > LONGEST_TEXT {
        return Err(CalendarError::TooLong);
    }
    // Some programs begin what they export with a byte order mark.
    let text = unfold(text.trim_start_matches('\u{feff}'));
    let mut calendars = Vec::new();
    for calendar in each_calendar(&text)? {
        let read = read_components(calendar).map_err(|_| {
            CalendarError::NoCalendar(
                "a line is neither a property nor the begin or end of a component".to_owned(),
            )
        })?;
        calendars.extend(read);
    }
    check_all_was_read(&text, &calendars)?;
    let mut occurrences = Vec::new();
    let (mut events, mut counted) = (0, 0);
    for component in calendars.iter().flat_map(|calendar| &calendar.components) {
        if !component.name.as_str().eq_ignore_ascii_case("VEVENT") {
            continue;
        }
        events += 1;
        if events > MOST_EVENTS {
            return Err(too_many("events", MOST_EVENTS));
        }
        let Some(event) = CalendarEvent::read(component, zone)? else {
            continue;
        };
        counted += event.counted();
        if counted > MOST_OCCURRENCES {
            return Err(too_many("occurrences", MOST_OCCURRENCES));
        }
        let left = MOST_OCCURRENCES - occurrences.len();
        let found = event.occurrences(left);
        occurrences.extend(found.ok_or_else(|| too_many("occurrences", MOST_OCCURRENCES))?);
    }
    Ok(FreezeCalendar::Read(merged(occurrences, zone).into()))
}

fn too_many(what: &'static str, limit: usize) -> CalendarError {
    CalendarError::TooMany { what, limit }
}

/// The calendars of a text, of which the parser takes one at a time. It follows the nesting of components: that must not be deep.
fn each_calendar(text: &str) -> Result<Vec<&str>, CalendarError> {
    let mut depth = 0_usize;
    let mut begins_at = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begins = |what: &str| {
            line.get(..what.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(what))
        };
        if begins("BEGIN:") {
            if depth == 0 {
                begins_at.push(at);
            }
            depth += 1;
        } else if begins("END:") {
            depth = depth.saturating_sub(1);
        }
        if depth > DEEPEST {
            return Err(CalendarError::NoCalendar(
                "its components are nested too deep".to_owned(),
            ));
        }
        at += line.len();
    }
    // What stands before the first one belongs to it: it is no calendar, and must not be left out.
    let ends = begins_at.iter().skip(1).copied().chain([text.len()]);
    let starts = [0].into_iter().chain(begins_at.iter().skip(1).copied());
    let calendars = starts.zip(ends).filter_map(|(start, end)| text.get(start..end));
    Ok(calendars.collect())
}

/// The parser stops at what it does not understand, and leaves it out: every line must be in what it has read.
fn check_all_was_read(text: &str, calendars: &[Component<'_>]) -> Result<(), CalendarError> {
    fn lines(component: &Component<'_>) -> usize {
        2 + component.properties.len() + component.components.iter().map(lines).sum::<usize>()
    }
    if calendars.is_empty() {
        return Err(CalendarError::NoCalendar("it has no BEGIN:VCALENDAR".to_owned()));
    }
    let other = calendars
        .iter()
        .find(|calendar| !calendar.name.as_str().eq_ignore_ascii_case("VCALENDAR"));
    if let Some(other) = other {
        let name = shortened(other.name.as_str());
        return Err(CalendarError::NoCalendar(format!(
            "{name:?} is not in a VCALENDAR"
        )));
    }
    let read: usize = calendars.iter().map(lines).sum();
    let there = text.lines().filter(|line| !line.trim().is_empty()).count();
    if read != there {
        let why = format!("{read} of its {there} lines can be read");
        return Err(CalendarError::NoCalendar(why));
    }
    Ok(())
}

/// A text of the calendar, for people: nothing that a terminal acts on, or that turns or hides a text.
fn shortened(text: &str) -> String {
    on_one_line(text)
        .take(LONGEST_SUMMARY)
        .collect::<String>()
        .trim()
        .to_owned()
}

/// An occurrence of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Occurrence {
    from: Timestamp,
    to: Timestamp,
    summary: Arc<str>,
}

/// The freezes in their order, none of which touches the next one. After those that are known nobody knows.
fn merged(mut occurrences: Vec<Occurrence>, zone: &TimeZone) -> Vec<Freeze> {
    if let Ok(end) = zone.to_timestamp(KNOWN_UNTIL) {
        occurrences.push(Occurrence {
            from: end,
            to: Timestamp::MAX,
            summary: "calendars are read until 2040".into(),
        });
    }
    occurrences.sort_by_key(|occurrence| (occurrence.from, occurrence.to));
    let mut blocks: Vec<(Timestamp, Timestamp, Vec<Arc<str>>)> = Vec::new();
    for Occurrence { from, to, summary } in occurrences {
        match blocks.last_mut() {
            Some((_, end, summaries)) if from <= *end => {
                *end = to.max(*end);
                if summaries.len() < SUMMARIES && !summaries.contains(&summary) {
                    summaries.push(summary);
                }
            }
            _ => blocks.push((from, to, vec![summary])),
        }
    }
    let freeze = |(from, to, summaries): (Timestamp, Timestamp, Vec<Arc<str>>)| Freeze {
        from,
        to,
        reason: summaries.join("; ").into(),
        selector: None,
    };
    blocks.into_iter().map(freeze).collect()
}
