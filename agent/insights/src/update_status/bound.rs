//! What of all findings fits into one object (insights.md, section 1.9, row 24): etcd takes no more than 1.5 MiB, and every reader gets
//! all of it.
//!
//! First every informer has a share of its own, so that none can push out the others by reporting much; what is left goes to what is worst.

use std::collections::BTreeMap;

use drydock_api::insights::{Insight, Level};
use jiff::Timestamp;

use super::Records;
use crate::finding::worst_first;
use crate::informer_name::InformerName;
use crate::merge::{is_own, is_truncation, truncated};

/// The most bytes that all findings of an UpdateStatus take as JSON.
pub const BYTES: usize = 768 << 10;
/// The most informers that an UpdateStatus lists.
pub const MAX_INFORMERS: usize = 200;
/// What is kept free for each informer, to say what does not fit in.
const NOTICE: usize = 1 << 10;

/// What fits in.
#[derive(Debug, Default)]
pub(super) struct Bounded {
    pub records: BTreeMap<InformerName, Vec<Insight>>,
    /// How many findings do not, of which informers.
    pub dropped: BTreeMap<InformerName, usize>,
}

/// Chooses what fits in. Findings about several pools count once for each.
pub(super) fn bounded(records: &Records, now: Timestamp) -> Bounded {
    let informers: Vec<_> = records.iter().take(MAX_INFORMERS).collect();
    let budget = BYTES.saturating_sub(NOTICE * informers.len());
    let chosen = choose(
        &informers
            .iter()
            .map(|(_, record)| record.insights.as_slice())
            .collect::<Vec<_>>(),
        budget,
    );
    let mut bounded = Bounded::default();
    for ((name, record), kept) in informers.into_iter().zip(chosen) {
        let mut insights: Vec<Insight> = Vec::with_capacity(kept.iter().filter(|kept| **kept).count());
        let mut worst_dropped = None;
        for (insight, is_kept) in record.insights.iter().zip(&kept) {
            // It is said anew, about what is left out now.
            if *is_kept && !is_truncation(insight) {
                insights.push(insight.clone());
            } else if !is_own(insight) || is_truncation(insight) {
                worst_dropped = worst_dropped.max(Some(insight.impact.level));
            }
        }
        let own = record.insights.iter().filter(|insight| !is_own(insight)).count();
        let kept = insights.iter().filter(|insight| !is_own(insight)).count();
        let dropped = own - kept + record.dropped;
        if dropped > 0 {
            let level = worst_dropped.unwrap_or(Level::Unknown);
            insights.push(notice(name, record.insights.as_slice(), dropped, level, now));
            worst_first(&mut insights);
            bounded.dropped.insert(name.clone(), dropped);
        }
        bounded.records.insert(name.clone(), insights);
    }
    bounded
}

/// What says that findings do not fit in, since when it says so.
fn notice(name: &InformerName, known: &[Insight], dropped: usize, level: Level, now: Timestamp) -> Insight {
    let mut notice = truncated(name, dropped, level, None, now).insight(name, now);
    if let Some(before) = known.iter().find(|known| known.uuid == notice.uuid) {
        notice.first_seen = before.first_seen.clone();
    }
    notice
}

/// Which findings of each list fit in. Each list has the worst first.
fn choose(lists: &[&[Insight]], budget: usize) -> Vec<Vec<bool>> {
    let sizes: Vec<Vec<usize>> = lists.iter().map(|list| list.iter().map(size).collect()).collect();
    let mut left = budget;
    let share = budget / 2 / lists.len().max(1);
    let mut chosen: Vec<_> = sizes
        .iter()
        .map(|sizes| own_share(sizes, share, &mut left))
        .collect();
    let longest = sizes.iter().map(Vec::len).max().unwrap_or_default();
    for level in Level::ALL.into_iter().rev() {
        for index in 0..longest {
            for ((list, sizes), chosen) in lists.iter().zip(&sizes).zip(&mut chosen) {
                let (Some(insight), Some(size), Some(chosen)) =
                    (list.get(index), sizes.get(index), chosen.get_mut(index))
                else {
                    continue;
                };
                if !*chosen && insight.impact.level == level && *size <= left {
                    left -= size;
                    *chosen = true;
                }
            }
        }
    }
    chosen
}

/// The worst findings of one informer: as many as its share takes, and one at least.
fn own_share(sizes: &[usize], mut share: usize, left: &mut usize) -> Vec<bool> {
    let mut chosen = vec![false; sizes.len()];
    for (index, (size, chosen)) in sizes.iter().zip(&mut chosen).enumerate() {
        if (index > 0 && *size > share) || *size > *left {
            break;
        }
        share = share.saturating_sub(*size);
        *left -= size;
        *chosen = true;
    }
    chosen
}

/// The bytes that a finding takes as JSON, wherever it stands.
pub(crate) fn size(insight: &Insight) -> usize {
    let places = insight.scope.worker_pool.len().max(1);
    // What is written cannot fail to be: all keys are text.
    let bytes = serde_json::to_string(insight).map_or(usize::MAX / 64, |text| written(&text) + 1);
    places * bytes
}

/// How many bytes the API server writes for a JSON text: it escapes what is markup elsewhere, as Go's encoder does.
fn written(text: &str) -> usize {
    const ESCAPED: usize = r"\u003c".len();
    let longer = text.chars().map(|char| match char {
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => ESCAPED - char.len_utf8(),
        _ => 0,
    });
    text.len() + longer.sum::<usize>()
}
