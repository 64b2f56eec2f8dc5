//! One of the two API servers.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use kube::Config;
use kube::client::ConfigExt;
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, ServiceExt};

use super::Answer;

/// How long one request may take.
const TIMEOUT: Duration = Duration::from_secs(40);

type Body = UnsyncBoxBody<Bytes, Infallible>;
type Service =
    BoxCloneSyncService<http::Request<Body>, http::Response<hyper::body::Incoming>, tower::BoxError>;

/// A request's body comes in pieces, with a pause before each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slowly;

/// Into how many pieces, and how long the pauses are.
const PIECES: usize = 6;
const PAUSE: Duration = Duration::from_millis(200);

fn with_body(request: http::Request<Bytes>) -> http::Request<Body> {
    if request.extensions().get::<Slowly>().is_none() {
        return request.map(|body| Full::new(body).boxed_unsync());
    }
    request.map(|body| {
        let size = body.len().div_ceil(PIECES).max(1);
        let pieces: Vec<Bytes> = body.chunks(size).map(Bytes::copy_from_slice).collect();
        let frames = stream::iter(pieces).then(|piece| async {
            tokio::time::sleep(PAUSE).await;
            Ok(Frame::data(piece))
        });
        StreamBody::new(frames).boxed_unsync()
    })
}

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
            .build::<_, Body>(connector);
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
                .oneshot(with_body(request))
                .await
                .map_err(|error| anyhow::anyhow!("{error}"))?;
            let (head, body) = response.into_parts();
            let body = body.collect().await?.to_bytes();
            anyhow::Ok((head, body))
        };
        let (head, body) = tokio::time::timeout(TIMEOUT, exchange)
            .await
            .with_context(|| format!("{what}: no answer within {TIMEOUT:?}"))?
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
