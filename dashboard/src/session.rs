//! Who looks, and at what.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures::stream;
use http::{HeaderMap, HeaderValue, header};
use jiff::SignedDuration;
use serde::Serialize;

use crate::access::{Scope, Viewer};
use crate::assets::accepts_gzip;
use crate::error::ApiError;
use crate::server::Dashboard;

/// Where the docs are, to which reasons link.
const DOCS: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs");

/// Who looks, and at what.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    user: String,
    read_only: bool,
    r#where: String,
    sandbox: bool,
    speed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<&'static str>,
    docs: &'static str,
}

/// `GET /api/session`
pub(crate) async fn session(State(dashboard): State<Dashboard>, viewer: Viewer) -> Json<Session> {
    let settings = dashboard.settings();
    let sees_nothing = viewer.scope.namespaces.as_ref().is_some_and(BTreeSet::is_empty);
    Json(Session {
        user: viewer.user,
        read_only: viewer.read_only,
        r#where: place(&settings.place, &viewer.scope),
        sandbox: settings.sandbox,
        speed: settings.speed,
        notice: sees_nothing.then_some("You may list ManagedClustersUpgrades in no namespace that has one."),
        docs: DOCS,
    })
}

/// Where the page looks, with the namespace, where it shows only the upgrades of one.
fn place(hub: &str, scope: &Scope) -> String {
    let only = scope.only_namespace();
    only.map_or_else(
        || hub.to_owned(),
        |namespace| format!("{hub}, namespace {namespace}"),
    )
}

/// `GET /api/snapshot`
pub(crate) async fn snapshot(
    State(dashboard): State<Dashboard>,
    viewer: Viewer,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let feed = dashboard.open(&viewer.scope)?;
    if !feed.has_view() {
        return Err(dashboard.not_ready());
    }
    dashboard.hub_answers(&viewer).await?;
    dashboard.is_current()?;
    let now = dashboard.live().clock().now();
    // Many who ask at the same moment, as after a cut, get the same bytes.
    let age = SignedDuration::try_from(dashboard.settings().keep_alive).unwrap_or_default() / 30;
    let made = feed.snapshot(now, age);
    let made = made.map_err(|error| ApiError::unavailable(error.to_string()))?;
    let Some(bytes) = made else {
        return Err(dashboard.not_ready());
    };
    let json = HeaderValue::from_static("application/json");
    let is_compressed = accepts_gzip(&headers);
    let body = if is_compressed {
        Body::from(bytes.gzip())
    } else {
        Body::from_stream(stream::iter(bytes.plain()))
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, json);
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_compressed {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

impl Dashboard {
    /// Goes on if what is seen of the hub is not old.
    ///
    /// # Errors
    /// If a watch fails for good: which one, and why.
    pub(crate) fn is_current(&self) -> Result<(), ApiError> {
        // Before everything has been seen it is said what is missing.
        if !self.live().waiting_for().is_empty() {
            return Ok(());
        }
        let outdated = self.live().outdated();
        if outdated.is_empty() {
            return Ok(());
        }
        let mut parts: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (part, why) in &outdated {
            parts.entry(why).or_default().push(part);
        }
        let watches = parts.into_iter().map(|(why, parts)| match parts.as_slice() {
            [part] => format!("the watch of {part} fails ({why})"),
            parts => format!("the watches of {} fail ({why})", parts.join(", ")),
        });
        let watches: Vec<String> = watches.collect();
        Err(ApiError::unavailable(format!(
            "not connected: {}",
            watches.join(", ")
        )))
    }

    /// Whether the hub answers a viewer. Where it does not, its watches may have died without a word.
    ///
    /// # Errors
    /// If it does not.
    pub(crate) async fn hub_answers(&self, viewer: &Viewer) -> Result<(), ApiError> {
        let answered = viewer.hub_answers(self.settings().speed).await;
        if answered.as_ref().is_err_and(ApiError::is_silence) {
            self.live().doubt();
        }
        answered
    }

    /// What has not been seen yet; and why, where the API server refuses it.
    pub(crate) fn not_ready(&self) -> ApiError {
        let refusals = self.live().refusals();
        let waiting = self.live().waiting_for();
        let waiting = waiting.into_iter().map(|part| match refusals.get(part) {
            Some(why) => format!("{part} ({why})"),
            None => part.to_owned(),
        });
        let waiting: Vec<String> = waiting.collect();
        ApiError::unavailable(format!(
            "not all objects of the hub have been read yet: waiting for {}",
            waiting.join(", ")
        ))
    }
}
