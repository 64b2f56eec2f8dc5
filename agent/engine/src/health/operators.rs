//! Cluster operators (b).

use super::{Check, Finding, reason};
use crate::facts::{Facts, Need, Unread};

pub fn check(facts: &Facts) -> Check {
    let unhealthy = match &facts.seen.unhealthy {
        Err(Unread::NotAsked) => return Err(Need::Operators),
        Err(Unread::Failed(why)) => {
            return Ok(vec![Finding {
                reason: reason::OPERATORS_UNREAD,
                message: format!("cannot check whether cluster operators are healthy: {why}"),
                blocks: true,
            }]);
        }
        Ok(unhealthy) => unhealthy,
    };
    if unhealthy.is_empty() {
        return Ok(Vec::new());
    }
    let list: Vec<String> = unhealthy
        .iter()
        .take(5)
        .map(|operator| format!("{} is {}", operator.name, operator.why))
        .collect();
    let more = match unhealthy.len().saturating_sub(list.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(vec![Finding {
        reason: reason::OPERATORS,
        message: format!("cluster operators are not healthy: {}{more}", list.join("; ")),
        blocks: true,
    }])
}
