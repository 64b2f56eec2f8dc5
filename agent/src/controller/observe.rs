//! Reads what steps ask for, when they ask for it. What is not the cluster's API server may fail: that is a fact, too.

use std::time::Duration;

use bytes::Bytes;
use drydock_api::machine_api::{Machine, MachineSet, NAMESPACE};
use drydock_api::openshift::ClusterOperator;
use drydock_runtime::pages::list_all;
use futures::future::join_all;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;

use super::Shared;
use super::reconcile::ReconcileError;
use crate::capacity::{self, Capacity, Extra, ExtraMachine, UPGRADE_LABEL};
use crate::facts::{self, Facts, Target};
use crate::health;
use crate::http::{self as bounded, Exchange, Limits};
use crate::nodekeeper;
use crate::registry::Registry;
use crate::silences::CREATOR;
use crate::steps::Need;
use crate::update_graph;

/// Reads one thing into the facts.
///
/// # Errors
/// If the cluster's API server does not give it.
pub(super) async fn observe(shared: &Shared, need: Need, facts: &mut Facts) -> Result<(), ReconcileError> {
    let client = &shared.context.client;
    match need {
        Need::Operators => {
            let operators: Vec<ClusterOperator> = list(
                "cluster operators",
                &Api::all(client.clone()),
                ListParams::default(),
            )
            .await?;
            facts.seen.ill = Some(facts::ill(&operators));
        }
        Need::Alerts => {
            let query = health::query(&facts.configuration);
            let alerts = shared.context.monitoring.alerts(&query).await;
            facts.seen.alerts = Some(alerts.map_err(|error| error.to_string()));
        }
        Need::Dependencies => facts.seen.dependencies = Some(dependencies(shared, facts).await),
        Need::Capacity => facts.seen.capacity = Some(capacity(shared, facts).await?),
        Need::Silences => {
            let silences = shared.context.monitoring.silences(CREATOR).await;
            facts.seen.silences = Some(silences.map_err(|error| error.to_string()));
        }
        Need::Nodes => {
            let nodes: Vec<Node> = list("nodes", &Api::all(client.clone()), ListParams::default()).await?;
            facts.seen.nodes = Some(nodes.iter().map(nodekeeper::node).collect());
        }
        Need::Budgets => {
            let api: Api<PodDisruptionBudget> = Api::all(client.clone());
            let budgets = list("PodDisruptionBudgets", &api, ListParams::default()).await?;
            facts.seen.budgets = Some(budgets.iter().map(nodekeeper::budget).collect());
        }
        Need::Pods => facts.seen.pods = Some(pods(shared, facts).await?),
        Need::Graph => facts.seen.graph = Some(graph(shared, facts).await),
        Need::Release => facts.seen.release = Some(release(shared, facts).await),
        Need::Policy => {
            let provider = &shared.context.provider;
            let policy = provider.policy(&facts.configuration, &facts.cluster.id).await;
            facts.seen.policy = Some(policy.map_err(|error| error.to_string()));
        }
    }
    Ok(())
}

async fn list<K>(what: &'static str, api: &Api<K>, parameters: ListParams) -> Result<Vec<K>, ReconcileError>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    list_all(api, parameters)
        .await
        .map_err(|error| ReconcileError::List {
            what,
            source: Box::new(error),
        })
}

fn outside(shared: &Shared) -> Result<Exchange, String> {
    shared
        .context
        .network
        .exchange(None)
        .map_err(|error| error.to_string())
}

/// What is wrong with the external dependencies, all asked at once.
async fn dependencies(shared: &Shared, facts: &Facts) -> Vec<String> {
    let exchange = match outside(shared) {
        Ok(exchange) => exchange,
        Err(error) => return vec![error],
    };
    let dependencies = &facts.configuration.ext_dependency_availability_checks.http;
    let limits = Limits {
        time: Duration::from_secs(dependencies.timeout.unsigned_abs()),
        ..Limits::default()
    };
    let asked = dependencies.urls.iter().map(|url| {
        let exchange = &exchange;
        async move {
            let request = Request::get(url)
                .body(Bytes::new())
                .map_err(|error| error.to_string())?;
            match bounded::send(exchange, request, limits).await {
                Ok(answer) if answer.status == StatusCode::OK => Ok(()),
                Ok(answer) => Err(format!("{} answers {}", answer.target, answer.status)),
                Err(error) => Err(error.to_string()),
            }
        }
    });
    join_all(asked)
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

async fn capacity(shared: &Shared, facts: &Facts) -> Result<Capacity, ReconcileError> {
    let client = &shared.context.client;
    let api: Api<MachineSet> = Api::namespaced(client.clone(), NAMESPACE);
    let sets = list("MachineSets", &api, ListParams::default()).await?;
    let (copies, others): (Vec<MachineSet>, Vec<MachineSet>) = sets
        .into_iter()
        .partition(|set| set.labels().contains_key(UPGRADE_LABEL));
    let globs = &facts.configuration.scale.extra_machine_pools;
    let originals = others.into_iter().filter(|set| capacity::is_original(set, globs));
    let api: Api<Machine> = Api::namespaced(client.clone(), NAMESPACE);
    let labelled = ListParams::default().labels(&format!("{UPGRADE_LABEL}=true"));
    let mut machines = Vec::new();
    for machine in list("extra machines", &api, labelled).await? {
        machines.push(extra_machine(shared, &machine).await?);
    }
    Ok(Capacity {
        originals: originals.collect(),
        copies: copies
            .iter()
            .map(|copy| Extra {
                name: copy.name_any(),
                created: copy.creation_timestamp().map_or(facts.now, |time| time.0),
                is_going: copy.metadata.deletion_timestamp.is_some(),
            })
            .collect(),
        machines,
    })
}

async fn extra_machine(shared: &Shared, machine: &Machine) -> Result<ExtraMachine, ReconcileError> {
    let status = machine.status.clone().unwrap_or_default();
    let node = status.node_ref.and_then(|reference| reference.name);
    let is_ready = match &node {
        None => false,
        Some(name) => {
            let api: Api<Node> = Api::all(shared.context.client.clone());
            let node = api.get_opt(name).await.map_err(|error| ReconcileError::List {
                what: "the node of an extra machine",
                source: Box::new(error),
            })?;
            let conditions = node.and_then(|node| node.status?.conditions).unwrap_or_default();
            conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True")
        }
    };
    Ok(ExtraMachine {
        name: machine.name_any(),
        set: machine.labels().get(capacity::SET_LABEL).cloned(),
        node,
        is_ready,
        failure: status.error_message.or(status.error_reason),
    })
}

/// The pods of nodes that are drained for longer than drains are left alone.
async fn pods(shared: &Shared, facts: &Facts) -> Result<Vec<nodekeeper::PodSeen>, ReconcileError> {
    let mut pods = Vec::new();
    for node in nodekeeper::long_drains(facts) {
        let api: Api<Pod> = Api::all(shared.context.client.clone());
        let on_it = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let found = list("the pods of a node", &api, on_it).await?;
        pods.extend(found.iter().map(nodekeeper::pod));
    }
    Ok(pods)
}

async fn graph(shared: &Shared, facts: &Facts) -> Result<std::collections::BTreeSet<String>, String> {
    let Some(Target::Version { channel, .. }) = facts.target() else {
        return Err("no channel is asked for".to_owned());
    };
    let current = facts.current().unwrap_or_default();
    update_graph::versions(&outside(shared)?, &facts.cluster, current, &channel)
        .await
        .map_err(|error| error.to_string())
}

async fn release(shared: &Shared, facts: &Facts) -> Result<String, String> {
    let Some(Target::Image { image, .. }) = facts.target() else {
        return Err("no image is asked for".to_owned());
    };
    let credentials = shared.context.provider.credentials().await;
    let credentials = credentials.map_err(|error| error.to_string())?;
    let exchange = outside(shared)?;
    let registry = Registry::new(&exchange, &credentials);
    registry.version(&image).await.map_err(|error| error.to_string())
}
