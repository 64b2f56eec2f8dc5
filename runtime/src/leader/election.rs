//! Getting the lease, and keeping it.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::Leadership;
use crate::Clock;

/// Which lease, whose, and how long it lasts. The durations are client-go's.
#[derive(Clone, Debug)]
pub struct LeaseSettings {
    /// The lease's namespace.
    pub namespace: String,
    /// The lease's name.
    pub name: String,
    /// Who we are: no two replicas may have the same.
    pub identity: String,
    /// How long a lease lasts that nobody renews.
    pub duration: Duration,
    /// How long its holder continues without a renewal that succeeds: less than `duration`.
    pub renew_deadline: Duration,
    /// How often it is renewed, or looked at.
    pub retry_period: Duration,
}

impl LeaseSettings {
    /// The usual durations: 15 s, 10 s and 2 s.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// The lease was lost: the process must end, so that nothing of what it was about to do is done.
#[derive(Debug, Error)]
pub enum ElectionError {
    /// Another replica has it.
    #[error("the lease {lease} was taken over by {holder}: this replica restarts")]
    TakenOver {
        /// Which lease.
        lease: String,
        /// Who holds it.
        holder: String,
    },
    /// It could not be renewed in time.
    #[error("the lease {lease} could not be renewed in time: this replica restarts")]
    NotRenewed {
        /// Which lease.
        lease: String,
    },
}

/// The lease as it was last read, and since when it has been so by our own clock.
struct ObservedLease {
    version: Option<String>,
    since: Instant,
}

/// One replica's part in the election.
pub struct Election {
    leases: Api<Lease>,
    settings: LeaseSettings,
    clock: Clock,
    leadership: Leadership,
}

impl Election {
    /// A candidate. `client` must not be guarded by `leadership`.
    pub fn new(client: Client, settings: LeaseSettings, clock: Clock, leadership: Leadership) -> Self {
        Self {
            leases: Api::namespaced(client, &settings.namespace),
            settings,
            clock,
            leadership,
        }
    }

    /// Waits for the lease, cancels `leading` once it is held, and keeps it until `shutdown`.
    ///
    /// # Errors
    /// If the lease is lost.
    pub async fn run(
        &self,
        leading: CancellationToken,
        shutdown: CancellationToken,
    ) -> Result<(), ElectionError> {
        let lease = tokio::select! {
            biased;
            () = shutdown.cancelled() => return Ok(()),
            lease = self.acquired() => lease,
        };
        tracing::info!(lease = %self.name(), identity = self.settings.identity, "this replica leads");
        leading.cancel();
        tokio::select! {
            biased;
            () = shutdown.cancelled() => Ok(()),
            lost = self.keep(lease) => {
                self.leadership.set(None);
                Err(lost)
            }
        }
    }

    /// Gives the lease back, so that another replica need not wait. Nothing may be written after this.
    pub async fn release(&self) {
        if !self.leadership.holds() {
            return;
        }
        self.leadership.set(None);
        let Ok(mut lease) = self.leases.get(&self.settings.name).await else {
            return;
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.settings.identity) {
            return;
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        if let Err(error) = self.replace(&lease).await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, lease = %self.name(), "the lease could not be given back; it runs out by itself");
        }
    }

    fn name(&self) -> String {
        format!("{}/{}", self.settings.namespace, self.settings.name)
    }

    /// The lease, once it is ours.
    async fn acquired(&self) -> Lease {
        let mut seen = ObservedLease {
            version: None,
            since: Instant::now(),
        };
        loop {
            match self.try_acquire(&mut seen).await {
                Ok(Some(lease)) => return lease,
                Ok(None) => {}
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::warn!(error, lease = %self.name(), "the lease could not be had; it is tried again");
                }
            }
            sleep(self.settings.retry_period).await;
        }
    }

    async fn try_acquire(&self, seen: &mut ObservedLease) -> Result<Option<Lease>, kube::Error> {
        let asked = Instant::now();
        let Some(mut lease) = self.leases.get_opt(&self.settings.name).await? else {
            let lease = Lease {
                metadata: ObjectMeta {
                    name: Some(self.settings.name.clone()),
                    ..ObjectMeta::default()
                },
                spec: Some(self.spec(0)),
            };
            return self.taken(asked, self.leases.create(&self.parameters(), &lease).await);
        };
        if seen.version != lease.metadata.resource_version {
            seen.version.clone_from(&lease.metadata.resource_version);
            seen.since = asked;
        }
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.unwrap_or_default();
        let lasts = Duration::from_secs(u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0));
        let is_free = holder.is_empty() || holder == self.settings.identity;
        if !is_free && seen.since.elapsed() < lasts {
            return Ok(None);
        }
        lease.spec = Some(self.spec(spec.lease_transitions.unwrap_or(0).saturating_add(1)));
        self.taken(asked, self.replace(&lease).await)
    }

    /// What became of taking the lease: who wrote first has it.
    fn taken(
        &self,
        asked: Instant,
        written: Result<Lease, kube::Error>,
    ) -> Result<Option<Lease>, kube::Error> {
        match written {
            Ok(lease) => {
                self.leadership.set(Some(asked + self.settings.renew_deadline));
                Ok(Some(lease))
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease until that fails for too long.
    async fn keep(&self, mut lease: Lease) -> ElectionError {
        loop {
            sleep(self.settings.retry_period).await;
            let Some(deadline) = self.leadership.until().filter(|until| Instant::now() < *until) else {
                return ElectionError::NotRenewed { lease: self.name() };
            };
            match timeout_at(deadline, self.renew(&lease)).await {
                Ok(Ok(renewed)) => lease = renewed,
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => match self.reread().await {
                    Ok(Ok(present)) => lease = present,
                    Ok(Err(holder)) => {
                        return ElectionError::TakenOver {
                            lease: self.name(),
                            holder,
                        };
                    }
                    Err(error) => self.warn(&error),
                },
                Ok(Err(error)) => self.warn(&error),
                Err(_) => return ElectionError::NotRenewed { lease: self.name() },
            }
        }
    }

    fn warn(&self, error: &kube::Error) {
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, lease = %self.name(), "the lease could not be renewed; it is tried again");
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        let asked = Instant::now();
        let mut lease = lease.clone();
        lease.spec.get_or_insert_default().renew_time = Some(MicroTime(self.clock.now()));
        let renewed = self.replace(&lease).await?;
        self.leadership.set(Some(asked + self.settings.renew_deadline));
        Ok(renewed)
    }

    /// The lease as it is now if it is still ours, else who holds it. Somebody may have annotated it, or the answer to our
    /// own write was lost.
    async fn reread(&self) -> Result<Result<Lease, String>, kube::Error> {
        let lease = self.leases.get(&self.settings.name).await?;
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
        Ok(match holder.unwrap_or_default() {
            holder if holder == self.settings.identity => Ok(lease),
            holder => Err(holder),
        })
    }

    fn spec(&self, transitions: i32) -> LeaseSpec {
        let now = MicroTime(self.clock.now());
        let seconds = SignedDuration::try_from(self.settings.duration)
            .unwrap_or(SignedDuration::MAX)
            .as_secs();
        LeaseSpec {
            holder_identity: Some(self.settings.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// Writes the lease over the version that was read, and no other.
    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.leases
            .replace(&self.settings.name, &self.parameters(), lease)
            .await
    }

    fn parameters(&self) -> PostParams {
        PostParams {
            field_manager: Some(self.settings.name.clone()),
            ..PostParams::default()
        }
    }
}
