//! Changes as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use drydock_runtime::Clock;
use futures::Stream;
use futures::stream::unfold;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::access::Viewer;
use crate::error::ApiError;
use crate::feed::{Feed, Follower, Since, event};
use crate::server::Dashboard;

/// How many may view at a time.
const MOST_VIEWERS: usize = 1000;

#[derive(Deserialize)]
pub(crate) struct From {
    since: Option<u64>,
}

#[derive(Serialize)]
struct Now {
    now: i64,
}

#[derive(Serialize)]
struct Nothing {}

/// What one viewer has seen. Nothing is queued for it: it takes from what is kept for all when it can send, and starts over if it was
/// too slow for that.
struct Viewing {
    feed: Feed,
    clock: Clock,
    seen: u64,
    revisions: watch::Receiver<u64>,
    alive: Interval,
    shutdown: CancellationToken,
    dashboard: Dashboard,
    viewer: Viewer,
    /// When it is asked again who it is, and what may be shown.
    reviewing: Interval,
    _follower: Follower,
}

/// `GET /api/changes`
pub(crate) async fn changes(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    Query(from): Query<From>,
) -> Result<Response, ApiError> {
    let feed = dashboard.open(&viewer.scope)?;
    if dashboard.viewers() >= MOST_VIEWERS {
        return Err(ApiError::unavailable(format!(
            "{MOST_VIEWERS} pages are open already: close one"
        )));
    }
    let revisions = feed.revisions();
    let newest = *revisions.borrow();
    let viewing = Viewing {
        seen: from.since.unwrap_or(newest),
        revisions,
        alive: alive(dashboard.settings().keep_alive),
        clock: dashboard.live().clock().clone(),
        shutdown: dashboard.shutdown().clone(),
        _follower: feed.enter(),
        feed,
        reviewing: alive(Duration::from_mins(1)),
        viewer,
        dashboard,
    };
    let mut response = Response::new(Body::from_stream(viewing.events()));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    // Proxies that gather answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

fn alive(every: Duration) -> Interval {
    let mut alive = interval(every);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

impl Viewing {
    fn events(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        unfold(self, |mut viewing| async move {
            let bytes = viewing.next().await?;
            Some((Ok(bytes), viewing))
        })
    }

    /// What is sent next; nothing after the server's end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            match self.feed.since(self.seen) {
                Since::Reset => {
                    self.seen = *self.revisions.borrow_and_update();
                    return event("reset", None, &Nothing {}).ok();
                }
                Since::Changes(changes, revision) if !changes.is_empty() => {
                    self.seen = revision;
                    return Some(joined(&changes));
                }
                Since::Changes(..) => {}
            }
            tokio::select! {
                biased;
                () = self.shutdown.cancelled() => return None,
                changed = self.revisions.changed() => changed.ok()?,
                _ = self.alive.tick() => return self.sign_of_life(),
                _ = self.reviewing.tick() => self.is_still_known().await.then_some(())?,
            }
        }
    }

    /// Whether the same may be shown as before. Who may see something else, or is not known any more, asks anew, and hears why.
    async fn is_still_known(&self) -> bool {
        let now = self.dashboard.viewer(self.viewer.credentials.clone()).await;
        now.is_ok_and(|now| now.scope == self.viewer.scope)
    }

    /// Says that the server is there, and what time it is.
    fn sign_of_life(&self) -> Option<Bytes> {
        let now = Now {
            now: self.clock.now().as_second(),
        };
        let now = event("now", None, &now).ok()?;
        Some(joined(&[Bytes::from_static(b": the server is there\n"), now]))
    }
}

fn joined(parts: &[Bytes]) -> Bytes {
    match parts {
        [one] => one.clone(),
        parts => {
            let mut all = BytesMut::with_capacity(parts.iter().map(Bytes::len).sum());
            parts.iter().for_each(|part| all.extend_from_slice(part));
            all.freeze()
        }
    }
}
