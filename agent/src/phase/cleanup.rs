//! What an upgrade that does not commence leaves behind goes: silences, extra workers.

use drydock_api::upgradeconfig::UpgradeHistory;

use super::Next;
use crate::engine::condition;
use crate::facts::Facts;
use crate::silences::{self, CONTROL_PLANE, WORKERS};
use crate::steps::{Command, Need, control_plane_window, extra_workers};

/// Whether an upgrade has made something that must go.
pub(super) fn has_begun(entry: &UpgradeHistory) -> bool {
    let conditions = entry.conditions.as_deref().unwrap_or_default();
    let began = |type_| condition::find(conditions, type_).is_some();
    began(control_plane_window::CREATE.condition) || began(extra_workers::ENSURE.condition)
}

/// What is next; none if nothing is left. Silences that Alertmanager does not let go end by themselves.
pub(super) fn next(facts: &Facts, history: &[UpgradeHistory]) -> Option<Next> {
    if !history.iter().any(has_begun) {
        return None;
    }
    match &facts.seen.silences {
        None => return Some(Next::Read(Need::Silences)),
        Some(Err(_)) => {}
        Some(Ok(silences)) => {
            let mut markers = [CONTROL_PLANE, WORKERS].into_iter();
            let left = markers.find_map(|marker| silences::ended(marker, silences, facts.now));
            if let Some(change) = left {
                return Some(Next::Write(Command::Silence(change)));
            }
        }
    }
    let Some(capacity) = &facts.seen.capacity else {
        return Some(Next::Read(Need::Capacity));
    };
    let left = capacity.copies.iter().find(|copy| !copy.is_going);
    left.map(|copy| Next::Write(Command::DeleteMachineSet(copy.name.clone())))
}
