//! When a cluster may be started, for who looks at it.

use std::sync::Arc;

use drydock_rollout::{ClusterName, Opening, StartTimes, Timetable, UpgradeKey};
use jiff::Timestamp;

use super::Fleet;

/// How many times are named in which a cluster may be started.
const MOST_SPANS: usize = 5;

/// A time in which a cluster may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartSpan {
    /// Its first moment; the present one, if it is already open.
    pub opens: Timestamp,
    /// When it ends; without an end if nothing closes it.
    pub closes: Option<Timestamp>,
}

/// When a cluster may be started by an upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSchedule {
    /// Why it is frozen now, if it is.
    pub frozen: Option<Arc<str>>,
    /// The next times, the first one first: windows, without what is frozen of them.
    pub spans: Vec<StartSpan>,
}

impl Fleet {
    /// When a cluster may be started by an upgrade: from now on without an end, if it has no windows and no freezes. Nothing if the upgrade or
    /// its spec is not known.
    pub fn schedule(&self, key: &UpgradeKey, name: &ClusterName, now: Timestamp) -> Option<ClusterSchedule> {
        let followed = self.upgrades.get(key)?;
        let spec = followed.decider.rollout().spec.as_ref().ok()?;
        let times = &spec.strategy.start_times;
        let labels = self.cluster(name).map(|facts| facts.labels.clone());
        let timetable = times.timetable(&labels.unwrap_or_default());
        let frozen = match times.opening(timetable, now) {
            Opening::FrozenUntil(_, freeze) => Some(times.freeze_reason(freeze)),
            Opening::Always | Opening::OpenUntil(_) | Opening::ClosedUntil(_) => None,
        };
        Some(ClusterSchedule {
            frozen,
            spans: spans(times, timetable, now),
        })
    }
}

fn spans(times: &StartTimes, timetable: Timetable, now: Timestamp) -> Vec<StartSpan> {
    let mut spans = Vec::new();
    let mut moment = now;
    while spans.len() < MOST_SPANS {
        let (opens, closes) = match times.opening(timetable, moment) {
            Opening::Always => (moment, None),
            Opening::OpenUntil(closes) => (moment, Some(closes)),
            Opening::ClosedUntil(Some(opens)) | Opening::FrozenUntil(Some(opens), _) if opens > moment => {
                moment = opens;
                continue;
            }
            Opening::ClosedUntil(_) | Opening::FrozenUntil(..) => break,
        };
        spans.push(StartSpan { opens, closes });
        match closes {
            Some(closes) if closes > moment => moment = closes,
            _ => break,
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use drydock_rollout::{Freeze, Labels, StartWindow, Window};
    use jiff::SignedDuration;

    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-01-{text}Z").parse().unwrap()
    }

    #[test]
    fn what_is_frozen_of_a_window_is_no_time_to_start() {
        let window = StartWindow {
            window: Window::parse("0 22 * * *", SignedDuration::from_hours(4), None).unwrap(),
            selector: None,
        };
        let freeze = Freeze {
            from: at("06T20:00:00"),
            to: at("06T23:00:00"),
            reason: "inventory".into(),
            selector: None,
        };
        let times = StartTimes::new(vec![window], vec![freeze]);
        let timetable = times.timetable(&Labels::default());
        let spans = spans(&times, timetable, at("05T23:30:00"));
        let said: Vec<_> = spans
            .iter()
            .map(|span| (span.opens, span.closes.unwrap()))
            .collect();
        assert_eq!(
            said[..3],
            [
                (at("05T23:30:00"), at("06T02:00:00")),
                (at("06T23:00:00"), at("07T02:00:00")),
                (at("07T22:00:00"), at("08T02:00:00")),
            ]
        );
        assert_eq!(said.len(), MOST_SPANS);
    }

    #[test]
    fn a_freeze_without_windows_leaves_all_other_times() {
        let freeze = Freeze {
            from: at("06T20:00:00"),
            to: at("06T23:00:00"),
            reason: "inventory".into(),
            selector: None,
        };
        let times = StartTimes::new(Vec::new(), vec![freeze]);
        let spans = spans(&times, times.timetable(&Labels::default()), at("06T21:00:00"));
        let open = StartSpan {
            opens: at("06T23:00:00"),
            closes: None,
        };
        assert_eq!(spans, [open]);
    }
}
