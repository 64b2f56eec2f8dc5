//! Cluster operators (b).

use super::{Check, Finding, reason};
use crate::facts::Facts;
use crate::steps::Need;

pub(super) fn check(facts: &Facts) -> Check {
    let ill = facts.seen.ill.as_ref().ok_or(Need::Operators)?;
    if ill.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<String> = ill
        .iter()
        .take(5)
        .map(|operator| format!("{} is {}", operator.name, operator.why))
        .collect();
    let more = match ill.len().saturating_sub(list.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(vec![Finding {
        reason: reason::OPERATORS,
        message: format!("cluster operators are not healthy: {}{more}", list.join("; ")),
        blocks: true,
    }])
}
