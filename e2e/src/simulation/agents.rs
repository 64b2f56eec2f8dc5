//! The real agent on a simulated cluster, which is killed now and then.

use std::time::Duration;

use drydock_agent::Network;
use drydock_api::names;
use drydock_runtime::Clock;
use kube_sandbox::server::ApiServer;
use rand_chacha::ChaCha8Rng;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::draw::below;
use super::faults::InjectedFaults;
use crate::local_fleet::program_client;

/// Keeps the agent of a cluster running forever, and during the fault period kills it at random.
pub(super) async fn keep_running(
    spoke: ApiServer,
    network: Network,
    clock: Clock,
    mut rng: ChaCha8Rng,
    fault_period: Duration,
    faults: InjectedFaults,
) {
    let end = Instant::now() + fault_period;
    loop {
        let Ok(client) = program_client(&spoke, names::AGENT_MANAGER) else {
            return;
        };
        let settings = drydock_agent::Settings {
            network: network.clone(),
            ..drydock_agent::Settings::default()
        };
        let run = drydock_agent::run(settings, client, clock.clone(), CancellationToken::new());
        let lifetime = if Instant::now() < end {
            Duration::from_secs(60 + below(&mut rng, 3 * 3600))
        } else {
            Duration::from_hours(24 * 30)
        };
        match tokio::time::timeout(lifetime, run).await {
            Err(_killed) => faults.counted().killed += 1,
            Ok(ended) => {
                tracing::warn!(?ended, "the agent ended and is started again");
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        }
    }
}
