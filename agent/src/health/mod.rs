//! Whether the cluster is well enough (agent 3, step 4). Some findings hold an upgrade up, others are only told.

mod alerts;
mod nodes;
mod operators;
#[cfg(test)]
mod tests;

use crate::facts::Facts;
use crate::steps::Need;

pub(crate) use alerts::query;

/// Why a check fails, as the metric's label `reason` says it.
pub(crate) mod reason {
    pub const QUERY_FAILED: &str = "healthcheck_query_failed";
    pub const ALERTS: &str = "critical_alerts_firing";
    pub const OPERATORS: &str = "cluster_operators_degraded";
    pub const OPERATORS_UNREAD: &str = "cluster_operator_status_failed";
    pub const NO_POOL: &str = "default_worker_machinepool_not_found";
    pub const NODES_UNREAD: &str = "cluster_node_query_failed";
    pub const CORDONED: &str = "cluster_node_manually_cordoned";
    pub const PRESSURE: &str = "cluster_node_taint_unschedulable";
    pub const BUDGET: &str = "cluster_invalid_pdb";
    pub const BUDGET_CONFIGURATION: &str = "cluster_invalid_pdb_configuration";
    pub const BUDGETS_UNREAD: &str = "pdb_query_failed";

    /// All of them.
    pub const ALL: [&str; 11] = [
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
    ];
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// For the metric.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// Whether an upgrade waits for its end.
    pub blocks: bool,
}

/// What a check came to; an error is what must be read first.
pub(crate) type Check = Result<Vec<Finding>, Need>;

/// The check before an upgrade; with the feature gate `PreHealthCheck` it looks at more.
pub(crate) fn before(facts: &Facts) -> Check {
    let mut findings = after(facts)?;
    if facts.configuration.feature_gate.pre_health_check() {
        findings.extend(capacity(facts)?);
        findings.extend(nodes::check(facts)?);
    }
    Ok(findings)
}

/// The check after an upgrade: critical alerts and operators.
pub(crate) fn after(facts: &Facts) -> Check {
    let mut findings = alerts::check(facts)?;
    findings.extend(operators::check(facts)?);
    Ok(findings)
}

/// Whether there is something to copy for the extra workers that are asked for.
fn capacity(facts: &Facts) -> Check {
    if facts.spec.capacity_reservation != Some(true) {
        return Ok(Vec::new());
    }
    let capacity = facts.seen.capacity.as_ref().ok_or(Need::Capacity)?;
    let is_missing = capacity.originals.is_empty();
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

/// What holds an upgrade up, in one text; none if nothing does.
pub(crate) fn blockers(findings: &[Finding]) -> Option<String> {
    let blocking: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.blocks)
        .map(|finding| finding.message.as_str())
        .collect();
    (!blocking.is_empty()).then(|| blocking.join("; "))
}

/// All findings in one text; none if there are none.
pub(crate) fn told(findings: &[Finding]) -> Option<String> {
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
