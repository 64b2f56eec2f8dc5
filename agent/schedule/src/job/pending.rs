//! An UpgradeJob that has not started (Maintenance schedules, sections 2.6 and 3.2).

use drydock_api::schedule::HookEvent;
use kube::ResourceExt;

use super::condition::{Failure, JobCondition, JobReason};
use super::event::JobStep;
use super::hooks::{self, HookProgress, Occasion};
use super::pass::{Flow, NEXT, Pass, STOP};
use super::suspension;
use crate::instants::just_after;

/// Goes on once it has started.
pub(super) fn advance(pass: &mut Pass<'_>) -> Flow {
    let (start_after, start_before) = (pass.settings.start_after, pass.settings.start_before);
    if pass.seen.job.status.is_none() {
        let message = format!("starts {} at {start_after}, or until {start_before}", what(pass));
        pass.say(JobStep::UpgradeScheduled, &message);
    }
    let is_time = pass.now() >= start_after;
    if is_time {
        // Neither a hook that hangs nor a spec that cannot be used delays this.
        suspension::skip(pass)?;
    } else {
        pass.wake_at(start_after);
    }
    expire(pass)?;
    pass.wake_at(just_after(start_before));
    created(pass)?;
    usable(pass)?;
    if !is_time {
        return STOP;
    }
    let message = format!("{} has started", what(pass));
    pass.record(
        JobCondition::Started,
        true,
        JobReason::Started,
        JobStep::UpgradeStarted,
        &message,
    );
    NEXT
}

/// At `startBefore` it may still start.
fn expire(pass: &mut Pass<'_>) -> Flow {
    let start_before = pass.settings.start_before;
    if pass.now() <= start_before {
        return NEXT;
    }
    let why = pass.blocked_by();
    pass.fail(
        Failure::Expired,
        &format!("not started by {start_before}{}", why.unwrap_or_default()),
    )
}

/// Runs the hooks for Create.
fn created(pass: &mut Pass<'_>) -> Flow {
    let created = pass.seen.job.creation_timestamp();
    let occasion = Occasion {
        event: HookEvent::Create,
        reason: String::new(),
        pool: None,
        since: created.map_or(pass.now(), |time| time.0),
    };
    match hooks::run(pass, &occasion) {
        HookProgress::Finished => NEXT,
        HookProgress::Running => STOP,
        HookProgress::Aborted(why) => pass.fail(Failure::HookFailed, &why),
    }
}

/// Goes on only with a spec that can be used.
pub(super) fn usable(pass: &mut Pass<'_>) -> Flow {
    if pass.settings.problems.is_empty() {
        return NEXT;
    }
    let problems = pass.settings.problems.join("; ");
    pass.wait_for(JobReason::InvalidSpec, &problems)
}

/// What is done, for people.
fn what(pass: &Pass<'_>) -> String {
    match &pass.settings.target {
        Some(target) => format!("the upgrade to {}", super::update::describe(target)),
        None => "the maintenance without an upgrade".to_owned(),
    }
}
