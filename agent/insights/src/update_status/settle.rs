//! Times that have hardly changed are not worth a write (insights.md, section 1.8).

use std::collections::BTreeMap;

use drydock_api::insights::{Insight, UpdateStatusStatus};
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// By how much a time has to change to be written.
const PRECISION: SignedDuration = SignedDuration::from_secs(30);

/// The new status with the times of the old one, where these are about as good.
pub fn settled(old: &UpdateStatusStatus, mut new: UpdateStatusStatus) -> UpdateStatusStatus {
    let known: BTreeMap<_, _> = insights(old)
        .map(|insight| (insight.uuid.as_str(), insight))
        .collect();
    let of_pools = new
        .worker_pools
        .iter_mut()
        .flat_map(|pool| &mut pool.update_informers);
    let informers = new.control_plane.update_informers.iter_mut().chain(of_pools);
    for insight in informers.flat_map(|informer| &mut informer.insights) {
        if let Some(old) = known.get(insight.uuid.as_str()) {
            settle_insight(old, insight);
        }
    }
    for summary in &mut new.informers {
        let before = old.informers.iter().find(|known| known.name == summary.name);
        if let Some(before) = before {
            settle(before.last_success.as_ref(), &mut summary.last_success);
        }
    }
    if let (Some(old), Some(new)) = (&old.update, &mut new.update) {
        settle(old.estimated_finish.as_ref(), &mut new.estimated_finish);
    }
    new
}

fn insights(status: &UpdateStatusStatus) -> impl Iterator<Item = &Insight> {
    let of_pools = status.worker_pools.iter().flat_map(|pool| &pool.update_informers);
    let informers = status.control_plane.update_informers.iter().chain(of_pools);
    informers.flat_map(|informer| &informer.insights)
}

/// Takes the times of a finding as it was, where they are about as good.
pub(crate) fn settle_insight(old: &Insight, new: &mut Insight) {
    if old.first_seen < new.first_seen {
        new.first_seen = old.first_seen.clone();
    }
    if is_close(&old.acquisition_time, &new.acquisition_time) {
        new.acquisition_time = old.acquisition_time.clone();
    }
    let before = old
        .remediation
        .as_ref()
        .and_then(|remedy| remedy.estimated_finish.as_ref());
    if let Some(remedy) = &mut new.remediation {
        settle(before, &mut remedy.estimated_finish);
    }
}

/// Takes a time as it was, where it is about as good.
pub(crate) fn settle(old: Option<&Time>, new: &mut Option<Time>) {
    if let (Some(old), Some(time)) = (old, new.as_ref())
        && is_close(old, time)
    {
        *new = Some(old.clone());
    }
}

fn is_close(one: &Time, other: &Time) -> bool {
    other.0.duration_since(one.0).abs() < PRECISION
}
