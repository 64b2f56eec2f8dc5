//! Who has the lock of a cluster: one whose holder is gone, or has ended, holds nobody.

use drydock_api::fact::Unread;
use drydock_api::lock::LockKey;
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::UpgradeJob;
use drydock_schedule::job::lock::{HolderState, LockState, ObservedHolder, assess};
use kube::{Api, Client};

use crate::server::unread;

/// Who has it, in words, if somebody has who still needs it. An UpgradeJob that cannot be read counts as one that does.
pub async fn holder(client: &Client, cluster: &ClusterVersion) -> Option<String> {
    let nobody = LockKey::default();
    let job = match assess(cluster, &nobody, &Err(Unread::NotAsked)) {
        LockState::Free | LockState::Ours | LockState::Stale(_) => return None,
        LockState::Held(by) => return Some(by),
        LockState::Ask(job) => job,
    };
    let api: Api<UpgradeJob> = Api::namespaced(client.clone(), &job.namespace);
    let found = api.get_opt(&job.name).await;
    let state = found.map(|found| HolderState::of(found.as_ref()));
    let holder = state
        .map(|state| ObservedHolder { job, state })
        .map_err(|error| unread(&error));
    match assess(cluster, &nobody, &holder) {
        LockState::Held(by) => Some(by),
        _ => None,
    }
}
