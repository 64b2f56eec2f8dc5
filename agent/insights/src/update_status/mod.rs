//! UpdateStatus put together from what is known (insights.md, section 1.5).
//!
//! It is also the memory: what an informer has found, and since when, is read from it again after a restart.

mod bound;
mod cause;
mod completion;
mod conditions;
mod placement;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use drydock_api::conditions::{Condition, DesiredCondition, FALSE, TRUE, set};
use drydock_api::fact::Fact;
use drydock_api::insights::{
    InformerSummary, OngoingUpdate, PoolReference, UpdateStatusStatus, WorkerPoolStatus, condition,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::informer_name::InformerName;
use crate::merge::InformerRecord;
pub(crate) use bound::size;
pub use bound::{BYTES, MAX_INFORMERS};
pub use cause::causes;
use completion::Completion;
pub(crate) use completion::percent;
pub use conditions::{ControlPlaneProgress, Pause, PoolProgress, Start};
use placement::Placed;
pub use placement::records;
pub use settle::settled;
pub(crate) use settle::{settle, settle_insight};

/// What is known of each informer, by name.
pub type Records = BTreeMap<InformerName, InformerRecord>;

/// Everything that an UpdateStatus says.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// What the informers have found.
    pub records: &'a Records,
    /// How far the control plane is.
    pub control_plane: Fact<ControlPlaneProgress>,
    /// How many percent of its operators have the version.
    pub operators_percent: Option<i64>,
    /// The pools of workers.
    pub pools: Vec<ObservedPool>,
    /// The update, while there is one.
    pub update: Option<OngoingUpdate>,
}

/// A pool of workers.
#[derive(Clone, Debug)]
pub struct ObservedPool {
    /// Its group and version.
    pub api_version: String,
    /// Which it is.
    pub pool: PoolReference,
    /// Its uid.
    pub uid: String,
    /// How far it is.
    pub progress: Fact<PoolProgress>,
}

/// The status as it should be. Times that have hardly changed are left as they were, so that it is only written when it says something
/// new.
pub fn assemble(
    previous: Option<&UpdateStatusStatus>,
    observed: &Observed<'_>,
    now: Timestamp,
) -> UpdateStatusStatus {
    let bounded = bound::bounded(observed.records, now);
    let dropped = bounded.dropped.clone();
    let mut placed = Placed::of(bounded.records, &observed.pools);
    let unresolved = std::mem::take(&mut placed.unresolved);
    let completion = Completion { previous, observed };
    let mut status = UpdateStatusStatus {
        update: observed.update.clone().map(|update| OngoingUpdate {
            estimated_finish: estimated_finish(observed.records),
            ..update
        }),
        informers: summaries(observed.records, &dropped),
        control_plane: drydock_api::insights::ControlPlaneStatus {
            update_informers: placed.control_plane,
            completion_percent: completion.of_control_plane(),
            conditions: control_plane_conditions(previous, observed, &unresolved, now),
        },
        worker_pools: observed
            .pools
            .iter()
            .zip(placed.pools)
            .map(|(pool, update_informers)| WorkerPoolStatus {
                api_version: pool.api_version.clone(),
                pool: pool.pool.clone(),
                uid: pool.uid.clone(),
                update_informers,
                completion_percent: completion.of_pool(pool),
                conditions: pool_conditions(previous, observed, pool, now),
            })
            .collect(),
        conditions: completeness(previous, &dropped, now),
    };
    cause::fold(&mut status);
    match previous {
        Some(previous) => settled(previous, status),
        None => status,
    }
}

/// The update is over when the last finding with an estimate is (insights.md, section 1.9, row 20).
fn estimated_finish(records: &Records) -> Option<Time> {
    let insights = records.values().flat_map(|record| &record.insights);
    let estimates = insights.filter_map(|insight| insight.remediation.as_ref()?.estimated_finish.clone());
    estimates.max()
}

fn summaries(records: &Records, dropped: &BTreeMap<InformerName, usize>) -> Vec<InformerSummary> {
    let informers = records.iter().take(MAX_INFORMERS);
    informers
        .map(|(name, record)| InformerSummary {
            name: name.to_string(),
            state: record.state,
            message: record.message.clone(),
            last_success: record.last_success.map(Time),
            dropped: dropped.get(name).map(|dropped| *dropped as i64),
        })
        .collect()
}

fn control_plane_conditions(
    previous: Option<&UpdateStatusStatus>,
    observed: &Observed<'_>,
    unresolved: &[String],
    now: Timestamp,
) -> Vec<Condition> {
    let before = previous.map(|previous| previous.control_plane.conditions.clone());
    let mut conditions = before.unwrap_or_default();
    for said in conditions::of_control_plane(&observed.control_plane) {
        said.set(&mut conditions, now);
    }
    if unresolved.is_empty() {
        conditions.retain(|known| known.type_ != condition::SCOPE_UNRESOLVED);
    } else {
        let wanted = DesiredCondition {
            type_: condition::SCOPE_UNRESOLVED,
            status: TRUE,
            reason: "PoolNotFound",
            message: &format!(
                "insights are about pools that do not exist: {}",
                unresolved.join(", ")
            ),
            observed_generation: None,
        };
        set(&mut conditions, &wanted, now);
    }
    conditions
}

fn pool_conditions(
    previous: Option<&UpdateStatusStatus>,
    observed: &Observed<'_>,
    pool: &ObservedPool,
    now: Timestamp,
) -> Vec<Condition> {
    let pools = previous
        .map(|previous| previous.worker_pools.as_slice())
        .unwrap_or_default();
    let before = pools
        .iter()
        .find(|known| known.uid == pool.uid && known.pool == pool.pool);
    let mut conditions = before.map(|before| before.conditions.clone()).unwrap_or_default();
    for said in conditions::of_pool(&observed.control_plane, &pool.progress) {
        said.set(&mut conditions, now);
    }
    conditions
}

fn completeness(
    previous: Option<&UpdateStatusStatus>,
    dropped: &BTreeMap<InformerName, usize>,
    now: Timestamp,
) -> Vec<Condition> {
    let mut conditions = previous
        .map(|previous| previous.conditions.clone())
        .unwrap_or_default();
    let total: usize = dropped.values().sum();
    let message = format!(
        "{total} insights of {} informers do not fit in: insights-truncated says of which",
        dropped.len()
    );
    let (status, reason, message) = match total {
        0 => (TRUE, "AsExpected", "everything that was reported is here"),
        _ => (FALSE, "Truncated", message.as_str()),
    };
    let wanted = DesiredCondition {
        type_: condition::COMPLETE,
        status,
        reason,
        message,
        observed_generation: None,
    };
    set(&mut conditions, &wanted, now);
    conditions
}
