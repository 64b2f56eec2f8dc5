//! The order of insights.

use std::cmp::Reverse;

use crate::insight::Insight;

/// The insights that are shown: the worst first, of one level the newest first, those that began at an unknown time last.
pub fn sort(insights: Vec<Insight>) -> Vec<Insight> {
    let mut shown: Vec<_> = insights.into_iter().filter(Insight::is_complete).collect();
    shown.sort_by_key(|insight| Reverse((insight.level, insight.started_at)));
    shown
}
