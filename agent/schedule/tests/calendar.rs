//! When maintenances may start: cron expressions, weeks and time zones. The expected moments were worked out by stepping through the
//! minutes with another implementation of time zones, and are written in UTC.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_api::schedule::Schedule;
use drydock_schedule::calendar::{Calendar, InvalidSchedule, Irregularity};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A moment, in UTC.
fn at(text: &str) -> Timestamp {
    format!("{text}:00Z").parse().unwrap()
}

fn parse(cron: &str, week: &str, location: &str) -> Result<Calendar, InvalidSchedule> {
    let schedule = Schedule {
        cron: cron.to_owned(),
        iso_week: Some(week.to_owned()),
        location: location.to_owned(),
        suspend: None,
    };
    Calendar::parse(&schedule, &TimeZone::get("America/New_York").unwrap())
}

fn calendar(cron: &str, week: &str, location: &str) -> Calendar {
    parse(cron, week, location).unwrap()
}

/// The times after a moment are these, and no others between them.
fn comes(calendar: &Calendar, after: &str, expected: &[&str]) {
    let after = at(after);
    let times: Vec<_> = calendar.times(after, after).take(expected.len()).collect();
    let expected: Vec<_> = expected.iter().map(|text| at(text)).collect();
    assert_eq!(times, expected);
}

#[test]
fn a_time_of_the_clock_stays_the_same_through_summer_time() {
    let tuesdays = calendar("0 22 * * 2", "", "Europe/Zurich");
    comes(
        &tuesdays,
        "2026-03-20 00:00",
        &["2026-03-24 21:00", "2026-03-31 20:00"],
    );
    comes(
        &tuesdays,
        "2026-10-19 00:00",
        &["2026-10-20 20:00", "2026-10-27 21:00"],
    );
}

// The original skips the day, or the whole week.
#[test]
fn a_time_that_the_clocks_skip_comes_with_the_first_moment_after_the_gap() {
    for (cron, location, after, expected) in [
        (
            "30 2 * * *",
            "Europe/Zurich",
            "2026-03-27 12:00",
            ["2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"],
        ),
        (
            "30 2 * * 0",
            "Europe/Zurich",
            "2026-03-20 00:00",
            ["2026-03-22 01:30", "2026-03-29 01:00", "2026-04-05 00:30"],
        ),
        (
            "30 2 * * *",
            "America/New_York",
            "2026-03-07 12:00",
            ["2026-03-08 07:00", "2026-03-09 06:30", "2026-03-10 06:30"],
        ),
        // Midnight itself.
        (
            "0 0 * * *",
            "Africa/Cairo",
            "2026-04-22 12:00",
            ["2026-04-22 22:00", "2026-04-23 22:00", "2026-04-24 21:00"],
        ),
        (
            "0 0 * * *",
            "America/Sao_Paulo",
            "2018-11-03 01:00",
            ["2018-11-03 03:00", "2018-11-04 03:00", "2018-11-05 02:00"],
        ),
        // A gap of half an hour.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2026-10-02 12:00",
            ["2026-10-02 15:45", "2026-10-03 15:30", "2026-10-04 15:15"],
        ),
        // A gap of a day: Samoa had no 2011-12-30.
        (
            "0 22 * * *",
            "Pacific/Apia",
            "2011-12-29 12:00",
            ["2011-12-30 08:00", "2011-12-30 10:00", "2011-12-31 08:00"],
        ),
        (
            "0 22 * * 5",
            "Pacific/Apia",
            "2011-12-23 12:00",
            ["2011-12-24 08:00", "2011-12-30 10:00", "2012-01-06 08:00"],
        ),
    ] {
        comes(&calendar(cron, "", location), after, &expected);
    }
}

#[test]
fn times_that_one_gap_skips_come_once() {
    comes(
        &calendar("*/30 2 * * *", "", "Europe/Zurich"),
        "2026-03-27 12:00",
        &[
            "2026-03-28 01:00",
            "2026-03-28 01:30",
            "2026-03-29 01:00",
            "2026-03-30 00:00",
            "2026-03-30 00:30",
        ],
    );
    comes(
        &calendar("*/30 0 * * 5", "", "Africa/Cairo"),
        "2026-04-22 12:00",
        &["2026-04-23 22:00", "2026-04-30 21:00", "2026-04-30 21:30"],
    );
}

// The original starts twice.
#[test]
fn a_time_that_the_clocks_show_twice_comes_the_first_time() {
    for (cron, location, after, expected) in [
        (
            "30 2 * * 0",
            "Europe/Zurich",
            "2026-10-20 00:00",
            ["2026-10-25 00:30", "2026-11-01 01:30"],
        ),
        (
            "30 1 * * *",
            "America/New_York",
            "2026-10-31 12:00",
            ["2026-11-01 05:30", "2026-11-02 06:30"],
        ),
        (
            "30 23 * * *",
            "Africa/Cairo",
            "2026-10-29 12:00",
            ["2026-10-29 20:30", "2026-10-30 21:30"],
        ),
        (
            "45 1 * * *",
            "Australia/Lord_Howe",
            "2026-04-04 12:00",
            ["2026-04-04 14:45", "2026-04-05 15:15"],
        ),
        (
            "30 23 * * *",
            "America/Sao_Paulo",
            "2018-02-17 12:00",
            ["2018-02-18 01:30", "2018-02-19 02:30"],
        ),
    ] {
        let calendar = calendar(cron, "", location);
        comes(&calendar, after, &expected);
        // Nor does it come for one who looks between the two.
        let between = at(expected[0])
            .saturating_add(jiff::SignedDuration::from_mins(10))
            .unwrap();
        assert_eq!(calendar.next(between, between), Some(at(expected[1])), "{cron}");
    }
}

#[test]
fn a_schedule_for_every_hour_follows_the_hours_that_pass() {
    for (cron, location, after, expected) in [
        (
            "0 * * * *",
            "Europe/Zurich",
            "2026-10-24 23:30",
            ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"],
        ),
        (
            "30 * * * *",
            "Europe/Zurich",
            "2026-03-28 23:40",
            ["2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"],
        ),
        (
            "45 * * * *",
            "Australia/Lord_Howe",
            "2026-04-04 14:00",
            ["2026-04-04 14:45", "2026-04-04 15:15", "2026-04-04 16:15"],
        ),
        // The whole day that Samoa left out.
        (
            "0 * * * *",
            "Pacific/Apia",
            "2011-12-30 08:30",
            ["2011-12-30 09:00", "2011-12-30 10:00", "2011-12-30 11:00"],
        ),
    ] {
        comes(&calendar(cron, "", location), after, &expected);
    }
}

#[test]
fn a_zone_without_summer_time_has_nothing_to_skip() {
    comes(
        &calendar("30 5 * * 1", "", "Asia/Kolkata"),
        "2026-03-20 00:00",
        &["2026-03-23 00:00", "2026-03-30 00:00", "2026-04-06 00:00"],
    );
}

#[test]
fn of_two_days_either_suffices() {
    let expected = [
        "2026-11-06 21:00",
        "2026-11-13 21:00",
        "2026-11-20 21:00",
        "2026-11-27 21:00",
        "2026-12-04 21:00",
        "2026-12-11 21:00",
        "2026-12-13 21:00",
        "2026-12-18 21:00",
    ];
    let either = calendar("0 22 13 * 5", "", "Europe/Zurich");
    comes(&either, "2026-11-01 00:00", &expected);
}

#[test]
fn seven_is_sunday_as_zero_is() {
    let sundays = ["2026-11-29 21:00", "2026-12-06 21:00"];
    for day in ["0", "7", "SUN"] {
        let calendar = calendar(&format!("0 22 * * {day}"), "", "Europe/Zurich");
        comes(&calendar, "2026-11-25 00:00", &sundays);
    }
}

#[test]
fn descriptors_are_read() {
    for (cron, first) in [
        ("@yearly", "2026-12-31 23:00"),
        ("@monthly", "2026-11-30 23:00"),
        ("@weekly", "2026-11-28 23:00"),
        ("@daily", "2026-11-25 23:00"),
        ("@hourly", "2026-11-25 01:00"),
    ] {
        comes(&calendar(cron, "", "Europe/Zurich"), "2026-11-25 00:00", &[first]);
    }
}

#[test]
fn an_interval_is_counted_from_the_anchor_however_late_one_looks() {
    let every = calendar("@every 36h", "", "Europe/Zurich");
    let anchor = at("2026-11-01 06:00");
    assert_eq!(every.next(anchor, anchor), Some(at("2026-11-02 18:00")));
    let late = at("2026-11-10 00:00");
    assert_eq!(every.next(anchor, late), Some(at("2026-11-10 06:00")));
    // In every fifth week only.
    let rare = calendar("@every 36h", "50", "Europe/Zurich");
    assert_eq!(rare.next(anchor, anchor), Some(at("2026-12-07 06:00")));
}

#[test]
fn a_zone_in_front_of_the_expression_is_for_the_clock_and_not_for_the_week() {
    // Sundays at 22:00 in New York are Mondays at 04:00 in Zurich, of the next week.
    let odd = calendar("CRON_TZ=America/New_York 0 22 * * SUN", "@odd", "Europe/Zurich");
    comes(
        &odd,
        "2026-11-01 00:00",
        &["2026-11-02 03:00", "2026-11-16 03:00"],
    );
    let same = calendar("TZ=America/New_York 0 22 * * SUN", "@odd", "America/New_York");
    comes(&same, "2026-11-01 00:00", &["2026-11-09 03:00"]);
}

#[test]
fn local_is_the_zone_of_the_process() {
    for location in ["", "Local"] {
        let calendar = calendar("0 22 * * 2", "", location);
        comes(&calendar, "2026-11-23 00:00", &["2026-11-25 03:00"]);
    }
}

#[test]
fn odd_weeks_are_two_in_a_row_where_a_year_has_week_53() {
    comes(
        &calendar("0 22 * * 2", "@odd", "Europe/Zurich"),
        "2026-12-10 00:00",
        &["2026-12-15 21:00", "2026-12-29 21:00", "2027-01-05 21:00"],
    );
    comes(
        &calendar("0 22 * * 2", "@even", "Europe/Zurich"),
        "2026-12-10 00:00",
        &["2026-12-22 21:00", "2027-01-12 21:00", "2027-01-26 21:00"],
    );
}

#[test]
fn a_week_is_found_with_and_without_a_leading_zero() {
    for week in ["7", "07"] {
        comes(
            &calendar("0 22 * * 2", week, "Europe/Zurich"),
            "2026-01-10 00:00",
            &["2026-02-10 21:00", "2027-02-16 21:00", "2028-02-15 21:00"],
        );
    }
}

// The original gives up after a thousand times.
#[test]
fn a_far_week_is_found_whatever_the_expression() {
    let daily = calendar("0 22 * * *", "53", "Europe/Zurich");
    comes(
        &daily,
        "2027-01-02 22:00",
        &["2027-01-03 21:00", "2032-12-27 21:00", "2032-12-28 21:00"],
    );
    comes(
        &calendar("0 22 * * 2", "53", "Europe/Zurich"),
        "2026-01-01 00:00",
        &["2026-12-29 21:00", "2032-12-28 21:00"],
    );
    for cron in ["0 * * * *", "* * * * *", "@every 1s"] {
        let calendar = calendar(cron, "53", "UTC");
        let after = at("2027-01-04 00:00");
        let first = at("2032-12-27 00:00");
        assert_eq!(calendar.next(after, after), Some(first), "{cron}");
    }
}

#[test]
fn a_schedule_that_never_comes_is_refused() {
    let reason = |cron: &str, week: &str| parse(cron, week, "Europe/Zurich").unwrap_err().reason();
    assert_eq!(reason("0 22 30 2 *", ""), "NeverOccurs");
    assert_eq!(reason("0 22 30 2 *", "@odd"), "NeverOccurs");
    assert_eq!(reason("0 22 30 2 *", "@even"), "NeverOccurs");
    // 29 February is in week 8, 9 or 10.
    assert_eq!(reason("0 22 29 2 *", "20"), "NeverOccurs");
    assert!(parse("0 22 29 2 *", "9", "Europe/Zurich").is_ok());
    assert!(parse("0 22 30 2 1", "9", "Europe/Zurich").is_ok());
}

#[test]
fn what_is_wrong_is_a_reason_and_says_what_to_write() {
    for (cron, week, location, reason, words) in [
        ("0 22 * *", "", "UTC", "InvalidCron", "must have five fields"),
        ("0 0 22 * * 2", "", "UTC", "InvalidCron", "must have five fields"),
        ("0 22 * * 2", "0", "UTC", "InvalidIsoWeek", "from 1 to 53"),
        ("0 22 * * 2", "54", "UTC", "InvalidIsoWeek", "from 1 to 53"),
        (
            "0 22 * * 2",
            "",
            "Mars/Olympus",
            "InvalidLocation",
            "Europe/Zurich",
        ),
        (
            "TZ=Mars/Olympus 0 22 * * 2",
            "",
            "UTC",
            "InvalidLocation",
            "cron names the time zone",
        ),
    ] {
        let refusal = parse(cron, week, location).unwrap_err();
        assert_eq!(refusal.reason(), reason, "{refusal}");
        assert!(refusal.to_string().contains(words), "{refusal}");
    }
}

#[test]
fn what_is_not_regular_is_known_before() {
    let after = at("2026-12-10 00:00");
    let irregular = |cron: &str, week: &str, after: Timestamp| {
        calendar(cron, week, "Europe/Zurich").irregularities(after, after, 12)
    };
    assert_eq!(
        irregular("0 22 * * 2", "@odd", after),
        [Irregularity::ConsecutiveWeeks {
            in_week_53: at("2026-12-29 21:00"),
            in_week_1: at("2027-01-05 21:00"),
        }]
    );
    assert_eq!(
        irregular("0 22 * * 2", "@even", after),
        [Irregularity::ThreeWeeksApart {
            in_week_52: at("2026-12-22 21:00"),
            in_week_2: at("2027-01-12 21:00"),
        }]
    );
    assert_eq!(irregular("0 22 * * 2", "", after), []);
    let (spring, autumn) = (at("2026-03-01 00:00"), at("2026-10-01 00:00"));
    let skipped = irregular("30 2 * * 0", "", spring);
    assert_eq!(
        skipped,
        [Irregularity::SkippedTime {
            clock: "2026-03-29T02:30:00".parse().unwrap(),
            comes: at("2026-03-29 01:00"),
        }]
    );
    assert_eq!(
        skipped[0].to_string(),
        "the clocks skip 2026-03-29T02:30:00: it comes at 2026-03-29T01:00:00Z"
    );
    assert_eq!(
        irregular("30 2 * * 0", "", autumn),
        [Irregularity::RepeatedTime {
            clock: "2026-10-25T02:30:00".parse().unwrap(),
            comes: at("2026-10-25 00:30"),
            repeated: at("2026-10-25 01:30"),
        }]
    );
    assert_eq!(irregular("0 * * * *", "", at("2026-10-24 23:30")), []);
}

#[test]
fn the_next_week_53_is_known_however_far_it_is() {
    let next = |cron: &str, week: &str, after: &str| {
        let after = at(after);
        calendar(cron, week, "Europe/Zurich").next_irregular_weeks(after, after)
    };
    let doubled = |in_week_53, in_week_1| Irregularity::ConsecutiveWeeks {
        in_week_53: at(in_week_53),
        in_week_1: at(in_week_1),
    };
    let first = doubled("2026-12-29 21:00", "2027-01-05 21:00");
    for after in ["2026-02-01 00:00", "2026-12-29 20:59"] {
        assert_eq!(next("0 22 * * 2", "@odd", after), Some(first.clone()), "{after}");
    }
    let second = doubled("2032-12-28 21:00", "2033-01-04 21:00");
    for after in ["2026-12-29 21:00", "2027-02-01 00:00"] {
        assert_eq!(next("0 22 * * 2", "@odd", after), Some(second.clone()), "{after}");
    }
    assert_eq!(
        next("0 22 * * 2", "@even", "2027-02-01 00:00"),
        Some(Irregularity::ThreeWeeksApart {
            in_week_52: at("2032-12-21 21:00"),
            in_week_2: at("2033-01-11 21:00"),
        })
    );
    assert_eq!(
        next("* * * * *", "@odd", "2027-02-01 00:00"),
        Some(doubled("2033-01-02 22:59", "2033-01-02 23:00"))
    );
    for week in ["", "53", "1"] {
        assert_eq!(next("0 22 * * 2", week, "2027-02-01 00:00"), None, "{week}");
    }
}
