//! Watch events in any order: each watch delivers its own in order, and each event late by a time of its own, so that what
//! happens to one object is seen before or after what happens to another. The end is the same, also with a kill on the way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use drydock_api::names::AGENT_MANAGER;
use drydock_runtime::client::{self, RequestMetrics};
use drydock_sandbox::server::ApiServer;
use futures::StreamExt;
use http::{Request, Response};
use http_body_util::BodyExt;
use kube::Client;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tower::{BoxError, ServiceExt};

use super::killed::{self, Kill, directly};

/// An event is late by no more than this.
const LATEST: u64 = 90_000;
/// So many orders are tried; a debug build tries few.
const ORDERS: u64 = if cfg!(debug_assertions) { 6 } else { 60 };

/// A connection whose watches deliver each event late.
fn late(server: &ApiServer, seed: u64) -> Client {
    let watches = Arc::new(AtomicU64::new(0));
    let transport = server.service(AGENT_MANAGER);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let transport = transport.clone();
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let number = watches.fetch_add(u64::from(is_watch), Ordering::Relaxed);
        async move {
            let response = transport.oneshot(request).await.map_err(BoxError::from)?;
            let mut rng = ChaCha8Rng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number));
            Ok::<Response<Body>, BoxError>(response.map(|body| {
                if !is_watch {
                    return Body::new(body);
                }
                let frames = body.into_data_stream().then(move |frame| {
                    let wait = Duration::from_millis(u64::from(rng.next_u32()) % LATEST);
                    async move {
                        tokio::time::sleep(wait).await;
                        frame
                    }
                });
                Body::from_stream(frames)
            }))
        }
    });
    let metrics = RequestMetrics::register(&prometheus::Registry::new()).unwrap();
    client::from_service(service, "default", &metrics)
}

#[tokio::test(start_paused = true)]
async fn whatever_the_order_of_events_the_end_is_the_same_and_nothing_is_done_twice() {
    let (expected, writes) = killed::run(None, directly).await;
    for seed in 0..ORDERS {
        let kill = (seed % 2 == 1).then(|| Kill {
            at: 1 + (seed * 7) % writes,
            after: seed % 4 == 1,
        });
        let (end, _) = killed::run(kill, |server| late(server, seed)).await;
        assert_eq!(end, expected, "seed {seed}, {kill:?}");
    }
}
