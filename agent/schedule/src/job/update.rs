//! The update of the cluster: what ClusterVersion is asked for, and how far it is.

use drydock_api::conditions::{self, AnyCondition, ForeignCondition};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{ClusterVersionStatus, UpdateHistory};
use drydock_api::schedule::DesiredVersion;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// By how much the clocks of the agent and of the cluster version operator may differ.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(5);

/// How far the cluster is on its way to a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It has not been asked for it.
    NotAsked,
    /// It is on its way; why it does not get on, in its own words.
    UnderWay(Option<String>),
    /// It was on its way, and somebody has sent it elsewhere since: to this release.
    Superseded(String),
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
    // Others ask for a version alone: the cluster finds its image.
    let is_by_version = given(asked.image.as_ref()).is_none() && given(target.version.as_ref()).is_some();
    let image = target
        .image
        .as_ref()
        .filter(|_| is_by_version)
        .or(asked.image.as_ref());
    is_release(target, asked.version.as_ref(), image)
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
        let since = since.map(|since| since.saturating_sub(CLOCK_SKEW).unwrap_or(since));
        let began = |entry: &&UpdateHistory| {
            let started = entry.started_time.as_deref().and_then(|time| time.parse().ok());
            started
                .zip(since)
                .is_some_and(|(started, since): (Timestamp, _)| started >= since)
        };
        return match status.history.iter().filter(is_it).find(began) {
            Some(entry) if entry.is_completed() && has_architecture(status, target) => Progress::Completed,
            Some(_) => Progress::Superseded(elsewhere(cluster, status)),
            None => Progress::NotAsked,
        };
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

/// Where the cluster has been sent instead, for people.
fn elsewhere(cluster: &ClusterVersion, status: &ClusterVersionStatus) -> String {
    let newest = status.history.first();
    let newest = newest.map(|newest| release(newest.version.clone(), newest.image.clone()));
    asked(cluster).or(newest).map_or_else(
        || "another release".to_owned(),
        |other| describe(&other).to_owned(),
    )
}

/// Has the cluster completed what it is asked for? It has if it is asked for nothing (Maintenance schedules, section 3.3).
pub(super) fn is_settled(cluster: &ClusterVersion) -> bool {
    let Some(target) = asked(cluster) else {
        return true;
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

/// The release to which the cluster is being updated, if it is another one. It is from when it is asked for, unless it refuses that.
pub(super) fn other_update(cluster: &ClusterVersion, target: Option<&DesiredVersion>) -> Option<String> {
    let status = cluster.status.as_ref()?;
    let newest = status.history.first()?;
    let running = (!newest.is_completed()).then(|| release(newest.version.clone(), newest.image.clone()));
    // The registry of an image may differ from the one that was asked for.
    let has_begun = |asked: &DesiredVersion| match given(asked.version.as_ref()) {
        Some(version) => newest.version.as_deref() == Some(version),
        None => is_release(asked, None, newest.image.as_ref()),
    };
    let asked = asked(cluster).filter(|asked| !has_begun(asked) && refusal(&status.conditions).is_none());
    let is_other = |other: &DesiredVersion| {
        target.is_none_or(|target| !is_release(target, other.version.as_ref(), other.image.as_ref()))
    };
    let others = [running, asked].into_iter().flatten();
    let other = others.into_iter().find(is_other)?;
    Some(describe(&other).to_owned())
}

fn release(version: Option<String>, image: Option<String>) -> DesiredVersion {
    DesiredVersion {
        version,
        image,
        ..DesiredVersion::default()
    }
}

/// The release that ClusterVersion asks for.
pub(super) fn asked(cluster: &ClusterVersion) -> Option<DesiredVersion> {
    let asked = cluster.spec.desired_update.as_ref()?;
    Some(release(asked.version.clone(), asked.image.clone()))
}

/// Why the cluster refuses what it is asked for.
fn refusal(all: &[ForeignCondition]) -> Option<&ForeignCondition> {
    let invalid = conditions::find(all, "Invalid").filter(|condition| condition.is_true());
    invalid.or_else(|| conditions::find(all, "ReleaseAccepted").filter(|condition| condition.is_false()))
}

/// Why the cluster refuses the update, or makes no progress with it.
fn trouble(all: &[ForeignCondition]) -> Option<String> {
    let failing = || conditions::find(all, "Failing").filter(|condition| condition.is_true());
    let condition = refusal(all).or_else(failing)?;
    Some(format!("{}: {}", condition.reason(), condition.message()))
}
