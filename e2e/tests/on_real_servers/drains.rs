//! NodeKeeper on a real API server, with kube-controller-manager keeping the budgets.

use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use drydock_e2e::static_cluster::drains::Drains;
use drydock_runtime::Clock;

#[tokio::test]
async fn each_kind_of_pod_goes_at_its_time_and_others_never() {
    let mut settings = Settings::named("still");
    settings.controllers.push("disruption-controller".to_owned());
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let client = server.client(ADMIN).await.unwrap();
    manifests::install(&client, &manifests::definitions().unwrap())
        .await
        .unwrap();
    let drains = Drains::start(client, Clock::system()).await.unwrap();
    drains.budget_is_counted().await.unwrap();
    drains.what_goes_when_and_what_never_does().await.unwrap();
}
