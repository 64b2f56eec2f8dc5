//! Releases, for people.

use drydock_api::conditions::{self, AnyCondition};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{ConditionalUpdate, Release};
use drydock_api::schedule::DesiredVersion;
use drydock_schedule::version;

/// A release by its version, or else by its image.
pub fn name(version: &DesiredVersion) -> &str {
    let given = |field: &'_ Option<String>| field.as_ref().is_some_and(|text| !text.is_empty());
    let version = if given(&version.version) {
        version.version.as_deref()
    } else {
        version.image.as_deref()
    };
    version.unwrap_or("an unknown release")
}

/// The version of a release; empty if it has none.
pub fn of(release: &Release) -> &str {
    release.version.as_deref().unwrap_or_default()
}

/// Which release is pinned, and why not another, the highest first; nothing is hidden.
pub fn explained(cluster: &ClusterVersion) -> Vec<String> {
    let Some(status) = &cluster.status else {
        return vec!["ClusterVersion has no status: nothing can be pinned".to_owned()];
    };
    let mut lines = Vec::new();
    if let Some(newest) = status.history.first() {
        let version = newest.version.as_deref().unwrap_or("an unknown release");
        let state = if newest.is_completed() {
            "the cluster runs"
        } else {
            "the cluster is being updated to"
        };
        let channel = cluster
            .spec
            .channel
            .as_deref()
            .filter(|channel| !channel.is_empty());
        let channel = channel.map_or("no channel".to_owned(), |channel| format!("channel {channel}"));
        lines.push(format!("{state} {version} ({channel})"));
    }
    let ordered = version::ordered(&status.available_updates);
    if ordered.is_empty() {
        lines.push("no update is available: only hooks run".to_owned());
    }
    for (index, release) in ordered.iter().enumerate() {
        let version = of(release);
        lines.push(match (index, version::parsed(release)) {
            (0, Some(parsed)) if !parsed.pre.is_empty() => {
                format!("{version}: pinned, the highest that is available; a pre-release is lower than its own release only")
            }
            (0, _) => format!("{version}: pinned, the highest that is available"),
            (_, Some(_)) => format!("{version}: not pinned, it is lower"),
            (_, None) => format!("{version:?}: not pinned, it is no version and comes last"),
        });
    }
    lines.extend(status.conditional_updates.iter().map(conditional));
    lines
}

/// Why a conditional update is not pinned.
pub fn conditional(update: &ConditionalUpdate) -> String {
    let version = of(&update.release);
    let recommended = conditions::find(&update.conditions, "Recommended");
    let why = recommended.map_or_else(String::new, |recommended| {
        format!(": {}: {}", recommended.reason(), recommended.message())
    });
    format!("{version}: not pinned, it is conditional{why}")
}
