//! What the agent's own informers look at: read when they are asked, and not before.

use std::fmt::Debug;
use std::sync::Arc;

use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::{APIRequestCount, ClusterOperator};
use drydock_insights::built_in::{BuiltInFacts, Question, blocked_namespaces};
use drydock_runtime::pages::list_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;

use super::watches::Seen;
use crate::refusal;

/// Reads everything that the agent's own informers need for a question.
pub(super) async fn facts(
    client: &Client,
    seen: &Seen,
    question: Question<'_>,
    now: Timestamp,
) -> BuiltInFacts {
    let budgets = list::<PodDisruptionBudget>(&Api::all(client.clone())).await;
    let pods = match &budgets {
        Ok(budgets) => pods(client, budgets).await,
        Err(why) => Err(why.clone()),
    };
    let cluster = seen.cluster.fact(now).and_then(|cluster| {
        let missing = || Unread::Failed("the cluster has no ClusterVersion: is it OpenShift?".to_owned());
        cluster.map(|cluster| (*cluster).clone()).ok_or_else(missing)
    });
    let pools = seen.pools.known(now).map(|()| seen.pools.objects());
    BuiltInFacts {
        cluster,
        operators: list::<ClusterOperator>(&Api::all(client.clone())).await,
        pools: pools.map(|pools| pools.into_iter().map(Arc::unwrap_or_clone).collect()),
        budgets,
        pods,
        requests: match question {
            Question::Status => Err(Unread::NotAsked),
            Question::Plan(_) => requests(client).await,
        },
    }
}

/// Pods where a budget lets none be evicted.
async fn pods(client: &Client, budgets: &[PodDisruptionBudget]) -> Fact<Vec<Pod>> {
    let mut pods = Vec::new();
    for namespace in blocked_namespaces(budgets) {
        pods.extend(list::<Pod>(&Api::namespaced(client.clone(), &namespace)).await?);
    }
    Ok(pods)
}

/// A cluster without that kind has none.
async fn requests(client: &Client) -> Fact<Vec<APIRequestCount>> {
    let api: Api<APIRequestCount> = Api::all(client.clone());
    match list_all(&api, ListParams::default()).await {
        Ok(counts) => Ok(counts),
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Err(Unread::NotAsked),
        Err(error) => Err(Unread::Failed(refusal::words(&error))),
    }
}

async fn list<K>(api: &Api<K>) -> Fact<Vec<K>>
where
    K: Clone + DeserializeOwned + Debug,
{
    let listed = list_all(api, ListParams::default()).await;
    listed.map_err(|error| Unread::Failed(refusal::words(&error)))
}
