//! Whether the cluster is well enough (agent 3, step 4).

use crate::facts::Facts;

/// What a health check came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// The operators have not been read yet.
    Unknown,
    /// Nothing is against it.
    Good,
    /// What is wrong, for people.
    Bad(String),
}

/// Why a check failed, as the metric says it.
pub(crate) const OPERATORS_DEGRADED: &str = "cluster_operators_degraded";

/// Checks the operators (b).
pub(crate) fn check(facts: &Facts) -> Health {
    match &facts.ill {
        None => Health::Unknown,
        Some(ill) if ill.is_empty() => Health::Good,
        Some(ill) => {
            let list: Vec<String> = ill
                .iter()
                .take(5)
                .map(|operator| format!("{} is {}", operator.name, operator.why))
                .collect();
            let more = ill.len().saturating_sub(list.len());
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            Health::Bad(format!(
                "cluster operators are not healthy: {}{more}",
                list.join("; ")
            ))
        }
    }
}
