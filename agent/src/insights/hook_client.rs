//! The hooks of informers over HTTP (insights.md, section 1.3): bounded in time and size, JSON only, no redirects, and only with who has the
//! certificate of the service.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use drydock_api::insights::UpdateInformer;
use drydock_api::insights::hooks::{self, Hook, InsightsRequest, InsightsRequestSpec};
use drydock_insights::InformerName;
use drydock_insights::hooks::{Answer, Discovery, discovery, response};
use drydock_insights::online::{ContactFailure, FailureKind};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, StatusCode};
use jiff::Timestamp;
use kube::ResourceExt;

use super::authority::Authorities;
use crate::http::{Answer as HttpAnswer, Exchange, HttpError, Limits, Network, send};

/// The most bytes of an answer.
const MAX_BYTES: usize = 2 << 20;
/// How long an informer may have for an answer, in seconds, whatever an object says that no rule has looked at.
const SECONDS: std::ops::RangeInclusive<i32> = 1..=30;
const JSON: &str = "application/json";

/// Asks informers.
pub(super) struct HookClient {
    network: Network,
    authorities: Authorities,
    /// The way to each informer, with the authorities that it was made with.
    ways: Mutex<BTreeMap<String, (Vec<u8>, Exchange)>>,
}

impl HookClient {
    pub fn new(network: Network, authorities: Authorities) -> Self {
        Self {
            network,
            authorities,
            ways: Mutex::default(),
        }
    }

    /// Asks what an informer can do.
    ///
    /// # Errors
    /// If it gives no good answer.
    pub async fn discover(&self, informer: &UpdateInformer) -> Result<Discovery, ContactFailure> {
        let answer = self
            .call(
                informer,
                Hook::Discovery,
                &[Method::GET, Method::POST],
                Bytes::new(),
            )
            .await?;
        discovery(&answer.body).map_err(|error| failure(FailureKind::InvalidResponse, error.to_string()))
    }

    /// Asks what an informer knows.
    ///
    /// # Errors
    /// If it gives no good answer.
    pub async fn insights(
        &self,
        informer: &UpdateInformer,
        name: &InformerName,
        hook: Hook,
        question: InsightsRequestSpec,
        now: Timestamp,
    ) -> Result<Answer, ContactFailure> {
        let invalid = |error: String| failure(FailureKind::InvalidResponse, error);
        let request = InsightsRequest::new(hook, question);
        let body = serde_json::to_vec(&request).map_err(|error| invalid(error.to_string()))?;
        // The document has GET with a body for one of them, which many HTTP stacks refuse.
        let methods = [Method::POST, Method::GET];
        let answer = self.call(informer, hook, &methods, body.into()).await?;
        response(name, hook, &answer.body, now).map_err(|error| invalid(error.to_string()))
    }

    /// Asks by the first method, and by the next where that is not allowed.
    async fn call(
        &self,
        informer: &UpdateInformer,
        hook: Hook,
        methods: &[Method],
        body: Bytes,
    ) -> Result<HttpAnswer, ContactFailure> {
        let exchange = self.way(informer).await?;
        let seconds = informer
            .spec
            .timeout_seconds
            .clamp(*SECONDS.start(), *SECONDS.end());
        let limits = Limits {
            time: Duration::from_secs(seconds.unsigned_abs().into()),
            bytes: MAX_BYTES,
        };
        let uri = uri(informer, hook);
        let mut refused = None;
        for method in methods {
            let request = request(method, &uri, body.clone())?;
            let answer = send(&exchange, request, limits)
                .await
                .map_err(|error| of_http(&error))?;
            match answer.status {
                StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND if refused.is_none() => {
                    refused = Some(answer);
                }
                _ => return good(answer),
            }
        }
        match refused {
            Some(answer) => good(answer),
            None => Err(failure(
                FailureKind::ConnectionFailed,
                "no method is left to try".to_owned(),
            )),
        }
    }

    /// The way to an informer, made anew when its authorities have changed.
    async fn way(&self, informer: &UpdateInformer) -> Result<Exchange, ContactFailure> {
        let unavailable = |error: String| failure(FailureKind::CAUnavailable, error);
        let authorities = self.authorities.of(informer).await;
        let authorities = authorities.map_err(|error| unavailable(error.to_string()))?;
        let name = informer.name_any();
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, exchange)) = ways.get(&name)
            && *known == authorities
        {
            return Ok(exchange.clone());
        }
        let exchange = self.network.exchange(Some(&authorities));
        let exchange = exchange.map_err(|error| unavailable(error.to_string()))?;
        ways.insert(name, (authorities, exchange.clone()));
        Ok(exchange)
    }

    /// Forgets the ways to informers that are gone.
    pub fn retain(&self, is_there: impl Fn(&str) -> bool) {
        let mut ways = self.ways.lock().unwrap_or_else(PoisonError::into_inner);
        ways.retain(|name, _| is_there(name));
    }
}

/// The address of a hook. The certificate has to be valid for its host.
fn uri(informer: &UpdateInformer, hook: Hook) -> String {
    let service = &informer.spec.client_config.service;
    let prefix = service.path.as_deref().unwrap_or_default().trim_end_matches('/');
    let (name, namespace, port) = (&service.name, &service.namespace, service.port);
    format!(
        "https://{name}.{namespace}.svc:{port}{prefix}{}",
        hooks::path(hook)
    )
}

fn request(method: &Method, uri: &str, body: Bytes) -> Result<Request<Bytes>, ContactFailure> {
    let mut request = Request::builder()
        .method(method.clone())
        .uri(uri)
        .header(ACCEPT, JSON);
    if !body.is_empty() {
        request = request.header(CONTENT_TYPE, JSON);
    }
    let request = request.body(body);
    request.map_err(|error| {
        failure(
            FailureKind::ConnectionFailed,
            format!("{uri} is not an address: {error}"),
        )
    })
}

/// An answer of success that is JSON.
fn good(answer: HttpAnswer) -> Result<HttpAnswer, ContactFailure> {
    if answer.status.is_redirection() {
        let message = format!(
            "{} answers {}: redirects are not followed",
            answer.target, answer.status
        );
        return Err(failure(FailureKind::DiscoveryFailed, message));
    }
    let answer = answer.success().map_err(|error| of_http(&error))?;
    let content = answer
        .headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    if content.is_some_and(|content| !content.contains("json")) {
        let error = answer.malformed("it is not application/json");
        return Err(of_http(&error));
    }
    Ok(answer)
}

fn failure(kind: FailureKind, message: String) -> ContactFailure {
    ContactFailure { kind, message }
}

fn of_http(error: &HttpError) -> ContactFailure {
    let kind = match error {
        HttpError::TooSlow { .. } => FailureKind::Timeout,
        HttpError::TooLarge { .. } | HttpError::Malformed { .. } => FailureKind::InvalidResponse,
        HttpError::Unreachable { .. } => FailureKind::ConnectionFailed,
        HttpError::Untrusted { .. } => FailureKind::TLSVerificationFailed,
        HttpError::Refused { .. } => FailureKind::DiscoveryFailed,
    };
    failure(kind, error.to_string())
}

#[cfg(test)]
mod tests;
