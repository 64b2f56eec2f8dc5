//! Whether an UpgradeConfig asks for something that the cluster can be upgraded to.

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use semver::Version;

use crate::facts::{Facts, Need, Target, Unread};

/// What validation came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidationOutcome {
    /// It may be upgraded to.
    Valid(Target),
    /// It is understood, and is no upgrade: the cluster is there, or beyond.
    NoUpgrade(String),
    /// It cannot be upgraded to; the text says what to do about it.
    Invalid(String),
    /// The image's version has been found, and belongs into the spec.
    Version {
        /// The version.
        version: String,
        /// The image.
        image: String,
    },
    /// Something must be read first.
    Unread(Need),
}

/// Validates what is asked for.
pub fn validate(facts: &Facts) -> ValidationOutcome {
    match revalidate(facts) {
        ValidationOutcome::Valid(Target::Version { version, channel }) => is_offered(facts, version, channel),
        outcome => outcome,
    }
}

/// Validates what is asked for again, after it has been found valid. Whether it is offered does not count any more: a channel
/// that has just been set may not be loaded yet, and commencing waits for it.
pub fn revalidate(facts: &Facts) -> ValidationOutcome {
    let at = &facts.spec.upgrade_at;
    if let Err(error) = at.parse::<Timestamp>() {
        return ValidationOutcome::Invalid(format!(
            "spec.upgradeAt {at:?} is not a time of RFC 3339, as in 2026-01-31T22:00:00Z: {error}"
        ));
    }
    match facts.target() {
        None => {
            ValidationOutcome::Invalid("spec.desired needs either image, or version and channel".to_owned())
        }
        Some(Target::Image { image, version }) => image_target(facts, image, version),
        Some(Target::Version { version, channel }) => {
            compare(facts, &version).unwrap_or(ValidationOutcome::Valid(Target::Version { version, channel }))
        }
    }
}

fn image_target(facts: &Facts, image: String, version: Option<String>) -> ValidationOutcome {
    let has_digest = image
        .split_once("@sha256:")
        .is_some_and(|(name, digest)| name.contains('/') && digest.len() == 64);
    if !has_digest {
        return ValidationOutcome::Invalid(format!(
            "spec.desired.image {image:?} must be a whole pull spec by digest: registry/repository/name@sha256:…"
        ));
    }
    match version {
        None => match &facts.seen.release {
            Err(Unread::NotAsked) => ValidationOutcome::Unread(Need::Release),
            Ok(version) => ValidationOutcome::Version {
                version: version.clone(),
                image,
            },
            Err(Unread::Failed(why)) => ValidationOutcome::Invalid(format!(
                "spec.desired.image {image:?} is not among the updates that the cluster is offered, and its version cannot \
                 be read from its registry: {why}; giving spec.desired.version as well is another way"
            )),
        },
        // What the cluster or the registry says of the image belongs into the spec: the hub reads there which release it is.
        Some(version) if facts.spec.desired.version.as_ref() != Some(&version) => {
            ValidationOutcome::Version { version, image }
        }
        Some(version) => compare(facts, &version).unwrap_or(ValidationOutcome::Valid(Target::Image {
            image,
            version: Some(version),
        })),
    }
}

fn is_offered(facts: &Facts, version: String, channel: String) -> ValidationOutcome {
    let target = Target::Version { version, channel };
    let Target::Version { version, channel } = &target else {
        return ValidationOutcome::Valid(target);
    };
    // Another channel may not be loaded yet: the cluster looks there once it is set.
    if *channel != facts.cluster.channel {
        return match graph_has(facts, version, channel) {
            None => ValidationOutcome::Valid(target),
            Some(outcome) => outcome,
        };
    }
    let mut offered = facts.cluster.all_offered();
    if offered.any(|release| release.version == *version) || facts.has_commenced(&target) {
        return ValidationOutcome::Valid(target);
    }
    let known: Vec<&str> = facts
        .cluster
        .all_offered()
        .take(5)
        .map(|release| release.version.as_str())
        .collect();
    let known = if known.is_empty() {
        "the cluster is offered none".to_owned()
    } else {
        format!("the cluster is offered {}", known.join(", "))
    };
    ValidationOutcome::Invalid(format!(
        "version {version} is not an update that channel {channel} offers from here: {known}"
    ))
}

/// What is against a version of another channel by the update graph, if that is asked.
fn graph_has(facts: &Facts, version: &str, channel: &str) -> Option<ValidationOutcome> {
    if !facts.configuration.validation.cincinnati {
        return None;
    }
    match &facts.seen.graph {
        Err(Unread::NotAsked) => Some(ValidationOutcome::Unread(Need::Graph)),
        Err(Unread::Failed(why)) => Some(ValidationOutcome::Invalid(format!(
            "cannot check whether channel {channel} leads to {version}: {why}"
        ))),
        Ok(versions) if versions.contains(version) => None,
        Ok(versions) => {
            let known: Vec<&str> = versions.iter().rev().take(5).map(String::as_str).collect();
            Some(ValidationOutcome::Invalid(format!(
                "version {version} is not an update that channel {channel} offers from {}: it offers {}",
                facts.current().unwrap_or("here"),
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            )))
        }
    }
}

/// What follows from comparing the target with the current version alone; `None` if it is an upgrade.
fn compare(facts: &Facts, version: &str) -> Option<ValidationOutcome> {
    let target = match Version::parse(version) {
        Ok(target) => target,
        Err(error) => {
            return Some(ValidationOutcome::Invalid(format!(
                "spec.desired.version {version:?} is not a semantic version such as 4.14.12: {error}"
            )));
        }
    };
    let Some(current) = facts.current_version() else {
        return Some(ValidationOutcome::Invalid(
            "the cluster has no completed release in its history yet: wait for its installation".to_owned(),
        ));
    };
    match target.cmp_precedence(&current) {
        std::cmp::Ordering::Greater => None,
        std::cmp::Ordering::Equal => Some(ValidationOutcome::NoUpgrade(format!(
            "the cluster runs {version} already"
        ))),
        std::cmp::Ordering::Less => Some(ValidationOutcome::NoUpgrade(format!(
            "{version} is older than {current}, which the cluster runs: going back is not possible"
        ))),
    }
}
