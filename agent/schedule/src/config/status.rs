//! The status of an UpgradeConfig.

use drydock_api::conditions::{self, DesiredCondition, FALSE, TRUE};
use drydock_api::schedule::{NextPossibleSchedule, UpgradeConfig, UpgradeConfigStatus, condition};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::Decision;
use super::maintenance::left_out;
use crate::suspension::Suspensions;

/// Characters of a refusal that are kept; a server takes 32,768 bytes.
const LONGEST_REFUSAL: usize = 1024;

/// The status that an UpgradeConfig should have. What others decide in it stays as it is.
pub(super) fn status(
    config: &UpgradeConfig,
    decision: &Decision,
    suspensions: &Suspensions<'_>,
    now: Timestamp,
) -> UpgradeConfigStatus {
    let mut status = config.status.clone().unwrap_or_default();
    let times = decision.next_times.iter();
    status.observed_generation = config.metadata.generation;
    status.last_scheduled_upgrade = decision.last.map(Time);
    status.next_possible_schedules = Some(
        times
            .map(|time| NextPossibleSchedule { time: Time(*time) })
            .collect(),
    );
    let all = status.conditions.get_or_insert_default();
    let mut set = |type_, (is_true, reason), message: &str| {
        let wanted = DesiredCondition {
            type_,
            status: if is_true { TRUE } else { FALSE },
            reason,
            message,
            observed_generation: config.metadata.generation,
        };
        conditions::set(all, &wanted, now);
    };
    set(condition::READY, decision.next.readiness(), &readiness(decision));
    let suspend = config.spec.schedule.suspend == Some(true);
    let (suspended, message) = match left_out(suspend, suspensions, now) {
        Some(by) => ((true, by.reason()), format!("maintenances are left out: {by}")),
        None => (
            (false, "NotSuspended"),
            "maintenances are not left out".to_owned(),
        ),
    };
    set(condition::SUSPENDED, suspended, &message);
    status
}

/// The reason of `Ready` where the API server refuses an UpgradeJob.
pub const WRITE_REFUSED: &str = "WriteRefused";

/// The status where the server refuses the UpgradeJob of the maintenance at `start`, in these words. Nothing has been decided yet: it is tried again
/// until the maintenance has been missed.
pub fn refused(config: &UpgradeConfig, start: Timestamp, why: &str, now: Timestamp) -> UpgradeConfigStatus {
    let mut status = config.status.clone().unwrap_or_default();
    status.observed_generation = config.metadata.generation;
    let why: String = why.chars().take(LONGEST_REFUSAL).collect();
    let wanted = DesiredCondition {
        type_: condition::READY,
        status: FALSE,
        reason: WRITE_REFUSED,
        message: &format!("the UpgradeJob of the maintenance at {start} cannot be created: {why}"),
        observed_generation: config.metadata.generation,
    };
    conditions::set(status.conditions.get_or_insert_default(), &wanted, now);
    status
}

/// What has been missed is said while the next maintenance is waited for.
fn readiness(decision: &Decision) -> String {
    let is_decided = decision.create.is_some() || !decision.events.is_empty();
    match decision.missed.filter(|_| !is_decided) {
        Some(missed) => format!("{}; the maintenance at {missed} has been missed", decision.next),
        None => decision.next.to_string(),
    }
}
