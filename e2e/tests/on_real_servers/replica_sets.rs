//! The stand-in of the controller of ManifestWorkReplicaSets on a real API server, with the real definitions.

use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::{manifests, real, replica_sets};
use drydock_runtime::Clock;
use drydock_sandbox::access::Access;

#[tokio::test]
async fn a_rollout_goes_on_as_its_works_say() {
    let settings = Settings::named("replica-sets");
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let client = server.client(ADMIN).await.unwrap();
    manifests::install(&client, &real::definitions_of_hub().unwrap())
        .await
        .unwrap();
    let hub = Access::remote(client, "ocm-work-manager");
    replica_sets::a_rollout_goes_on_as_its_works_say(hub, Clock::system())
        .await
        .unwrap();
}
