//! ExternalDependencyAvailabilityCheck: what the upgrade needs outside of the cluster answers (agent 3, step 5).

use super::{Need, Situation, Step, Verdict};

pub(crate) const STEP: Step = Step {
    condition: "ExternalDependenciesAvailable",
    precedes_commencement: true,
    once: false,
    decide,
};

fn decide(situation: &Situation<'_>) -> Verdict {
    let facts = situation.facts;
    let dependencies = &facts.configuration.ext_dependency_availability_checks;
    if dependencies.http.urls.is_empty() {
        return Verdict::Done;
    }
    match &facts.seen.dependencies {
        None => Verdict::Needs(Need::Dependencies),
        Some(wrong) if wrong.is_empty() => Verdict::Done,
        Some(wrong) => Verdict::Waiting(Some(format!(
            "external dependencies are not available: {}",
            wrong.join("; ")
        ))),
    }
}
