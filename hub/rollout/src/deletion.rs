//! The upgrade goes: its works are deleted, its clusters go on (no roll back).

use std::collections::BTreeSet;

use crate::{Action, Observed, Plan, Report};

/// Deletes all works and lets the object go as soon as the deletions are accepted. It does not wait for the clusters: a
/// work whose cluster is gone stays Terminating for ever (hub 4).
pub(crate) fn decide(observed: &Observed) -> Plan {
    let mut actions = Vec::new();
    let mut owing = BTreeSet::new();
    for (cluster, works) in &observed.works {
        for (kind, work) in works {
            if work.owner.uid != observed.upgrade.uid {
                continue;
            }
            owing.insert(cluster.clone());
            if !work.deleting {
                actions.push(Action::DeleteWork {
                    cluster: cluster.clone(),
                    kind: *kind,
                    uid: work.uid.clone(),
                });
            }
        }
    }
    if actions.is_empty() && observed.upgrade.finalizer {
        actions.push(Action::RemoveFinalizer);
    }
    if !observed.caught_up {
        actions.clear();
    }
    Plan {
        actions,
        report: Report {
            owing: Some(owing),
            ..Report::default()
        },
        wake: None,
    }
}
