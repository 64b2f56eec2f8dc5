//! What is taken away when it has served: the works of actions.

use drydock_api::names::WorkKind;

use crate::{Action, Observed};

/// Deletes the works of actions of all clusters. The work of a pre-upgrade action stays where no upgrade work was made:
/// it is then the only record that the cluster failed.
pub(crate) fn action_works(observed: &Observed) -> Vec<Action> {
    let mut actions = Vec::new();
    for (cluster, works) in &observed.works {
        let own = |kind| {
            works
                .get(&kind)
                .filter(|work| work.owner.uid == observed.upgrade.uid)
        };
        for kind in [WorkKind::Pre, WorkKind::Post] {
            let Some(work) = own(kind).filter(|work| !work.deleting) else {
                continue;
            };
            if kind == WorkKind::Post || own(WorkKind::Cluster).is_some() {
                actions.push(Action::DeleteWork {
                    cluster: cluster.clone(),
                    kind,
                    uid: work.uid.clone(),
                });
            }
        }
    }
    actions
}
