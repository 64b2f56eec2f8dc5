//! The monitoring of a simulated cluster, as Prometheus and Alertmanager serve it: alerts follow from the cluster's objects at
//! the moment of the question, silences are kept in memory.

mod alert;
mod alertmanager;
mod matcher;
mod objects;
mod prometheus;
mod query;
mod rules;
pub mod services;
mod silence;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::http::StatusCode;
use kube_sandbox::Clock;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use alert::Alert;
use kube_sandbox::access::{Access, AccessError};
use kube_sandbox::http::ListenError;
use objects::Objects;
use silence::Silences;

/// Serves the monitoring of clusters on `listener`, which must be a loopback address, each below its name, until `shutdown`.
///
/// # Errors
/// If the address is not loopback, or accepting fails.
pub async fn serve(
    clusters: &BTreeMap<String, Monitoring>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> Result<(), ListenError> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(ListenError::NotLoopback(address));
    }
    let router = clusters.iter().fold(Router::new(), |router, (name, cluster)| {
        router.nest(&format!("/{name}"), cluster.router())
    });
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await?;
    Ok(())
}

/// How the two services answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResponseMode {
    /// As they should.
    #[default]
    Whole,
    /// Every request fails with this status.
    Failing(StatusCode),
    /// With something that is no JSON.
    Garbled,
}

/// The monitoring of one cluster. Cheap to clone; all clones answer alike.
#[derive(Clone)]
pub struct Monitoring {
    access: Access,
    clock: Clock,
    silences: Arc<Mutex<Silences>>,
    response_mode: Arc<Mutex<ResponseMode>>,
}

impl Monitoring {
    /// The monitoring of the cluster `name`, whose API server is behind `access`.
    pub fn new(name: &str, access: Access, clock: Clock) -> Self {
        Self {
            access,
            clock,
            silences: Arc::new(Mutex::new(Silences::new(name))),
            response_mode: Arc::default(),
        }
    }

    /// How it answers from now on.
    pub fn set_response_mode(&self, response_mode: ResponseMode) {
        *self.response_mode.lock().unwrap_or_else(PoisonError::into_inner) = response_mode;
    }

    fn response_mode(&self) -> ResponseMode {
        *self.response_mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn silences(&self) -> MutexGuard<'_, Silences> {
        self.silences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is pending or fires at this moment.
    async fn alerts(&self) -> Result<Vec<Alert>, AccessError> {
        let objects = Objects::read(&self.access).await?;
        Ok(rules::alerts(&objects, self.clock.now()))
    }

    /// Prometheus' paths below `/prometheus`, Alertmanager's below `/alertmanager`.
    pub fn router(&self) -> Router {
        Router::new()
            .nest("/prometheus", self.prometheus())
            .nest("/alertmanager", self.alertmanager())
    }

    /// Prometheus' paths.
    pub fn prometheus(&self) -> Router {
        prometheus::router(self.clone())
    }

    /// Alertmanager's paths.
    pub fn alertmanager(&self) -> Router {
        alertmanager::router(self.clone())
    }
}
