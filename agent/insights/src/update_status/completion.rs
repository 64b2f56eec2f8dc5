//! How far an update is, in percent: operators restart and nodes come and go, and a number that falls says nothing to anybody (insights.md,
//! section 5, point 4).

use drydock_api::insights::{OngoingUpdate, UpdateStatusStatus};

use super::{Observed, ObservedPool};

pub(super) struct Completion<'a> {
    pub previous: Option<&'a UpdateStatusStatus>,
    pub observed: &'a Observed<'a>,
}

impl Completion<'_> {
    pub fn of_control_plane(&self) -> Option<i64> {
        let now = match &self.observed.control_plane {
            Ok(progress) if progress.is_reconciled => Some(100),
            _ => self.observed.operators_percent,
        };
        self.never_less(now, |previous| previous.control_plane.completion_percent)
    }

    pub fn of_pool(&self, pool: &ObservedPool) -> Option<i64> {
        let progress = pool.progress.as_ref().ok().filter(|progress| progress.nodes > 0);
        let now = progress.map(|progress| {
            let updated = progress.nodes.saturating_sub(progress.outdated.len());
            percent(updated, progress.nodes)
        });
        self.never_less(now, |previous| {
            let mut pools = previous.worker_pools.iter();
            pools.find(|known| known.uid == pool.uid)?.completion_percent
        })
    }

    /// What is known of the same update counts, if it is more. Without an update nothing is said.
    fn never_less(
        &self,
        now: Option<i64>,
        known: impl Fn(&UpdateStatusStatus) -> Option<i64>,
    ) -> Option<i64> {
        let update = self.observed.update.as_ref()?;
        let of_update = self.previous.filter(|previous| {
            let before = previous.update.as_ref();
            before.is_some_and(|before| is_same(before, update))
        });
        now.max(of_update.and_then(known))
    }
}

/// Whether it is the same attempt: one that is called off and requested once more begins anew.
fn is_same(before: &OngoingUpdate, update: &OngoingUpdate) -> bool {
    let began = before.started_at.as_ref().zip(update.started_at.as_ref());
    let is_another = began.is_some_and(|(before, now)| before != now);
    before.target == update.target && before.from == update.from && !is_another
}

/// Rounded down: everything is done only when it is.
pub(crate) fn percent(part: usize, whole: usize) -> i64 {
    let percent = part.saturating_mul(100).checked_div(whole).unwrap_or(100);
    i64::try_from(percent).unwrap_or(100)
}
