//! Watch events in any order: each watch delivers its own in order, and each event late by a time of its own, so that what
//! happens to one object is seen before or after what happens to another. The end is the same, also with a kill on the way.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_api::names::AGENT_MANAGER;
use drydock_e2e::delayed_watch;
use drydock_runtime::client::{self, RequestMetrics};
use kube::Client;
use kube_sandbox::server::ApiServer;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::killed::{self, Kill, directly};

/// An event is late by no more than this.
const LATEST: u64 = 90_000;
/// The number of orders that are tried; a debug build tries few.
const ORDERS: u64 = if cfg!(debug_assertions) { 4 } else { 60 };

/// A connection whose watches delay each event.
fn delayed(server: &ApiServer, seed: u64) -> Client {
    let draws = Mutex::new(ChaCha8Rng::seed_from_u64(seed));
    let lateness = move || Duration::from_millis(draws.lock().unwrap().next_u64() % LATEST);
    let transport = delayed_watch::delayed_watch(server.service(AGENT_MANAGER), Arc::new(lateness));
    let metrics = RequestMetrics::register(&prometheus::Registry::new()).unwrap();
    client::from_service(transport, "default", &metrics)
}

#[tokio::test(start_paused = true)]
async fn whatever_the_order_of_events_the_end_is_the_same_and_nothing_is_done_twice() {
    let (expected, writes) = killed::run(None, directly).await;
    for seed in 0..ORDERS {
        let kill = (seed % 2 == 1).then(|| Kill {
            at: 1 + (seed * 7) % writes,
            after: seed % 4 == 1,
        });
        let (end, _) = killed::run(kill, |server| delayed(server, seed)).await;
        assert_eq!(end, expected, "seed {seed}, {kill:?}");
    }
}
