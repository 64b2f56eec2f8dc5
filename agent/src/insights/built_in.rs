//! What the agent's own informers look at, as the agent reads it: ClusterVersion and the pools are watched, all else is asked for.

use std::sync::Arc;

use drydock_api::fact::{Fact, Unread};
use drydock_api::prometheus::Alert;
use drydock_insights::built_in::{BuiltInFacts, Question};
use jiff::Timestamp;
use kube::Client;

use super::cluster_objects::{self, KeptPods, Prometheus};
use super::watches::Seen;
use crate::monitoring::{Monitoring, MonitoringError};

/// Reads everything that the agent's own informers need for a question.
pub(super) async fn facts(
    client: &Client,
    monitoring: &Monitoring,
    seen: &Seen,
    kept: &KeptPods,
    question: Question<'_>,
    now: Timestamp,
) -> BuiltInFacts {
    let cluster = seen.cluster.fact(now).and_then(|cluster| {
        let missing = || Unread::Failed("the cluster has no ClusterVersion: is it OpenShift?".to_owned());
        cluster.map(|cluster| (*cluster).clone()).ok_or_else(missing)
    });
    let pools = seen.pools.known(now).map(|()| {
        let pools = seen.pools.objects().into_iter();
        pools.map(Arc::unwrap_or_clone).collect()
    });
    cluster_objects::read(client, cluster, pools, monitoring, kept, question, now).await
}

impl Prometheus for Monitoring {
    async fn alerts(&self) -> Fact<Vec<Alert>> {
        self.all_alerts().await.map_err(|error| unread(&error))
    }

    async fn holds(&self, query: &str) -> Fact<bool> {
        self.evaluate(query).await.map_err(|error| unread(&error))
    }
}

/// A cluster without monitoring has no alerts to speak of; one whose monitoring does not answer may have any.
fn unread(error: &MonitoringError) -> Unread {
    match error {
        MonitoringError::Missing { source, .. } if is_not_found(source) => Unread::NotAsked,
        error => Unread::Failed(error.to_string()),
    }
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(refusal) if refusal.code == 404)
}
