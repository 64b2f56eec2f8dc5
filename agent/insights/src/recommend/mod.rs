//! Which updates a cluster may have, and what speaks against them (insights.md, section 2.2).

mod choice;
mod concerns;
mod targets;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::fact::Fact;
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::ClusterVersionStatus;
use drydock_api::prometheus::Alert;
use serde::Serialize;

pub use choice::{Choice, NotFound, choose};
pub(crate) use concerns::of_alert as concern_of_alert;
pub use concerns::{Concern, ConcernStatus};
pub use targets::{NotRecommended, ReleaseGroup, TargetRelease, Unreadable};

/// The name of the issue that an update fails.
pub const FAILING: &str = "Failing";
/// The name of the issue that an update is under way.
pub const PROGRESSING: &str = "Progressing";
/// The name of the issue that not everything could be looked at.
const INCOMPLETE_PRECHECK: &str = "FailedToCompletePrecheck";
/// The name of the issue that the update service could not be asked.
const NO_UPDATES_RETRIEVED: &str = "CannotRetrieveUpdates";
/// The name of the issue that risks of the release apply, or may apply.
pub const RISK: &str = "ConditionalUpdateRisk";

/// Which updates a cluster may have.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// Whether its present update fails.
    pub failing: Failing,
    /// What the update says that is under way.
    pub progressing: Option<String>,
    /// Why not everything could be looked at.
    pub precheck_error: Option<String>,
    /// What was looked at.
    pub concerns: Vec<Concern>,
    /// Why the update service could not be asked.
    pub not_retrieved: Option<Statement>,
    /// The stream of updates that it follows.
    pub channel: Option<Channel>,
    /// The releases, those of the newest minor version first, and of one the newest first.
    pub groups: Vec<ReleaseGroup>,
    /// What of them could not be read.
    pub unreadable: Vec<Unreadable>,
    /// The names of what speaks against any update.
    pub issues: BTreeSet<String>,
}

/// Whether an update fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Failing {
    /// It does not.
    No,
    /// It does, or nobody knows.
    Says(Statement),
    /// The ClusterVersion does not say.
    Missing,
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Statement {
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, as one word.
    pub reason: String,
    /// Why, in full.
    pub message: String,
}

impl From<&ForeignCondition> for Statement {
    fn from(condition: &ForeignCondition) -> Self {
        Self {
            status: condition.status.clone(),
            reason: condition.reason().to_owned(),
            message: condition.message().to_owned(),
        }
    }
}

/// A stream of updates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// The update service; nothing if the default one is asked.
    pub upstream: Option<String>,
    /// The channels that have the release of the cluster.
    pub available: Vec<String>,
}

/// Looks at what a ClusterVersion and alerts say. `folder` is the name of the folder that they were read from, if they were.
pub fn assess(version: &ClusterVersion, alerts: &Fact<Vec<Alert>>, folder: Option<&str>) -> Recommendation {
    let empty = ClusterVersionStatus::default();
    let status = version.status.as_ref().unwrap_or(&empty);
    let condition = |type_| find(&status.conditions, type_);
    let failing = match condition(FAILING) {
        None => Failing::Missing,
        Some(failing) if failing.is_false() => Failing::No,
        Some(failing) => Failing::Says(failing.into()),
    };
    let progressing = condition(PROGRESSING)
        .filter(|progressing| progressing.is_true() && !progressing.message().is_empty())
        .map(|progressing| progressing.message().to_owned());
    let (concerns, precheck_error) = concerns::of_alerts(alerts, folder);
    let not_retrieved = condition("RetrievedUpdates").filter(|retrieved| !retrieved.is_true());
    let (groups, unreadable) = targets::groups(status);
    let named = [
        (failing != Failing::No, FAILING),
        (progressing.is_some(), PROGRESSING),
        (precheck_error.is_some(), INCOMPLETE_PRECHECK),
        (not_retrieved.is_some(), NO_UPDATES_RETRIEVED),
    ];
    let named = named.into_iter().filter(|(applies, _)| *applies);
    let named = named.map(|(_, name)| name.to_owned());
    let issues = named.chain(concerns.iter().filter_map(Concern::issue)).collect();
    Recommendation {
        failing,
        progressing,
        precheck_error,
        concerns,
        not_retrieved: not_retrieved.map(Into::into),
        channel: channel(version, status),
        groups,
        unreadable,
        issues,
    }
}

fn channel(version: &ClusterVersion, status: &ClusterVersionStatus) -> Option<Channel> {
    let name = version
        .spec
        .channel
        .as_ref()
        .filter(|channel| !channel.is_empty())?;
    let upstream = version
        .spec
        .upstream
        .as_ref()
        .filter(|upstream| !upstream.is_empty());
    Some(Channel {
        name: name.clone(),
        upstream: upstream.cloned(),
        available: status
            .desired
            .as_ref()
            .map(|desired| desired.channels.to_vec())
            .unwrap_or_default(),
    })
}
