//! The calendar against one that looks at every minute.

use std::collections::BTreeSet;

use drydock_api::schedule::Schedule;
use drydock_schedule::calendar::Calendar;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use proptest::prelude::*;

const ZONES: [&str; 8] = [
    "Europe/Zurich",
    "America/New_York",
    "Africa/Cairo",
    "Pacific/Apia",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Africa/Casablanca",
];
const DAYS: i64 = 16;

/// A schedule as sets of values; a field without values is `*`.
#[derive(Clone, Debug)]
struct Sets {
    minutes: BTreeSet<i8>,
    hours: BTreeSet<i8>,
    days: BTreeSet<i8>,
    weekdays: BTreeSet<i8>,
    week: String,
    zone: &'static str,
}

fn values(range: std::ops::Range<i8>, most: usize) -> impl Strategy<Value = BTreeSet<i8>> {
    proptest::collection::btree_set(range, 0..=most)
}

fn sets() -> impl Strategy<Value = Sets> {
    let week = prop_oneof![
        4 => Just(String::new()),
        2 => Just("@odd".to_owned()),
        2 => Just("@even".to_owned()),
        1 => (1..=53_i8).prop_map(|week| week.to_string()),
    ];
    (
        values(0..60, 3),
        // Most changes of the clocks are at night.
        prop_oneof![3 => values(0..4, 3), 1 => values(0..24, 3)],
        values(1..32, 3),
        values(0..7, 2),
        week,
        proptest::sample::select(&ZONES[..]),
    )
        .prop_map(|(minutes, hours, days, weekdays, week, zone)| Sets {
            minutes,
            hours,
            days,
            weekdays,
            week,
            zone,
        })
}

impl Sets {
    /// The calendar; nothing where no such day is in such a week.
    fn calendar(&self) -> Option<Calendar> {
        let field = |values: &BTreeSet<i8>| {
            let values: Vec<String> = values.iter().map(i8::to_string).collect();
            if values.is_empty() {
                "*".to_owned()
            } else {
                values.join(",")
            }
        };
        let (minutes, hours) = (field(&self.minutes), field(&self.hours));
        let (days, weekdays) = (field(&self.days), field(&self.weekdays));
        let schedule = Schedule {
            cron: format!("{minutes} {hours} {days} * {weekdays}"),
            iso_week: Some(self.week.clone()),
            location: self.zone.to_owned(),
            suspend: None,
        };
        Calendar::parse(&schedule, &TimeZone::UTC).ok()
    }

    fn wants(&self, clock: DateTime) -> bool {
        let is_in = |values: &BTreeSet<i8>, value: i8| values.is_empty() || values.contains(&value);
        let weekday = clock.date().weekday().to_sunday_zero_offset();
        let (day, weekday) = (is_in(&self.days, clock.day()), is_in(&self.weekdays, weekday));
        let any = self.days.is_empty() || self.weekdays.is_empty();
        let day = if any { day && weekday } else { day || weekday };
        is_in(&self.minutes, clock.minute()) && is_in(&self.hours, clock.hour()) && day
    }

    fn wants_week(&self, clock: DateTime) -> bool {
        let week = clock.date().iso_week_date().week();
        match self.week.as_str() {
            "" => true,
            "@odd" => week % 2 == 1,
            "@even" => week % 2 == 0,
            number => number.parse() == Ok(week),
        }
    }

    /// All times in some days, minute by minute.
    fn minute_by_minute(&self, start: Timestamp) -> Vec<Timestamp> {
        let zone = TimeZone::get(self.zone).unwrap();
        let every_hour = self.hours.is_empty() || self.hours.len() == 24;
        let mut clock_before = zone.to_datetime(start);
        let mut times = Vec::new();
        // The latest time that the clocks have shown: what is not later is shown again.
        let mut latest = (0..180)
            .map(|minute| zone.to_datetime(start - SignedDuration::from_mins(minute)))
            .max()
            .unwrap();
        for minute in 1..=DAYS * 24 * 60 {
            let moment = start + SignedDuration::from_mins(minute);
            let clock = zone.to_datetime(moment);
            let mut is_wanted = self.wants(clock) && (every_hour || clock > latest);
            let mut skipped = clock_before.checked_add(1.minute()).unwrap();
            while skipped < clock && !every_hour {
                is_wanted |= self.wants(skipped);
                skipped = skipped.checked_add(1.minute()).unwrap();
            }
            if is_wanted && self.wants_week(clock) {
                times.push(moment);
            }
            (clock_before, latest) = (clock, latest.max(clock));
        }
        times
    }
}

/// A moment in a zone, often some days before the clocks change.
fn moments() -> impl Strategy<Value = (i64, i64, bool)> {
    // From 2000 to 2035, and how many minutes before a change.
    (15_800_000_i64..34_200_000, 1_i64..DAYS * 24 * 60, any::<bool>())
}

fn start(zone: &str, (minute, before, at_change): (i64, i64, bool)) -> Timestamp {
    let random = Timestamp::from_second(minute * 60).unwrap();
    let zone = TimeZone::get(zone).unwrap();
    let change = zone.following(random).next().filter(|_| at_change);
    match change {
        // Some files list changes that are none, in the middle of a minute.
        Some(change) => {
            Timestamp::from_second(change.timestamp().as_second().div_euclid(60) * 60).unwrap()
                - SignedDuration::from_mins(before)
        }
        None => random,
    }
}

/// The first times that are not in both lists.
fn difference(found: &[Timestamp], expected: &[Timestamp]) -> Vec<Timestamp> {
    let (found, expected): (BTreeSet<_>, BTreeSet<_>) = (
        found.iter().copied().collect(),
        expected.iter().copied().collect(),
    );
    found.symmetric_difference(&expected).take(5).copied().collect()
}

/// In Casablanca the clocks went on by an hour at the midnight at which this Monday began.
#[test]
fn a_week_may_begin_where_the_clocks_skip_midnight() {
    let sets = Sets {
        minutes: BTreeSet::new(),
        hours: BTreeSet::new(),
        days: BTreeSet::new(),
        weekdays: BTreeSet::from([3]),
        week: "@odd".to_owned(),
        zone: "Africa/Casablanca",
    };
    let start: Timestamp = "2009-05-27T23:58:00Z".parse().unwrap();
    let next = sets.calendar().unwrap().next(start, start);
    assert_eq!(next, "2009-06-02T23:00:00Z".parse().ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_calendar_finds_what_one_finds_minute_by_minute(sets in sets(), moment in moments()) {
        let start = start(sets.zone, moment);
        let end = start + SignedDuration::from_hours(DAYS * 24);
        let calendar = sets.calendar();
        prop_assume!(calendar.is_some());
        let found: Vec<Timestamp> = calendar
            .unwrap()
            .times(start, start)
            .take_while(|time| *time <= end)
            .collect();
        prop_assert_eq!(difference(&found, &sets.minute_by_minute(start)), []);
    }

    #[test]
    fn the_next_time_is_later_and_nothing_lies_between(sets in sets(), moment in moments(), part in 0.0..1.0_f64) {
        let start = start(sets.zone, moment);
        let calendar = sets.calendar();
        prop_assume!(calendar.is_some());
        let calendar = calendar.unwrap();
        let next = calendar.next(start, start).unwrap();
        prop_assert!(next > start);
        // However close one looks, it is the same.
        let between = start + start.duration_until(next).mul_f64(part * 0.999);
        prop_assert_eq!(calendar.next(start, between), Some(next));
    }

    #[test]
    fn intervals_are_a_grid_from_the_anchor(hours in 1_i64..400, late in 0_i64..5_000_000) {
        let schedule = Schedule { cron: format!("@every {hours}h"), ..Schedule::default() };
        let calendar = Calendar::parse(&schedule, &TimeZone::UTC).unwrap();
        let anchor = Timestamp::from_second(1_700_000_000).unwrap();
        let after = anchor + SignedDuration::from_secs(late);
        let next = calendar.next(anchor, after).unwrap();
        prop_assert!(next > after && next <= after + SignedDuration::from_hours(hours));
        prop_assert_eq!((next.as_second() - anchor.as_second()) % (hours * 3_600), 0);
    }
}
