//! Hooks: Jobs that run at the steps of a maintenance (Maintenance schedules, section 3.6).
//!
//! Which hooks run for an event is decided once: what exists then is entered into the tracker, and the Jobs are created after the
//! status is written. An entry without a status is a Job that is announced; it becomes `active` when the Job is seen, and from then on
//! the Job is never created again, whatever becomes of it.

mod environment;
mod hook_job;
mod matching;
mod names;
mod readiness;
mod tracker;

use drydock_api::schedule::{HookClaim, HookEvent, HookFailurePolicy, HookStatus, UpgradeJobHook};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};

pub use matching::matches_disruptive;
pub use names::job_selector;
pub use readiness::status as hook_status;
pub use tracker::orphans;

pub(super) use hook_job::{HookRun, build};
pub(super) use tracker::track;

use super::Need;
use super::event::JobStep;
use super::pass::Pass;
use super::write::{JobWrite, ObservedVersion};
use matching::Claim;
pub(super) use tracker::COMPLETE;
use tracker::{ACTIVE, FAILED};

/// Something for which hooks run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occasion<'a> {
    /// The event.
    pub event: HookEvent,
    /// Why it happens, as hooks are given it.
    pub reason: String,
    /// The pool that it is about, which tells it from others.
    pub pool: Option<&'a str>,
    /// When it happened: hooks that were created later do not run for it.
    pub since: Timestamp,
}

/// How far the hooks of an event are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HookProgress {
    /// There are none, or all of them have ended, and none of those that failed matters.
    Finished,
    /// Some have not ended.
    Running,
    /// All of them have ended, and some failed whose failure policy is Abort; in words.
    Aborted(String),
}

/// Runs the hooks of an event.
pub(super) fn run(pass: &mut Pass<'_>, occasion: &Occasion<'_>) -> HookProgress {
    let seen = pass.seen;
    let hooks = pass.read(&seen.hooks, Need::Hooks, "the UpgradeJobHooks of its namespace");
    let Some(hooks) = hooks.continue_value() else {
        return HookProgress::Running;
    };
    let jobs = pass.read(&seen.hook_jobs, Need::HookJobs, "the Jobs of its hooks");
    if jobs.is_break() {
        return HookProgress::Running;
    }
    if !is_announced(pass, occasion) && !announce(pass, occasion, hooks) {
        return HookProgress::Running;
    }
    create(pass, occasion, hooks);
    progress(pass, occasion, hooks)
}

/// Have the hooks of an event been chosen?
pub(super) fn is_announced(pass: &Pass<'_>, occasion: &Occasion<'_>) -> bool {
    pass.tracker.iter().any(|entry| is_for(entry, occasion))
}

fn is_for(entry: &HookStatus, occasion: &Occasion<'_>) -> bool {
    entry.hook_event.as_deref() == Some(occasion.event.as_str())
        && entry.tracking_key.as_deref().unwrap_or_default() == occasion.pool.unwrap_or_default()
}

/// Enters the hooks of an event into the tracker, unless one of them has to be claimed first: then none starts, as all start together.
fn announce(pass: &mut Pass<'_>, occasion: &Occasion<'_>, hooks: &[UpgradeJobHook]) -> bool {
    let mut found: Vec<&UpgradeJobHook> = Vec::new();
    let mut is_settled = true;
    for hook in hooks {
        if !matching::happened_before(hook, occasion.since) || !matching::lists(hook, occasion.event) {
            continue;
        }
        match matching::selects(hook, pass.labels()) {
            Ok(false) => continue,
            // It may be meant for this UpgradeJob: it fails, rather than to be left out in silence.
            Err(_) => {
                found.push(hook);
                continue;
            }
            Ok(true) => {}
        }
        match matching::claim(hook, pass.uid()) {
            Claim::Runs => found.push(hook),
            Claim::Other => {}
            Claim::Free => {
                is_settled = false;
                pass.write(claim(pass, hook));
            }
        }
    }
    if is_settled {
        let entry = |hook: &UpgradeJobHook| HookStatus {
            hook_event: Some(occasion.event.as_str().to_owned()),
            tracking_key: occasion.pool.map(str::to_owned),
            upgrade_job_hook: Some(hook.name_any()),
            status: None,
            message: None,
        };
        pass.tracker.extend(found.into_iter().map(entry));
    }
    is_settled
}

fn claim(pass: &Pass<'_>, hook: &UpgradeJobHook) -> JobWrite {
    let job = &pass.seen.job;
    JobWrite::ClaimHook {
        hook: ObservedVersion::of(hook),
        claim: HookClaim {
            api_version: drydock_api::schedule::UpgradeJob::api_version(&()).into_owned(),
            kind: drydock_api::schedule::UpgradeJob::kind(&()).into_owned(),
            name: job.name_any(),
            uid: pass.uid().to_owned(),
        },
    }
}

/// Creates the Jobs that are announced.
fn create(pass: &mut Pass<'_>, occasion: &Occasion<'_>, hooks: &[UpgradeJobHook]) {
    let is_disruptive = matching::any_disruptive(hooks, occasion.event, &pass.seen.job);
    for index in 0..pass.tracker.len() {
        let entry = &pass.tracker[index];
        if !is_for(entry, occasion) || entry.status.is_some() {
            continue;
        }
        let name = entry.upgrade_job_hook.clone().unwrap_or_default();
        let hook = hooks.iter().find(|hook| hook.name_any() == name);
        match plan(pass, occasion, hook, is_disruptive) {
            Ok(run) => {
                let message = format!("UpgradeJobHook {name} runs for {}", occasion.event.as_str());
                pass.say(JobStep::HookStarted, &message);
                pass.run_hook(run);
            }
            Err(why) => tracker::settle(pass, index, FAILED, &why),
        }
    }
}

/// The run of a hook that is announced, or why there is none.
fn plan(
    pass: &Pass<'_>,
    occasion: &Occasion<'_>,
    hook: Option<&UpgradeJobHook>,
    is_disruptive: bool,
) -> Result<HookRun, String> {
    let hook = hook.ok_or("the UpgradeJobHook was deleted before its Job was created")?;
    let is_readable = matching::selects(hook, pass.labels()).map(drop);
    is_readable.map_err(|error| format!("spec.selector: {error}"))?;
    let run = HookRun::new(hook, occasion, is_disruptive).map_err(|error| error.to_string())?;
    match pass.seen.refused_hook_jobs.get(&run.job_name(&pass.seen.job)) {
        Some(why) => Err(format!("its Job was refused: {why}")),
        None => Ok(run),
    }
}

/// How far the hooks of an event are. Of a hook that was deleted since only the end is waited for: its failure policy is no longer known.
fn progress(pass: &Pass<'_>, occasion: &Occasion<'_>, hooks: &[UpgradeJobHook]) -> HookProgress {
    let mut failures: Vec<String> = Vec::new();
    let mut is_running = false;
    for entry in pass.tracker.iter().filter(|entry| is_for(entry, occasion)) {
        let name = entry.upgrade_job_hook.as_deref().unwrap_or_default();
        let hook = hooks.iter().find(|hook| hook.name_any() == name);
        let policy = hook.and_then(|hook| hook.spec.failure_policy);
        let aborts = policy == Some(HookFailurePolicy::Abort);
        match entry.status.as_deref() {
            Some(COMPLETE) => {}
            Some(FAILED) if aborts => {
                let why = entry.message.as_deref().unwrap_or("it has failed");
                failures.push(format!("UpgradeJobHook {name}: {why}"));
            }
            Some(FAILED) => {}
            _ => is_running = true,
        }
    }
    if is_running {
        return HookProgress::Running;
    }
    if failures.is_empty() {
        return HookProgress::Finished;
    }
    failures.sort();
    let event = occasion.event.as_str();
    HookProgress::Aborted(format!("hooks failed for {event}: {}", failures.join("; ")))
}

/// The hooks that have not ended, for people.
pub(super) fn running(tracker: &[HookStatus]) -> Option<String> {
    names_of_running(tracker.iter())
}

/// Those of one event.
pub(super) fn running_for(tracker: &[HookStatus], event: HookEvent) -> Option<String> {
    let of_event = |entry: &&HookStatus| entry.hook_event.as_deref() == Some(event.as_str());
    names_of_running(tracker.iter().filter(of_event))
}

fn names_of_running<'a>(entries: impl Iterator<Item = &'a HookStatus>) -> Option<String> {
    let names: Vec<&str> = entries
        .filter(|entry| matches!(entry.status.as_deref(), None | Some(ACTIVE)))
        .filter_map(|entry| entry.upgrade_job_hook.as_deref())
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}
