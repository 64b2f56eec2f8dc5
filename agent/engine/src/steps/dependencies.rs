//! ExternalDependencyAvailabilityCheck: what the upgrade needs outside of the cluster answers.

use super::{Situation, Verdict};
use crate::facts::Need;

pub(super) fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let dependencies = &facts.configuration.ext_dependency_availability_checks;
    if dependencies.http.urls.is_empty() {
        return Verdict::Done;
    }
    match &facts.seen.dependencies {
        Err(unread) => Verdict::unread(Need::Dependencies, "external dependencies", unread),
        Ok(wrong) if wrong.is_empty() => Verdict::Done,
        Ok(wrong) => Verdict::Waiting(Some(format!(
            "external dependencies are not available: {}",
            wrong.join("; ")
        ))),
    }
}
