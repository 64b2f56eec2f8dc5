//! From when on the next maintenance of an UpgradeConfig is looked for (Maintenance schedules, section 2.4).

use std::fmt;

use drydock_api::schedule::UpgradeConfig;
use jiff::Timestamp;

use super::jobs::OwnedJobs;

/// From when on the next maintenance is looked for: the start of the last one that has been decided, wherever that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchOrigin {
    /// The start of its latest UpgradeJob.
    LatestJob {
        /// The UpgradeJob.
        job: String,
        /// Its start.
        start: Timestamp,
    },
    /// `status.lastScheduledUpgrade`: the start of a maintenance that was left out, or whose UpgradeJob is gone.
    LastDecided(Timestamp),
    /// Nothing has been decided yet: the creation of the UpgradeConfig.
    Created(Timestamp),
    /// The UpgradeConfig does not exist yet: the present.
    Now(Timestamp),
}

impl SearchOrigin {
    pub(super) fn of(config: &UpgradeConfig, jobs: &OwnedJobs, now: Timestamp) -> Self {
        let status = config.status.as_ref();
        let in_status = status.and_then(|status| status.last_scheduled_upgrade.as_ref());
        let in_status = in_status.map(|last| last.0);
        match (jobs.latest(), in_status) {
            (Some((job, start)), last) if last.is_none_or(|last| last <= start) => Self::LatestJob {
                job: job.to_owned(),
                start,
            },
            (_, Some(last)) => Self::LastDecided(last),
            _ => match &config.metadata.creation_timestamp {
                Some(created) => Self::Created(created.0),
                None => Self::Now(now),
            },
        }
    }

    /// The moment.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::LatestJob { start: at, .. } | Self::LastDecided(at) | Self::Created(at) | Self::Now(at) => {
                *at
            }
        }
    }

    /// The start of the last maintenance that has been decided, if one has.
    pub(super) fn last_decided(&self) -> Option<Timestamp> {
        match self {
            Self::LatestJob { start: at, .. } | Self::LastDecided(at) => Some(*at),
            Self::Created(_) | Self::Now(_) => None,
        }
    }
}

impl fmt::Display for SearchOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LatestJob { job, start } => {
                write!(formatter, "{start}, the start of its latest UpgradeJob, {job}")
            }
            Self::LastDecided(last) => {
                write!(
                    formatter,
                    "{last}, the last maintenance that was decided (status.lastScheduledUpgrade)"
                )
            }
            Self::Created(created) => {
                write!(
                    formatter,
                    "{created}, its creation: no maintenance has been decided yet"
                )
            }
            Self::Now(now) => write!(formatter, "{now}, now: it does not exist yet"),
        }
    }
}
