//! Old records go: those of rollouts that are neither young nor among the newest of their upgrade's name.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgradeRecord;
use drydock_runtime::Clock;
use jiff::SignedDuration;
use kube::api::DeleteParams;
use kube::{Api, Client};
use tokio_util::sync::CancellationToken;

use crate::cache::Cache;

/// How often old records are looked for.
const EVERY: Duration = Duration::from_hours(1);
/// How many rollouts of each upgrade's name are kept, however old they are.
const NEWEST_ROLLOUTS: usize = 10;

/// Deletes records that are older than `keep_for`, until `shutdown`.
pub(crate) async fn prune(
    client: Client,
    cache: Cache,
    clock: Clock,
    keep_for: SignedDuration,
    shutdown: CancellationToken,
) -> Result<(), std::convert::Infallible> {
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            () = tokio::time::sleep(EVERY) => {}
        }
        let expired = cache
            .fleet()
            .expired_records(NEWEST_ROLLOUTS, keep_for, clock.now());
        for (namespace, name) in expired {
            let api: Api<ManagedClustersUpgradeRecord> = Api::namespaced(client.clone(), &namespace);
            match api.delete(&name, &DeleteParams::default()).await {
                Ok(_) => tracing::info!(namespace, name, "an old record was deleted"),
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                Err(error) => tracing::warn!(
                    namespace,
                    name,
                    error = &error as &dyn std::error::Error,
                    "an old record could not be deleted; it is tried again in an hour"
                ),
            }
        }
    }
}
