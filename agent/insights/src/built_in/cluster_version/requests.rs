//! Whether an update fits to what the cluster runs, and to what it is asked for.

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::names::cause;
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::release_request::replaces_a_refused_one;

use super::super::PlannedRelease;
use super::conditions::invalid;
use super::{Draft, draft, said};
use crate::cluster::requested;

/// Another target in mid-update leaves the cluster between releases.
pub(super) fn in_progress(cluster: &ClusterVersion, conditions: &[ForeignCondition]) -> Option<Draft> {
    let progressing = find(conditions, "Progressing");
    let newest = cluster.status.as_ref().and_then(|status| status.history.first());
    let is_partial = newest.is_some_and(|newest| newest.state != "Completed");
    let desired = desired_version(cluster);
    let (level, summary) = match progressing {
        Some(progressing) if progressing.is_true() => {
            let to = desired.map(|desired| format!(", to {desired}"));
            let to = to.unwrap_or_default();
            (Level::Warning, format!("Another update is under way{to}"))
        }
        _ if is_partial => (
            Level::Warning,
            "The update before it has not been completed".to_owned(),
        ),
        Some(progressing) if progressing.is_false() => return None,
        _ => (
            Level::Unknown,
            "The cluster does not say whether an update is under way".to_owned(),
        ),
    };
    let action = "Wait until the update that is under way has ended";
    let draft = draft(
        "update-in-progress",
        level,
        ImpactType::UpdateStalled,
        summary,
        action,
    );
    Some(Draft {
        description: progressing.map(said).unwrap_or_default(),
        ..draft.because(cause::DESIRED, desired)
    })
}

/// An update goes to a newer release, and by one minor release at a time.
pub(super) fn no_next_release(cluster: &ClusterVersion, target: &str) -> Option<Draft> {
    let running = crate::cluster::facts(cluster).ok()?.version;
    let [from, to] = [&running, target].map(|text| semver::Version::parse(text).ok());
    let (from, to) = (from?, to?);
    let (summary, action) = if to.cmp_precedence(&from).is_le() {
        let summary = format!("{target} is not newer than {running}, which the cluster runs");
        (summary, "Choose a newer version")
    } else if to.major == from.major && to.minor > from.minor.saturating_add(1) {
        let summary = format!("{target} is more than one minor release ahead of {running}");
        (summary, "Update to the minor release between them first")
    } else {
        return None;
    };
    Some(draft(
        "not-a-next-release",
        Level::Error,
        ImpactType::UpdateStalled,
        summary,
        action,
    ))
}

/// What speaks against the update in that which is requested already; nothing where it takes the place of what the cluster refuses.
pub(super) fn of_the_request(
    cluster: &ClusterVersion,
    conditions: &[ForeignCondition],
    target: PlannedRelease<'_>,
) -> [Option<Draft>; 2] {
    let other = other_request(cluster, target);
    let refused = find(conditions, "Invalid").filter(|invalid| invalid.is_true());
    let wanted = cluster.spec.desired_update.as_ref();
    let image = wanted.and_then(|wanted| wanted.image.as_deref());
    let is_replaced = refused.is_some_and(|refused| {
        replaces_a_refused_one(refused.message(), other.is_some(), image, target.image)
    });
    if is_replaced {
        return [None, None];
    }
    let reason = refused.map(AnyCondition::reason);
    [
        other,
        invalid(conditions).map(|draft| draft.because(cause::CONDITION, reason)),
    ]
}

/// Somebody has asked for another release, which the cluster has not begun to take: a request now would replace it.
fn other_request(cluster: &ClusterVersion, target: PlannedRelease<'_>) -> Option<Draft> {
    let requested = requested(cluster)?;
    if target.is_requested_as(&requested) {
        return None;
    }
    let action = "Wait until that update has ended, or take the request back with oc adm upgrade --clear";
    let draft = draft(
        "other-update-requested",
        Level::Warning,
        ImpactType::UpdateStalled,
        format!("An update to {requested} has been requested, and has not begun"),
        action,
    );
    Some(draft.because(cause::REQUESTED, Some(&requested)))
}

fn desired_version(cluster: &ClusterVersion) -> Option<&str> {
    cluster.status.as_ref()?.desired.as_ref()?.version.as_deref()
}
