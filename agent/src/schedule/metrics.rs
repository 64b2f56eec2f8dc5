//! The series about maintenance schedules, computed when they are scraped from what is seen then ([`drydock_schedule::metrics`]).

use drydock_api::schedule::UpgradeConfig;
use drydock_runtime::Clock;
use drydock_schedule::force_drain::metrics::of_nodes;
use drydock_schedule::job::metrics::{of_cluster, of_jobs};
use drydock_schedule::metrics::{FAMILIES, Sample, of_cluster_version, of_config, of_machines, of_window};
use prometheus::Registry;

use super::watches::Seen;
use crate::scraped;

/// Registers all of them.
///
/// # Errors
/// If the registry has one of their names already.
pub(super) fn register(registry: &Registry, seen: Seen, clock: Clock) -> Result<(), prometheus::Error> {
    scraped::register(registry, FAMILIES, move || samples(&seen, &clock))
}

fn samples(seen: &Seen, clock: &Clock) -> Vec<Sample> {
    let configs = seen.configs.objects();
    let jobs = seen.jobs.objects();
    let jobs = || jobs.iter().map(AsRef::as_ref);
    let of_config = |config: &UpgradeConfig| of_config(config, jobs());
    let mut samples: Vec<Sample> = configs.iter().flat_map(|config| of_config(config)).collect();
    for window in seen.windows.objects() {
        samples.extend(of_window(&window, configs.iter().map(AsRef::as_ref)));
    }
    let (jobs, hooks) = (seen.jobs.objects(), seen.hooks.objects());
    let hooks = hooks.iter().map(AsRef::as_ref);
    samples.extend(of_jobs(jobs.iter().map(AsRef::as_ref), hooks));
    let (cluster, pools) = (seen.upstream.object(), seen.pools.objects());
    samples.extend(of_cluster(cluster.as_deref(), pools.iter().map(AsRef::as_ref)));
    samples.extend(of_nodes(seen.nodes.objects().iter().map(AsRef::as_ref)));
    samples.extend(of_machines(seen.machines.objects().iter().map(AsRef::as_ref)));
    for version in seen.managed.objects() {
        samples.extend(of_cluster_version(&version, clock.now()));
    }
    samples
}
