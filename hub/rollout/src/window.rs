//! Times in which clusters may be started: a cron expression says when a window opens, in a time
//! zone; how long it stays open is time that passes, whatever the clocks do meanwhile.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use thiserror::Error;

use crate::start_times::FreezeIndex;

/// A recurring time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    cron: Cron,
    zone: TimeZone,
    duration: SignedDuration,
    known: KnownGaps,
}

/// When a window last opened, and when it opens next: the same for all moments from the one until the other.
#[derive(Clone, Copy, Debug)]
struct Gap {
    opened: Timestamp,
    opens: Timestamp,
}

/// Gaps by when they begin, of the moments that were asked about: an expression whose days are years apart takes long to evaluate, and is asked
/// about many clusters at the same moments. Clones share them. They say nothing about a window that it does not say itself.
#[derive(Clone, Debug, Default)]
struct KnownGaps(Arc<Mutex<BTreeMap<Timestamp, Gap>>>);

/// How many gaps of a window are remembered.
const REMEMBERED: usize = 256;

impl PartialEq for KnownGaps {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for KnownGaps {}

impl KnownGaps {
    /// The gap of a moment, as it is known or as `find` finds it.
    fn get(&self, now: Timestamp, find: impl FnOnce() -> Option<Gap>) -> Option<Gap> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.range(..=now).next_back().map(|(_, gap)| *gap);
        if let Some(gap) = last.filter(|gap| now < gap.opens) {
            return Some(gap);
        }
        let found = find()?;
        if known.len() == REMEMBERED {
            known.clear();
        }
        known.insert(found.opened, found);
        Some(found)
    }
}

/// A window that cannot be read.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidWindow {
    /// The expression.
    #[error(
        "{cron:?} is not a cron expression of five fields (minute, hour, day of month, month, day of week), for example \
         \"0 22 * * 1-5\": {why}"
    )]
    Cron {
        /// As given.
        cron: String,
        /// What is wrong with it.
        why: String,
    },
    /// The expression names no moment that comes.
    #[error("{0:?} never occurs, like February 30: correct it")]
    Never(String),
    /// The time zone.
    #[error("there is no time zone {0:?}: write an IANA name such as Europe/Berlin, or leave it out for UTC")]
    Zone(String),
}

impl Window {
    /// Reads a window.
    ///
    /// # Errors
    /// If the expression or the zone cannot be used.
    pub fn parse(cron: &str, duration: SignedDuration, zone: Option<&str>) -> Result<Self, InvalidWindow> {
        let invalid = |why: String| InvalidWindow::Cron {
            cron: cron.to_owned(),
            why,
        };
        if cron.split_whitespace().count() != 5 {
            return Err(invalid("it must have five fields".to_owned()));
        }
        let parsed = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build()
            .parse(cron)
            .map_err(|error| invalid(error.to_string()))?;
        let zone = match zone.filter(|zone| !zone.is_empty()) {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|_| InvalidWindow::Zone(name.to_owned()))?,
        };
        let window = Self {
            cron: parsed,
            zone,
            duration,
            known: KnownGaps::default(),
        };
        if window.opens(Timestamp::UNIX_EPOCH).is_none() {
            return Err(InvalidWindow::Never(cron.to_owned()));
        }
        Ok(window)
    }

    fn local(&self, moment: Timestamp) -> Zoned {
        moment.to_zoned(self.zone.clone())
    }

    /// How long it is open.
    pub fn duration(&self) -> SignedDuration {
        self.duration
    }

    /// When the window closes that is open at `now`; nothing if none is. The closing moment is outside.
    pub fn closes(&self, now: Timestamp) -> Option<Timestamp> {
        self.closes_for(SignedDuration::ZERO, now)
    }

    /// From when on what takes as long as `needs` does not end before the window closes that is open at `now`; nothing if that is so now,
    /// or no window is open.
    fn closes_for(&self, needs: SignedDuration, now: Timestamp) -> Option<Timestamp> {
        let opened = self.gap(now)?.opened;
        let closes = opened.saturating_add(self.duration - needs).ok()?;
        (now < closes).then_some(closes)
    }

    /// When it opens next after `now`.
    pub fn opens(&self, now: Timestamp) -> Option<Timestamp> {
        self.gap(now).map(|gap| gap.opens)
    }

    fn gap(&self, now: Timestamp) -> Option<Gap> {
        self.known.get(now, || {
            let local = self.local(now);
            let opened = self.cron.find_previous_occurrence(&local, true).ok()?;
            let opens = self.cron.find_next_occurrence(&local, false).ok()?;
            Some(Gap {
                opened: opened.timestamp(),
                opens: opens.timestamp(),
            })
        })
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let zone = self.zone.iana_name().unwrap_or("UTC");
        write!(f, "{} {zone}", self.cron.as_str())
    }
}

/// Whether clusters may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// There are no windows.
    Always,
    /// One is open until this moment at the latest, as far as is known now.
    OpenUntil(Timestamp),
    /// No window is open. They may be started from then on, if ever.
    ClosedUntil(Option<Timestamp>),
    /// They are frozen, whatever windows say. They may be started from then on, if ever.
    FrozenUntil(Option<Timestamp>, FreezeIndex),
}

impl Opening {
    /// Whether clusters may be started now.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Always | Self::OpenUntil(_))
    }

    /// When that changes, as far as is known now.
    pub fn changes(self) -> Option<Timestamp> {
        match self {
            Self::Always => None,
            Self::OpenUntil(moment) => Some(moment),
            Self::ClosedUntil(moment) | Self::FrozenUntil(moment, _) => moment,
        }
    }

    /// What several together say: open if one of them is, else closed until the first of them changes.
    pub fn combined(openings: impl IntoIterator<Item = Self>) -> Self {
        openings
            .into_iter()
            .reduce(|one, other| match (one, other) {
                (Self::Always, _) | (_, Self::Always) => Self::Always,
                (Self::OpenUntil(one), Self::OpenUntil(other)) => Self::OpenUntil(one.max(other)),
                (Self::OpenUntil(_), _) => one,
                (_, Self::OpenUntil(_)) => other,
                _ => match (one.changes(), other.changes()) {
                    (Some(first), Some(second)) if second < first => other,
                    (None, Some(_)) => other,
                    _ => one,
                },
            })
            .unwrap_or(Self::Always)
    }
}

/// What windows together say of this moment to what takes as long as `needs`, and must end before one of them closes.
pub fn opening<'a>(
    windows: impl Iterator<Item = &'a Window> + Clone,
    needs: SignedDuration,
    now: Timestamp,
) -> Opening {
    if windows.clone().next().is_none() {
        return Opening::Always;
    }
    let long_enough = windows.filter(|window| window.duration > needs);
    let closes = long_enough
        .clone()
        .filter_map(|window| window.closes_for(needs, now));
    match closes.max() {
        Some(closes) => Opening::OpenUntil(closes),
        None => Opening::ClosedUntil(long_enough.filter_map(|window| window.opens(now)).min()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn window(cron: &str, hours: i64, zone: &str) -> Window {
        Window::parse(cron, SignedDuration::from_hours(hours), Some(zone)).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_window_is_open_from_its_first_moment_to_before_its_last() {
        let nights = window("0 22 * * 1-5", 6, "UTC");
        for (now, closes) in [
            ("2026-11-20T21:59:59Z", None),
            ("2026-11-20T22:00:00Z", Some("2026-11-21T04:00:00Z")),
            ("2026-11-21T03:59:59Z", Some("2026-11-21T04:00:00Z")),
            ("2026-11-21T04:00:00Z", None),
            // Saturday night has none.
            ("2026-11-21T23:00:00Z", None),
        ] {
            assert_eq!(nights.closes(at(now)), closes.map(at), "{now}");
        }
        assert_eq!(
            nights.opens(at("2026-11-21T12:00:00Z")),
            Some(at("2026-11-23T22:00:00Z"))
        );
    }

    #[test]
    fn windows_follow_the_clocks_of_their_zone_through_summer_time() {
        let early = window("30 2 * * *", 1, "Europe/Berlin");
        // Winter, summer: the same time of the clock is another moment.
        assert_eq!(
            early.opens(at("2026-01-10T12:00:00Z")),
            Some(at("2026-01-11T01:30:00Z"))
        );
        assert_eq!(
            early.opens(at("2026-07-10T12:00:00Z")),
            Some(at("2026-07-11T00:30:00Z"))
        );
        // 2026-03-29 has no 02:30: the clocks go from 02:00 to 03:00. The window opens with the first minute after.
        assert_eq!(
            early.opens(at("2026-03-28T12:00:00Z")),
            Some(at("2026-03-29T01:00:00Z"))
        );
        // 2026-10-25 has 02:30 twice: it opens once, and is open for an hour that passes.
        let first = at("2026-10-25T00:30:00Z");
        assert_eq!(early.opens(at("2026-10-24T12:00:00Z")), Some(first));
        assert_eq!(
            early.closes(at("2026-10-25T01:29:59Z")),
            Some(at("2026-10-25T01:30:00Z"))
        );
        assert_eq!(early.opens(first), Some(at("2026-10-26T01:30:00Z")));
        // A window that is open while the clocks change lasts as long as it says.
        let night = window("0 0 * * *", 6, "America/New_York");
        assert_eq!(
            night.closes(at("2026-03-08T08:00:00Z")),
            Some(at("2026-03-08T11:00:00Z"))
        );
        assert_eq!(
            night.closes(at("2026-11-01T08:00:00Z")),
            Some(at("2026-11-01T10:00:00Z"))
        );
    }

    #[test]
    fn of_several_windows_the_one_that_closes_last_counts_and_the_one_that_opens_first() {
        let both = [window("0 22 * * *", 2, "UTC"), window("0 23 * * *", 4, "UTC")];
        let until = Opening::OpenUntil(at("2026-11-21T03:00:00Z"));
        assert_eq!(
            opening(both.iter(), SignedDuration::ZERO, at("2026-11-20T23:30:00Z")),
            until
        );
        let from = Opening::ClosedUntil(Some(at("2026-11-20T22:00:00Z")));
        assert_eq!(
            opening(both.iter(), SignedDuration::ZERO, at("2026-11-20T12:00:00Z")),
            from
        );
        assert_eq!(
            opening([].iter(), SignedDuration::ZERO, at("2026-11-20T12:00:00Z")),
            Opening::Always
        );
    }

    #[test]
    fn what_is_no_window_is_refused_with_what_to_write() {
        let refused = |cron: &str, zone: Option<&str>| {
            Window::parse(cron, SignedDuration::from_hours(1), zone)
                .unwrap_err()
                .to_string()
        };
        for cron in [
            "0 22 * *",
            "0 0 22 * * *",
            "@daily",
            "61 * * * *",
            "a b c d e",
            "",
        ] {
            assert!(refused(cron, None).contains("five fields"), "{cron}");
        }
        assert!(refused("0 0 30 2 *", None).contains("never occurs"));
        assert!(refused("0 22 * * *", Some("Mars/Olympus")).contains("Europe/Berlin"));
    }

    #[test]
    fn a_gap_is_found_once_and_not_all_are_remembered() {
        let known = KnownGaps::default();
        let second = |of: i64| Timestamp::from_second(of).unwrap();
        let mut found = 0;
        let mut asked = |now: i64| {
            let opened = now / 100 * 100;
            let gap = known.clone().get(second(now), || {
                found += 1;
                Some(Gap {
                    opened: second(opened),
                    opens: second(opened + 100),
                })
            });
            assert_eq!(gap.unwrap().opened, second(opened));
        };
        for now in (0..1000).chain(0..1000) {
            asked(now);
        }
        (10..10_000).for_each(|gap| asked(gap * 100));
        assert_eq!(found, 10_000);
        assert!(known.0.lock().unwrap().len() <= REMEMBERED);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        /// Around the days on which clocks change, too: of those of two years each is asked about.
        #[test]
        fn what_is_remembered_is_what_the_expression_says(
            cron in prop_oneof![
                Just("30 2 * * *"), Just("*/20 * * * *"), Just("* * * * *"), Just("0 0 29 2 *"), Just("15 1-3 * 3,10,11 0"),
            ],
            zone in prop_oneof![
                Just("UTC"), Just("Europe/Berlin"), Just("America/New_York"), Just("Australia/Lord_Howe"), Just("Asia/Kathmandu"),
            ],
            days in prop_oneof![
                Just("2026-03-08T00:00:00Z"), Just("2026-03-29T00:00:00Z"), Just("2026-04-04T12:00:00Z"), Just("2026-10-03T12:00:00Z"),
                Just("2026-10-25T00:00:00Z"), Just("2026-11-01T04:00:00Z"), Just("2028-02-28T20:00:00Z"),
            ],
            steps in proptest::collection::vec(-7_200_i64..90_000, 1..40),
        ) {
            let remembering = window(cron, 2, zone);
            for step in steps {
                let now = at(days) + SignedDuration::from_secs(step);
                let fresh = window(cron, 2, zone);
                prop_assert_eq!(remembering.closes(now), fresh.closes(now), "{}", now);
                prop_assert_eq!(remembering.opens(now), fresh.opens(now), "{}", now);
            }
        }
    }
}
