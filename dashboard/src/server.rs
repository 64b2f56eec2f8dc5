//! The server of the page.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use drydock_hub::LiveFleet;
use drydock_runtime::tasks::Tasks;
use futures::{Stream, StreamExt, stream};
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::{Access, Scope, authenticate, confine};
use crate::body::LONGEST_BODY;
use crate::error::ApiError;
use crate::events::KnownEvents;
use crate::feed::{Feed, Feeds};
use crate::places::{Limits, Places};
use crate::plan::Planner;
use crate::planning::Planning;
use crate::reading;
use crate::rows::{View, Words};
use crate::stream::changes;
use crate::{actions, apply, assets, cluster, detail, history, plan, session};

/// How many requests are answered at a time, from their bodies to the last that is read of their answers.
const ANSWERS: Limits = Limits {
    in_all: 256,
    of_user: 16,
    asked: 128,
    what: "requests",
};

/// How the page is served.
#[derive(Clone)]
pub struct Settings {
    /// Who is answered.
    pub access: Access,
    /// Which hub this is, in words.
    pub place: String,
    /// The hub is simulated.
    pub sandbox: bool,
    /// How many seconds of the hub's clock pass in a second.
    pub speed: u32,
    /// How often a connection on which nothing happens shows that it is one, by the hub's clock.
    pub keep_alive: Duration,
    /// Who forecasts upgrades; without it nobody does.
    pub planner: Option<Arc<dyn Planner>>,
}

impl Settings {
    /// The settings for a hub whose clock goes as all do.
    pub fn new(access: Access, place: String) -> Self {
        Self {
            access,
            place,
            sandbox: false,
            speed: 1,
            keep_alive: Duration::from_secs(15),
            planner: None,
        }
    }
}

/// The page could not be served.
#[derive(Debug, thiserror::Error)]
#[error("serving the page: is the port free?")]
pub struct ServeError(#[source] std::io::Error);

/// The page of one hub. Clones share it.
#[derive(Clone)]
pub struct Dashboard(Arc<Shared>);

struct Shared {
    live: LiveFleet,
    client: Client,
    settings: Settings,
    feeds: Feeds,
    shutdown: CancellationToken,
    words: Mutex<Words>,
    planning: Planning,
    reading: Places,
    answering: Places,
    events: KnownEvents,
}

impl Dashboard {
    /// Starts to follow a fleet as one of `tasks`. What the person does whose client this is, `client` does.
    pub fn start(
        live: LiveFleet,
        client: Client,
        settings: Settings,
        tasks: &mut Tasks,
        shutdown: CancellationToken,
    ) -> Self {
        let dashboard = Self(Arc::new(Shared {
            live,
            client,
            settings,
            feeds: Feeds::default(),
            shutdown,
            words: Mutex::default(),
            planning: Planning::default(),
            reading: Places::new(reading::LIMITS),
            answering: Places::new(ANSWERS),
            events: KnownEvents::default(),
        }));
        let following = dashboard.clone();
        tasks.spawn("page", async move {
            following.follow().await;
            Ok::<_, Infallible>(())
        });
        dashboard
    }

    /// Takes over what has changed, each time that something has. A page that nobody has opened costs nothing but the watches.
    async fn follow(&self) {
        let until = self.shutdown().clone().cancelled_owned();
        let mut changes = std::pin::pin!(self.changes().take_until(until));
        while changes.next().await.is_some() {
            for (scope, feed) in self.feeds().viewed() {
                self.look(&scope, &feed);
            }
        }
    }

    /// Takes over what is seen now, if everything has been seen.
    fn look(&self, scope: &Scope, feed: &Feed) {
        // Who looks later sees later things: looks follow one another.
        let mut words = self.0.words.lock().unwrap_or_else(PoisonError::into_inner);
        let before = feed.view();
        let seen = self.live().read(|fleet, now| {
            let view = View::of(fleet, now, scope, &mut words, &before);
            (view, now)
        });
        if let Some((view, now)) = seen
            && let Err(error) = feed.update(view, now)
        {
            tracing::error!(%error, "a change of the fleet cannot be written");
        }
        words.forget_unused();
    }

    /// Somebody opens the page: from now on it is kept up to date.
    ///
    /// # Errors
    /// If too many pages with different rights are open.
    pub(crate) fn open(&self, scope: &Scope) -> Result<Feed, ApiError> {
        let feed = self.feeds().of(scope)?;
        if !feed.has_view() {
            self.look(scope, &feed);
        }
        Ok(feed)
    }

    /// An item each time that something may look different: something was seen, or a window or a deadline has come.
    fn changes(&self) -> impl Stream<Item = ()> + use<> {
        let passed = tokio::time::interval(self.settings().keep_alive);
        let passed = stream::unfold(passed, |mut interval| async move {
            interval.tick().await;
            Some(((), interval))
        });
        let seen = stream::select(self.live().changes(), self.live().cluster_changes());
        // Of several upgrades that have changed at the same moment each is an item.
        stream::select(seen, passed).ready_chunks(256).map(|_| ())
    }

    pub(crate) fn live(&self) -> &LiveFleet {
        &self.0.live
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn feeds(&self) -> &Feeds {
        &self.0.feeds
    }

    pub(crate) fn planning(&self) -> &Planning {
        &self.0.planning
    }

    pub(crate) fn reading(&self) -> &Places {
        &self.0.reading
    }

    pub(crate) fn events(&self) -> &KnownEvents {
        &self.0.events
    }

    pub(crate) fn answering(&self) -> &Places {
        &self.0.answering
    }

    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.0.shutdown
    }

    /// How many browsers follow the fleet.
    pub fn viewers(&self) -> usize {
        self.feeds().viewers()
    }

    /// The page and what it asks for.
    pub fn router(&self) -> Router {
        let api = Router::new()
            .route("/session", get(session::session))
            .route("/snapshot", get(session::snapshot))
            .route("/changes", get(changes))
            .route("/history", get(history::history))
            .route("/clusters/{name}", get(cluster::cluster))
            .route("/upgrades/{namespace}/{name}", get(detail::detail))
            .route("/upgrades/{namespace}/{name}/pause", post(actions::pause))
            .route("/upgrades/{namespace}/{name}/resume", post(actions::resume))
            .route("/upgrades/{namespace}/{name}/retry", post(actions::retry))
            .route("/upgrades/{namespace}/{name}/accept", post(actions::accept))
            .route("/upgrades/{namespace}/{name}/forecast", get(plan::forecast))
            .route("/plan", post(plan::plan))
            .route("/preview", post(apply::preview))
            .route("/apply", post(apply::apply))
            .fallback(|| async { ApiError::not_found("there is nothing under this address").into_response() })
            .layer(middleware::from_fn_with_state(self.clone(), authenticate))
            .layer(DefaultBodyLimit::max(LONGEST_BODY))
            .with_state(self.clone());
        Router::new()
            .nest("/api", api)
            .fallback(get(assets::serve))
            .layer(CatchPanicLayer::new())
            .layer(middleware::from_fn_with_state(
                self.settings().access.clone(),
                confine,
            ))
    }

    /// Serves the page until the shutdown that was given at the start.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(self, listener: TcpListener) -> Result<(), ServeError> {
        let shutdown = self.shutdown().clone();
        axum::serve(listener, self.router())
            .with_graceful_shutdown(shutdown.cancelled_owned())
            .await
            .map_err(ServeError)
    }
}
