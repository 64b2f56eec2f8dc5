//! When clusters may be started, remembered: to evaluate a cron expression takes longer than all else that a run does at one moment.

use drydock_rollout::{Opening, StartTimes, Timetable};
use jiff::Timestamp;

/// The intervals in which clusters with one timetable may be started, as far as they were asked for.
#[derive(Clone, Debug)]
pub(crate) struct RememberedTimes<'a> {
    all: &'a StartTimes,
    timetable: Timetable,
    /// From when, until when; in their order, and none touches the next one.
    open: Vec<(Timestamp, Timestamp)>,
    /// Up to here the intervals are known.
    known_until: Timestamp,
    /// None follows what is known.
    is_complete: bool,
    /// How many moments may still be looked at.
    looks_left: usize,
    /// Where the last look was, and what it showed.
    at: usize,
    seen: Opening,
}

impl<'a> RememberedTimes<'a> {
    /// Those of a rollout, from `now` on.
    ///
    /// `timetables` is how many there are: together they take no more than some seconds, however many windows open however often.
    pub fn new(all: &'a StartTimes, timetable: Timetable, timetables: usize, now: Timestamp) -> Self {
        let sharing = timetables.max(1) * all.windows().len().max(1);
        Self {
            looks_left: (LOOKS / sharing).max(FEWEST_LOOKS),
            all,
            timetable,
            open: Vec::new(),
            known_until: now,
            is_complete: false,
            at: 0,
            seen: Opening::Always,
        }
    }

    /// A run begins again at the first moment.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// What the last look showed. Freezes are times in which no window is open.
    pub fn opening(&self) -> Opening {
        self.seen
    }

    /// Looks at a moment. Moments follow each other in their order.
    pub fn look(&mut self, now: Timestamp) {
        if self.all.is_always() {
            return;
        }
        self.seen = loop {
            match self.open.get(self.at) {
                Some((_, closes)) if now >= *closes => self.at += 1,
                Some((opens, closes)) if now >= *opens => break Opening::OpenUntil(*closes),
                Some((opens, _)) => break Opening::ClosedUntil(Some(*opens)),
                None if self.is_complete => break Opening::ClosedUntil(None),
                None => self.learn_next(),
            }
        };
    }

    /// Finds the next interval behind those that are known.
    fn learn_next(&mut self) {
        let mut looks_left = self.looks_left;
        let mut opening = |moment| {
            let left = looks_left.checked_sub(1);
            looks_left = left.unwrap_or_default();
            // Beyond that they may be started at any time, as far as a forecast is concerned.
            left.map_or(Opening::Always, |_| self.all.opening(self.timetable, moment))
        };
        let mut opens = self.known_until;
        if let Opening::ClosedUntil(next) | Opening::FrozenUntil(next, _) = opening(opens) {
            let Some(next) = next else {
                self.is_complete = true;
                return;
            };
            opens = next;
        }
        let mut closes = match opening(opens) {
            Opening::OpenUntil(closes) => closes,
            // It says when it is open.
            Opening::Always | Opening::ClosedUntil(_) | Opening::FrozenUntil(..) => Timestamp::MAX,
        };
        // Another one may be open when the first one closes.
        while closes.duration_since(opens).as_hours() <= LONGEST_INTERVAL_HOURS {
            match opening(closes) {
                Opening::OpenUntil(later) => closes = later,
                Opening::Always => closes = Timestamp::MAX,
                Opening::ClosedUntil(_) | Opening::FrozenUntil(..) => break,
            }
        }
        self.looks_left = looks_left;
        self.open.push((opens, closes));
        self.known_until = closes;
    }
}

/// Windows that follow on each other without end are looked at a year at a time.
const LONGEST_INTERVAL_HOURS: i64 = 24 * 366;
/// So many windows are looked at in all; each opening is evaluated in some 50 µs, and remembered until the next one: 2,500 nights of two windows,
/// or a fortnight of one that opens each minute.
const LOOKS: usize = 20_000;
/// So many moments of a timetable are looked at in any case: some ten nights.
const FEWEST_LOOKS: usize = 40;

#[cfg(test)]
mod tests {
    use drydock_rollout::{ExpectedDuration, Freeze, Labels, StartWindow, Window};
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;

    fn window() -> impl Strategy<Value = StartWindow> {
        let cron = prop_oneof![
            Just("0 22 * * *"),
            Just("30 2 * * *"),
            Just("*/20 * * * *"),
            Just("0 0 29 2 *"),
            Just("15 3 * * 6")
        ];
        let zone = prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("America/New_York")];
        (cron, 1_i64..700, zone).prop_map(|(cron, minutes, zone)| StartWindow {
            window: Window::parse(cron, SignedDuration::from_mins(minutes), Some(zone)).unwrap(),
            selector: None,
        })
    }

    fn freeze() -> impl Strategy<Value = Freeze> {
        (1_769_000_000_i64..1_803_000_000, 1_i64..3_000_000).prop_map(|(from, seconds)| Freeze {
            from: Timestamp::from_second(from).unwrap(),
            to: Timestamp::from_second(from + seconds).unwrap(),
            reason: "".into(),
            selector: None,
        })
    }

    /// Whoever writes windows that open all the time keeps nobody waiting.
    #[test]
    fn windows_that_open_ever_again_are_not_looked_at_for_ever() {
        let minutes = |cron: &str| StartWindow {
            window: Window::parse(cron, SignedDuration::from_mins(1), None).unwrap(),
            selector: None,
        };
        let begin = Timestamp::from_second(1_770_000_000).unwrap();
        for (cron, timetables, most) in [
            ("* * * * *", 1, LOOKS / 32),
            ("*/2 * * * *", 1, LOOKS / 32),
            ("* * * * *", 10_000, FEWEST_LOOKS),
        ] {
            let times = StartTimes::new(vec![minutes(cron); 32], Vec::new());
            let timetable = times.timetable(&Labels::default());
            let mut remembered = RememberedTimes::new(&times, timetable, timetables, begin);
            assert_eq!(remembered.looks_left, most);
            for day in 0..400 {
                remembered.look(begin + SignedDuration::from_hours(24 * day));
            }
            assert_eq!(remembered.looks_left, 0, "{cron}");
            assert_eq!(remembered.opening(), Opening::OpenUntil(Timestamp::MAX), "{cron}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn what_is_remembered_is_what_the_start_times_say(
            windows in proptest::collection::vec(window(), 0..4),
            freezes in proptest::collection::vec(freeze(), 0..4),
            needs in proptest::option::of(1_i64..400),
            begin in 1_770_000_000_i64..1_800_000_000,
            steps in proptest::collection::vec(1_i64..200_000, 1..60),
        ) {
            let times = StartTimes::new(windows, freezes);
            let timetable = times.timetable(&Labels::default());
            let timetable = needs.map_or(timetable, |minutes| {
                timetable.fitting(ExpectedDuration::new(SignedDuration::from_mins(minutes), false))
            });
            let mut now = Timestamp::from_second(begin).unwrap();
            let mut remembered = RememberedTimes::new(&times, timetable, 1, now);
            for step in steps {
                remembered.look(now);
                let (said, meant) = (remembered.opening(), times.opening(timetable, now));
                match (said, meant) {
                    // Windows that open too often are not looked at beyond that.
                    (Opening::OpenUntil(until), _) if until == Timestamp::MAX && remembered.looks_left == 0 => break,
                    // What follows on it at once is known as well.
                    (Opening::OpenUntil(said), Opening::OpenUntil(meant)) => prop_assert!(said >= meant),
                    (Opening::OpenUntil(until), Opening::Always) if until == Timestamp::MAX => {}
                    (Opening::ClosedUntil(said), Opening::FrozenUntil(meant, _) | Opening::ClosedUntil(meant)) => {
                        prop_assert_eq!(said, meant);
                        prop_assert!(said.is_none_or(|opens| times.opening(timetable, opens).is_open()));
                    }
                    (said, meant) => prop_assert_eq!(said, meant),
                }
                now += SignedDuration::from_secs(step);
            }
        }
    }
}
