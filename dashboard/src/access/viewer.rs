//! Who looks, with what they may see and do.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::selector::{is_dns_label, is_dns_name};
use drydock_rollout::UpgradeKey;
use futures::{StreamExt, stream};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use jiff::SignedDuration;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::time::{Instant, timeout, timeout_at};

use super::reviews::{COUNTS_FOR, Reviewed, Reviews};
use super::right::Right;
use super::scope::Scope;
use super::{Access, OwnAccess};
use crate::actions::no_upgrade;
use crate::error::ApiError;
use crate::plan::PlanSubject;
use crate::reading::SENT_WITHIN;
use crate::server::Dashboard;
use crate::stream::EVENT_STREAM;

/// Where a proxy that signs users in puts their token (oauth-proxy, oauth2-proxy).
const FORWARDED_TOKEN: &str = "x-forwarded-access-token";
/// How long the API server may take to answer before what is shown counts as old.
const HUB_ANSWERS_WITHIN: Duration = Duration::from_secs(15);
/// How old an answer about a viewer may be by which the API server counts as one that answers.
pub(crate) const ANSWERED_LATELY: SignedDuration = SignedDuration::from_secs(20);
/// How many pages one user of a hub may have open at a time.
const MOST_PAGES: usize = 16;
/// By when the whole body of a request has come.
const BODY_WITHIN: Duration = Duration::from_secs(30);

/// What somebody is known by.
#[derive(Clone)]
pub(crate) struct Credentials(Arc<str>);

impl Credentials {
    /// The bearer token of a request; empty where it has none. That which a proxy adds is reviewed as any other is.
    fn of(headers: &HeaderMap) -> Self {
        let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
        let given = headers.get(header::AUTHORIZATION).and_then(text);
        let bearer = given.as_deref().and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let token = bearer.map(|(_, token)| token.trim().to_owned());
        let token = token.or_else(|| headers.get(FORWARDED_TOKEN).and_then(text));
        Self(token.unwrap_or_default().into())
    }
}

/// Who looks.
#[derive(Clone)]
pub(crate) struct Viewer {
    /// Who the API server takes the user for.
    pub user: String,
    /// What is shown.
    pub scope: Arc<Scope>,
    /// Nothing can be changed.
    pub read_only: bool,
    pub credentials: Credentials,
    rights: Rights,
}

/// With whose rights the server acts.
#[derive(Clone)]
enum Rights {
    /// The client is the user's own: the API server decides.
    Own(Client),
    /// The server reads what the API server says that the user may read, and acts as the user.
    Reviewed(Reviews, Arc<Reviewed>),
}

impl Viewer {
    /// A client that reads what needs a right in a namespace, or in all.
    ///
    /// # Errors
    /// If the user has not the right, or the API server does not say.
    pub async fn reader(&self, right: Right, namespace: Option<&str>) -> Result<Client, ApiError> {
        match &self.rights {
            Rights::Own(client) => Ok(client.clone()),
            Rights::Reviewed(reviews, user) => {
                reviews.require(user, right, namespace).await?;
                Ok(reviews.client().clone())
            }
        }
    }

    /// Goes on if the API server answers: what is shown would be old else. Where others use the same server, it is asked who the viewer is.
    /// `speed` is how many seconds of the hub pass in one.
    ///
    /// # Errors
    /// If it does not.
    pub async fn hub_answers(&self, speed: u32) -> Result<(), ApiError> {
        let client = match &self.rights {
            Rights::Own(client) => client,
            Rights::Reviewed(reviews, _) => {
                let asked = reviews.user(&self.credentials.0, ANSWERED_LATELY);
                let answered = timeout(HUB_ANSWERS_WITHIN * speed, asked).await;
                return answered.map_err(|_| silent(""))?.map(|_| ());
            }
        };
        let api: Api<ManagedClustersUpgrade> = match self.scope.only_namespace() {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        };
        let first = ListParams::default().limit(1).match_any();
        let asked = timeout(HUB_ANSWERS_WITHIN * speed, api.list_metadata(&first)).await;
        match asked {
            Err(_) => Err(silent("")),
            Ok(Ok(_)) => Ok(()),
            // That is no answer about rights: whatever is watched may be old.
            Ok(Err(kube::Error::Api(refusal))) if refusal.code == 401 => Err(ApiError::unavailable(
                "not connected: the API server does not know your credentials any more",
            )),
            // It answers, if only to refuse: the page says what it may not read. What stands before it may answer in its place.
            Ok(Err(kube::Error::Api(refusal))) if refusal.code < 500 => Ok(()),
            Ok(Err(error)) => Err(silent(&format!(": {error}"))),
        }
    }

    /// How often a user of the hub has lost a right to what their pages have read. Of one's own page the API server decides.
    ///
    /// # Errors
    /// If the API server does not say.
    pub async fn lost(&self) -> Result<usize, ApiError> {
        match &self.rights {
            Rights::Own(_) => Ok(0),
            Rights::Reviewed(reviews, user) => reviews.lost(user).await,
        }
    }

    /// How many pages the user may have open at a time, where others use the same server.
    pub fn most_pages(&self) -> Option<usize> {
        match &self.rights {
            Rights::Own(_) => None,
            Rights::Reviewed(..) => Some(MOST_PAGES),
        }
    }

    /// Goes on where anything can be changed.
    ///
    /// # Errors
    /// If nothing can be, whoever asks.
    pub fn allow_writes(&self) -> Result<(), ApiError> {
        let why = match &self.rights {
            _ if !self.read_only => return Ok(()),
            Rights::Own(_) => "this page is read-only: it was started so",
            Rights::Reviewed(..) => {
                "this page is read-only: whoever installs it may allow actions (manifests/dashboard-actions)"
            }
        };
        Err(ApiError::new(StatusCode::FORBIDDEN, why))
    }

    /// A client that changes as the user what needs a right in a namespace.
    ///
    /// # Errors
    /// If nothing can be changed here, or not by the user, or the API server does not say.
    pub async fn writer(&self, right: Right, namespace: &str) -> Result<Client, ApiError> {
        self.allow_writes()?;
        match &self.rights {
            Rights::Own(_) if !self.scope.shows(namespace) => Err(not_shown(namespace)),
            Rights::Own(client) => Ok(client.clone()),
            Rights::Reviewed(reviews, user) => {
                let allowed = reviews.require(user, right, Some(namespace)).await;
                allowed.map_err(ApiError::before_writing)?;
                reviews.acting_as(user)
            }
        }
    }

    /// A client that reads all that a forecast of these upgrades is made of. Where users may act it is read as the user.
    ///
    /// # Errors
    /// If the user may not see all that, or the API server does not say.
    pub async fn planner(&self, subjects: &[PlanSubject]) -> Result<Client, ApiError> {
        match &self.rights {
            Rights::Own(client) => {
                let mut namespaces = subjects.iter().map(|subject| &subject.namespace);
                match namespaces.find(|namespace| !self.scope.shows(namespace)) {
                    Some(other) => Err(not_shown(other)),
                    None => Ok(client.clone()),
                }
            }
            Rights::Reviewed(reviews, user) if !self.read_only => reviews.acting_as(user),
            Rights::Reviewed(reviews, user) => {
                reviews.require(user, Right::LIST_CLUSTERS, None).await?;
                for subject in subjects {
                    let namespace = Some(subject.namespace.as_str());
                    reviews.require(user, Right::LIST_UPGRADES, namespace).await?;
                    for namespace in &subject.placements {
                        may_read_placements(reviews, user, namespace).await?;
                    }
                }
                Ok(reviews.client().clone())
            }
        }
    }

    /// The upgrade that a path names, if it is shown.
    ///
    /// # Errors
    /// If it is not: that of a namespace that one may not see is not there.
    pub fn key(&self, namespace: &str, name: &str) -> Result<UpgradeKey, ApiError> {
        // They become parts of addresses.
        let are_names = is_dns_label(namespace) && is_dns_name(name);
        if are_names && self.scope.shows(namespace) {
            Ok(UpgradeKey::new(namespace, name))
        } else {
            Err(no_upgrade(namespace, name))
        }
    }
}

fn silent(why: &str) -> ApiError {
    ApiError::silent(format!("the API server of the hub does not answer{why}"))
}

fn not_shown(namespace: &str) -> ApiError {
    let why = format!("this page does not show namespace {namespace}: it was started so");
    ApiError::new(StatusCode::FORBIDDEN, why)
}

/// Goes on if the user may read what Placements of a namespace select. What is said else is the same whatever there is.
async fn may_read_placements(reviews: &Reviews, user: &Reviewed, namespace: &str) -> Result<(), ApiError> {
    const WHY: &str = "a forecast by Placements needs the rights to list placements and placementdecisions in their namespaces";
    for right in [Right::LIST_PLACEMENTS, Right::LIST_DECISIONS] {
        let may = reviews.require(user, right, Some(namespace)).await;
        may.map_err(|error| match error.status() {
            StatusCode::FORBIDDEN => ApiError::new(StatusCode::FORBIDDEN, WHY),
            _ => error,
        })?;
    }
    Ok(())
}

impl<S: Sync> FromRequestParts<S> for Viewer {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let known = parts.extensions.get::<Self>().cloned();
        known.ok_or_else(|| ApiError::new(StatusCode::UNAUTHORIZED, "nobody has signed in"))
    }
}

impl Dashboard {
    /// Who asks, by what the API server has said within such a time.
    ///
    /// # Errors
    /// If nobody knows them, or the API server does not say.
    pub(crate) async fn viewer(
        &self,
        credentials: Credentials,
        within: SignedDuration,
    ) -> Result<Viewer, ApiError> {
        match &self.settings().access {
            Access::Own(own) => self.own_viewer(own, credentials),
            Access::Reviewed(reviews) => {
                let user = reviews.user(&credentials.0, within).await?;
                let scope = reviews.scope(&user, || self.namespaces()).await?;
                Ok(Viewer {
                    user: user.user.username.clone().unwrap_or_default(),
                    scope: Arc::new(scope),
                    read_only: !reviews.may_act(),
                    credentials,
                    rights: Rights::Reviewed(reviews.clone(), user),
                })
            }
        }
    }

    fn own_viewer(&self, own: &OwnAccess, credentials: Credentials) -> Result<Viewer, ApiError> {
        if !own.token.is(&credentials.0) {
            let why =
                "the token is missing or no longer valid: open the link again that the program has printed";
            return Err(ApiError::new(StatusCode::UNAUTHORIZED, why));
        }
        Ok(Viewer {
            user: own.user.clone(),
            scope: Arc::new(Scope {
                own_namespace: Some(own.own_namespace.clone()),
                ..Scope::of(own.namespace.as_deref())
            }),
            read_only: own.read_only,
            credentials,
            rights: Rights::Own(self.client().clone()),
        })
    }

    /// The namespaces that have upgrades, or records of upgrades that are deleted.
    fn namespaces(&self) -> Result<BTreeSet<String>, ApiError> {
        let seen = self.live().read(|fleet, _| {
            let upgrades = fleet.upgrades().into_iter();
            let mut namespaces: BTreeSet<String> = upgrades.map(|key| key.namespace.to_string()).collect();
            namespaces.extend(fleet.record_namespaces().map(str::to_owned));
            namespaces
        });
        seen.ok_or_else(|| self.not_ready())
    }
}

/// Answers only who is known, and does not wait for ever for what they send.
pub(crate) async fn authenticate(
    State(dashboard): State<Dashboard>,
    mut request: Request,
    next: Next,
) -> Response {
    let credentials = Credentials::of(request.headers());
    match dashboard.viewer(credentials, COUNTS_FOR).await {
        Ok(viewer) => {
            let user = viewer.user.clone();
            request.extensions_mut().insert(viewer);
            answer_in_place(&dashboard, &user, request, next).await
        }
        Err(error) => {
            let is_unknown = error.status() == StatusCode::UNAUTHORIZED;
            let mut response = error.into_response();
            if is_unknown {
                // The page asks its user for a token of the hub.
                let bearer = match &dashboard.settings().access {
                    Access::Own(_) => "Bearer",
                    Access::Reviewed(_) => "Bearer realm=\"hub\"",
                };
                let bearer = HeaderValue::from_static(bearer);
                response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            }
            response
        }
    }
}

/// Answers a request from one of the places of its user, which it keeps until the answer is sent. Who follows changes has a place of another
/// kind.
async fn answer_in_place(dashboard: &Dashboard, user: &str, request: Request, next: Next) -> Response {
    let place = match dashboard.answering().enter(user).await {
        Ok(place) => place,
        Err(error) => return error.into_response(),
    };
    let speed = dashboard.settings().speed;
    let deadline = Instant::now() + BODY_WITHIN * speed;
    let response = next.run(request.map(|body| until(deadline, body))).await;
    let follows =
        response.headers().get(header::CONTENT_TYPE) == Some(&HeaderValue::from_static(EVENT_STREAM));
    if follows {
        return response;
    }
    response.map(|body| place.until_sent(body, SENT_WITHIN * speed))
}

/// What has come of a body until then; after that it ends with an error.
fn until(deadline: Instant, body: Body) -> Body {
    let parts = stream::unfold(Some(body.into_data_stream()), move |body| async move {
        let mut body = body?;
        let Ok(part) = timeout_at(deadline, body.next()).await else {
            let late = io::Error::new(io::ErrorKind::TimedOut, "the request has not come in time");
            return Some((Err(late), None));
        };
        Some((part?.map_err(io::Error::other), Some(body)))
    });
    Body::from_stream(parts)
}
