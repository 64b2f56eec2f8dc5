//! What the history of a ClusterVersion says of the present update.

use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::cluster_version::UpdateHistory;
use jiff::Timestamp;
use serde::Serialize;

use crate::insight::{Insight, Resource, Scope};
use crate::times::moment;

/// Where to read about the history.
const HISTORY_REFERENCE: &str = "https://docs.openshift.com/container-platform/latest/updating/troubleshooting_updates/gathering-data-cluster-update.html#gathering-clusterversion-history-cli_troubleshooting_updates";
/// What is not known.
const UNKNOWN: &str = "unknown";

/// From which release a cluster updates to which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Versions {
    /// The release it updates to.
    pub target: String,
    /// The release it updates from.
    pub previous: String,
    /// Whether it is being installed.
    pub is_installation: bool,
    /// Whether the update before was not completed.
    pub is_previous_partial: bool,
    /// Whether only the architecture changes.
    pub is_multi_arch_migration: bool,
}

impl Versions {
    /// Reads a history, the newest entry first.
    pub fn read(history: &[UpdateHistory]) -> Self {
        let version = |entry: Option<&UpdateHistory>| {
            entry.map_or_else(
                || UNKNOWN.to_owned(),
                |entry| entry.version.clone().unwrap_or_default(),
            )
        };
        let before = history.get(1);
        Self {
            target: version(history.first()),
            previous: version(before),
            is_installation: history.len() == 1,
            is_previous_partial: before.is_some_and(|entry| entry.state == "Partial"),
            is_multi_arch_migration: is_multi_arch_migration(history),
        }
    }
}

impl std::fmt::Display for Versions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { target, previous, .. } = self;
        if self.is_installation {
            write!(formatter, "{target} (a new install)")
        } else if self.is_previous_partial {
            write!(formatter, "{target} (from incomplete {previous})")
        } else if self.is_multi_arch_migration {
            write!(formatter, "{target} to Multi-Architecture")
        } else {
            write!(formatter, "{target} (from {previous})")
        }
    }
}

/// Whether the release stays and only its image changes: then versions do not say which nodes are updated.
pub fn is_multi_arch_migration(history: &[UpdateHistory]) -> bool {
    match history {
        [present, before, ..] => {
            present.version.as_deref().unwrap_or_default() == before.version.as_deref().unwrap_or_default()
                && present.image != before.image
        }
        _ => false,
    }
}

/// That the update before was not completed, as long as the control plane is not updated.
pub fn incomplete_before(history: &[UpdateHistory], versions: &Versions, name: &str) -> Option<Insight> {
    if !versions.is_previous_partial {
        return None;
    }
    let completed = history.iter().skip(2).find(|entry| entry.is_completed());
    let completed = completed.map_or(UNKNOWN, |entry| entry.version.as_deref().unwrap_or_default());
    let Versions { target, previous, .. } = versions;
    Some(Insight {
        started_at: started(history),
        scope: Scope::ControlPlane,
        resources: vec![Resource::config("ClusterVersion", name)],
        level: Level::Warning,
        impact: ImpactType::None,
        summary: format!(
            "Previous update to {previous} never completed, last complete update was {completed}"
        ),
        description: format!(
            "Current update to {target} was initiated while the previous update to version {previous} was still in progress"
        ),
        reference: HISTORY_REFERENCE.to_owned(),
    })
}

/// When the present update began.
pub fn started(history: &[UpdateHistory]) -> Option<Timestamp> {
    moment(history.first()?.started_time.as_deref())
}
