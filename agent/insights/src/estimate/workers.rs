//! How long pools of nodes take. `oc` does not estimate that.

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Serialize;

use crate::times;

/// How long draining a node is expected to take; `oc` says as much of a node that drains.
const DRAIN: SignedDuration = SignedDuration::from_mins(10);
/// How long a node takes: it is drained, and then updated and rebooted.
pub const PER_NODE: SignedDuration = SignedDuration::from_mins(15);

/// How long a pool of nodes takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolEstimate {
    /// The pool.
    pub pool: String,
    /// How much longer; nothing if nobody can say, because the pool is paused.
    #[serde(serialize_with = "times::serialize_optional")]
    pub remaining: Option<SignedDuration>,
}

/// How many nodes of a pool may be unavailable at a time: percentages are rounded down, and it is at least one.
pub fn max_unavailable(limit: Option<&IntOrString>, nodes: usize) -> usize {
    let limit = match limit {
        Some(IntOrString::Int(limit)) => usize::try_from(*limit).ok(),
        Some(IntOrString::String(text)) => text
            .strip_suffix('%')
            .and_then(|percent| percent.parse::<usize>().ok())
            .map(|percent| nodes.saturating_mul(percent) / 100),
        None => None,
    };
    limit.unwrap_or(1).max(1)
}

/// How much longer a pool takes: its outdated nodes in batches of `at_a_time`, and the drain that is under way.
pub fn remaining_of_pool(outdated: usize, at_a_time: usize, draining: usize) -> SignedDuration {
    if outdated == 0 {
        return SignedDuration::ZERO;
    }
    let batches = outdated.div_ceil(at_a_time.max(1));
    let batches = i32::try_from(batches).unwrap_or(i32::MAX);
    let allowance = if draining > 0 { DRAIN } else { SignedDuration::ZERO };
    PER_NODE.saturating_mul(batches).saturating_add(allowance)
}
