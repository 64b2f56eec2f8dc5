//! IsUpgradeable: `Upgradeable=False` blocks an upgrade to another minor version, not a patch.

use semver::Version;

use super::{StepContext, StepOutcome};

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let Some((reason, message)) = &facts.cluster.not_upgradeable else {
        return StepOutcome::Done;
    };
    let target = situation
        .target
        .version()
        .and_then(|version| Version::parse(version).ok());
    let is_patch = match (target, facts.current_version()) {
        (Some(target), Some(current)) => (target.major, target.minor) == (current.major, current.minor),
        _ => false,
    };
    if is_patch {
        return StepOutcome::Done;
    }
    StepOutcome::Waiting(Some(format!(
        "the cluster is not upgradeable to {}: {reason}: {message}",
        situation.version()
    )))
}
