//! Phase Upgrading: the steps are run, and what no step may do is done around them: the window in which an upgrade has to
//! commence, the word about a delay, the times of the workers.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeHistory, UpgradePhase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{EACH_MINUTE, Next, cleanup};
use crate::engine::{self, End, condition};
use crate::facts::{Facts, Target};
use crate::health;
use crate::nodekeeper::{self, Strategy};
use crate::notify::{self, Event};
use crate::steps::{Command, Situation, delayed_check, extra_workers, workers};
use crate::upgrader;

/// Says that an upgrade was given up.
pub(super) const FAILED: &str = "FailedUpgrade";
/// The reason of a delay that has been told.
pub(super) const DELAYED: &str = "UpgradeDelayed";

/// A step whose end is told, in the same words as an Event and as a notification.
pub(super) struct Told {
    /// The type of the step's condition.
    pub type_: &'static str,
    /// The notification.
    pub event: Event,
    /// The Event's reason.
    pub reason: &'static str,
    /// What is said of the version.
    pub text: &'static str,
}

const fn told(type_: &'static str, event: Event, reason: &'static str, text: &'static str) -> Told {
    Told {
        type_,
        event,
        reason,
        text,
    }
}

/// The steps whose end is told.
pub(super) const TOLD: [Told; 5] = [
    told(
        "StartedNotificationSent",
        Event::Started,
        "UpgradeStarted",
        "the upgrade has started",
    ),
    told(
        "UpgradeCommenced",
        Event::ControlPlaneStarted,
        "ControlPlaneUpgradeStarted",
        "the upgrade of the control plane has started",
    ),
    told(
        "ControlPlaneUpgraded",
        Event::ControlPlaneFinished,
        "ControlPlaneUpgradeFinished",
        "the control plane has been upgraded",
    ),
    told(
        "WorkerNodesUpgraded",
        Event::WorkerPlaneFinished,
        "WorkerUpgradeFinished",
        "the worker nodes have been upgraded",
    ),
    told(
        "CompletedNotificationSent",
        Event::Completed,
        "UpgradeCompleted",
        "the upgrade is completed",
    ),
];

/// Runs the steps once.
pub(super) fn run(facts: &Facts, target: &Target, entry: &mut UpgradeHistory) -> Next {
    let started = entry.start_time.get_or_insert(Time(facts.now)).0;
    let commenced = facts.has_commenced(target);
    let may_expire = facts.is_osd() && !commenced;
    let window = &facts.configuration.upgrade_window;
    let is_over = window.limit().is_some_and(|limit| facts.now > started + limit);
    if may_expire && is_over {
        if let Some(next) = cleanup::next(facts, std::slice::from_ref(entry)) {
            return next;
        }
        give_up(facts, entry);
        return Next::Rest(None);
    }
    if commenced {
        time_workers(facts, entry);
    }
    let situation = Situation { facts, target };
    let steps = upgrader::steps(facts.spec.upgrade_type);
    let conditions = entry.conditions.get_or_insert_default();
    let pass = engine::run(steps, &situation, conditions, facts.now);
    for (event, description) in &pass.told {
        notify::raise(entry, *event, description, facts.now);
    }
    let is_late = window.delay().is_some_and(|delay| facts.now > started + delay);
    if let End::Waits(step) | End::Asks(step, _) = &pass.end
        && may_expire
        && is_late
    {
        tell_delay(facts, step, entry);
    }
    tell(facts, situation.version(), commenced, entry);
    match pass.end {
        End::Done => {
            entry.phase = UpgradePhase::Upgraded;
            entry.complete_time = Some(Time(facts.now));
            Next::Rest(None)
        }
        End::Waits(step) => tend(facts, step, entry).unwrap_or(Next::Rest(Some(EACH_MINUTE))),
        End::Asks(_, command) => Next::Write(command),
        End::Needs(need) => Next::Read(need),
    }
}

fn tell_delay(facts: &Facts, step: &str, entry: &mut UpgradeHistory) {
    let type_ = delayed_check::STEP.condition;
    let conditions = entry.conditions.get_or_insert_default();
    let known = condition::find(conditions, type_).and_then(|known| known.reason.as_deref());
    if known == Some(DELAYED) {
        return;
    }
    let message = format!("the upgrade has not commenced yet: {step} is not done");
    condition::set(conditions, type_, TRUE, DELAYED, message.clone(), facts.now);
    notify::raise(entry, Event::Delayed, &message, facts.now);
}

/// Tells of the steps that are done, and of what a health check found without waiting for it.
fn tell(facts: &Facts, version: &str, commenced: bool, entry: &mut UpgradeHistory) {
    for Told {
        type_, event, text, ..
    } in TOLD
    {
        let conditions = entry.conditions.as_deref().unwrap_or_default();
        if condition::find(conditions, type_).is_some_and(|known| known.status == TRUE) {
            notify::raise(entry, event, &format!("{text}: {version}"), facts.now);
        }
    }
    if !commenced
        && facts.configuration.feature_gate.pre_health_check()
        && let Ok(findings) = health::before(facts)
        && let Some(why) = health::told(&findings)
    {
        notify::raise(entry, Event::HealthCheck, &why, facts.now);
    }
}

/// While workers are drained, what holds them up is looked after.
fn tend(facts: &Facts, step: &str, entry: &mut UpgradeHistory) -> Option<Next> {
    let drains = [workers::STEP.condition, extra_workers::REMOVE.condition];
    if !facts.tends || !drains.contains(&step) {
        return None;
    }
    let keeping = match nodekeeper::look(facts) {
        Ok(keeping) => keeping,
        Err(need) => return Some(Next::Read(need)),
    };
    let forced = keeping
        .actions
        .iter()
        .find(|action| action.strategy == Strategy::PdbDelete);
    if let Some(action) = forced {
        let message = format!(
            "node {} does not drain within the time for PodDisruptionBudgets: pods under a budget are deleted, {}/{} first",
            action.pod.node, action.pod.namespace, action.pod.name
        );
        notify::raise(entry, Event::Delayed, &message, facts.now);
    }
    (!keeping.actions.is_empty()).then_some(Next::Write(Command::Tend(keeping.actions)))
}

fn give_up(facts: &Facts, entry: &mut UpgradeHistory) {
    let conditions = entry.conditions.get_or_insert_default();
    let waiting = conditions.iter().find(|condition| condition.status == FALSE);
    let why = waiting.map_or_else(String::new, |condition| {
        let message = condition.message.as_deref().unwrap_or_default();
        format!(": {} is not done: {message}", condition.type_)
    });
    let minutes = facts.configuration.upgrade_window.time_out;
    let message = format!("the upgrade has not commenced within {minutes} minutes{why}");
    let reason = "UpgradeWindowBreached";
    condition::set(conditions, FAILED, TRUE, reason, message.clone(), facts.now);
    notify::raise(entry, Event::Failed, &message, facts.now);
    entry.phase = UpgradePhase::Failed;
}

/// When the first worker was taken and when the last one was done (agent 2).
fn time_workers(facts: &Facts, entry: &mut UpgradeHistory) {
    let Some(workers) = &facts.workers else {
        return;
    };
    if workers.updated == 0 && workers.machines > 0 {
        entry.worker_start_time.get_or_insert(Time(facts.now));
    }
    if workers.are_updated() && entry.worker_start_time.is_some() {
        entry.worker_complete_time.get_or_insert(Time(facts.now));
    }
}
