//! What will be decided about the next maintenances of an UpgradeConfig, as things are, and why: for people who ask before the time has
//! come. Nothing is decided here that [`super::decide`] does not decide.

use jiff::{SignedDuration, Timestamp};

use super::Observed;
use super::jobs::OwnedJobs;
use super::maintenance::{Course, Maintenance};
use super::next::LeftOut;
use super::origin::SearchOrigin;
use super::settings::{InvalidConfig, Settings};
use crate::instants::{earlier, later};
use crate::suspension::{Affects, Suspensions};

/// The shortest window that a definition accepts.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// The next maintenances of an UpgradeConfig.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Its spec, parsed.
    pub settings: Settings,
    /// From when on maintenances are looked for.
    pub origin: SearchOrigin,
    /// The first maintenance since then that has been missed.
    pub missed: Option<Timestamp>,
    /// Those whose UpgradeJobs can still be created, the next one first. While an UpgradeJob has not ended none is created, so that all of
    /// them wait for that.
    pub maintenances: Vec<PlannedMaintenance>,
}

/// A maintenance that has not been decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedMaintenance {
    /// When it starts.
    pub start: Timestamp,
    /// From when on its UpgradeJob is created.
    pub create_from: Timestamp,
    /// Until when it may still be created; this moment is part of it.
    pub create_until: Timestamp,
    /// Why it is left out, as things are: as of the moment from which on it is created, or now if that is later.
    pub left_out: Option<LeftOut>,
}

/// A time in which one maintenance is decided, for a suspension window that leaves it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecisionSpan {
    /// When it begins.
    pub start: Timestamp,
    /// When it ends; this moment is part of it.
    pub end: Timestamp,
    /// Does the next maintenance begin to be decided before this one can no longer be? The original may then still create its UpgradeJob when the
    /// span is over.
    pub overlaps: bool,
}

/// What will be decided about the next maintenances, so many of them.
///
/// # Errors
/// If the UpgradeConfig must be corrected.
pub fn outlook(observed: &Observed<'_>, now: Timestamp, count: usize) -> Result<Outlook, InvalidConfig> {
    let config = observed.config;
    let settings = Settings::parse(&config.spec, observed.local_zone)?;
    let windows = observed.windows.iter().copied();
    let suspensions = Suspensions::of(&config.metadata, Affects::Configs, windows);
    let course = Course::new(&settings, &suspensions, now);
    let origin = SearchOrigin::of(config, &OwnedJobs::of(config, &observed.jobs), now);
    let next = |start| course.next_maintenance(start);
    let all = std::iter::successors(next(origin.at()), |last| next(last.start));
    let maintenances: Vec<PlannedMaintenance> = all
        .take(count)
        .map(|maintenance| planned(&course, &maintenance))
        .collect();
    let missed = maintenances
        .first()
        .and_then(|first| course.missed(origin.at(), first.start));
    Ok(Outlook {
        settings,
        origin,
        missed,
        maintenances,
    })
}

fn planned(course: &Course<'_>, maintenance: &Maintenance) -> PlannedMaintenance {
    let Maintenance {
        start,
        create_from,
        create_until,
    } = *maintenance;
    PlannedMaintenance {
        start,
        create_from,
        create_until,
        left_out: course.would_leave_out(maintenance),
    }
}

impl Outlook {
    /// The time in which the maintenance at `start` is decided, and the next one is not; nothing if there is no such maintenance here. Where
    /// that time is over already, it is the time in which both still are.
    ///
    /// With the original that time is `maxSchedulingDelay` long, whatever `maxUpgradeStartDelay` is.
    pub fn decided_in(&self, start: Timestamp, now: Timestamp) -> Option<DecisionSpan> {
        let index = self
            .maintenances
            .iter()
            .position(|planned| planned.start == start)?;
        let begins = self.maintenances[index].create_from;
        let whole = later(begins, self.settings.max_scheduling_delay);
        let following = self
            .maintenances
            .get(index + 1)
            .map(|next| earlier(next.create_from, SECOND));
        let alone = following.map_or(whole, |following| following.min(whole));
        let end = if alone > now { alone } else { whole };
        Some(DecisionSpan {
            start: begins,
            end: end.max(later(begins, SECOND)),
            overlaps: end < whole,
        })
    }
}
