//! Which maintenances a suspension window would leave out that is not there yet.

use drydock_api::schedule::{UpgradeConfig, UpgradeJob, UpgradeSuspensionWindow};
use drydock_schedule::config::{LeftOut, Observed, PlannedMaintenance, Settings, outlook, upgrade_job};
use drydock_schedule::suspension::{Affects, is_selected};
use jiff::Timestamp;
use kube::ResourceExt;

use super::cluster::ObservedCluster;
use super::outlook::{has_ended, has_started};

/// How many maintenances of each UpgradeConfig are looked at.
const LOOKED_AT: usize = 200;

/// A maintenance that would be left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The UpgradeConfig.
    pub config: String,
    /// When it starts.
    pub start: Timestamp,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "that of {} at {}", self.config, self.start)
    }
}

/// The maintenances that the window would leave out, of all UpgradeConfigs, whether their UpgradeJobs exist or not; those that are left out
/// anyway are not among them.
pub fn of(cluster: &ObservedCluster, window: &UpgradeSuspensionWindow) -> Vec<Hit> {
    let near = |config: &&UpgradeConfig| config.namespace() == window.namespace();
    let mut hits: Vec<Hit> = cluster
        .configs
        .iter()
        .filter(near)
        .flat_map(|config| not_created(cluster, config, window))
        .chain(skipped_jobs(cluster, window))
        .collect();
    hits.sort();
    hits.dedup();
    hits
}

/// Those whose UpgradeJobs would not be created, or would be skipped once they are.
fn not_created(
    cluster: &ObservedCluster,
    config: &UpgradeConfig,
    window: &UpgradeSuspensionWindow,
) -> Vec<Hit> {
    let mut observed = cluster.observed(config);
    let before = planned(&observed, cluster.now);
    observed.windows.push(window);
    let after = planned(&observed, cluster.now);
    let Ok(settings) = Settings::parse(&config.spec, &cluster.local_zone) else {
        return Vec::new();
    };
    let is_hit = |(before, after): &(PlannedMaintenance, PlannedMaintenance)| {
        let is_new = matches!(&after.left_out, Some(LeftOut::ByWindow(by)) if by.window == window.name_any());
        before.left_out.is_none() && (is_new || skips(window, config, &settings, before.start))
    };
    let pairs = before.into_iter().zip(after);
    pairs
        .filter(is_hit)
        .map(|(planned, _)| Hit {
            config: config.name_any(),
            start: planned.start,
        })
        .collect()
}

fn planned(observed: &Observed<'_>, now: Timestamp) -> Vec<PlannedMaintenance> {
    outlook(observed, now, LOOKED_AT).map_or_else(|_| Vec::new(), |outlook| outlook.maintenances)
}

/// Would the UpgradeJob of a maintenance be skipped that does not exist yet?
fn skips(
    window: &UpgradeSuspensionWindow,
    config: &UpgradeConfig,
    settings: &Settings,
    start: Timestamp,
) -> bool {
    let span = window.spec.start.0..=window.spec.end.0;
    let job = upgrade_job(config, settings, start, None);
    span.contains(&start) && is_selected(window, Affects::Jobs, &job.metadata)
}

/// UpgradeJobs that exist and would be skipped.
fn skipped_jobs(cluster: &ObservedCluster, window: &UpgradeSuspensionWindow) -> Vec<Hit> {
    let span = window.spec.start.0..=window.spec.end.0;
    let is_hit = |job: &&UpgradeJob| {
        !has_ended(job)
            && !has_started(job)
            && span.contains(&job.spec.start_after.0)
            && is_selected(window, Affects::Jobs, &job.metadata)
    };
    let owner = |job: &UpgradeJob| {
        let mut owners = job.owner_references().iter();
        let owner = owners.find(|owner| owner.kind == "UpgradeConfig");
        owner.map_or_else(
            || format!("UpgradeJob {}", job.name_any()),
            |owner| owner.name.clone(),
        )
    };
    let jobs = cluster.jobs.iter().flatten().filter(is_hit);
    jobs.map(|job| Hit {
        config: owner(job),
        start: job.spec.start_after.0,
    })
    .collect()
}
