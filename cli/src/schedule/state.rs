//! The state of a cluster and of its UpgradeJobs, and what they would do: parts of the explanation.

use drydock_api::openshift::MachineConfigPool;
use drydock_api::schedule::{UpgradeConfig, UpgradeJob};
use drydock_schedule::config::asked_by;
use drydock_schedule::job::lock::{self, HolderState, LockState};
use drydock_schedule::job::pausing_job::{self, PausingJob};
use drydock_schedule::job::simulation::{Outcome, Simulation, listed};
use kube::ResourceExt;

use super::cluster::ObservedCluster;
use super::outlook::{Run, Stage, end_of, has_started};
use super::versions;

/// The lock of the cluster and its pools. The lock may be that of one of the runs.
pub fn cluster(cluster: &ObservedCluster, runs: &[Run]) -> Vec<String> {
    let mut lines = vec![lock(cluster, runs.iter().find_map(Run::job))];
    match &cluster.pools {
        Ok(pools) => lines.extend(pools.iter().map(|found| pool(cluster, found))),
        Err(why) => lines.push(format!("the machine config pools are not read: {why}")),
    }
    lines
}

fn lock(cluster: &ObservedCluster, job: Option<&UpgradeJob>) -> String {
    let version = match &cluster.cluster_version {
        Ok(version) => version,
        Err(why) => return format!("whose the lock of the cluster is, is not known: {why}"),
    };
    let key = lock::key(job.unwrap_or(&UpgradeJob::default()));
    match lock::assess(version, &key, &cluster.holder) {
        LockState::Free => "the lock of the cluster is free".to_owned(),
        LockState::Ours => format!("the lock of the cluster is that of UpgradeJob {}", key.holder),
        LockState::Stale(why) => format!("the lock of the cluster is free to be taken over: {why}"),
        LockState::Held(by) => format!("the lock of the cluster is that of {by}"),
        LockState::Ask(holder) => {
            format!("UpgradeJob {holder} has the lock of the cluster; what has become of it is not known")
        }
    }
}

fn pool(cluster: &ObservedCluster, pool: &MachineConfigPool) -> String {
    let status = pool.status.clone().unwrap_or_default();
    let count = |count: Option<i64>| count.unwrap_or_default();
    let state = PausingJob::of(pool).and_then(|by| {
        let found = cluster.pausing_jobs.get(&by.job)?.as_ref().ok()?;
        Some(by.state(found))
    });
    let paused = match pausing_job::mark(pool) {
        _ if pool.spec.paused != Some(true) => String::new(),
        Some(by) => {
            let what = match state {
                Some(HolderState::Absent) => {
                    ", which does not exist any more: the next UpgradeJob unpauses it"
                }
                Some(HolderState::Present { has_ended: true, .. }) => ", which has failed: unpause it",
                _ => "",
            };
            format!(", paused by UpgradeJob {by}{what}")
        }
        None => ", paused, not by an UpgradeJob".to_owned(),
    };
    format!(
        "machine config pool {}: {} of {} machines are updated{paused}",
        pool.name_any(),
        count(status.updated_machine_count),
        count(status.machine_count)
    )
}

/// How the last UpgradeJob of an UpgradeConfig has ended.
pub fn last(cluster: &ObservedCluster, config: &UpgradeConfig) -> Option<String> {
    let jobs = asked_by(config, cluster.jobs.iter().flatten());
    let ended = jobs.filter_map(|job| Some((job, end_of(job)?)));
    let (job, end) = ended.max_by_key(|(job, _)| (job.spec.start_after.0, job.name_any()))?;
    Some(format!(
        "the last one, UpgradeJob {}, has {} at {} ({}): {}",
        job.name_any(),
        end.type_.to_lowercase(),
        end.last_transition_time.0,
        end.reason,
        end.message
    ))
}

/// A run: its UpgradeJob if there is one, and what that would do.
pub fn run(run: &Run) -> Vec<String> {
    let mut lines = match &run.stage {
        Stage::Job { job, is_beside } => existing(job, *is_beside),
        Stage::Planned(_) => Vec::new(),
    };
    let when = match &run.stage {
        Stage::Job { job, .. } if has_started(job) => "as things are, it now does this:".to_owned(),
        Stage::Job { .. } => "as things are, it would do this at its start:".to_owned(),
        Stage::Planned(Some(planned)) if planned.left_out.is_some() => {
            "the next maintenance has no UpgradeJob and is left out; if it were not, its UpgradeJob would do this at its start:".to_owned()
        }
        Stage::Planned(_) => {
            "the next maintenance has no UpgradeJob yet; as things are, it would do this at its start:".to_owned()
        }
    };
    if let Some(simulation) = &run.simulation {
        lines.push(when);
        lines.extend(simulated(simulation).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn existing(job: &UpgradeJob, is_beside: bool) -> Vec<String> {
    let (start, until) = (job.spec.start_after.0, job.spec.start_before.0);
    let release = job.spec.desired_version.as_ref();
    let what = release.map_or("runs hooks only".to_owned(), |release| {
        format!("upgrades to {}", versions::name(release))
    });
    let beside = if is_beside { ", beside the schedule" } else { "" };
    let mut lines = vec![format!(
        "UpgradeJob {}{beside}: {what}; starts at {start}, or until {until}",
        job.name_any()
    )];
    let status = job.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    if conditions.is_empty() {
        lines.push("it has no condition yet".to_owned());
    }
    lines.extend(conditions.iter().map(|condition| {
        let since = condition.last_transition_time.0;
        format!(
            "{} is {} since {since} ({}): {}",
            condition.type_, condition.status, condition.reason, condition.message
        )
    }));
    lines
}

/// What it would do, as things are.
fn simulated(simulation: &Simulation) -> Vec<String> {
    let end = end(&simulation.outcome);
    let is_end = |message: &str| end.as_ref().is_some_and(|end| end.ends_with(message));
    let steps = simulation.steps.iter().filter(|event| !is_end(&event.message));
    let mut lines: Vec<String> = steps
        .map(|event| format!("{}: {}", event.step.name(), event.message))
        .collect();
    if !simulation.hooks.is_empty() {
        let hooks: Vec<&str> = simulation.hooks.iter().map(String::as_str).collect();
        lines.push(format!("hooks that are taken to succeed: {}", hooks.join(", ")));
    }
    lines.extend(end);
    let is_waiting = !matches!(simulation.outcome, Outcome::Ends(_) | Outcome::AsksFor(_));
    if let Some(wake) = simulation.wake.filter(|_| is_waiting) {
        lines.push(format!("looked at again at {wake}, or when something changes"));
    }
    lines
}

/// Where it stops; nothing if the last step says so.
fn end(outcome: &Outcome) -> Option<String> {
    Some(match outcome {
        Outcome::AsksFor(_) => return None,
        Outcome::NotYet { start } => format!("waits until {start}"),
        Outcome::Ends(end) => format!("{} ({}): {}", end.type_, end.reason, end.message),
        Outcome::Waits(waiting) => format!("Waiting ({}): {}", waiting.reason, waiting.message),
        Outcome::Unhealthy(check) => {
            format!(
                "waits until the cluster is healthy ({}): {}",
                check.type_, check.message
            )
        }
        Outcome::HooksRun { hooks } => format!("waits for its hooks: {hooks}"),
        Outcome::UnderWay(stage) => format!("goes on ({}): {}", stage.type_, stage.message),
        Outcome::NotKnown(needs) => format!("is not known: {}", listed(needs)),
    })
}
