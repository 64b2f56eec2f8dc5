//! The update of the cluster: what ClusterVersion is asked for, and how far it is.

use drydock_api::conditions::{AnyCondition, ForeignCondition};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{ClusterVersionStatus, UpdateHistory};
use drydock_api::schedule::DesiredVersion;
use jiff::Timestamp;
use serde_json::Value;

/// How far the cluster is on its way to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has not been asked for it.
    NotAsked,
    /// It is on its way; why it does not get on, in its own words.
    UnderWay(Option<String>),
    /// It runs the release.
    Completed,
}

/// A field that says something.
fn given(field: Option<&String>) -> Option<&str> {
    field.map(String::as_str).filter(|text| !text.is_empty())
}

/// A release, for people.
pub(super) fn describe(target: &DesiredVersion) -> &str {
    let version = given(target.version.as_ref());
    version
        .or(given(target.image.as_ref()))
        .unwrap_or("an unknown release")
}

/// Is it this release? Version and image must match, as far as they are asked for.
fn is_release(target: &DesiredVersion, version: Option<&String>, image: Option<&String>) -> bool {
    let matches =
        |wanted: Option<&String>, known| given(wanted).is_none_or(|wanted| given(known) == Some(wanted));
    matches(target.version.as_ref(), version) && matches(target.image.as_ref(), image)
}

/// Is the release among those that are recommended? Conditional ones do not count (Maintenance schedules, section 2.5).
pub(super) fn is_available(cluster: &ClusterVersion, target: &DesiredVersion) -> bool {
    let available = cluster.status.iter().flat_map(|status| &status.available_updates);
    available
        .into_iter()
        .any(|release| is_release(target, release.version.as_ref(), release.image.as_ref()))
}

/// Does ClusterVersion ask for the release?
pub(super) fn is_asked(cluster: &ClusterVersion, target: &DesiredVersion) -> bool {
    let Some(asked) = &cluster.spec.desired_update else {
        return false;
    };
    let architecture = asked.other.get("architecture").and_then(Value::as_str);
    let is_forced = asked.force == Some(true);
    is_release(target, asked.version.as_ref(), asked.image.as_ref())
        && given(target.architecture.as_ref()).unwrap_or_default() == architecture.unwrap_or_default()
        && (is_forced || target.force != Some(true))
}

/// How far the cluster is. `since` is when it was asked for the release, if it was.
pub(super) fn progress(
    cluster: &ClusterVersion,
    target: &DesiredVersion,
    since: Option<Timestamp>,
) -> Progress {
    let empty = ClusterVersionStatus::default();
    let status = cluster.status.as_ref().unwrap_or(&empty);
    let is_it = |entry: &&UpdateHistory| is_release(target, entry.version.as_ref(), entry.image.as_ref());
    let newest = status.history.first().filter(is_it);
    // What was asked for and has begun goes on, whatever is asked for since.
    let has_begun = since.is_some() && newest.is_some();
    if !has_begun && !is_asked(cluster, target) {
        return Progress::NotAsked;
    }
    let is_recent = |entry: &&UpdateHistory| {
        let ended = entry.completion_time.value().and_then(|time| time.parse().ok());
        ended
            .zip(since)
            .is_some_and(|(ended, since): (Timestamp, _)| ended >= since)
    };
    // An entry from before says only that the cluster has run the release once.
    let mut recent = status.history.iter().filter(is_it).filter(is_recent);
    let is_completed = newest
        .or_else(|| recent.next())
        .is_some_and(UpdateHistory::is_completed);
    if is_completed && has_architecture(status, target) {
        Progress::Completed
    } else {
        Progress::UnderWay(trouble(&status.conditions))
    }
}

/// Has the cluster completed what it is asked for? It has if it is asked for nothing (Maintenance schedules, section 3.3).
pub(super) fn is_settled(cluster: &ClusterVersion) -> bool {
    let Some(asked) = &cluster.spec.desired_update else {
        return true;
    };
    let target = DesiredVersion {
        version: asked.version.clone(),
        image: asked.image.clone(),
        ..DesiredVersion::default()
    };
    let mut history = cluster.status.iter().flat_map(|status| &status.history);
    history.any(|entry| {
        entry.is_completed() && is_release(&target, entry.version.as_ref(), entry.image.as_ref())
    })
}

/// A change to the release for several architectures leads to the same version: only the release itself tells them apart.
fn has_architecture(status: &ClusterVersionStatus, target: &DesiredVersion) -> bool {
    given(target.architecture.as_ref()).is_none_or(|wanted| {
        let desired = status.desired.as_ref();
        let architecture = desired.and_then(|release| release.other.get("architecture"));
        architecture.and_then(Value::as_str) == Some(wanted)
    })
}

/// The release to which the cluster is being updated, if it is another one.
pub(super) fn other_update<'a>(
    cluster: &'a ClusterVersion,
    target: Option<&DesiredVersion>,
) -> Option<&'a str> {
    let newest = cluster.status.as_ref()?.history.first()?;
    let is_ours =
        target.is_some_and(|target| is_release(target, newest.version.as_ref(), newest.image.as_ref()));
    let is_running = !newest.is_completed() && !is_ours;
    is_running.then(|| {
        let version = given(newest.version.as_ref());
        version
            .or(given(newest.image.as_ref()))
            .unwrap_or("an unknown release")
    })
}

/// Why the cluster refuses the update, or makes no progress with it.
fn trouble(conditions: &[ForeignCondition]) -> Option<String> {
    let kinds = [("Invalid", true), ("ReleaseAccepted", false), ("Failing", true)];
    let condition = kinds.into_iter().find_map(|(type_, status)| {
        conditions.iter().find(|condition| {
            condition.type_() == type_
                && if status {
                    condition.is_true()
                } else {
                    condition.is_false()
                }
        })
    })?;
    Some(format!("{}: {}", condition.reason(), condition.message()))
}
