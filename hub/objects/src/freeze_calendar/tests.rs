//! Calendars against dates that were worked out by hand.

use drydock_rollout::FreezeCalendar;
use jiff::ToSpan;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::*;

const END: &str = "2039-12-31T23:00:00Z";

fn calendar(events: &[&str]) -> String {
    let events: String = events
        .iter()
        .map(|event| {
            let lines: String = event
                .split_whitespace()
                .map(|line| format!("{line}\r\n"))
                .collect();
            format!("BEGIN:VEVENT\r\nUID:1\r\nDTSTAMP:20260101T000000Z\r\n{lines}END:VEVENT\r\n")
        })
        .collect();
    format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\n{events}END:VCALENDAR\r\n")
}

fn zurich() -> TimeZone {
    TimeZone::get("Europe/Zurich").unwrap()
}

/// The first freezes, as `from to`.
fn freezes(events: &[&str], count: usize) -> Vec<String> {
    let FreezeCalendar::Read(all) = parse(&calendar(events), &zurich()).unwrap() else {
        panic!("it cannot be read");
    };
    let last = all.last().unwrap();
    assert_eq!((last.from.to_string().as_str(), last.to), (END, Timestamp::MAX));
    let known = all.iter().filter(|freeze| freeze.to < Timestamp::MAX);
    known
        .take(count)
        .map(|freeze| format!("{} {}", freeze.from, freeze.to))
        .collect()
}

fn refused(text: &str) -> String {
    parse(text, &zurich()).unwrap_err().to_string()
}

#[test]
fn whole_days_and_times_are_those_of_their_zone() {
    for (event, meant) in [
        (
            "DTSTART;VALUE=DATE:20261224",
            "2026-12-23T23:00:00Z 2026-12-24T23:00:00Z",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 DTEND;VALUE=DATE:20270103",
            "2026-12-23T23:00:00Z 2027-01-02T23:00:00Z",
        ),
        (
            "DTSTART:20261224T120000Z DTEND:20261224T180000Z",
            "2026-12-24T12:00:00Z 2026-12-24T18:00:00Z",
        ),
        (
            "DTSTART:20261224T120000 DTEND:20261224T180000",
            "2026-12-24T11:00:00Z 2026-12-24T17:00:00Z",
        ),
        (
            "DTSTART;TZID=America/New_York:20261224T120000 DURATION:PT36H",
            "2026-12-24T17:00:00Z 2026-12-26T05:00:00Z",
        ),
        (
            "DTSTART;TZID=/Europe/Zurich:20261224T120000 DURATION:PT1H",
            "2026-12-24T11:00:00Z 2026-12-24T12:00:00Z",
        ),
        // Days of the clock: that of the autumn has 25 hours.
        (
            "DTSTART;VALUE=DATE:20261025",
            "2026-10-24T22:00:00Z 2026-10-25T23:00:00Z",
        ),
        (
            "DTSTART:20261024T120000 DURATION:P1D",
            "2026-10-24T10:00:00Z 2026-10-25T11:00:00Z",
        ),
        (
            "DTSTART:20261024T120000 DURATION:PT24H",
            "2026-10-24T10:00:00Z 2026-10-25T10:00:00Z",
        ),
        // 02:30 does not exist then.
        (
            "DTSTART:20260329T023000 DURATION:PT1H",
            "2026-03-29T01:30:00Z 2026-03-29T02:30:00Z",
        ),
    ] {
        assert_eq!(freezes(&[event], 2), [meant], "{event}");
    }
}

#[test]
fn rules_occur_on_the_dates_of_a_wall_calendar() {
    for (event, meant) in [
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=YEARLY;COUNT=2",
            vec!["2026-12-23T23", "2027-12-23T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=24;COUNT=2",
            vec!["2026-12-23T23", "2027-12-23T23"],
        ),
        // The fourth Thursday of November.
        (
            "DTSTART;VALUE=DATE:20261126 RRULE:FREQ=YEARLY;BYDAY=4TH;BYMONTH=11;COUNT=3",
            vec!["2026-11-25T23", "2027-11-24T23", "2028-11-22T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261201 RRULE:FREQ=DAILY;INTERVAL=3;COUNT=3",
            vec!["2026-11-30T23", "2026-12-03T23", "2026-12-06T23"],
        ),
        // Monday and Friday of every second week; the week begins on Monday.
        (
            "DTSTART;VALUE=DATE:20261204 RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;COUNT=4",
            vec!["2026-12-03T23", "2026-12-13T23", "2026-12-17T23", "2026-12-27T23"],
        ),
        // The third Tuesday, and the last Friday.
        (
            "DTSTART;VALUE=DATE:20261117 RRULE:FREQ=MONTHLY;BYDAY=3TU;COUNT=3",
            vec!["2026-11-16T23", "2026-12-14T23", "2027-01-18T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261127 RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=3",
            vec!["2026-11-26T23", "2026-12-24T23", "2027-01-28T23"],
        ),
        // Months without a 31st are left out.
        (
            "DTSTART;VALUE=DATE:20261031 RRULE:FREQ=MONTHLY;COUNT=3",
            vec!["2026-10-30T23", "2026-12-30T23", "2027-01-30T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261130 RRULE:FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=3",
            vec!["2026-11-29T23", "2026-12-30T23", "2027-01-30T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=DAILY;INTERVAL=2;UNTIL=20261228 EXDATE;VALUE=DATE:20261226",
            vec!["2026-12-23T23", "2026-12-27T23"],
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RDATE;VALUE=DATE:20261231",
            vec!["2026-12-23T23", "2026-12-30T23"],
        ),
        // Since long ago.
        (
            "DTSTART;VALUE=DATE:19700106 RRULE:FREQ=WEEKLY;INTERVAL=520",
            vec!["2019-11-04T23", "2029-10-22T22", "2039-10-10T22"],
        ),
    ] {
        let found = freezes(&[event], 10);
        let found: Vec<&str> = found.iter().map(|freeze| &freeze[..13]).collect();
        assert_eq!(found, meant, "{event}");
    }
}

/// RFC 5545 asks for a date. No day that was meant is left out.
#[test]
fn whole_days_last_to_the_later_day_of_a_moment() {
    for (zone, until, last) in [
        ("America/New_York", "20261126T000000Z", "2026-11-27T05:00:00Z"),
        ("Europe/Zurich", "20261125T230000Z", "2026-11-26T23:00:00Z"),
        ("Europe/Zurich", "20261126", "2026-11-26T23:00:00Z"),
    ] {
        let event = format!("DTSTART;VALUE=DATE:20261124 RRULE:FREQ=DAILY;UNTIL={until}");
        let zone = TimeZone::get(zone).unwrap();
        let FreezeCalendar::Read(all) = parse(&calendar(&[&event]), &zone).unwrap() else {
            panic!("it cannot be read");
        };
        assert_eq!(all[0].to.to_string(), last, "{until}");
    }
}

#[test]
fn a_time_of_the_clock_stays_through_summer_time() {
    let event = "DTSTART;TZID=Europe/Zurich:20261018T220000 DURATION:PT1H RRULE:FREQ=WEEKLY;UNTIL=20261102T000000Z EXDATE;TZID=Europe/Zurich:20261101T220000";
    assert_eq!(
        freezes(&[event], 5),
        [
            "2026-10-18T20:00:00Z 2026-10-18T21:00:00Z",
            "2026-10-25T21:00:00Z 2026-10-25T22:00:00Z"
        ]
    );
}

#[test]
fn events_that_touch_or_overlap_are_one_freeze_that_names_them() {
    let text = calendar(&[
        "DTSTART;VALUE=DATE:20261224 SUMMARY:Christmas",
        "DTSTART;VALUE=DATE:20261225 DTEND;VALUE=DATE:20261228 SUMMARY:Stock\\,\u{202e}taking",
        "DTSTART;VALUE=DATE:20261226 SUMMARY:Cancelled STATUS:CANCELLED",
    ]);
    let FreezeCalendar::Read(all) = parse(&text, &zurich()).unwrap() else {
        panic!("it cannot be read");
    };
    assert_eq!(all.len(), 2);
    assert_eq!(&*all[0].reason, "Christmas; Stock,taking");
    assert_eq!(all[0].to.to_string(), "2026-12-27T23:00:00Z");
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let text = format!("\u{feff}{}", calendar(&["DTSTART;VALUE=DATE:20261224"]));
    assert!(parse(&text, &TimeZone::UTC).is_ok());
}

#[test]
fn what_is_not_understood_is_refused_and_never_left_out() {
    for (event, why) in [
        ("DTEND;VALUE=DATE:20261224", "no DTSTART"),
        ("DTSTART:20261224T120000Z", "neither DTEND nor DURATION"),
        (
            "DTSTART:20261224T120000Z DTEND:20261224T120000Z",
            "must end after it starts",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 DTEND;VALUE=DATE:20290101",
            "longer than 400 days",
        ),
        (
            "DTSTART;TZID=Middle/Earth:20261224T120000 DURATION:PT1H",
            "Middle/Earth",
        ),
        ("DTSTART;VALUE=DATE:20261324", "20261324"),
        ("DTSTART;VALUE=DATE:-2026122", "-2026122"),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=DAILY;UNTIL=-2026122",
            "UNTIL",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=SECONDLY",
            "FREQ=\"SECONDLY\"",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=MONTHLY;BYSETPOS=1",
            "BYSETPOS",
        ),
        ("DTSTART;VALUE=DATE:20261224 RRULE:INTERVAL=2", "no FREQ"),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=DAILY;COUNT=4294967295",
            "at most 10000",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RRULE:FREQ=DAILY;COUNT=2;UNTIL=20270101",
            "both UNTIL and COUNT",
        ),
        (
            "DTSTART;VALUE=DATE:20261224 RECURRENCE-ID;VALUE=DATE:20261224",
            "RECURRENCE-ID",
        ),
    ] {
        let refused = refused(&calendar(&[event]));
        assert!(refused.contains(why), "{event}: {refused}");
    }
}

#[test]
fn hostile_texts_are_refused_quickly() {
    let good = calendar(&["DTSTART;VALUE=DATE:20261224"]);
    // Dates are all there is room for in a text: one each minute.
    let first = DateTime::constant(2026, 1, 1, 0, 0, 0, 0);
    let dates =
        (0..51_000_i64).map(|minute| (first + minute.minutes()).strftime("%Y%m%dT%H%M%S").to_string());
    let many_dates = format!(
        "DTSTART:20260101T000000 DURATION:PT1M RDATE:{}",
        dates.collect::<Vec<_>>().join(",")
    );
    for (text, why) in [
        (String::new(), "RFC 5545"),
        ("hello".to_owned(), "RFC 5545"),
        (good.replace("END:VCALENDAR\r\n", ""), "RFC 5545"),
        (good.replace("VCALENDAR", "VTODO"), "not in a VCALENDAR"),
        (
            good.replace("UID:1\r\n", "UID:1\r\nthis is no property\r\n"),
            "RFC 5545",
        ),
        (format!("{good}BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n"), "RFC 5545"),
        ("BEGIN:A\r\n".repeat(50_000), "nested too deep"),
        ("x".repeat(LONGEST_TEXT + 1), "1 MiB"),
        (
            calendar(&vec!["DTSTART;VALUE=DATE:20261224"; 2001]),
            "2000 events",
        ),
        (
            calendar(&["DTSTART;VALUE=DATE:19000101 RRULE:FREQ=DAILY;COUNT=10000"; 6]),
            "50000 occurrences",
        ),
        (
            calendar(&["DTSTART;VALUE=DATE:19000101 RRULE:FREQ=DAILY"; 8]),
            "50000 occurrences",
        ),
        (
            calendar(&[many_dates.as_str(), "DTSTART;VALUE=DATE:20261224"]),
            "50000 occurrences",
        ),
    ] {
        let refused = refused(&text);
        assert!(refused.contains(why), "{why}: {refused}");
    }
}

/// Calendars of Outlook and Exchange name zones as Windows does, with spaces; some quote them.
#[test]
fn zones_have_names_of_iana_or_windows() {
    for (name, meant) in [
        ("W. Europe Standard Time", "2026-07-01T10:00:00Z"),
        ("\"Eastern Standard Time\"", "2026-07-01T16:00:00Z"),
        ("UTC", "2026-07-01T12:00:00Z"),
    ] {
        let event = format!("DTSTART;TZID={name}:20260701T120000\r\nDURATION:PT1H\r\n");
        let text =
            format!("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n");
        let FreezeCalendar::Read(freezes) = parse(&text, &zurich()).unwrap() else {
            panic!("{name} cannot be read");
        };
        assert_eq!(freezes[0].from.to_string(), meant, "{name}");
    }
    let unknown = calendar(&["DTSTART;TZID=Mars/Olympus:20260701T120000 DURATION:PT1H"]);
    assert!(refused(&unknown).contains("Mars/Olympus"));
}

/// Some tools export several calendars into one file.
#[test]
fn all_calendars_of_a_file_count() {
    let one = calendar(&["DTSTART:20261224T120000Z DURATION:PT1H"]);
    let other = calendar(&["DTSTART:20261225T120000Z DURATION:PT1H"]);
    let FreezeCalendar::Read(freezes) = parse(&format!("{one}{other}"), &zurich()).unwrap() else {
        panic!("they cannot be read");
    };
    assert_eq!(freezes.len(), 3);
}
