//! What can be decided while ClusterVersion cannot be read: the upgrade shows why it waits, its window counts, and what it has
//! made stays until it is known whether it is wanted.

use std::collections::BTreeSet;

use drydock_api::conditions::FALSE;
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase, UpgradeType};

use super::{Decision, EACH_MINUTE, is_over, needs_finalizer, upgrading};
use crate::condition::{self, ConditionType};
use crate::facts::{Observation, Unread};
use crate::steps::STEPS;

pub(super) fn decide(seen: &Observation, mut status: UpgradeConfigStatus, why: &Unread) -> Decision {
    let history = status.history.get_or_insert_default();
    if history.is_empty() {
        let desired = &seen.spec.desired;
        history.push(UpgradeHistory {
            version: desired.version.clone().or_else(|| desired.image.clone()),
            phase: UpgradePhase::New,
            ..UpgradeHistory::default()
        });
    }
    if let Some(entry) = history.first_mut().filter(|entry| !is_over(entry)) {
        show(seen, entry, why);
    }
    Decision {
        needs_finalizer: needs_finalizer(&status),
        status,
        needs: BTreeSet::new(),
        commands: Vec::new(),
        is_outdated: false,
        wait: Some(EACH_MINUTE),
    }
}

fn show(seen: &Observation, entry: &mut UpgradeHistory, why: &Unread) {
    let message = format!("ClusterVersion version cannot be read: {why}");
    let conditions = entry.conditions.get_or_insert_default();
    // ClusterVersion is not written before this condition is there.
    let may_have_commenced = condition::find(conditions, ConditionType::UpgradeCommenced).is_some();
    let waiting = STEPS
        .iter()
        .find(|step| condition::is(conditions, step.condition, FALSE));
    match waiting {
        Some(step) if entry.phase == UpgradePhase::Upgrading => {
            condition::waits(conditions, step.condition, Some(message), seen.now);
        }
        _ => {
            let (type_, reason) = (ConditionType::UpgradeConfigValidated, "ClusterVersionUnread");
            condition::set(conditions, type_, FALSE, reason, message, seen.now);
        }
    }
    let is_osd = seen.spec.upgrade_type == UpgradeType::Osd;
    if entry.phase == UpgradePhase::Upgrading && is_osd && !may_have_commenced {
        upgrading::give_up_when_late(entry, &seen.in_force.configuration, seen.now);
    }
}
