//! The releases that a cluster may update to.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use drydock_api::conditions::{AnyCondition, FALSE, ForeignCondition, TRUE, find};
use drydock_api::openshift::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk,
};
use semver::Version;
use serde::Serialize;

use super::Statement;

/// The condition that says whether risks apply.
pub const RECOMMENDED: &str = "Recommended";
/// The risk that operators do not allow an update to another minor version.
const NOT_UPGRADEABLE: &str = "UpgradeableFalse";

/// The releases of a minor version.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseGroup {
    /// The major version.
    pub major: u64,
    /// The minor version.
    pub minor: u64,
    /// The releases, the newest first.
    pub targets: Vec<TargetRelease>,
}

/// A release.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetRelease {
    /// Its version.
    pub version: Version,
    /// Its image.
    pub image: String,
    /// Where to read about it.
    pub url: String,
    /// Why it is not recommended.
    pub not_recommended: Option<NotRecommended>,
}

/// Why a release is not recommended, or why nobody can say.
pub type NotRecommended = Statement;

/// What of the updates could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Unreadable {
    /// The version of an update.
    Update {
        /// The version.
        version: String,
        /// Why.
        why: String,
    },
    /// The version of the cluster, so that it is not known which updates its operators do not allow.
    Current {
        /// Why.
        why: String,
        /// Why operators do not allow updates.
        upgradeable: Statement,
    },
}

/// The releases by minor versions, the newest first. Those with risks come before those without where versions are equal.
pub fn groups(status: &ClusterVersionStatus) -> (Vec<ReleaseGroup>, Vec<Unreadable>) {
    let mut unreadable = Vec::new();
    let mut updates = Vec::new();
    for update in all(status) {
        let text = update.release.version.clone().unwrap_or_default();
        match Version::parse(&text) {
            Ok(version) => updates.push((version, update)),
            Err(error) => unreadable.push(Unreadable::Update {
                version: text,
                why: error.to_string(),
            }),
        }
    }
    if let Some(upgradeable) = find(&status.conditions, "Upgradeable").filter(|found| found.is_false()) {
        let current = status
            .desired
            .as_ref()
            .and_then(|desired| desired.version.as_deref());
        match Version::parse(current.unwrap_or_default()) {
            Ok(current) => updates
                .iter_mut()
                .filter(|(version, _)| (version.major, version.minor) > (current.major, current.minor))
                .for_each(|(_, update)| add_not_upgradeable(update, upgradeable)),
            Err(error) => unreadable.push(Unreadable::Current {
                why: error.to_string(),
                upgradeable: upgradeable.into(),
            }),
        }
    }
    updates.sort_by(|(one, _), (other, _)| other.cmp_precedence(one));
    (by_minor(updates), unreadable)
}

/// Updates with risks, and those without that are not among them.
fn all(status: &ClusterVersionStatus) -> impl Iterator<Item = ConditionalUpdate> {
    let conditional = &status.conditional_updates;
    let others = status.available_updates.iter().filter(|available| {
        let mut images = conditional.iter().map(|update| &update.release.image);
        !images.any(|image| *image == available.image)
    });
    let others = others.map(|release| ConditionalUpdate {
        release: release.clone(),
        ..ConditionalUpdate::default()
    });
    conditional.iter().cloned().chain(others)
}

fn by_minor(updates: Vec<(Version, ConditionalUpdate)>) -> Vec<ReleaseGroup> {
    let mut groups = BTreeMap::<_, Vec<TargetRelease>>::new();
    for (version, update) in updates {
        let group = groups.entry(Reverse((version.major, version.minor)));
        group.or_default().push(TargetRelease {
            not_recommended: not_recommended(&update),
            image: update.release.image.unwrap_or_default(),
            url: update.release.url.unwrap_or_default(),
            version,
        });
    }
    groups
        .into_iter()
        .map(|(Reverse((major, minor)), targets)| ReleaseGroup {
            major,
            minor,
            targets,
        })
        .collect()
}

/// Operators do not allow updates to another minor version: adds that as a risk, unless a risk says it already.
fn add_not_upgradeable(update: &mut ConditionalUpdate, upgradeable: &ForeignCondition) {
    let message = upgradeable.message();
    if update.risks.iter().any(|risk| risk.message.contains(message)) {
        return;
    }
    update.risks.push(ConditionalUpdateRisk {
        name: NOT_UPGRADEABLE.to_owned(),
        message: message.to_owned(),
        ..ConditionalUpdateRisk::default()
    });
    let stated = update
        .conditions
        .iter_mut()
        .find(|condition| condition.type_ == RECOMMENDED);
    match stated {
        Some(condition) => {
            let (reason, message) = if condition.status == TRUE {
                (upgradeable.reason().to_owned(), message.to_owned())
            } else {
                (
                    "MultipleReasons".to_owned(),
                    format!("{message}\n\n{}", condition.message()),
                )
            };
            FALSE.clone_into(&mut condition.status);
            condition.reason = Some(reason);
            condition.message = Some(message);
        }
        None => update.conditions.push(ForeignCondition {
            type_: RECOMMENDED.to_owned(),
            status: FALSE.to_owned(),
            reason: Some(upgradeable.reason().to_owned()),
            message: Some(message.to_owned()),
            ..ForeignCondition::default()
        }),
    }
}

fn not_recommended(update: &ConditionalUpdate) -> Option<NotRecommended> {
    if update.risks.is_empty() {
        return None;
    }
    if let Some(condition) = find(&update.conditions, RECOMMENDED) {
        return (!condition.is_true()).then(|| condition.into());
    }
    let mut names: Vec<_> = update.risks.iter().map(|risk| risk.name.as_str()).collect();
    names.sort_unstable();
    Some(Statement {
        status: "Unknown".to_owned(),
        reason: "NoConditions".to_owned(),
        message: format!(
            "Conditional update to {} has risks ({}), but no conditions.",
            update.release.version.as_deref().unwrap_or_default(),
            names.join(", ")
        ),
    })
}
