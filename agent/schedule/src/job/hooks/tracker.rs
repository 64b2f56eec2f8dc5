//! The tracker: what has become of the Jobs of hooks. It remembers what Jobs that are gone have done, so that no hook runs twice for
//! the same event.

use std::collections::BTreeSet;

use drydock_api::fact::Unread;
use drydock_api::names::{
    HOOK_EVENT_LABEL, HOOK_JOB_FINALIZER, HOOK_LABEL, HOOK_TRACKING_KEY_LABEL, HOOK_UPGRADE_JOB_LABEL,
};
use drydock_api::schedule::{HookStatus, UpgradeJob};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;

use super::names;
use crate::job::Need;
use crate::job::event::JobStep;
use crate::job::pass::Pass;
use crate::job::write::{JobWrite, ObservedVersion, other_finalizers};

/// The Job has not ended.
pub(super) const ACTIVE: &str = "active";
/// It has ended well.
pub(in crate::job) const COMPLETE: &str = "complete";
/// It has ended, and not well.
pub(super) const FAILED: &str = "failed";

/// Records what has become of the Jobs, and lets those go of which that is recorded.
pub(in crate::job) fn track(pass: &mut Pass<'_>) {
    let jobs = match &pass.seen.hook_jobs {
        Ok(jobs) => jobs,
        Err(Unread::NotAsked) if !pass.tracker.is_empty() => return pass.need(Need::HookJobs),
        Err(Unread::NotAsked) => return,
        Err(Unread::Failed(_)) => return pass.poll(),
    };
    let name = pass.seen.job.name_any();
    for job in jobs.iter().filter(|job| belongs_to(job, &name)) {
        if !is_owned_by(job, pass.uid()) {
            // Left by an UpgradeJob of the same name that is gone.
            let_go(pass, job);
            continue;
        }
        let Some(index) = entry(pass, job) else {
            continue;
        };
        if !is_over(&pass.tracker[index]) {
            let (status, message) = state(job);
            settle(pass, index, status, &message);
        }
        let is_deleting = pass.seen.job.metadata.deletion_timestamp.is_some();
        if is_over(&pass.tracker[index]) || is_deleting {
            let_go(pass, job);
        }
    }
    for index in 0..pass.tracker.len() {
        let entry = &pass.tracker[index];
        let is_gone = !jobs
            .iter()
            .any(|job| is_owned_by(job, pass.uid()) && is_of(job, entry));
        if entry.status.as_deref() == Some(ACTIVE) && is_gone {
            settle(pass, index, FAILED, "its Job is gone before it ended");
        }
    }
}

/// The Jobs of hooks whose UpgradeJob is gone, of those given: they may go, too.
pub fn orphans<'a>(
    hook_jobs: impl IntoIterator<Item = &'a Job>,
    jobs: impl IntoIterator<Item = &'a UpgradeJob>,
) -> Vec<JobWrite> {
    let jobs = jobs.into_iter();
    let owners: BTreeSet<&str> = jobs.filter_map(|owner| owner.metadata.uid.as_deref()).collect();
    let is_owned = |job: &Job| {
        let mut references = job.owner_references().iter();
        references.any(|owner| owners.contains(owner.uid.as_str()))
    };
    let is_orphan = |job: &&Job| has_finalizer(job) && !is_owned(job);
    let orphans = hook_jobs.into_iter().filter(is_orphan);
    orphans.map(finalizer_removed).collect()
}

/// Sets what has become of a Job.
pub(super) fn settle(pass: &mut Pass<'_>, index: usize, status: &str, message: &str) {
    let entry = &mut pass.tracker[index];
    let is_news = entry.status.as_deref() != Some(status);
    entry.status = Some(status.to_owned());
    entry.message = (!message.is_empty()).then(|| message.to_owned());
    if is_news && status == FAILED {
        let hook = entry.upgrade_job_hook.as_deref().unwrap_or_default();
        let event = entry.hook_event.as_deref().unwrap_or_default();
        let message = format!("UpgradeJobHook {hook} has failed for {event}: {message}");
        pass.say(JobStep::HookFailed, &message);
    }
}

fn is_over(entry: &HookStatus) -> bool {
    matches!(entry.status.as_deref(), Some(COMPLETE | FAILED))
}

fn belongs_to(job: &Job, name: &str) -> bool {
    job.labels().get(HOOK_UPGRADE_JOB_LABEL) == Some(&names::label(name))
}

fn is_owned_by(job: &Job, uid: &str) -> bool {
    job.owner_references().iter().any(|owner| owner.uid == uid)
}

/// A mark of a Job: the label, or the annotation if it was too long for one.
fn mark<'a>(job: &'a Job, name: &str) -> &'a str {
    let mark = job.annotations().get(name).or_else(|| job.labels().get(name));
    mark.map(String::as_str).unwrap_or_default()
}

fn is_of(job: &Job, entry: &HookStatus) -> bool {
    let is = |name, field: &Option<String>| mark(job, name) == field.as_deref().unwrap_or_default();
    is(HOOK_LABEL, &entry.upgrade_job_hook)
        && is(HOOK_EVENT_LABEL, &entry.hook_event)
        && is(HOOK_TRACKING_KEY_LABEL, &entry.tracking_key)
}

/// The entry of a Job. One that another program has created gets an entry, too.
fn entry(pass: &mut Pass<'_>, job: &Job) -> Option<usize> {
    let known = pass.tracker.iter().position(|entry| is_of(job, entry));
    if known.is_some() {
        return known;
    }
    let text = |name| Some(mark(job, name).to_owned()).filter(|text| !text.is_empty());
    pass.tracker.push(HookStatus {
        hook_event: Some(text(HOOK_EVENT_LABEL)?),
        upgrade_job_hook: Some(text(HOOK_LABEL)?),
        tracking_key: text(HOOK_TRACKING_KEY_LABEL),
        status: None,
        message: None,
    });
    Some(pass.tracker.len() - 1)
}

/// What has become of a Job. One that is deleted before it has ended never ends: its controller leaves it alone.
fn state(job: &Job) -> (&'static str, String) {
    let conditions = job.status.iter().flat_map(|status| &status.conditions).flatten();
    let mut ends = conditions.filter(|condition| condition.status == "True");
    let end = ends.find(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed"));
    let Some(end) = end else {
        if job.metadata.deletion_timestamp.is_some() {
            return (FAILED, "its Job was deleted before it ended".to_owned());
        }
        return (ACTIVE, String::new());
    };
    let message = match (end.reason.as_deref(), end.message.as_deref()) {
        (Some(reason), Some(message)) => format!("{reason}: {message}"),
        (reason, message) => reason.or(message).unwrap_or_default().to_owned(),
    };
    let status = if end.type_ == "Complete" { COMPLETE } else { FAILED };
    (status, message)
}

fn has_finalizer(job: &Job) -> bool {
    job.finalizers()
        .iter()
        .any(|finalizer| finalizer == HOOK_JOB_FINALIZER)
}

fn let_go(pass: &mut Pass<'_>, job: &Job) {
    if has_finalizer(job) {
        pass.write(finalizer_removed(job));
    }
}

fn finalizer_removed(job: &Job) -> JobWrite {
    JobWrite::RemoveHookFinalizer {
        job: ObservedVersion::of(job),
        remaining: other_finalizers(job),
    }
}
