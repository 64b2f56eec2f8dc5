//! What an UpgradeJob would do at a moment, as things are: for people who ask before the time has come. It is [`decide`] that says so,
//! pass after pass; here only its writes are carried out, on a copy of what has been observed.

use std::collections::BTreeSet;

use drydock_api::conditions::{self, Condition, FALSE, TRUE};
use drydock_api::lock::LockKey;
use drydock_api::names::{UPGRADE_LOCK_ANNOTATION, UPGRADE_LOCK_OWNER_ANNOTATION};
use drydock_api::openshift::MachineConfigPool;
use drydock_api::schedule::{DesiredVersion, HookStatus};
use jiff::Timestamp;
use kube::ResourceExt;

use super::condition::{self, JobCondition};
use super::write::{JobWrite, ObservedVersion, PoolMark};
use super::{JobDecision, JobEvent, JobObservation, Need, decide, hooks};

/// More passes than an UpgradeJob needs that does nothing but go on.
const MOST_PASSES: usize = 100;

/// What an UpgradeJob would do.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// How far it would come at once.
    pub outcome: Outcome,
    /// What it would do until there, in order.
    pub steps: Vec<JobEvent>,
    /// The hooks that it would run until there; they are taken to succeed.
    pub hooks: BTreeSet<String>,
    /// When it would look again, if nothing changed before.
    pub wake: Option<Timestamp>,
}

/// How far an UpgradeJob would come at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Its time has not come.
    NotYet {
        /// When it comes.
        start: Timestamp,
    },
    /// It would end, with this condition: be skipped by a suspension window, fail, or succeed where there is nothing to upgrade.
    Ends(Condition),
    /// It would wait: the condition Waiting says for what.
    Waits(Condition),
    /// The cluster would have to become healthy first: the condition of the check says what is not, and since when.
    Unhealthy(Condition),
    /// Its hooks have not ended.
    HooksRun {
        /// Their names.
        hooks: String,
    },
    /// It would ask the cluster for the release.
    AsksFor(DesiredVersion),
    /// It is further than that: the condition says what it waits for.
    UnderWay(Condition),
    /// It cannot be said without this.
    NotKnown(BTreeSet<Need>),
}

/// What is not known, for people.
pub fn listed(needs: &BTreeSet<Need>) -> String {
    let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
    format!("not read: {}", needs.join(", "))
}

/// What an UpgradeJob would do at the moment of the observation, if all that it writes is accepted and its hooks succeed.
pub fn simulate(mut seen: JobObservation) -> Simulation {
    // The lock and hooks are an UpgradeJob's by its UID.
    seen.job
        .metadata
        .uid
        .get_or_insert_with(|| "simulated".to_owned());
    let mut simulation = Simulation {
        outcome: Outcome::NotYet {
            start: seen.job.spec.start_after.0,
        },
        steps: Vec::new(),
        hooks: BTreeSet::new(),
        wake: None,
    };
    for _ in 0..MOST_PASSES {
        let decision = decide(&seen);
        let is_settled = seen.job.status.as_ref() == Some(&decision.status) && decision.writes.is_empty();
        simulation.steps.extend(decision.events.iter().cloned());
        simulation.wake = decision.wake;
        simulation.outcome = outcome(&seen, &decision);
        let is_last = matches!(
            simulation.outcome,
            Outcome::Ends(_) | Outcome::AsksFor(_) | Outcome::NotKnown(_)
        );
        if is_settled || is_last {
            break;
        }
        carry_out(&mut seen, decision, &mut simulation.hooks);
    }
    simulation
}

/// How far it has come with a decision.
fn outcome(seen: &JobObservation, decision: &JobDecision) -> Outcome {
    let conditions = decision.status.conditions.as_deref().unwrap_or_default();
    let with_status = |type_: JobCondition, status: &str| {
        let found = conditions::find(conditions, type_.name());
        found.filter(|condition| condition.status == status).cloned()
    };
    if let Some(end) = condition::end(conditions) {
        return Outcome::Ends(end.clone());
    }
    if !decision.needs.is_empty() {
        return Outcome::NotKnown(decision.needs.clone());
    }
    if let Some(waiting) = with_status(JobCondition::Waiting, TRUE) {
        return Outcome::Waits(waiting);
    }
    for write in &decision.writes {
        if let JobWrite::SetDesiredUpdate { update, .. } = write {
            return Outcome::AsksFor(update.clone());
        }
    }
    let checks = [
        JobCondition::PreHealthCheckDone,
        JobCondition::PostHealthCheckDone,
    ];
    if let Some(check) = checks.into_iter().find_map(|check| with_status(check, FALSE)) {
        return Outcome::Unhealthy(check);
    }
    let tracker = decision.status.hook_tracker.as_deref().unwrap_or_default();
    if let Some(hooks) = hooks::running(tracker) {
        return Outcome::HooksRun { hooks };
    }
    let stages = [
        (JobCondition::Paused, TRUE),
        (JobCondition::Paused, FALSE),
        (JobCondition::UpgradeCompleted, FALSE),
        (JobCondition::Started, TRUE),
    ];
    let stage = stages
        .into_iter()
        .find_map(|(stage, status)| with_status(stage, status));
    stage.map_or(
        Outcome::NotYet {
            start: seen.job.spec.start_after.0,
        },
        Outcome::UnderWay,
    )
}

/// Carries a decision out on what has been observed.
fn carry_out(seen: &mut JobObservation, decision: JobDecision, run: &mut BTreeSet<String>) {
    let mut status = decision.status;
    for write in decision.writes {
        match write {
            JobWrite::TakeLock { key, .. } => {
                if let Ok(cluster) = &mut seen.cluster_version {
                    let annotations = cluster.annotations_mut();
                    annotations.insert(UPGRADE_LOCK_ANNOTATION.to_owned(), key.holder.clone());
                    annotations.insert(UPGRADE_LOCK_OWNER_ANNOTATION.to_owned(), key.owner());
                }
            }
            JobWrite::ReleaseLock(_) => {
                if let Ok(cluster) = &mut seen.cluster_version {
                    cluster.annotations_mut().remove(UPGRADE_LOCK_ANNOTATION);
                }
            }
            // The simulation ends here.
            JobWrite::SetDesiredUpdate { .. } => {}
            JobWrite::PausePool { pool, mark } => {
                let mark = match mark {
                    PoolMark::Delay(key) => Some(key),
                    PoolMark::Failure(_) => None,
                };
                pause(seen, &pool, true, mark);
            }
            JobWrite::UnpausePool(pool) => pause(seen, &pool, false, None),
            // What informers would say is not known.
            JobWrite::RequestUpdatePlan { .. } => {}
            JobWrite::CreateHookJob(_) => {
                let announced = status.hook_tracker.iter_mut().flatten();
                announced
                    .filter(|entry| entry.status.is_none())
                    .for_each(|entry| succeed(entry, run));
            }
            JobWrite::ClaimHook { hook, claim } => {
                let mut hooks = seen.hooks.iter_mut().flatten();
                if let Some(found) = hooks.find(|found| found.name_any() == hook.name) {
                    found.status.get_or_insert_default().claimed_by = Some(claim);
                }
            }
            JobWrite::RemoveHookFinalizer { job, .. } => {
                if let Ok(jobs) = &mut seen.hook_jobs {
                    jobs.retain(|known| known.name_any() != job.name);
                }
            }
        }
    }
    seen.job.status = Some(status);
}

fn succeed(entry: &mut HookStatus, run: &mut BTreeSet<String>) {
    entry.status = Some(hooks::COMPLETE.to_owned());
    run.extend(entry.upgrade_job_hook.clone());
}

fn pause(seen: &mut JobObservation, pool: &ObservedVersion, paused: bool, mark: Option<LockKey>) {
    let mut pools = seen.pools.iter_mut().flatten();
    let Some(found) = pools.find(|found: &&mut MachineConfigPool| found.name_any() == pool.name) else {
        return;
    };
    found.spec.paused = Some(paused);
    let annotations = found.annotations_mut();
    if let Some(mark) = mark {
        annotations.insert(UPGRADE_LOCK_OWNER_ANNOTATION.to_owned(), mark.owner());
        annotations.insert(UPGRADE_LOCK_ANNOTATION.to_owned(), mark.holder);
    } else {
        annotations.remove(UPGRADE_LOCK_ANNOTATION);
    }
}
