//! One of the two API servers.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use kube::Config;
use kube::client::ConfigExt;
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt};

use super::Answer;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(40);

type Service =
    BoxCloneSyncService<http::Request<Full<Bytes>>, http::Response<hyper::body::Incoming>, tower::BoxError>;

/// An API server over its socket, without anything between that retries, decompresses or interprets.
#[derive(Clone)]
pub struct Target {
    service: Service,
}

impl Target {
    /// The server of a kubeconfig's current context.
    ///
    /// # Errors
    /// If its certificates or credentials cannot be used.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let connector = config.rustls_https_connector()?;
        let client = hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new())
            .build::<_, Full<Bytes>>(connector);
        let auth = config.auth_layer()?;
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(auth)
            .map_err(tower::BoxError::from)
            .service(client);
        Ok(Self {
            service: BoxCloneSyncService::new(service),
        })
    }

    /// Sends a request and reads the whole answer; `is_stream` for a watch.
    ///
    /// # Errors
    /// If there is no answer.
    pub async fn send(&self, request: http::Request<Bytes>, is_stream: bool) -> anyhow::Result<Answer> {
        let what = format!("{} {}", request.method(), request.uri());
        let exchange = async {
            let response = self
                .service
                .clone()
                .oneshot(request.map(Full::new))
                .await
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            anyhow::Ok((head, body))
        };
        let (head, body) = tokio::time::timeout(PATIENCE, exchange)
            .await
            .with_context(|| format!("{what}: no answer within {PATIENCE:?}"))?
            .with_context(|| what.clone())?;
        let body = match head.headers.get(http::header::CONTENT_ENCODING) {
            Some(encoding) if encoding == "gzip" => {
                let mut text = Vec::new();
                std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&body[..]), &mut text)
                    .with_context(|| format!("{what}: decompressing the answer"))?;
                text
            }
            _ => body.to_vec(),
        };
        Ok(Answer::of(&head, &String::from_utf8_lossy(&body), is_stream))
    }
}
