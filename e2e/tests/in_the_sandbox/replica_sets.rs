//! The stand-in of the controller of ManifestWorkReplicaSets by itself; the same runs on a real API server.

use drydock_e2e::replica_sets;
use drydock_runtime::Clock;
use drydock_sandbox::access::Access;
use drydock_sandbox::bed::hub_types;
use drydock_sandbox::server::{ApiServer, ServerSettings};

#[tokio::test(start_paused = true)]
async fn a_rollout_goes_on_as_its_works_say() {
    let clock = Clock::simulated(jiff::Timestamp::constant(1_767_600_000, 0));
    let server = ApiServer::new(ServerSettings::new("hub", clock.clone(), 1, hub_types().unwrap()));
    let hub = Access::memory(&server, "ocm-work-manager");
    replica_sets::a_rollout_goes_on_as_its_works_say(hub, clock)
        .await
        .unwrap();
}
