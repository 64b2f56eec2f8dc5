//! What an UpgradeConfig does next (Maintenance schedules, sections 2.4, 2.5, 2.8 and 11).
//!
//! Each maintenance is decided once: its UpgradeJob is created, or it is left out. What has been decided is in two places, in the
//! UpgradeJobs and in `status.lastScheduledUpgrade`, of which the later counts; so nothing is decided again after a crash between two
//! writes, nor when a suspension is lifted.

mod event;
mod job;
mod jobs;
mod maintenance;
mod next;
pub mod notification;
mod origin;
mod outlook;
mod settings;
mod status;

use drydock_api::openshift::cluster_version::Release;
use drydock_api::schedule::{UpgradeConfig, UpgradeConfigStatus, UpgradeJob, UpgradeSuspensionWindow};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::suspension::{Affects, Suspensions};
use crate::version;
pub use event::ConfigEvent;
pub use job::{asked_by, manual_job, upgrade_job};
use jobs::OwnedJobs;
pub use jobs::PrunedJob;
pub(crate) use jobs::last_success;
use maintenance::Course;
pub use next::{LeftOut, NextDecision};
pub use origin::SearchOrigin;
pub use outlook::{DecisionSpan, Outlook, PlannedMaintenance, outlook};
pub use settings::{InvalidConfig, Settings};
pub use status::{WRITE_REFUSED, refused};

/// What is seen of an UpgradeConfig and of what it depends on.
///
/// UpgradeJobs must be no older than what this program has written itself, or an UpgradeJob may be created twice.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The UpgradeConfig.
    pub config: &'a UpgradeConfig,
    /// The UpgradeJobs of its namespace, or more.
    pub jobs: Vec<&'a UpgradeJob>,
    /// The UpgradeSuspensionWindows of its namespace, or more.
    pub windows: Vec<&'a UpgradeSuspensionWindow>,
    /// `status.availableUpdates` of OpenShift's ClusterVersion; nothing if it could not be read.
    pub available_updates: Option<&'a [Release]>,
    /// The time zone of the process.
    pub local_zone: &'a TimeZone,
}

/// What is to be done, in this order: create the UpgradeJob, write the status, publish the events, delete UpgradeJobs. Whatever is left
/// undone, the next decision comes to the same end; only events may be lost, so that none is published twice.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The UpgradeJob to create. That it exists already is no error.
    pub create: Option<UpgradeJob>,
    /// The status that the UpgradeConfig should have.
    pub status: UpgradeConfigStatus,
    /// What is to be published about the UpgradeConfig.
    pub events: Vec<ConfigEvent>,
    /// Succeeded UpgradeJobs to delete.
    pub prune: Vec<PrunedJob>,
    /// What is decided next.
    pub next: NextDecision,
    /// The first maintenance since the last one decided that has been missed: nothing was decided while its UpgradeJob could have been
    /// created, or another UpgradeJob had not ended.
    pub missed: Option<Timestamp>,
    /// When to decide again if nothing changes. It is absent only where the UpgradeConfig must be corrected first, is being deleted, or has
    /// no further times.
    pub wake: Option<Timestamp>,
}

/// Decides what an UpgradeConfig does.
///
/// An UpgradeJob is created from `pinVersionWindow` before the start of its maintenance on, and not later than `maxSchedulingDelay` after
/// that. Nor is it where it could no longer start, `maxUpgradeStartDelay` after the start of the maintenance: such an UpgradeJob would fail
/// at once, as it does with the original, and an alert would be raised about a maintenance that nobody can catch up on. It is missed
/// instead, and the condition Ready says so.
pub fn decide(observed: &Observed<'_>, now: Timestamp) -> Plan {
    let config = observed.config;
    let jobs = OwnedJobs::of(config, &observed.jobs);
    let suspensions = Suspensions::of(
        &config.metadata,
        Affects::Configs,
        observed.windows.iter().copied(),
    );
    let settings = match Settings::parse(&config.spec, observed.local_zone) {
        _ if config.metadata.deletion_timestamp.is_some() => Err(NextDecision::Deleting),
        settings => settings.map_err(NextDecision::Correct),
    };
    let decision = match settings {
        Ok(settings) => decide_valid(observed, &Course::new(&settings, &suspensions, now), &jobs),
        Err(next) => Decision {
            last: SearchOrigin::of(config, &jobs, now).last_decided(),
            ..Decision::next(next)
        },
    };
    let wake = [
        decision.next.wake(now),
        decision.next_times.first().copied(),
        suspensions.next_change(now),
    ];
    let mut status = status::status(config, &decision, &suspensions, now);
    notification::raise(&mut status, config, &decision.events, now);
    Plan {
        status,
        wake: wake.into_iter().flatten().min().map(|wake| wake.max(now)),
        prune: jobs.superfluous(config.spec.successful_jobs_history_limit),
        create: decision.create,
        events: decision.events,
        next: decision.next,
        missed: decision.missed,
    }
}

/// What has been decided.
struct Decision {
    create: Option<UpgradeJob>,
    events: Vec<ConfigEvent>,
    next: NextDecision,
    missed: Option<Timestamp>,
    /// The start of the last maintenance that has been decided.
    last: Option<Timestamp>,
    /// The next times of the schedule.
    next_times: Vec<Timestamp>,
}

impl Decision {
    fn next(next: NextDecision) -> Self {
        Self {
            create: None,
            events: Vec::new(),
            next,
            missed: None,
            last: None,
            next_times: Vec::new(),
        }
    }
}

fn decide_valid(observed: &Observed<'_>, course: &Course<'_>, jobs: &OwnedJobs) -> Decision {
    let origin = SearchOrigin::of(observed.config, jobs, course.now);
    let (origin, last) = (origin.at(), origin.last_decided());
    let mut decision = match jobs.blocks(course.now) {
        Some(next) => Decision {
            last,
            ..Decision::next(next)
        },
        None => decide_maintenance(observed, course, origin, last),
    };
    let anchor = decision.last.unwrap_or(origin);
    decision.next_times = course.next_times(anchor);
    decision
}

/// Decides the next maintenance that has not been missed, if it is time.
fn decide_maintenance(
    observed: &Observed<'_>,
    course: &Course<'_>,
    origin: Timestamp,
    last: Option<Timestamp>,
) -> Decision {
    let Some(maintenance) = course.next_maintenance(origin) else {
        return Decision {
            last,
            ..Decision::next(NextDecision::Never)
        };
    };
    let start = maintenance.start;
    let missed = course.missed(origin, start);
    if course.now < maintenance.create_from {
        return Decision {
            missed,
            last,
            ..Decision::next(course.forecast(&maintenance))
        };
    }
    if let Some(left_out) = course.leaves_out() {
        let after = course.next_maintenance(start);
        let next = after.map_or(NextDecision::Never, |after| course.forecast(&after));
        return Decision {
            missed,
            last: Some(start),
            events: vec![ConfigEvent::new(start, left_out)],
            ..Decision::next(next)
        };
    }
    let Some(available) = observed.available_updates else {
        let until = maintenance.create_until;
        return Decision {
            missed,
            last,
            ..Decision::next(NextDecision::AwaitUpdates { start, until })
        };
    };
    let job = job::upgrade_job(
        observed.config,
        course.settings,
        start,
        version::highest(available),
    );
    let name = job.metadata.name.clone().unwrap_or_default();
    Decision {
        missed,
        last: Some(start),
        create: Some(job),
        ..Decision::next(NextDecision::AwaitEnd { job: name })
    }
}
