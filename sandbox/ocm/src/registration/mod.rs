//! Registration: how a cluster joins, reports its facts, and is tainted when its lease expires. One task a cluster plays both its agent and the hub's lease controller: what a hub sees is the same, without a
//! lease that is renewed each minute and read by nobody.

pub mod taints;

use std::time::Duration;

use futures::StreamExt;
use kube_sandbox::Clock;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::kinds;
use crate::kinds::CLUSTER_VERSION;
use kube_sandbox::access::{Access, AccessError, Key, Selection, WatchEvent};
use kube_sandbox::condition::{self, Condition, Status};
use kube_sandbox::object;
use kube_sandbox::sleep::sleep_until_some;

/// After how long without a heartbeat the hub no longer knows whether a cluster is available: five lease durations.
const SILENCE: Duration = Duration::from_mins(5);
/// How long to wait before a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(5);

const AVAILABLE: &str = "ManagedClusterConditionAvailable";

struct Registration {
    cluster: String,
    hub: Access,
    clock: Clock,
    /// What the spoke says of itself; none until it has been read.
    claims: Option<Value>,
    /// Whether the hub takes it for available; none until that was written.
    available: Option<Status>,
    dirty: bool,
}

/// Keeps the ManagedCluster of one spoke up to date until `shutdown`.
pub async fn run(
    cluster: String,
    hub: Access,
    spoke: Access,
    clock: Clock,
    connection: Connection,
    shutdown: CancellationToken,
) {
    let mut versions = spoke.watch(&CLUSTER_VERSION, &Selection::one(&Key::cluster("version")));
    let mut registration = Registration {
        cluster,
        hub,
        clock,
        claims: None,
        available: Some(Status::True),
        dirty: true,
    };
    let mut silent_at = None;
    let mut retry_at = None;
    loop {
        let up = connection.is_up();
        let wake = [silent_at.filter(|_| !up), retry_at].into_iter().flatten().min();
        tokio::select! {
            biased;
            () = shutdown.cancelled() => return,
            () = connection.becomes(!up) => {
                silent_at = (!connection.is_up()).then(|| Instant::now() + SILENCE);
                registration.dirty = true;
            }
            Some(event) = versions.next(), if up => registration.on_version(&event),
            () = sleep_until_some(wake) => registration.dirty = true,
        }
        let is_silent = silent_at.is_some_and(|at| at <= Instant::now());
        let wanted = if is_silent { Status::Unknown } else { Status::True };
        retry_at = None;
        if registration.dirty && (connection.is_up() || is_silent) {
            match registration.write(wanted).await {
                Ok(()) => {
                    registration.dirty = false;
                    registration.available = Some(wanted);
                }
                Err(error) => {
                    tracing::debug!(cluster = registration.cluster, %error, "registration is tried again");
                    retry_at = Some(Instant::now() + RETRY);
                }
            }
            if is_silent {
                silent_at = None;
            }
        }
    }
}

impl Registration {
    fn on_version(&mut self, event: &WatchEvent) {
        let version = match event {
            WatchEvent::Applied(version) => Some(version),
            WatchEvent::Resync(versions) => versions.first(),
            WatchEvent::Deleted(_) => None,
        };
        let Some(claims) = version.map(|version| claims(version)) else {
            return;
        };
        if self.claims.as_ref() != Some(&claims) {
            self.claims = Some(claims);
            self.dirty = true;
        }
    }

    async fn write(&self, available: Status) -> Result<(), AccessError> {
        let key = Key::cluster(self.cluster.as_str());
        let Some(cluster) = self.hub.find(&kinds::MANAGED_CLUSTER, &key).await? else {
            return Ok(());
        };
        let now = self.clock.now();
        let mut conditions = condition::parse(&cluster["status"]["conditions"]);
        for condition in conditions_of(available) {
            condition::set(&mut conditions, condition, now);
        }
        let mut status = json!({"conditions": conditions});
        if let Some(claims) = &self.claims {
            status["clusterClaims"] = claims.clone();
        }
        let same = status
            .as_object()
            .into_iter()
            .flatten()
            .all(|(field, value)| cluster["status"][field] == *value);
        if !same {
            self.hub
                .merge_patch_status(&kinds::MANAGED_CLUSTER, &key, json!({"status": status}))
                .await?;
        }
        if let Some(wanted) = taints::wanted(&cluster["spec"]["taints"], Some(available), now) {
            self.hub
                .merge_patch(&kinds::MANAGED_CLUSTER, &key, json!({"spec": {"taints": wanted}}))
                .await?;
        }
        Ok(())
    }
}

fn conditions_of(available: Status) -> [Condition; 3] {
    let last = match available {
        Status::True => Condition::new(
            AVAILABLE,
            available,
            "ManagedClusterAvailable",
            "Managed cluster is available",
        ),
        Status::False | Status::Unknown => Condition::new(
            AVAILABLE,
            available,
            "ManagedClusterLeaseUpdateStopped",
            "Registration agent stopped updating its lease.",
        ),
    };
    [
        Condition::new(
            "HubAcceptedManagedCluster",
            Status::True,
            "HubClusterAdminAccepted",
            "Accepted by hub cluster admin",
        ),
        Condition::new(
            "ManagedClusterJoined",
            Status::True,
            "ManagedClusterJoined",
            "Managed cluster joined",
        ),
        last,
    ]
}

/// The claims of an OpenShift cluster, sorted by name.
fn claims(version: &Value) -> Value {
    let completed = object::list(&version["status"]["history"])
        .iter()
        .find(|entry| entry["state"] == "Completed")
        .and_then(|entry| entry["version"].as_str());
    let mut claims = Vec::new();
    if let Some(id) = version["spec"]["clusterID"].as_str() {
        claims.push(json!({"name": "id.openshift.io", "value": id}));
    }
    claims.push(json!({"name": "product.open-cluster-management.io", "value": "OpenShift"}));
    if let Some(completed) = completed {
        claims.push(json!({"name": "version.openshift.io", "value": completed}));
    }
    claims.into()
}
