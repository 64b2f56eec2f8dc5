//! Where requests go: to the network of the machine, or to a service in this process.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use thiserror::Error;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, service_fn};

/// How long a connection may take, with what its proxy and TLS need of it.
const CONNECT: Duration = Duration::from_secs(30);

/// The body of an answer.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Answers requests.
pub type Exchange = BoxCloneSyncService<Request<Bytes>, Response<Body>, BoxError>;

/// Why nothing can be sent.
#[derive(Debug, Error)]
#[error("making ready to connect with TLS: {0}")]
pub struct NetworkError(#[from] reqwest::Error);

/// The network.
#[derive(Clone)]
pub enum Network {
    /// The machine's. `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` are honoured; redirects are not followed.
    Machine(Arc<OnceLock<Exchange>>),
    /// A service in this process, whatever the address.
    InProcess(Exchange),
}

impl std::fmt::Debug for Network {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Machine(_) => "Machine",
            Self::InProcess(_) => "InProcess",
        })
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::Machine(Arc::default())
    }
}

impl Network {
    /// A network in this process.
    pub fn in_process<S, B>(service: S) -> Self
    where
        S: tower::Service<Request<Bytes>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        use tower::ServiceExt;
        let service = service
            .map_response(|response: Response<B>| {
                response.map(|body| body.map_err(Into::into).boxed_unsync())
            })
            .map_err(Into::into);
        Self::InProcess(BoxCloneSyncService::new(service))
    }

    /// A way to servers that these authorities (PEM) have signed, or that the machine trusts if none are given.
    ///
    /// # Errors
    /// If the authorities cannot be read.
    pub(crate) fn exchange(&self, authorities: Option<&[u8]>) -> Result<Exchange, NetworkError> {
        match (self, authorities) {
            (Self::InProcess(exchange), _) => Ok(exchange.clone()),
            (Self::Machine(_), Some(_)) => connect(authorities),
            // Who trusts what the machine trusts shares its connections.
            (Self::Machine(shared), None) => {
                if let Some(exchange) = shared.get() {
                    return Ok(exchange.clone());
                }
                let exchange = connect(None)?;
                Ok(shared.get_or_init(|| exchange).clone())
            }
        }
    }
}

/// A way through the machine's network.
fn connect(authorities: Option<&[u8]>) -> Result<Exchange, NetworkError> {
    // reqwest takes the cryptography of the process; that another part has chosen it before is as good.
    let _chosen = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("drydock-agent/", env!("CARGO_PKG_VERSION")));
    if let Some(authorities) = authorities {
        builder = builder.tls_certs_only(reqwest::Certificate::from_pem_bundle(authorities)?);
    }
    let client = builder.build()?;
    Ok(BoxCloneSyncService::new(service_fn(
        move |request: Request<Bytes>| {
            let client = client.clone();
            async move {
                let request = reqwest::Request::try_from(request)?;
                let response: Response<reqwest::Body> = client.execute(request).await?.into();
                Ok::<_, BoxError>(response.map(|body| body.map_err(Into::into).boxed_unsync()))
            }
        },
    )))
}
