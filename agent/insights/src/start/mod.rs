//! Whether an update may be requested, by what ClusterVersion says: the guards of `oc adm upgrade` (insights.md, section 2.1), and the lock
//! of the cluster.

#[cfg(test)]
mod tests;

use drydock_api::conditions::{AnyCondition, find};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{ClusterVersionStatus, Release};
use drydock_api::openshift::release_request::is_request_of;
use semver::Version;

use crate::cluster::requested;

/// What is allowed that is refused otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// A target that the update service does not offer.
    pub explicit: bool,
    /// A target that is not recommended, or of which that is not known.
    pub not_recommended: bool,
    /// A cluster that is invalid, failing or already updating.
    pub with_warnings: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing: the cluster has that version, or was asked to have it already.
    Nothing {
        /// Has it reached the version?
        is_reached: bool,
    },
    /// To request the update.
    Request {
        /// The image of the release, where it is known.
        image: Option<String>,
    },
}

/// Why an update is not requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Somebody else updates the cluster.
    #[error("the upgrade lock of the cluster belongs to {0}: wait until that is done")]
    Locked(String),
    /// A condition of ClusterVersion.
    #[error(
        "ClusterVersion has {condition}=True{why}: correct that first, or update all the same with --allow-upgrade-with-warnings"
    )]
    Warned {
        /// The condition.
        condition: &'static str,
        /// What it says.
        why: String,
    },
    /// The target has risks that apply, or may apply.
    #[error(
        "{target} is not recommended for this cluster{why}: update to it all the same with --allow-not-recommended"
    )]
    NotRecommended {
        /// The target.
        target: Version,
        /// What the condition Recommended says.
        why: String,
    },
    /// The update service does not offer the target.
    #[error(
        "{target} is not among the updates that the update service offers ({offered}): choose one of them, or update to it all the same \
         with --allow-explicit-upgrade"
    )]
    NotOffered {
        /// The target.
        target: Version,
        /// What it offers.
        offered: String,
    },
}

/// What was requested is refused.
const INVALID: &str = "Invalid";

/// The conditions that speak against any update, in the order in which `oc` looks at them.
const WARNINGS: [&str; 3] = [INVALID, "Failing", "Progressing"];

/// Decides whether an update is requested. `locked_by` is who has the lock of the cluster, in words, if somebody has who still needs it.
///
/// # Errors
/// If a guard refuses it.
pub fn decide(
    cluster: &ClusterVersion,
    target: &Version,
    allowed: Allowed,
    locked_by: Option<&str>,
) -> Result<Decision, Refusal> {
    let empty = ClusterVersionStatus::default();
    let status = cluster.status.as_ref().unwrap_or(&empty);
    if is_requested(cluster, status, target) {
        let newest = status.history.first();
        let is_reached = newest.is_some_and(|newest| {
            newest.is_completed() && newest.version.as_deref() == Some(target.to_string().as_str())
        });
        // A request that is refused may lack the image.
        let is_refused = !is_reached && find(&status.conditions, INVALID).is_some_and(AnyCondition::is_true);
        if !is_refused {
            return Ok(Decision::Nothing { is_reached });
        }
    }
    if let Some(holder) = locked_by {
        return Err(Refusal::Locked(holder.to_owned()));
    }
    if !allowed.with_warnings {
        warned(status)?;
    }
    let image = image(status, target, allowed)?;
    Ok(Decision::Request { image })
}

/// Is it the version that the cluster has, and nothing else asked for; or the one that it was asked for?
fn is_requested(cluster: &ClusterVersion, status: &ClusterVersionStatus, target: &Version) -> bool {
    let target = target.to_string();
    if let Some(requested) = requested(cluster) {
        return is_request_of(&requested, &target, None);
    }
    let desired = status.desired.as_ref();
    desired.and_then(|desired| desired.version.as_ref()) == Some(&target)
}

fn warned(status: &ClusterVersionStatus) -> Result<(), Refusal> {
    for condition in WARNINGS {
        if let Some(found) = find(&status.conditions, condition).filter(|found| found.is_true()) {
            let why = why(found);
            return Err(Refusal::Warned { condition, why });
        }
    }
    Ok(())
}

/// The image of the target, if the target may be requested. One that is recommended without conditions comes first.
fn image(
    status: &ClusterVersionStatus,
    target: &Version,
    allowed: Allowed,
) -> Result<Option<String>, Refusal> {
    let text = target.to_string();
    let is_target = |release: &Release| release.version.as_ref() == Some(&text);
    let given = |image: &Option<String>| image.clone().filter(|image| !image.is_empty());
    let mut available = status.available_updates.iter();
    if let Some(release) = available.find(|release| is_target(release)) {
        return Ok(given(&release.image));
    }
    let mut conditional = status.conditional_updates.iter();
    if let Some(update) = conditional.find(|update| is_target(&update.release)) {
        let recommended = find(&update.conditions, "Recommended");
        if allowed.not_recommended || recommended.is_some_and(AnyCondition::is_true) {
            return Ok(given(&update.release.image));
        }
        return Err(Refusal::NotRecommended {
            target: target.clone(),
            why: recommended.map(why).unwrap_or_default(),
        });
    }
    if !allowed.explicit {
        return Err(Refusal::NotOffered {
            target: target.clone(),
            offered: offered(status),
        });
    }
    // A cluster knows the images of what it has run before.
    let mut history = status.history.iter();
    let before = history.find(|entry| entry.version.as_ref() == Some(&text));
    Ok(before.and_then(|entry| given(&entry.image)))
}

fn offered(status: &ClusterVersionStatus) -> String {
    let available = status.available_updates.iter();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let versions = available
        .chain(conditional)
        .filter_map(|release| Version::parse(release.version.as_deref()?).ok());
    let mut versions: Vec<_> = versions.collect();
    versions.sort_by(|one, other| other.cmp(one));
    versions.dedup();
    if versions.is_empty() {
        return "none".to_owned();
    }
    let versions: Vec<_> = versions.iter().map(ToString::to_string).collect();
    versions.join(", ")
}

fn why(condition: &impl AnyCondition) -> String {
    match (condition.reason(), condition.message()) {
        ("", "") => String::new(),
        ("", said) | (said, "") => format!(" ({said})"),
        (reason, message) => format!(" ({reason}: {})", message.trim_end_matches(['.', '\n'])),
    }
}
