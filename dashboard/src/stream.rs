//! Changes as server-sent events.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use axum::{Extension, Router, middleware};
use bytes::{Bytes, BytesMut};
use drydock_runtime::Clock;
use futures::Stream;
use futures::stream::unfold;
use http::{Extensions, HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::access::{ANSWERED_LATELY, Viewer};
use crate::error::ApiError;
use crate::feed::{Feed, Follower, Since, event};
use crate::server::Dashboard;

/// The content type of changes.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// How often it is asked again who a viewer is and what may be shown. With how old the answer may be, and how long it is waited for,
/// this is a minute: within that time a right is gone that was taken away.
const REVIEW_EVERY: Duration = Duration::from_secs(25);
/// How long an answer is waited for then.
const ANSWERED_WITHIN: Duration = Duration::from_secs(15);
/// How long a viewer may take to read what was sent before the end.
const LAST_READ: Duration = Duration::from_secs(10);

/// Ends a connection, whatever happens on it.
pub type End = Arc<dyn Fn() + Send + Sync>;

/// The connection of a request.
#[derive(Clone)]
pub(crate) struct Connection(End);

#[derive(Deserialize)]
pub(crate) struct From {
    since: Option<u64>,
}

#[derive(Serialize)]
struct Now {
    now: i64,
    /// The hub has answered just now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    answered: bool,
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
    /// Grows each time that the hub has answered.
    answers: watch::Receiver<u64>,
    /// Nothing more is shown.
    ended: CancellationToken,
    _place: Arc<Place>,
    _review: AbortOnDropHandle<()>,
}

/// The place that a viewer takes, until it is given up.
type Place = Mutex<Option<Follower>>;

/// Asks again and again who a viewer is. It does so beside what is sent, which stands still while the viewer does not read.
struct Review {
    dashboard: Dashboard,
    viewer: Viewer,
    ended: CancellationToken,
    place: Weak<Place>,
    answers: watch::Sender<u64>,
    connection: Option<Connection>,
}

/// `GET /api/changes`
pub(crate) async fn changes(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    connection: Option<Extension<Connection>>,
    from: Result<Query<From>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(from) = from.map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))?;
    dashboard.hub_answers(&viewer).await?;
    dashboard.is_current()?;
    let feed = dashboard.open(&viewer.scope)?;
    let follower = dashboard
        .feeds()
        .enter(&viewer.scope, feed, &viewer.user, viewer.most_pages())?;
    let feed = follower.feed().clone();
    let revisions = feed.revisions();
    let newest = *revisions.borrow();
    let ended = dashboard.shutdown().child_token();
    let place = Arc::new(Mutex::new(Some(follower)));
    let (answers, answered) = watch::channel(0);
    let review = Review {
        answers,
        viewer,
        ended: ended.clone(),
        place: Arc::downgrade(&place),
        connection: connection.map(|Extension(connection)| connection),
        dashboard: dashboard.clone(),
    };
    let viewing = Viewing {
        seen: from.since.unwrap_or(newest),
        revisions,
        alive: ticks(dashboard.settings().keep_alive),
        answers: answered,
        clock: dashboard.live().clock().clone(),
        feed,
        ended,
        _place: place,
        _review: AbortOnDropHandle::new(tokio::spawn(review.run())),
    };
    let mut response = Response::new(Body::from_stream(viewing.events()));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    // Proxies that gather answers would hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

impl Dashboard {
    /// The page and what it asks for, for a server that knows by the extensions of a request how its connection is ended. So ends that
    /// of a viewer who may see no more and does not read that either.
    pub fn router_that_ends(&self, end_of: fn(&Extensions) -> Option<End>) -> Router {
        let note = move |mut request: Request| async move {
            if let Some(end) = end_of(request.extensions()) {
                request.extensions_mut().insert(Connection(end));
            }
            request
        };
        self.router().layer(middleware::map_request(note))
    }
}

impl Review {
    /// Says when the viewer may not be shown the same any more, and gives its place to others.
    async fn run(self) {
        // Also if this ends by a panic.
        let end = self.ended.clone().drop_guard();
        self.ended.run_until_cancelled(self.until_unknown()).await;
        drop(end);
        if let Some(place) = self.place.upgrade() {
            place.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        // This is aborted once the viewer has read the end.
        sleep(LAST_READ * self.speed()).await;
        if let Some(Connection(end)) = &self.connection {
            end();
        }
    }

    async fn until_unknown(&self) {
        let mut every = ticks(REVIEW_EVERY * self.speed());
        let mut lost_before = None;
        loop {
            every.tick().await;
            let Some(lost) = self.still_known().await else {
                return;
            };
            match lost_before {
                // Before it is shown anything, the hub has answered.
                None => lost_before = Some(lost),
                // What the page shows of it is dropped when it asks anew.
                Some(before) if lost > before => return,
                Some(_) => self.answers.send_modify(|answers| *answers += 1),
            }
        }
    }

    /// How often the viewer has lost a right to what their pages have read, if the same may be shown as before. Who may see something else, or
    /// is not known any more, asks anew, and hears why.
    async fn still_known(&self) -> Option<usize> {
        // Nobody takes for new what is old.
        self.dashboard.is_current().ok()?;
        let credentials = self.viewer.credentials.clone();
        let asked = async {
            let now = self.dashboard.viewer(credentials, ANSWERED_LATELY).await?;
            Ok::<_, ApiError>((now.lost().await?, now.scope))
        };
        let Ok(answered) = timeout(ANSWERED_WITHIN * self.speed(), asked).await else {
            self.dashboard.live().doubt();
            return None;
        };
        let (lost, scope) = answered.ok()?;
        self.dashboard.hub_answers(&self.viewer).await.ok()?;
        (scope == self.viewer.scope).then_some(lost)
    }

    fn speed(&self) -> u32 {
        self.dashboard.settings().speed
    }
}

impl Viewing {
    fn events(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        unfold(self, |mut viewing| async move {
            let bytes = viewing.next().await?;
            Some((Ok(bytes), viewing))
        })
    }

    /// What is sent next; nothing after the end.
    async fn next(&mut self) -> Option<Bytes> {
        while !self.ended.is_cancelled() {
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
                () = self.ended.cancelled() => return None,
                changed = self.revisions.changed() => changed.ok()?,
                Ok(()) = self.answers.changed() => return self.sign_of_life(true),
                _ = self.alive.tick() => return self.sign_of_life(false),
            }
        }
        None
    }

    /// Says that the server is there, and what time it is; and whether the hub has just answered, by which the page knows how old is what it shows.
    fn sign_of_life(&self, answered: bool) -> Option<Bytes> {
        let now = Now {
            now: self.clock.now().as_second(),
            answered,
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
