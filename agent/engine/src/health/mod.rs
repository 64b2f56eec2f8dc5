//! Whether the cluster is healthy enough. Some findings block an upgrade, others are only reported.

mod alerts;
mod nodes;
mod operators;
#[cfg(test)]
mod tests;
mod update_plan;

use crate::facts::{Facts, Need, Unread};

pub use alerts::query;
pub use update_plan::{PlanAnswer, answer as plan_answer, request as update_plan_request};

/// Why a check fails, as the metric's label `reason` says it.
pub mod reason {
    /// Prometheus does not say whether alerts fire.
    pub const QUERY_FAILED: &str = "healthcheck_query_failed";
    /// Critical alerts fire.
    pub const ALERTS: &str = "critical_alerts_firing";
    /// Cluster operators are not healthy.
    pub const OPERATORS: &str = "cluster_operators_degraded";
    /// Cluster operators cannot be read.
    pub const OPERATORS_UNREAD: &str = "cluster_operator_status_failed";
    /// There is no MachineSet to copy.
    pub const NO_POOL: &str = "default_worker_machinepool_not_found";
    /// Nodes cannot be read.
    pub const NODES_UNREAD: &str = "cluster_node_query_failed";
    /// Workers are cordoned by hand.
    pub const CORDONED: &str = "cluster_node_manually_cordoned";
    /// Nodes have too little of something.
    pub const PRESSURE: &str = "cluster_node_taint_unschedulable";
    /// A PodDisruptionBudget is not good.
    pub const BUDGET: &str = "cluster_invalid_pdb";
    /// A PodDisruptionBudget never lets a pod go.
    pub const BUDGET_CONFIGURATION: &str = "cluster_invalid_pdb_configuration";
    /// PodDisruptionBudgets cannot be read.
    pub const BUDGETS_UNREAD: &str = "pdb_query_failed";
    /// The UpdatePlan does not say that the update may start.
    pub const UPDATE_PLAN: &str = "update_plan_not_startable";

    /// All of them.
    pub const ALL: [&str; 12] = [
        QUERY_FAILED,
        ALERTS,
        OPERATORS,
        OPERATORS_UNREAD,
        NO_POOL,
        NODES_UNREAD,
        CORDONED,
        PRESSURE,
        BUDGET,
        BUDGET_CONFIGURATION,
        BUDGETS_UNREAD,
        UPDATE_PLAN,
    ];
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// For the metric.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether an upgrade waits for its end.
    pub blocks: bool,
}

/// What a check came to; an error is what must be read first.
pub type Check = Result<Vec<Finding>, Need>;

/// The check before an upgrade; with the feature gate `PreHealthCheck` it looks at more.
pub fn before(facts: &Facts) -> Check {
    let mut findings = after(facts)?;
    if facts.configuration.feature_gate.pre_health_check() {
        findings.extend(capacity(facts)?);
        findings.extend(nodes::check(facts)?);
    }
    Ok(findings)
}

/// The check by which an upgrade starts: what [`before`] looks at, and the UpdatePlan, where that is asked for.
pub fn at_start(facts: &Facts) -> Check {
    let mut findings = before(facts)?;
    findings.extend(update_plan::check(facts)?);
    Ok(findings)
}

/// The check after an upgrade: critical alerts and operators.
pub fn after(facts: &Facts) -> Check {
    let mut findings = alerts::check(facts)?;
    findings.extend(operators::check(facts)?);
    Ok(findings)
}

/// Whether there is something to copy for the extra workers that are asked for.
fn capacity(facts: &Facts) -> Check {
    if facts.spec.capacity_reservation != Some(true) {
        return Ok(Vec::new());
    }
    let is_missing = match &facts.seen.capacity {
        Err(Unread::NotAsked) => return Err(Need::Capacity),
        Err(Unread::Failed(why)) => {
            return Ok(vec![Finding {
                reason: reason::NO_POOL,
                message: format!("cannot check whether there is a MachineSet to copy: {why}"),
                blocks: false,
            }]);
        }
        Ok(capacity) => capacity.originals.is_empty(),
    };
    Ok(is_missing
        .then(|| Finding {
            reason: reason::NO_POOL,
            message: format!(
                "extra workers are asked for, and no MachineSet has the label {}=worker",
                crate::capacity::POOL_LABEL
            ),
            blocks: false,
        })
        .into_iter()
        .collect())
}

/// What blocks an upgrade, in one text; none if nothing does.
pub fn blockers(findings: &[Finding]) -> Option<String> {
    let blocking: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.blocks)
        .map(|finding| finding.message.as_str())
        .collect();
    (!blocking.is_empty()).then(|| blocking.join("; "))
}

/// All findings in one text; none if there are none.
pub fn describe(findings: &[Finding]) -> Option<String> {
    let all: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// The first few of many names.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
