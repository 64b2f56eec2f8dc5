//! What works feed back, as values: no word of the wire goes beyond this.

use std::sync::Arc;

use drydock_names::is_same_image;
use jiff::Timestamp;
use semver::Version;

use crate::Target;

/// The state of the newest entry of ClusterVersion's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateState {
    /// The update is on its way.
    Partial,
    /// The update is done.
    Completed,
}

/// What a cluster says about a target that it refuses (ClusterVersion's condition `Invalid`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedTarget {
    /// In its words.
    pub message: Arc<str>,
    /// Since when the hub has seen it say so, by the hub's clock.
    pub since: Timestamp,
}

/// What ClusterVersion says. All of it is nothing before the cluster has said anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionFeedback {
    /// The version of the newest history entry.
    pub version: Option<Version>,
    /// Its state.
    pub state: Option<UpdateState>,
    /// Its image.
    pub image: Option<Arc<str>>,
    /// Whether its signature was verified.
    pub verified: Option<bool>,
    /// The channel that the cluster follows.
    pub channel: Option<Arc<str>>,
    /// The share that is done, in percent, in steps of ten.
    pub percent: Option<u8>,
    /// The target is refused, in a status about the present spec.
    pub invalid: Option<Box<RejectedTarget>>,
    /// The cluster cannot reach its update service: it may refuse what it will accept later.
    pub without_updates: bool,
    /// Who has the lock of the cluster, if somebody has (Maintenance schedules, section 2.7).
    pub locked_by: Option<Arc<str>>,
    /// Why it waits, if it says so: `Failing`, or `ReleaseAccepted=False`.
    pub blocked_by: Option<Arc<str>>,
    /// What it waits for longer than it should, if it says so: `Failing=Unknown`.
    pub slow: Option<Arc<str>>,
    /// Since when it is failing, if it waits for that.
    pub failing_since: Option<Timestamp>,
    /// The version that its spec asks for, whoever has asked.
    pub asked: Option<Version>,
    /// The image that its spec asks for, whoever has asked.
    pub asked_image: Option<Arc<str>>,
}

impl VersionFeedback {
    /// Whether its spec asks for a target, whoever has asked, or may: of a request by an image alone nobody knows the version, and nothing is
    /// known of a cluster that has not said anything.
    pub fn may_be_asked(&self, target: &Target) -> bool {
        let images = self.asked_image.as_deref().zip(target.image.as_deref());
        let is_image = || images.is_some_and(|(asked, image)| is_same_image(asked, image));
        match (&self.version, &self.asked) {
            (None, _) => true,
            (Some(_), Some(asked)) => Some(asked) == target.version.as_ref() || is_image(),
            (Some(_), None) => self.asked_image.is_some(),
        }
    }

    /// The version that the cluster has completed, if the newest entry of its history is complete.
    pub fn completed(&self) -> Option<&Version> {
        self.version
            .as_ref()
            .filter(|_| self.state == Some(UpdateState::Completed))
    }
}

/// The phase of the agent's newest upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentPhase {
    /// Known, not begun.
    Waiting,
    /// There is nothing to do: the cluster runs the target.
    NotNeeded,
    /// Under way.
    Upgrading,
    /// Done.
    Upgraded,
    /// Failed.
    Failed,
}

/// What the agent says, and beside it what ClusterVersion says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentFeedback {
    /// The version that the newest entry of the UpgradeConfig's history is about.
    pub version: Option<Version>,
    /// Its phase.
    pub phase: Option<AgentPhase>,
    /// The version that the UpgradeConfig asks for; for an image, the one that the agent has found in it.
    pub desired_version: Option<Version>,
    /// The image that the UpgradeConfig asks for.
    pub desired_image: Option<Arc<str>>,
    /// The step that it is at.
    pub step: Option<Arc<str>>,
    /// Why it waits or has failed, if it says so.
    pub blocked_by: Option<Arc<str>>,
    /// It waits for findings that nobody has accepted.
    pub is_held: bool,
    /// When it fails at the latest while it waits for them, if it says so.
    pub fails_at: Option<Timestamp>,
    /// What ClusterVersion says.
    pub cluster: VersionFeedback,
}

/// Where a Job or Pod of an action is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionJobState {
    /// Nothing is fed back yet, or it has not come to an end.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// The object on the cluster belongs to another attempt: it says nothing about this one.
    OtherAttempt,
}

/// A Job or Pod of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionJob {
    /// `Job namespace/name` or `Pod namespace/name`.
    pub name: Arc<str>,
    /// Where it is.
    pub state: ActionJobState,
}

/// What a work feeds back, by its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkFeedback {
    /// An action, or the Job that approves the operators' upgrades: each Job or Pod that must come to an end.
    ActionJobs(Vec<ActionJob>),
    /// An upgrade through ClusterVersion.
    ClusterVersion(VersionFeedback),
    /// An upgrade through the agent.
    Agent(Box<AgentFeedback>),
    /// The work cannot be read; it waits until its timeout.
    Unreadable(Arc<str>),
}

impl WorkFeedback {
    /// What ClusterVersion says, where the work feeds it back.
    pub fn cluster_version(&self) -> Option<&VersionFeedback> {
        match self {
            Self::ClusterVersion(feedback) => Some(feedback),
            Self::Agent(feedback) => Some(&feedback.cluster),
            Self::ActionJobs(_) | Self::Unreadable(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_requested_is_not_taken_for_what_was_not() {
        let digest = |digit: &str| format!("quay.io/r@sha256:{}", digit.repeat(64));
        let version = |patch| Version::new(4, 14, patch);
        let by_version = Target {
            version: Some(version(12)),
            ..Target::default()
        };
        let by_image = Target {
            image: Some(digest("a")),
            ..Target::default()
        };
        for (target, runs, asked, image, may_be) in [
            (&by_version, None, None, None, true),
            (&by_version, Some(9), None, None, false),
            (&by_version, Some(9), Some(9), None, false),
            (&by_version, Some(9), Some(12), None, true),
            // Of a release that is not recommended an agent asks by its image.
            (&by_version, Some(9), None, Some("b"), true),
            (&by_version, Some(9), Some(9), Some("b"), false),
            (&by_image, Some(9), Some(9), Some("b"), false),
            (&by_image, Some(9), Some(12), Some("a"), true),
            (&by_image, Some(9), None, None, false),
        ] {
            let feedback = VersionFeedback {
                version: runs.map(version),
                asked: asked.map(version),
                asked_image: image.map(|image| digest(image).into()),
                ..VersionFeedback::default()
            };
            assert_eq!(feedback.may_be_asked(target), may_be, "{feedback:?}");
        }
    }
}
