//! Phase Upgrading: the steps are run, and what no step may do is done around them: the window in which an upgrade has to
//! commence, the word about a delay, the times of the workers.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{MadeResource, UpgradeCondition, UpgradeHistory, UpgradePhase, read_held};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pending::is_unconfigured;
use super::{AT_ONCE, EACH_MINUTE, Next, SUPERSEDED, fail};
use crate::command::Command;
use crate::condition::{self, ConditionType};
use crate::configuration::Configuration;
use crate::facts::{Facts, Target, Write};
use crate::health;
use crate::notification::{self, UpgradeEvent};
use crate::steps::{self, Milestone, PassEnd, STEPS};

/// The reason of a delay that has been reported.
pub(super) const DELAYED: &str = "UpgradeDelayed";

/// Runs the steps once.
pub(super) fn run(facts: &Facts, target: &Target, made: &[MadeResource], entry: &mut UpgradeHistory) -> Next {
    let started = entry.start_time.get_or_insert(Time(facts.now)).0;
    let commenced = facts.has_commenced(target);
    let may_expire = facts.is_osd() && !commenced;
    if may_expire && give_up_when_late(entry, &facts.configuration, facts.now) {
        return Next::rest(None);
    }
    if !commenced && is_unconfigured(facts) {
        return Next::rest(Some(EACH_MINUTE));
    }
    if commenced && give_up_when_superseded(facts, target, entry) {
        return Next::rest(None);
    }
    let conditions = entry.conditions.get_or_insert_default();
    let pass = steps::run(facts, target, made, conditions);
    report_refused_finalizer(facts, &pass.end, conditions);
    if commenced {
        time_workers(facts, entry);
    }
    for (event, description) in &pass.raised {
        notification::raise(entry, *event, description, facts.now);
    }
    let delay = facts.configuration.upgrade_window.delay();
    let is_late = delay.is_some_and(|delay| facts.now > started + delay);
    if let PassEnd::Waits(step) | PassEnd::Asks(step, _) = &pass.end
        && may_expire
        && is_late
    {
        report_delay(facts, step.condition, entry);
    }
    report_milestones(facts, target.version().unwrap_or("the image"), commenced, entry);
    let next = match pass.end {
        PassEnd::Done => {
            entry.phase = UpgradePhase::Upgraded;
            entry.complete_time = Some(Time(facts.now));
            // How it went is asked next.
            return Next::rest(Some(AT_ONCE));
        }
        PassEnd::Waits(_) => Next::rest(Some(EACH_MINUTE)),
        PassEnd::Asks(_, command) => {
            // Noted before ClusterVersion is written: an edit counts until then.
            if matches!(command, Command::SetDesiredUpdate { .. }) {
                entry.accepted_spec = Some(facts.spec.clone());
            }
            Next::write(command)
        }
        PassEnd::Needs(need) => Next::read(need),
    };
    Next {
        running: Some(target.clone()),
        ..next
    }
}

/// Without its finalizer nothing is done that a deletion would have to undo: the step that waits says so.
fn report_refused_finalizer(facts: &Facts, end: &PassEnd, conditions: &mut Vec<UpgradeCondition>) {
    let Some(why) = facts.refusals.get(&Write::UpgradeConfig) else {
        return;
    };
    if let PassEnd::Waits(step) | PassEnd::Asks(step, _) = end {
        let message = format!("nothing is done before the UpgradeConfig can be written: {why}");
        condition::set(
            conditions,
            step.condition,
            FALSE,
            "UpgradeConfigNotWritten",
            message,
            facts.now,
        );
    }
}

fn report_delay(facts: &Facts, step: ConditionType, entry: &mut UpgradeHistory) {
    let type_ = ConditionType::UpgradeDelayedCheck;
    let conditions = entry.conditions.get_or_insert_default();
    let known = condition::find(conditions, type_).and_then(|known| known.reason.as_deref());
    if known == Some(DELAYED) {
        return;
    }
    let message = format!("the upgrade has not commenced yet: {step} is not done");
    condition::set(conditions, type_, TRUE, DELAYED, message.clone(), facts.now);
    condition::put_first(conditions, step);
    notification::raise(entry, UpgradeEvent::Delayed, &message, facts.now);
}

/// Tells of the steps that are done, and of what a health check found without waiting for it.
fn report_milestones(facts: &Facts, version: &str, commenced: bool, entry: &mut UpgradeHistory) {
    for step in &STEPS {
        let Some(Milestone { event, text, .. }) = step.milestone else {
            continue;
        };
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        if condition::is(conditions, step.condition, TRUE) {
            notification::raise(entry, event, &format!("{text}: {version}"), facts.now);
        }
    }
    if !commenced
        && facts.configuration.feature_gate.pre_health_check()
        && let Ok(findings) = health::before(facts)
        && let Some(why) = health::describe(&findings)
    {
        notification::raise(entry, UpgradeEvent::HealthCheck, &why, facts.now);
    }
}

/// Gives up an upgrade that has not commenced within its window; says whether it did.
pub(super) fn give_up_when_late(
    entry: &mut UpgradeHistory,
    configuration: &Configuration,
    now: Timestamp,
) -> bool {
    let started = entry.start_time.as_ref().map_or(now, |time| time.0);
    let limit = configuration.upgrade_window.limit();
    if limit.is_none_or(|limit| now <= started + limit) {
        return false;
    }
    let conditions = entry.conditions.get_or_insert_default();
    let waiting = STEPS
        .iter()
        .filter_map(|step| condition::find(conditions, step.condition))
        .find(|condition| condition.status == FALSE);
    let why = waiting.map_or_else(String::new, |condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        let why = read_held(message).map_or(message, |(_, why)| why);
        format!(": {} is not done: {why}", condition.type_)
    });
    let minutes = configuration.upgrade_window.time_out;
    let message = format!(
        "the upgrade has not commenced within {minutes} minutes{why}; it is not tried again by itself: retry it where it \
         was asked for, or delete the UpgradeConfig and create it again"
    );
    fail(entry, "UpgradeWindowBreached", message.clone(), now);
    notification::raise(entry, UpgradeEvent::Failed, &message, now);
    true
}

/// Gives up an upgrade beyond which somebody else has brought the cluster; says whether it did.
fn give_up_when_superseded(facts: &Facts, target: &Target, entry: &mut UpgradeHistory) -> bool {
    let version = target.version().unwrap_or_default();
    let Some(later) = facts.applied_since(version) else {
        return false;
    };
    let message = format!(
        "somebody has set ClusterVersion to {later} since the upgrade to {version} commenced, and the cluster runs it by now"
    );
    fail(entry, SUPERSEDED, message.clone(), facts.now);
    notification::raise(entry, UpgradeEvent::Failed, &message, facts.now);
    true
}

/// When the first worker was taken and when the last one was done. That no worker is updated need not have been seen:
/// some may be done when the pool is first looked at.
fn time_workers(facts: &Facts, entry: &mut UpgradeHistory) {
    let Some(workers) = facts.known_workers() else {
        return;
    };
    let conditions = entry.conditions.as_deref().unwrap_or_default();
    let are_done = condition::is(conditions, ConditionType::WorkerNodesUpgraded, TRUE);
    if (!workers.are_updated() && workers.machines > 0) || are_done {
        entry.worker_start_time.get_or_insert(Time(facts.now));
    }
    if workers.are_updated() && are_done {
        entry.worker_complete_time.get_or_insert(Time(facts.now));
    }
}
