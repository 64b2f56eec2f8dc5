//! The cases of an API server, on the sandbox.

use drydock_e2e::conformance;
use drydock_runtime::Clock;
use drydock_sandbox::test_env::hub_types;
use kube::Client;
use kube_sandbox::server::{ApiServer, ServerSettings};

fn client() -> Client {
    let clock = Clock::simulated(drydock_e2e::local_fleet::EPOCH);
    ApiServer::new(ServerSettings::new("hub", clock, 1, hub_types().unwrap())).client("conformance")
}

#[tokio::test(start_paused = true)]
async fn the_sandbox_answers_every_case() {
    let failures: Vec<String> = conformance::all(&client())
        .await
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {:#}", outcome.err()?)))
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}
