//! Phase Upgrading: the steps are run, and what no step may do is done around them: the window in which an upgrade has to
//! commence, the word about a delay, the times of the workers.

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeHistory, UpgradePhase};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{EACH_MINUTE, Next};
use crate::engine::{self, End, condition};
use crate::facts::{Facts, Target};
use crate::steps::{Situation, delayed_check};
use crate::upgrader;

/// Says that an upgrade was given up.
pub(super) const FAILED: &str = "FailedUpgrade";
/// The reason of a delay that has been told.
pub(super) const DELAYED: &str = "UpgradeDelayed";

/// Runs the steps once.
pub(super) fn run(facts: &Facts, target: &Target, entry: &mut UpgradeHistory) -> Next {
    let started = entry.start_time.get_or_insert(Time(facts.now)).0;
    let commenced = facts.has_commenced(target);
    let limit = facts
        .configuration
        .upgrade_window
        .limit()
        .filter(|_| facts.is_osd() && !commenced);
    if limit.is_some_and(|limit| facts.now > started + limit) {
        give_up(facts, entry);
        return Next::Rest(None);
    }
    if commenced {
        time_workers(facts, entry);
    }
    let situation = Situation { facts, target };
    let steps = upgrader::steps(facts.spec.upgrade_type);
    let conditions = entry.conditions.get_or_insert_default();
    let end = engine::run(steps, &situation, conditions, facts.now);
    if let End::Waits(step) | End::Asks(step, _) = &end {
        let delay = facts
            .configuration
            .upgrade_window
            .delay()
            .filter(|_| facts.is_osd() && !commenced);
        let is_told = condition::find(conditions, delayed_check::STEP.condition)
            .is_some_and(|told| told.reason.as_deref() == Some(DELAYED));
        if !is_told && delay.is_some_and(|delay| facts.now > started + delay) {
            let message = format!("the upgrade has not commenced yet: {step} is not done");
            let type_ = delayed_check::STEP.condition;
            condition::set(conditions, type_, TRUE, DELAYED, message, facts.now);
        }
    }
    match end {
        End::Done => {
            entry.phase = UpgradePhase::Upgraded;
            entry.complete_time = Some(Time(facts.now));
            Next::Rest(None)
        }
        End::Waits(_) => Next::Rest(Some(EACH_MINUTE)),
        End::Asks(_, command) => Next::Write(command),
        End::Needs(need) => Next::Read(need),
    }
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
    condition::set(
        conditions,
        FAILED,
        TRUE,
        "UpgradeWindowBreached",
        message,
        facts.now,
    );
    entry.phase = UpgradePhase::Failed;
}

/// When the first worker was taken and when the last one was done (agent 2).
fn time_workers(facts: &Facts, entry: &mut UpgradeHistory) {
    let Some(workers) = facts.workers else {
        return;
    };
    if workers.updated == 0 && workers.machines > 0 {
        entry.worker_start_time.get_or_insert(Time(facts.now));
    }
    if workers.are_updated() && entry.worker_start_time.is_some() {
        entry.worker_complete_time.get_or_insert(Time(facts.now));
    }
}
