//! Users of the hub: who a token is of, and what that user may do, as the API server says it. An answer counts for a minute at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use drydock_runtime::Clock;
use futures::{StreamExt, TryStreamExt, stream};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{SubjectAccessReview, SubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Semaphore;

use super::impersonation;
use super::right::Right;
use super::scope::Scope;
use crate::error::ApiError;

/// How long an answer of the API server counts at most.
pub(super) const COUNTS_FOR: SignedDuration = SignedDuration::from_mins(1);
/// The longest token that is reviewed, in bytes.
const LONGEST_TOKEN: usize = 16 << 10;
/// How many tokens are reviewed at a time: anybody may ask, with any token. As many again that were known lately.
const REVIEWS_AT_A_TIME: usize = 8;
/// How many requests wait for that: each takes memory, and anybody may send them.
const MOST_WAITING: usize = 256;
/// How long a token is remembered as known; what the API server has said of it counts for a minute.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_mins(10);
/// How many users are remembered.
const MOST_USERS: usize = 1024;
/// How many decisions are remembered of a user: namespaces are named by who asks.
const MOST_DECISIONS: usize = 4096;
/// Of how much that pages of a user have read it is asked again whether it may be read.
const MOST_READ: usize = 1024;
/// How many namespaces a user is asked about at a time.
const NAMESPACES_AT_A_TIME: usize = 8;

/// Who uses the page of a hub. Clones share what is known.
#[derive(Clone)]
pub struct Reviews(Arc<Shared>);

struct Shared {
    client: Client,
    clock: Clock,
    may_act: bool,
    reviewed: Mutex<HashMap<Digest, Arc<Reviewed>>>,
    strangers: Queue,
    known: Queue,
}

/// Requests whose tokens are reviewed, and those that wait for it.
struct Queue {
    places: Semaphore,
    waiting: Semaphore,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            places: Semaphore::new(REVIEWS_AT_A_TIME),
            waiting: Semaphore::new(MOST_WAITING),
        }
    }
}

/// The SHA-256 of a token.
type Digest = [u8; 32];

/// A right in a namespace, or in all.
type Asked = (Right, Option<String>);

/// What a user may read of what is in no scope, as far as it was asked for.
type Reads = BTreeSet<Asked>;

/// Whether a user has a right, or why not, in words.
type Decision = Result<(), String>;

/// What the API server has said of a user.
pub(super) struct Reviewed {
    pub user: UserInfo,
    at: Timestamp,
    decisions: Mutex<BTreeMap<Asked, Decision>>,
    /// What the user was allowed to read when this was asked before: pages may show it.
    read_before: Reads,
    /// How often such a right had been lost then.
    lost_before: usize,
}

impl Reviews {
    /// Asks by `client`, which has the rights to create TokenReviews and SubjectAccessReviews. Where users may act, it impersonates them.
    pub fn new(client: Client, clock: Clock, may_act: bool) -> Self {
        Self(Arc::new(Shared {
            client,
            clock,
            may_act,
            reviewed: Mutex::default(),
            strangers: Queue::default(),
            known: Queue::default(),
        }))
    }

    /// Whether users may change anything here.
    pub(super) fn may_act(&self) -> bool {
        self.0.may_act
    }

    /// The client of the server itself.
    pub(super) fn client(&self) -> &Client {
        &self.0.client
    }

    /// Whose a token is, by an answer that is younger than `within`. So are those about the rights of the user that is returned: they
    /// are asked for later.
    ///
    /// # Errors
    /// If it is nobody's, or the API server does not say.
    pub(super) async fn user(&self, token: &str, within: SignedDuration) -> Result<Arc<Reviewed>, ApiError> {
        if token.is_empty() || token.len() > LONGEST_TOKEN {
            return Err(unknown());
        }
        let digest = digest(token);
        if let Some(known) = self.known(&digest, within) {
            return Ok(known);
        }
        let before = self.reviewed().get(&digest).cloned();
        // Strangers do not take the places of those who were known lately.
        let queue = match &before {
            Some(_) => &self.0.known,
            None => &self.0.strangers,
        };
        let _waits = queue.waiting.try_acquire().map_err(|_| {
            ApiError::unavailable("too many tokens wait to be reviewed: try again in a moment")
        })?;
        let _place = queue.places.acquire().await;
        // Many requests may have come at once with one token.
        if let Some(known) = self.known(&digest, within) {
            return Ok(known);
        }
        let now = self.0.clock.now();
        let reviewed = self.review(token).await;
        if reviewed.is_err() {
            // Who is not known any more is not known to other requests either.
            self.reviewed().remove(&digest);
        }
        let user = reviewed?;
        let reviewed = Arc::new(Reviewed {
            user,
            at: now,
            decisions: Mutex::default(),
            lost_before: before.as_ref().map(|before| before.lost()).unwrap_or_default(),
            read_before: before.map(|before| before.read()).unwrap_or_default(),
        });
        let mut all = self.reviewed();
        all.retain(|_, known| counts(known, REMEMBERED_FOR, now));
        if all.len() >= MOST_USERS {
            all.retain(|_, known| counts(known, COUNTS_FOR, now));
        }
        if all.len() < MOST_USERS || all.contains_key(&digest) {
            all.insert(digest, Arc::clone(&reviewed));
        }
        Ok(reviewed)
    }

    fn reviewed(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Reviewed>>> {
        self.0.reviewed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who was found lately to have a token.
    fn known(&self, digest: &Digest, within: SignedDuration) -> Option<Arc<Reviewed>> {
        let now = self.0.clock.now();
        let known = self.reviewed().get(digest).cloned();
        known.filter(|known| counts(known, within, now))
    }

    async fn review(&self, token: &str) -> Result<UserInfo, ApiError> {
        let api: Api<TokenReview> = Api::all(self.0.client.clone());
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: Some(token.to_owned()),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let answer = api.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| unavailable("reviewing your token", &error))?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        user.filter(|user| user.username.as_ref().is_some_and(|name| !name.is_empty()))
            .ok_or_else(unknown)
    }

    /// Goes on if the user has a right, in a namespace or in all.
    ///
    /// # Errors
    /// If it has not, or the API server does not say.
    pub(super) async fn require(
        &self,
        user: &Reviewed,
        right: Right,
        namespace: Option<&str>,
    ) -> Result<(), ApiError> {
        let asked = (right, namespace.map(str::to_owned));
        let known = user.decisions().get(&asked).cloned();
        let decision = if let Some(decision) = known {
            decision
        } else {
            let decision = self.decide(&user.user, right, namespace).await?;
            let mut decisions = user.decisions();
            if decisions.len() < MOST_DECISIONS {
                decisions.insert(asked, decision.clone());
            }
            decision
        };
        decision.map_err(|why| ApiError::new(StatusCode::FORBIDDEN, why))
    }

    async fn decide(
        &self,
        user: &UserInfo,
        right: Right,
        namespace: Option<&str>,
    ) -> Result<Decision, ApiError> {
        let api: Api<SubjectAccessReview> = Api::all(self.0.client.clone());
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username.clone(),
                uid: user.uid.clone(),
                groups: user.groups.clone(),
                extra: user.extra.clone(),
                resource_attributes: Some(right.attributes(namespace)),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        let answer = api.create(&PostParams::default(), &review).await;
        let answer = answer.map_err(|error| unavailable("asking what you may do", &error))?;
        let is_allowed = answer.status.is_some_and(|status| status.allowed);
        let place = namespace.map_or_else(
            || "in all namespaces".to_owned(),
            |namespace| format!("in namespace {namespace}"),
        );
        let Right { verb, resource, .. } = right;
        let name = user.username.as_deref().unwrap_or_default();
        Ok(is_allowed
            .then_some(())
            .ok_or_else(|| format!("{name} may not {verb} {resource} {place}")))
    }

    /// How often a right to what was read for a user has been lost, by what the API server says now.
    ///
    /// # Errors
    /// If it does not say.
    pub(super) async fn lost(&self, user: &Reviewed) -> Result<usize, ApiError> {
        for (right, namespace) in &user.read_before {
            self.may(user, *right, namespace.as_deref()).await?;
        }
        Ok(user.lost())
    }

    /// Which of the namespaces that have upgrades a user may see. `namespaces` is asked only where not all may be seen.
    ///
    /// # Errors
    /// If the API server does not say.
    pub(super) async fn scope(
        &self,
        user: &Reviewed,
        namespaces: impl FnOnce() -> Result<BTreeSet<String>, ApiError>,
    ) -> Result<Scope, ApiError> {
        let all_clusters = self.may(user, Right::LIST_CLUSTERS, None).await?;
        if self.may(user, Right::LIST_UPGRADES, None).await? {
            return Ok(Scope {
                namespaces: None,
                all_clusters,
                own_namespace: None,
            });
        }
        let shown: Vec<Option<String>> = stream::iter(namespaces()?)
            .map(|namespace| async move {
                let may = self.may(user, Right::LIST_UPGRADES, Some(&namespace)).await?;
                Ok::<_, ApiError>(may.then_some(namespace))
            })
            .buffered(NAMESPACES_AT_A_TIME)
            .try_collect()
            .await?;
        Ok(Scope {
            namespaces: Some(shown.into_iter().flatten().collect()),
            all_clusters,
            own_namespace: None,
        })
    }

    async fn may(&self, user: &Reviewed, right: Right, namespace: Option<&str>) -> Result<bool, ApiError> {
        match self.require(user, right, namespace).await {
            Ok(()) => Ok(true),
            Err(error) if error.status() == StatusCode::FORBIDDEN => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A client that acts as the user.
    ///
    /// # Errors
    /// If the user cannot be named in a header.
    pub(super) fn acting_as(&self, user: &Reviewed) -> Result<Client, ApiError> {
        impersonation::client_of(&user.user, &self.0.client)
            .map_err(|error| ApiError::new(StatusCode::FORBIDDEN, error.to_string()))
    }
}

impl Reviewed {
    /// What the user may read of what is in no scope, as far as it was asked for, now or before.
    fn read(&self) -> Reads {
        let decisions = self.decisions();
        let denied = |asked: &Asked| is_denied(&decisions, asked);
        let granted = decisions.iter().filter(|(_, decision)| decision.is_ok());
        let granted = granted.map(|(asked, _)| asked).chain(&self.read_before);
        let read = granted.filter(|asked| Right::READ_ON_DEMAND.contains(&asked.0) && !denied(asked));
        read.take(MOST_READ).cloned().collect()
    }

    /// How often a right to what was read has been lost, as far as it was asked for.
    fn lost(&self) -> usize {
        let decisions = self.decisions();
        let lost = self
            .read_before
            .iter()
            .filter(|asked| is_denied(&decisions, asked));
        self.lost_before + lost.count()
    }

    fn decisions(&self) -> MutexGuard<'_, BTreeMap<Asked, Decision>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_denied(decisions: &BTreeMap<Asked, Decision>, asked: &Asked) -> bool {
    decisions.get(asked).is_some_and(Result::is_err)
}

fn counts(known: &Reviewed, within: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(known.at) < within
}

fn digest(token: &str) -> Digest {
    let digest = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}

fn unknown() -> ApiError {
    ApiError::new(
        StatusCode::UNAUTHORIZED,
        "the API server does not know this token: sign in with another one",
    )
}

/// The server's own rights are no matter of who looks.
fn unavailable(doing: &str, error: &kube::Error) -> ApiError {
    let why = match error {
        kube::Error::Api(refusal) => refusal.message.clone(),
        error => error.to_string(),
    };
    ApiError::unavailable(format!("{doing}: {why}"))
}
