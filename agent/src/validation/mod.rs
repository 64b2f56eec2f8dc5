//! Whether an UpgradeConfig asks for something that the cluster can be upgraded to (agent 4).

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use semver::Version;

use crate::facts::{Facts, Target};

/// What validation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It may be upgraded to.
    Valid(Target),
    /// It is understood, and is no upgrade: the cluster is there, or beyond.
    NoUpgrade(String),
    /// It cannot be upgraded to; the text says what to do about it.
    Invalid(String),
}

/// Validates what is asked for.
pub(crate) fn validate(facts: &Facts) -> Outcome {
    let at = &facts.spec.upgrade_at;
    if let Err(error) = at.parse::<Timestamp>() {
        return Outcome::Invalid(format!(
            "spec.upgradeAt {at:?} is not a time of RFC 3339, as in 2026-01-31T22:00:00Z: {error}"
        ));
    }
    match facts.target() {
        None => Outcome::Invalid("spec.desired needs either image, or version and channel".to_owned()),
        Some(Target::Image { image, version }) => image_target(facts, image, version),
        Some(Target::Version { version, channel }) => version_target(facts, version, channel),
    }
}

fn image_target(facts: &Facts, image: String, version: Option<String>) -> Outcome {
    let has_digest = image
        .split_once("@sha256:")
        .is_some_and(|(name, digest)| name.contains('/') && digest.len() == 64);
    if !has_digest {
        return Outcome::Invalid(format!(
            "spec.desired.image {image:?} must be a whole pull spec by digest: registry/repository/name@sha256:…"
        ));
    }
    match version {
        None => Outcome::Invalid(format!(
            "spec.desired.image {image:?} is not among the updates that the cluster is offered, so its version is not \
             known: choose a channel that offers it, or give spec.desired.version as well"
        )),
        Some(version) => compare(facts, &version).unwrap_or(Outcome::Valid(Target::Image {
            image,
            version: Some(version),
        })),
    }
}

fn version_target(facts: &Facts, version: String, channel: String) -> Outcome {
    if let Some(outcome) = compare(facts, &version) {
        return outcome;
    }
    let target = Target::Version { version, channel };
    let Target::Version { version, channel } = &target else {
        return Outcome::Valid(target);
    };
    // Another channel may not be loaded yet: the cluster looks there once it is set.
    if *channel != facts.cluster.channel {
        return Outcome::Valid(target);
    }
    let offered = &facts.cluster.offered;
    if offered.iter().any(|release| release.version == *version) || facts.has_commenced(&target) {
        return Outcome::Valid(target);
    }
    let known: Vec<&str> = offered
        .iter()
        .take(5)
        .map(|release| release.version.as_str())
        .collect();
    let known = if known.is_empty() {
        "the cluster is offered none".to_owned()
    } else {
        format!("the cluster is offered {}", known.join(", "))
    };
    Outcome::Invalid(format!(
        "version {version} is not an update that channel {channel} offers from here: {known}"
    ))
}

/// What follows from comparing the target with the current version alone; `None` if it is an upgrade.
fn compare(facts: &Facts, version: &str) -> Option<Outcome> {
    let target = match Version::parse(version) {
        Ok(target) => target,
        Err(error) => {
            return Some(Outcome::Invalid(format!(
                "spec.desired.version {version:?} is not a semantic version such as 4.14.12: {error}"
            )));
        }
    };
    let Some(current) = facts.current_version() else {
        return Some(Outcome::Invalid(
            "the cluster has no completed release in its history yet: wait for its installation".to_owned(),
        ));
    };
    match target.cmp_precedence(&current) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => Some(Outcome::NoUpgrade(format!("the cluster runs {version} already"))),
        std::cmp::Ordering::Less => Some(Outcome::NoUpgrade(format!(
            "{version} is older than {current}, which the cluster runs: going back is not possible"
        ))),
    }
}
