//! ExternalDependencyAvailabilityCheck: what the upgrade needs outside of the cluster answers.

use super::{StepContext, StepOutcome};
use crate::facts::Need;

pub(super) fn decide(situation: &StepContext<'_>) -> StepOutcome {
    let facts = situation.facts;
    let dependencies = &facts.configuration.ext_dependency_availability_checks;
    if dependencies.http.urls.is_empty() {
        return StepOutcome::Done;
    }
    match &facts.seen.dependencies {
        Err(unread) => StepOutcome::unread(Need::Dependencies, "external dependencies", unread),
        Ok(wrong) if wrong.is_empty() => StepOutcome::Done,
        Ok(wrong) => StepOutcome::Waiting(Some(format!(
            "external dependencies are not available: {}",
            wrong.join("; ")
        ))),
    }
}
