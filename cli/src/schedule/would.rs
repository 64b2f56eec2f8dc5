//! What would come of a run, in a word and in a sentence.

use std::fmt;

use drydock_schedule::config::LeftOut;
use drydock_schedule::job::condition::JobReason;
use drydock_schedule::job::simulation::{Outcome, Simulation, listed};

/// What would come of a run, as things are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Would {
    /// It would upgrade the cluster.
    Start,
    /// It would run hooks only, for this reason.
    RunHooks(&'static str),
    /// An UpgradeJob runs, and goes on.
    GoOn(String),
    /// It would be left out, because the schedule is suspended.
    BeSuspended,
    /// It would be left out, or skipped, because of a window; in words.
    BeLeftOut(String),
    /// It has no UpgradeJob before the one of this name has ended.
    AwaitEnd(String),
    /// It would wait until the cluster is healthy.
    AwaitHealth(String),
    /// It would wait for another upgrade, or for a correction of its UpgradeJob.
    Wait {
        /// Why, as one word.
        reason: String,
        /// Why, in words.
        message: String,
    },
    /// It would fail.
    Fail {
        /// Why, as one word: `UpgradeWithdrawn`, `Expired`, …
        reason: String,
        /// Why, in words.
        message: String,
    },
    /// There is no next run: the UpgradeConfig must be corrected, or is being deleted.
    NotRun {
        /// Why, as one word.
        reason: &'static str,
        /// Why, in words.
        message: String,
    },
    /// It cannot be said.
    NotKnown(String),
}

impl Would {
    /// It as one word.
    pub fn reason(&self) -> &str {
        match self {
            Self::Start => "Start",
            Self::RunHooks(_) => "RunHooks",
            Self::GoOn(_) => "GoOn",
            Self::BeSuspended => "Suspended",
            Self::BeLeftOut(_) => "SuspensionWindow",
            Self::AwaitEnd(_) => "AwaitEnd",
            Self::AwaitHealth(_) => "Unhealthy",
            Self::Wait { reason, .. } | Self::Fail { reason, .. } => reason,
            Self::NotRun { reason, .. } => reason,
            Self::NotKnown(_) => "NotKnown",
        }
    }

    /// It would be left out.
    pub fn left_out(by: &LeftOut) -> Self {
        match by {
            LeftOut::BySchedule => Self::BeSuspended,
            LeftOut::ByWindow(window) => Self::BeLeftOut(window.to_string()),
        }
    }

    /// What an UpgradeJob comes to that asks for a release, or runs hooks only for a reason.
    pub fn simulated(simulation: &Simulation, hooks_only: Option<&'static str>) -> Self {
        let begins = hooks_only.map_or(Self::Start, Self::RunHooks);
        match &simulation.outcome {
            Outcome::NotYet { .. } | Outcome::AsksFor(_) => begins,
            Outcome::Ends(end) if end.reason == JobReason::Skipped.name() => {
                Self::BeLeftOut(end.message.clone())
            }
            Outcome::Ends(end) if end.type_ == "Succeeded" => begins,
            Outcome::Ends(end) => Self::Fail {
                reason: end.reason.clone(),
                message: end.message.clone(),
            },
            Outcome::Waits(waiting) if waiting.reason == JobReason::Unreadable.name() => {
                Self::NotKnown(waiting.message.clone())
            }
            Outcome::Waits(waiting) => Self::Wait {
                reason: waiting.reason.clone(),
                message: waiting.message.clone(),
            },
            Outcome::Unhealthy(check) => Self::AwaitHealth(check.message.clone()),
            Outcome::HooksRun { hooks } => Self::GoOn(format!("hooks have not ended: {hooks}")),
            Outcome::UnderWay(stage) => Self::GoOn(stage.message.clone()),
            Outcome::NotKnown(needs) => Self::NotKnown(listed(needs)),
        }
    }
}

impl fmt::Display for Would {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => write!(formatter, "start"),
            Self::RunHooks(why) => write!(formatter, "run hooks only: {why}"),
            Self::GoOn(how) => write!(formatter, "go on: {how}"),
            Self::BeSuspended => write!(formatter, "be left out: {}", LeftOut::BySchedule),
            Self::BeLeftOut(why) => write!(formatter, "be left out: {why}"),
            Self::AwaitEnd(job) => write!(
                formatter,
                "be created once UpgradeJob {job} has ended, if its time is not over then"
            ),
            Self::AwaitHealth(why) => write!(formatter, "wait until the cluster is healthy: {why}"),
            // Conditions are statements: it waits for something.
            Self::Wait { message, .. } => match message.strip_prefix("waits ") {
                Some(what) => write!(formatter, "wait {what}"),
                None => write!(formatter, "wait: {message}"),
            },
            Self::Fail { reason, message } => write!(formatter, "fail ({reason}): {message}"),
            Self::NotRun { message, .. } => write!(formatter, "not run: {message}"),
            Self::NotKnown(why) => write!(formatter, "not known: {why}"),
        }
    }
}
