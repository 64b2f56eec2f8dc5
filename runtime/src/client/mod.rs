//! The client stack: the same in production and in the sandbox.
//!
//! From the outside in: retry (GET and LIST only), a time limit an attempt (not for watches), metrics, and innermost a
//! limit of requests at once, so that a request that waits to be retried does not count against it.

mod metrics;
mod request;
mod retry;
mod time_limit;

use std::time::Duration;

use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use thiserror::Error;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::retry::RetryLayer;
use tower::{BoxError, Service, ServiceBuilder};

pub use metrics::RequestMetrics;
pub use request::{RequestKind, Verb};

use crate::leader::{Leadership, leader_only_writes};
use crate::server_time::ServerTime;
use metrics::MetricsLayer;
use retry::ReadRetry;
use time_limit::TimeLimitLayer;

/// Requests under way at once: each is a connection, since the API is spoken over HTTP/1.1.
const REQUESTS_AT_ONCE: usize = 32;
/// How long one attempt of a request that is not a watch may take until its answer begins.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Why no client could be made.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Neither a kubeconfig nor a service account was usable.
    #[error(
        "finding out how to reach the API server: give --kubeconfig, set KUBECONFIG, or run inside a cluster"
    )]
    Config(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The configuration was read, but no connection can be built from it.
    #[error("building a client for {url}: check certificates and credentials of the kubeconfig")]
    Build {
        /// The API server's address.
        url: String,
        /// What went wrong.
        #[source]
        source: Box<kube::Error>,
    },
}

/// A client by a kubeconfig file, or, without one, by what the environment offers (KUBECONFIG, service account).
///
/// # Errors
/// If no configuration is found or it cannot be used.
pub async fn from_environment(
    kubeconfig: Option<&std::path::Path>,
    user_agent: &str,
    metrics: &RequestMetrics,
) -> Result<Client, ClientError> {
    from_config(config_from_environment(kubeconfig, user_agent).await?, metrics)
}

/// How to reach the API server by a kubeconfig file, or, without one, by what the environment offers.
///
/// # Errors
/// If no configuration is found.
pub async fn config_from_environment(
    kubeconfig: Option<&std::path::Path>,
    user_agent: &str,
) -> Result<Config, ClientError> {
    let mut config = match kubeconfig {
        Some(path) => {
            let file =
                kube::config::Kubeconfig::read_from(path).map_err(|e| ClientError::Config(e.into()))?;
            Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default())
                .await
                .map_err(|e| ClientError::Config(e.into()))?
        }
        None => Config::infer().await.map_err(|e| ClientError::Config(e.into()))?,
    };
    if let Ok(agent) = http::HeaderValue::from_str(user_agent) {
        config.headers.push((http::header::USER_AGENT, agent));
    }
    Ok(config)
}

/// A client of the API server that `config` names.
///
/// # Errors
/// If the configuration's certificates or credentials cannot be used.
pub fn from_config(config: Config, metrics: &RequestMetrics) -> Result<Client, ClientError> {
    let namespace = config.default_namespace.clone();
    Ok(from_service(transport(config)?, &namespace, metrics))
}

/// A client of the API server that `config` names, whose answers give `time` the time of the server.
///
/// # Errors
/// If the configuration's certificates or credentials cannot be used.
pub fn from_config_with_server_time(
    config: Config,
    metrics: &RequestMetrics,
    time: &ServerTime,
) -> Result<Client, ClientError> {
    let namespace = config.default_namespace.clone();
    let transport = time.reading(transport(config)?);
    Ok(from_service(transport, &namespace, metrics))
}

/// The same, with writes that need leadership.
///
/// # Errors
/// If the configuration's certificates or credentials cannot be used.
pub fn from_config_for_leader(
    config: Config,
    metrics: &RequestMetrics,
    time: &ServerTime,
    leadership: Leadership,
) -> Result<Client, ClientError> {
    let namespace = config.default_namespace.clone();
    let transport = leader_only_writes(time.reading(transport(config)?), leadership);
    Ok(from_service(transport, &namespace, metrics))
}

/// What carries requests to the API server that `config` names.
fn transport(
    mut config: Config,
) -> Result<
    impl Service<Request<Body>, Response = Response<Body>, Error = kube::Error, Future: Send + 'static>
    + Clone
    + Send
    + 'static,
    ClientError,
> {
    // kube's own retry repeats POST and eviction too, for minutes.
    config.default_retry = false;
    let url = config.cluster_url.to_string();
    let bare = ClientBuilder::try_from(config)
        .map_err(|source| ClientError::Build {
            url,
            source: Box::new(source),
        })?
        .build();
    // ClientBuilder keeps its service to itself, so the bare client is the transport.
    Ok(tower::service_fn(move |request| {
        let bare = bare.clone();
        async move { bare.send(request).await }
    }))
}

/// A client over any transport, for example the sandbox's API server. Must be called inside a tokio runtime.
pub fn from_service<S, B>(transport: S, default_namespace: &str, metrics: &RequestMetrics) -> Client
where
    S: Service<Request<Body>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + Send + Sync,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let stack = ServiceBuilder::new()
        .layer(RetryLayer::new(ReadRetry::default()))
        .layer(TimeLimitLayer::new(TIME_LIMIT))
        .layer(MetricsLayer::new(metrics.clone()))
        .layer(GlobalConcurrencyLimitLayer::new(REQUESTS_AT_ONCE))
        .map_err(Into::<BoxError>::into)
        .service(transport);
    Client::new(stack, default_namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::Api;
    use kube::api::{ListParams, PostParams};
    use std::collections::VecDeque;
    use std::sync::{Arc, Mutex};

    /// A server that gives these answers, one a request, and then never answers again.
    fn scripted(answers: &[(u16, &str)]) -> (Client, RequestMetrics) {
        let answers: VecDeque<(u16, String)> = answers
            .iter()
            .map(|(code, after)| (*code, (*after).to_owned()))
            .collect();
        let answers = Arc::new(Mutex::new(answers));
        let transport = tower::service_fn(move |_: Request<Body>| {
            let next = answers.lock().expect("not poisoned").pop_front();
            async move {
                let Some((code, after)) = next else {
                    return std::future::pending().await;
                };
                let text = if code == 200 {
                    r#"{"metadata":{"name":"a","resourceVersion":"1"},"items":[]}"#.to_owned()
                } else {
                    format!(
                        r#"{{"kind":"Status","status":"Failure","code":{code},"message":"no","reason":""}}"#
                    )
                };
                let mut response = Response::builder().status(code);
                if !after.is_empty() {
                    response = response.header("retry-after", after);
                }
                Ok::<_, BoxError>(response.body(Body::from(text.into_bytes())).expect("a response"))
            }
        });
        let metrics = RequestMetrics::register(&prometheus::Registry::new()).expect("a new registry");
        (from_service(transport, "default", &metrics), metrics)
    }

    #[tokio::test(start_paused = true)]
    async fn reads_are_sent_again_and_follow_retry_after() {
        let (client, metrics) = scripted(&[(429, "3"), (503, ""), (200, "")]);
        let begun = tokio::time::Instant::now();
        Api::<ConfigMap>::namespaced(client, "default")
            .list(&ListParams::default())
            .await
            .expect("the third answer");
        assert!(
            begun.elapsed() >= Duration::from_secs(3),
            "Retry-After is followed"
        );
        assert_eq!(metrics.count(Verb::List, "configmaps"), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn writes_are_never_sent_twice() {
        let (client, metrics) = scripted(&[(503, ""), (200, "")]);
        let api = Api::<ConfigMap>::namespaced(client, "default");
        api.create(&PostParams::default(), &ConfigMap::default())
            .await
            .expect_err("the first answer counts");
        assert_eq!(metrics.count(Verb::Create, "configmaps"), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_never_answers_ends_in_an_error() {
        let (client, metrics) = scripted(&[]);
        let error = Api::<ConfigMap>::namespaced(client, "default")
            .get("a")
            .await
            .expect_err("no answer");
        let kube::Error::Service(source) = error else {
            panic!("not an error of the stack: {error}")
        };
        assert_eq!(
            source.to_string(),
            "get configmaps: no answer from the API server within 30 s"
        );
        assert_eq!(metrics.count(Verb::Get, "configmaps"), 5);
    }
}
