//! When start windows are open, remembered: to evaluate a cron expression takes longer than all else that a run does at one moment.

use drydock_rollout::{Opening, Window, opening};
use jiff::Timestamp;

/// The intervals in which a start window is open, as far as they were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Windows<'a> {
    all: &'a [Window],
    /// From when, until when; in their order, and none touches the next one.
    open: Vec<(Timestamp, Timestamp)>,
    /// Up to here the intervals are known.
    known_until: Timestamp,
    /// No window opens after what is known.
    is_complete: bool,
    /// Where the last look was.
    at: usize,
}

impl<'a> Windows<'a> {
    /// Those of a rollout, from `now` on.
    pub fn new(windows: &'a [Window], now: Timestamp) -> Self {
        Self {
            all: windows,
            open: Vec::new(),
            known_until: now,
            is_complete: false,
            at: 0,
        }
    }

    /// A run begins again at the first moment.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// What the windows together say of a moment. Moments are asked for in their order.
    pub fn opening(&mut self, now: Timestamp) -> Opening {
        if self.all.is_empty() {
            return Opening::Always;
        }
        loop {
            match self.open.get(self.at) {
                Some((_, closes)) if now >= *closes => self.at += 1,
                Some((opens, closes)) if now >= *opens => return Opening::OpenUntil(*closes),
                Some((opens, _)) => return Opening::ClosedUntil(Some(*opens)),
                None if self.is_complete => return Opening::ClosedUntil(None),
                None => self.learn_next(),
            }
        }
    }

    /// Finds the next interval behind those that are known.
    fn learn_next(&mut self) {
        let mut opens = self.known_until;
        let mut closes = match opening(self.all, opens) {
            Opening::OpenUntil(closes) => closes,
            Opening::ClosedUntil(Some(next)) => {
                opens = next;
                next
            }
            Opening::ClosedUntil(None) | Opening::Always => {
                self.is_complete = true;
                return;
            }
        };
        // Another one may be open when the first one closes.
        while let Opening::OpenUntil(later) = opening(self.all, closes) {
            closes = later;
            if closes.duration_since(opens).as_hours() > LONGEST_INTERVAL_HOURS {
                break;
            }
        }
        self.open.push((opens, closes));
        self.known_until = closes;
    }
}

/// Windows that follow on each other without end are looked at a year at a time.
const LONGEST_INTERVAL_HOURS: i64 = 24 * 366;

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn what_is_remembered_is_what_the_windows_say(
            crons in proptest::collection::vec(
                (prop_oneof![
                    Just("0 22 * * *"), Just("30 2 * * *"), Just("*/20 * * * *"), Just("0 0 29 2 *"), Just("15 3 * * 6")
                ], 1_i64..700, prop_oneof![Just("UTC"), Just("Europe/Berlin"), Just("America/New_York")]),
                0..4,
            ),
            begin in 1_770_000_000_i64..1_800_000_000,
            steps in proptest::collection::vec(1_i64..200_000, 1..60),
        ) {
            let windows: Vec<Window> = crons
                .iter()
                .map(|(cron, minutes, zone)| Window::parse(cron, SignedDuration::from_mins(*minutes), Some(zone)).unwrap())
                .collect();
            let mut now = Timestamp::from_second(begin).unwrap();
            let mut remembered = Windows::new(&windows, now);
            for step in steps {
                let (said, meant) = (remembered.opening(now), opening(&windows, now));
                if let (Opening::OpenUntil(said), Opening::OpenUntil(meant)) = (said, meant) {
                    // What follows on it at once is known as well.
                    prop_assert!(said >= meant);
                } else {
                    prop_assert_eq!(said, meant);
                }
                now += SignedDuration::from_secs(step);
            }
        }
    }
}
