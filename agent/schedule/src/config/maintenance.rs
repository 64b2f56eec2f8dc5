//! The maintenances of a schedule, and what becomes of them.

use jiff::Timestamp;

use super::Settings;
use super::next::{LeftOut, NextDecision};
use crate::instants::{earlier, just_before, later};
use crate::suspension::Suspensions;

/// How many of the next times are listed.
const TIMES_LISTED: usize = 10;

/// A maintenance, and when its UpgradeJob may be created; both moments are part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Maintenance {
    pub(super) start: Timestamp,
    pub(super) create_from: Timestamp,
    pub(super) create_until: Timestamp,
}

/// A schedule at a moment.
pub(super) struct Course<'a> {
    pub(super) settings: &'a Settings,
    suspensions: &'a Suspensions<'a>,
    pub(super) now: Timestamp,
}

impl<'a> Course<'a> {
    pub(super) fn new(settings: &'a Settings, suspensions: &'a Suspensions<'a>, now: Timestamp) -> Self {
        Self {
            settings,
            suspensions,
            now,
        }
    }

    /// The next maintenance after `origin` whose UpgradeJob can still be created. Those that cannot be are not looked at, however many
    /// they are.
    pub(super) fn next_maintenance(&self, origin: Timestamp) -> Option<Maintenance> {
        let Settings {
            calendar,
            pin_version_window: pin,
            max_scheduling_delay,
            max_upgrade_start_delay,
            suspend: _,
        } = self.settings;
        let still_created = later(earlier(self.now, *max_scheduling_delay), *pin);
        let still_starts = earlier(self.now, *max_upgrade_start_delay);
        let earliest = just_before(still_created.max(still_starts));
        let start = calendar.next(origin, origin.max(earliest))?;
        let create_from = earlier(start, *pin);
        Some(Maintenance {
            start,
            create_from,
            create_until: later(create_from, *max_scheduling_delay)
                .min(later(start, *max_upgrade_start_delay)),
        })
    }

    /// The first time between `origin` and the start of a maintenance, which has been missed.
    pub(super) fn missed(&self, origin: Timestamp, start: Timestamp) -> Option<Timestamp> {
        let first = self.settings.calendar.next(origin, origin)?;
        (first < start).then_some(first)
    }

    /// Why a maintenance is left out if it is decided now.
    pub(super) fn leaves_out(&self) -> Option<LeftOut> {
        left_out(self.settings.suspend, self.suspensions, self.now)
    }

    /// What will be decided about a maintenance, as things are.
    pub(super) fn forecast(&self, maintenance: &Maintenance) -> NextDecision {
        let (start, at) = (maintenance.start, maintenance.create_from);
        match self.would_leave_out(maintenance) {
            Some(by) => NextDecision::LeaveOut { start, at, by },
            None => NextDecision::Create { start, at },
        }
    }

    /// Why a maintenance will be left out, as things are.
    pub(super) fn would_leave_out(&self, maintenance: &Maintenance) -> Option<LeftOut> {
        let moment = maintenance.create_from.max(self.now);
        left_out(self.settings.suspend, self.suspensions, moment)
    }

    /// The next times of the schedule, whether it is suspended or not.
    pub(super) fn next_times(&self, anchor: Timestamp) -> Vec<Timestamp> {
        let times = self.settings.calendar.times(anchor, self.now);
        times.take(TIMES_LISTED).collect()
    }
}

/// Why maintenances are left out that are decided at a moment.
pub(super) fn left_out(suspend: bool, suspensions: &Suspensions<'_>, moment: Timestamp) -> Option<LeftOut> {
    if suspend {
        return Some(LeftOut::BySchedule);
    }
    suspensions.at(moment).map(LeftOut::ByWindow)
}
