//! Past upgrades of clusters, as the records have them.

use std::fmt;
use std::sync::Arc;

use drydock_rollout::{
    ALREADY_AT_TARGET, ClusterName, FailureReason, RecordedEntry, RecordedOutcome, Stage, StageSeconds,
    UPDATED_OTHERWISE, Uid,
};
use jiff::Timestamp;
use semver::Version;

/// Which kind of upgrade: how much of a release changes decides how long it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// To another patch release (4.14.9 to 4.14.12).
    Z,
    /// To another minor release (4.14.9 to 4.15.3).
    Y,
}

impl Stream {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Z, Self::Y];

    /// That of an upgrade from one version to another.
    pub fn of(from: &Version, to: &Version) -> Self {
        if (from.major, from.minor) == (to.major, to.minor) {
            Self::Z
        } else {
            Self::Y
        }
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Z => "z-stream",
            Self::Y => "y-stream",
        })
    }
}

/// How an upgrade of a cluster failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastFailure {
    /// In which stage.
    pub stage: Stage,
    /// It took too long.
    pub hung: bool,
}

/// One upgrade of one cluster that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PastUpgrade {
    /// The cluster.
    pub cluster: ClusterName,
    /// Clusters of the same group are alike.
    pub group: Option<Arc<str>>,
    /// Of which kind it was, if both versions are known.
    pub stream: Option<Stream>,
    /// The rollout that it was part of: whose, and since when.
    pub rollout: (Uid, Timestamp),
    /// How long its stages took.
    pub stages: StageSeconds,
    /// How it failed, if it did.
    pub failure: Option<PastFailure>,
}

impl PastUpgrade {
    /// What an entry of a record says; nothing if nothing was asked of the cluster, or how it would have ended is not known.
    pub fn of(recorded: &RecordedEntry, group: Option<Arc<str>>) -> Option<Self> {
        let entry = &recorded.entry;
        entry.started?;
        let failure = match entry.outcome {
            // How long an update took before the attempt looked at it is not known.
            RecordedOutcome::Complete if [ALREADY_AT_TARGET, UPDATED_OTHERWISE].contains(&&*entry.reason) => {
                return None;
            }
            RecordedOutcome::Complete => None,
            RecordedOutcome::Failed => {
                let reason = FailureReason::parse(&entry.reason)?;
                Some(PastFailure {
                    stage: reason.stage(),
                    hung: reason == reason.stage().timed_out(),
                })
            }
            RecordedOutcome::Drifted | RecordedOutcome::Abandoned => return None,
        };
        let version = |text: &str| text.parse::<Version>().ok();
        let from = entry.from.as_deref().and_then(version);
        Some(Self {
            cluster: entry.cluster.clone(),
            group,
            stream: from
                .zip(version(&entry.to))
                .map(|(from, to)| Stream::of(&from, &to)),
            rollout: (recorded.page.owner.uid.clone(), recorded.page.rollout_since),
            stages: entry.stages,
            failure,
        })
    }
}
