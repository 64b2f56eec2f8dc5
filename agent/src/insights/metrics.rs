//! The series about update insights, computed when they are scraped from what is seen then ([`drydock_insights::metrics`]).

use drydock_api::metrics::Sample;
use drydock_insights::metrics::{FAMILIES, of_informer, of_plan, of_status};
use prometheus::Registry;

use super::watches::Seen;
use crate::scraped;

/// Registers all of them.
///
/// # Errors
/// If the registry has one of their names already.
pub(super) fn register(registry: &Registry, seen: Seen) -> Result<(), prometheus::Error> {
    scraped::register(registry, FAMILIES, move || samples(&seen))
}

fn samples(seen: &Seen) -> Vec<Sample> {
    let (status, informers, plans) = (
        seen.status.object(),
        seen.informers.objects(),
        seen.plans.objects(),
    );
    let of_status = status.iter().flat_map(|status| of_status(status));
    let of_informers = informers.iter().flat_map(|informer| of_informer(informer));
    let of_plans = plans.iter().flat_map(|plan| of_plan(plan));
    of_status.chain(of_informers).chain(of_plans).collect()
}
