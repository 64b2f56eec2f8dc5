//! The series about update insights, computed when they are scraped from what is seen then ([`drydock_insights::metrics`]).

use drydock_insights::metrics::{FAMILIES, InsightSample, of_informer, of_plan, of_status};
use prometheus::Registry;

use super::watches::Seen;
use crate::scraped::{self, GaugeSample};

/// Registers all of them.
///
/// # Errors
/// If the registry has one of their names already.
pub(super) fn register(registry: &Registry, seen: Seen) -> Result<(), prometheus::Error> {
    let families = FAMILIES
        .iter()
        .map(|family| (family.name, family.help, family.labels));
    scraped::register(registry, families, move || samples(&seen))
}

fn samples(seen: &Seen) -> Vec<GaugeSample> {
    let status = seen.status.object();
    let mut samples: Vec<InsightSample> = status.iter().flat_map(|status| of_status(status)).collect();
    samples.extend(
        seen.informers
            .objects()
            .iter()
            .flat_map(|informer| of_informer(informer)),
    );
    samples.extend(seen.plans.objects().iter().flat_map(|plan| of_plan(plan)));
    let sample = |sample: InsightSample| GaugeSample {
        family: sample.family.name,
        labels: sample.labels,
        value: sample.value,
    };
    samples.into_iter().map(sample).collect()
}
