//! Which hooks run for which UpgradeJob.

use std::collections::BTreeMap;

use drydock_api::schedule::{HookEvent, HookRun, UpgradeJob, UpgradeJobHook};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::selector::{InvalidSelector, Selection};

/// Whose a hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It runs for the UpgradeJob that asks.
    Runs,
    /// It runs only once, and nobody has claimed it.
    Free,
    /// It runs only once, and another UpgradeJob has claimed it, for good.
    Other,
}

/// Does it run for this event, of some UpgradeJob?
pub(super) fn lists(hook: &UpgradeJobHook, event: HookEvent) -> bool {
    hook.spec.events.iter().flatten().any(|listed| *listed == event)
}

/// Does it select an UpgradeJob with these labels?
pub(super) fn selects(
    hook: &UpgradeJobHook,
    labels: &BTreeMap<String, String>,
) -> Result<bool, InvalidSelector> {
    Selection::or_everything(hook.spec.selector.as_ref()).map(|selection| selection.selects(labels))
}

/// Was it there by then?
pub(super) fn happened_before(hook: &UpgradeJobHook, time: Timestamp) -> bool {
    hook.creation_timestamp().is_none_or(|created| created.0 <= time)
}

/// Whose is it?
pub(super) fn claim(hook: &UpgradeJobHook, uid: &str) -> Claim {
    if hook.spec.run != Some(HookRun::Next) {
        return Claim::Runs;
    }
    let claimed = hook.status.as_ref().and_then(|status| status.claimed_by.as_ref());
    match claimed {
        None => Claim::Free,
        Some(claimed) if claimed.uid == uid => Claim::Runs,
        Some(_) => Claim::Other,
    }
}

/// Would it run for this UpgradeJob?
fn matches(hook: &UpgradeJobHook, job: &UpgradeJob) -> bool {
    let uid = job.metadata.uid.as_deref().unwrap_or_default();
    selects(hook, job.labels()) == Ok(true) && claim(hook, uid) != Claim::Other
}

/// Is one of the hooks that match the UpgradeJob and the event disruptive?
pub(super) fn any_disruptive(hooks: &[UpgradeJobHook], event: HookEvent, job: &UpgradeJob) -> bool {
    let mut disruptive = hooks.iter().filter(|hook| hook.spec.disruptive == Some(true));
    disruptive.any(|hook| lists(hook, event) && matches(hook, job))
}

/// Is one of the hooks that match the UpgradeJob disruptive?
pub fn matches_disruptive<'a>(hooks: impl IntoIterator<Item = &'a UpgradeJobHook>, job: &UpgradeJob) -> bool {
    let mut disruptive = hooks
        .into_iter()
        .filter(|hook| hook.spec.disruptive == Some(true));
    disruptive.any(|hook| matches(hook, job))
}
