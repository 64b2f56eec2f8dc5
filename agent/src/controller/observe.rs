//! Reads what decisions depend on. That something cannot be read is a fact, too: it loses nothing of the rest.

use std::time::Duration;

use bytes::Bytes;
use drydock_api::insights::UpdatePlanState;
use drydock_api::lock::LockKey;
use drydock_api::machine_api::{Machine, MachineSet, NAMESPACE};
use drydock_api::names::{
    PROVIDER_ANNOTATION, REINITIALIZED_ANNOTATION, UPGRADE_ANNOTATION, VERSION_OF_ANNOTATION,
};
use drydock_api::openshift::{ClusterOperator, MachineConfigPool};
use drydock_api::schedule::UpgradeJob;
use drydock_api::upgradeconfig::{UpgradeConfig, UpgradeConfigStatus, UpgradePhase};
use drydock_engine::capacity::{self, Capacity, Extra, ExtraMachine, UPGRADE_LABEL};
use drydock_engine::facts::{
    self, Fact, FileIntegrity, Need, Observation, ObservedPool, Origin, ReadOnDemand, Target, Unread,
};
use drydock_engine::silences::CREATOR;
use drydock_engine::{drains, health, wanted};
use drydock_runtime::pages::list_all;
use drydock_schedule::job::lock::HolderState;
use drydock_schedule::job::pausing_job::PausingJob;
use futures::future::join_all;
use http::{Request, StatusCode};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;

use super::{Shared, write};
use crate::http::{self as bounded, Exchange};
use crate::registry::Registry;
use crate::{update_graph, update_plan};

/// What is watched, and what the process remembers of the last pass.
pub(super) async fn first(shared: &Shared, upgrade: &UpgradeConfig) -> Observation {
    let now = shared.context.clock.now();
    let annotation = |key: &str| upgrade.annotations().get(key).cloned();
    Observation {
        spec: upgrade.spec.clone(),
        version_of: annotation(VERSION_OF_ANNOTATION),
        origin: match annotation(PROVIDER_ANNOTATION) {
            Some(_) => Origin::Ocm,
            None => Origin::User,
        },
        of_upgrade: annotation(UPGRADE_ANNOTATION),
        key: LockKey::of_upgrade_config(&upgrade.name_any(), &upgrade.uid().unwrap_or_default()),
        deleting_since: upgrade.metadata.deletion_timestamp.as_ref().map(|time| time.0),
        cluster: shared.cache.cluster(now),
        workers: shared.cache.workers(now),
        in_force: shared.in_force().await,
        seen: ReadOnDemand::default(),
        drain_check_due: shared.last_drain_check.is_due(now),
        refusals: shared.refusals.known(),
        now,
    }
}

/// How long the API server may take for what a need asks of it, retries included: a pass has more to do than to wait.
const READ_TIMEOUT: Duration = Duration::from_secs(45);

/// Reads one thing, for no longer than a pass can wait for it. What is asked of other servers has limits of its own.
pub(super) async fn read(shared: &Shared, need: Need, seen: &mut Observation, status: &UpgradeConfigStatus) {
    let is_elsewhere = matches!(
        need,
        Need::Alerts
            | Need::Silences
            | Need::Dependencies
            | Need::Graph
            | Need::Release
            | Need::Policy
            | Need::Result
    );
    if is_elsewhere {
        return ask(shared, need, seen, status).await;
    }
    let asked = tokio::time::timeout(READ_TIMEOUT, ask(shared, need, seen, status)).await;
    if asked.is_err() {
        let words = format!(
            "the API server has not answered within {} s",
            READ_TIMEOUT.as_secs()
        );
        give_up(need, seen, Unread::Failed(words));
    }
}

/// Notes that something could not be read in time.
fn give_up(need: Need, seen: &mut Observation, unread: Unread) {
    let seen = &mut seen.seen;
    match need {
        Need::Operators => seen.unhealthy = Err(unread),
        Need::Capacity => seen.capacity = Err(unread),
        Need::Nodes => seen.nodes = Err(unread),
        Need::Budgets => seen.budgets = Err(unread),
        Need::Pods => seen.pods = Err(unread),
        Need::FileIntegrity => seen.file_integrity = Err(unread),
        Need::Alerts => seen.alerts = Err(unread),
        Need::Silences => seen.silences = Err(unread),
        Need::Dependencies => seen.dependencies = Err(unread),
        Need::Graph => seen.graph = Err(unread),
        Need::Release => seen.release = Err(unread),
        Need::Policy => seen.policy = Err(unread),
        Need::Result => seen.fired = Err(unread),
        Need::UpdatePlan => seen.update_plan = Err(unread),
        Need::Pools => seen.pools = Err(unread),
    }
}

/// Reads one thing.
async fn ask(shared: &Shared, need: Need, seen: &mut Observation, status: &UpgradeConfigStatus) {
    let client = &shared.context.client;
    match need {
        Need::Operators => {
            let operators: Fact<Vec<ClusterOperator>> =
                list(&Api::all(client.clone()), ListParams::default()).await;
            seen.seen.unhealthy = operators.map(|operators| facts::unhealthy(&operators));
        }
        Need::Alerts => {
            let query = health::query(&seen.in_force.configuration);
            let alerts = shared.context.monitoring.alerts(&query).await;
            seen.seen.alerts = alerts.map_err(failed);
        }
        Need::Dependencies => seen.seen.dependencies = Ok(dependencies(shared, seen).await),
        Need::Capacity => seen.seen.capacity = extra_capacity(shared, seen).await,
        Need::Silences => {
            let silences = shared.context.monitoring.silences(CREATOR).await;
            seen.seen.silences = silences.map_err(failed);
        }
        Need::Nodes => {
            let nodes: Fact<Vec<Node>> = list(&Api::all(client.clone()), ListParams::default()).await;
            seen.seen.nodes = nodes.map(|nodes| nodes.iter().map(drains::node).collect());
        }
        Need::Budgets => {
            let api: Api<PodDisruptionBudget> = Api::all(client.clone());
            let budgets = list(&api, ListParams::default()).await;
            seen.seen.budgets = budgets.map(|budgets| budgets.iter().map(drains::budget).collect());
        }
        Need::Pods => seen.seen.pods = pods(shared, seen, status).await,
        Need::Graph => seen.seen.graph = graph(shared, seen).await.map_err(Unread::Failed),
        Need::Release => seen.seen.release = release(shared, seen).await.map_err(Unread::Failed),
        Need::Policy => {
            let provider = &shared.context.provider;
            let id = seen.cluster.as_ref().map_or("", |cluster| cluster.id.as_str());
            let policy = provider.policy(&seen.in_force.configuration, id).await;
            seen.seen.policy = policy.map_err(failed);
        }
        Need::FileIntegrity => seen.seen.file_integrity = file_integrity(shared).await,
        Need::Result => seen.seen.fired = fired(shared, seen, status).await,
        Need::UpdatePlan => seen.seen.update_plan = update_plan(client, seen).await,
        Need::Pools => seen.seen.pools = pools(client).await,
    }
}

/// The machine config pools, with what has become of the UpgradeJobs that have paused them. A cluster without the kind has none.
async fn pools(client: &Client) -> Fact<Vec<ObservedPool>> {
    let api: Api<MachineConfigPool> = Api::all(client.clone());
    let listed = match list_all(&api, ListParams::default()).await {
        Ok(listed) => listed,
        Err(kube::Error::Api(refusal)) if refusal.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(Unread::Failed(write::words(&error))),
    };
    let mut pools = Vec::new();
    for pool in &listed {
        let by = PausingJob::of(pool).filter(|_| pool.spec.paused == Some(true));
        pools.push(ObservedPool {
            name: pool.name_any(),
            is_being_updated: facts::workers(pool).are_being_updated(),
            kept_by: match by {
                Some(by) => kept_by(client, &by).await?,
                None => None,
            },
        });
    }
    Ok(pools)
}

/// The UpgradeJob that has paused a pool, if it has not ended.
async fn kept_by(client: &Client, by: &PausingJob) -> Fact<Option<String>> {
    let api: Api<UpgradeJob> = Api::namespaced(client.clone(), &by.job.namespace);
    let found = api.get_opt(&by.job.name).await;
    let found = found.map_err(|error| Unread::Failed(write::words(&error)))?;
    let state = by.state(&HolderState::of(found.as_ref()));
    let is_running = matches!(state, HolderState::Present { has_ended: false, .. });
    Ok(is_running.then(|| by.job.to_string()))
}

/// Why something could not be read, in its own words.
fn failed(error: impl std::error::Error) -> Unread {
    Unread::Failed(error.to_string())
}

async fn list<K>(api: &Api<K>, parameters: ListParams) -> Fact<Vec<K>>
where
    K: Clone + DeserializeOwned + std::fmt::Debug,
{
    list_all(api, parameters)
        .await
        .map_err(|error| Unread::Failed(write::words(&error)))
}

fn outside(shared: &Shared) -> Result<Exchange, String> {
    shared
        .context
        .network
        .exchange(None)
        .map_err(|error| error.to_string())
}

/// What is wrong with the external dependencies, all asked at once.
async fn dependencies(shared: &Shared, seen: &Observation) -> Vec<String> {
    let exchange = match outside(shared) {
        Ok(exchange) => exchange,
        Err(error) => return vec![error],
    };
    let dependencies = &seen
        .in_force
        .configuration
        .ext_dependency_availability_checks
        .http;
    let time = Duration::from_secs(dependencies.timeout.unsigned_abs());
    let asked = dependencies.urls.iter().map(|url| {
        let exchange = &exchange;
        async move {
            let request = Request::get(url)
                .body(Bytes::new())
                .map_err(|error| error.to_string())?;
            let answered = bounded::send_for_status(exchange, request, time).await;
            let (target, status) = answered.map_err(|error| error.to_string())?;
            match status {
                StatusCode::OK => Ok(()),
                status => Err(format!("{target} answers {status}")),
            }
        }
    });
    join_all(asked)
        .await
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

async fn extra_capacity(shared: &Shared, seen: &Observation) -> Fact<Capacity> {
    let client = &shared.context.client;
    let api: Api<MachineSet> = Api::namespaced(client.clone(), NAMESPACE);
    let sets = list(&api, ListParams::default()).await?;
    let (copies, others): (Vec<MachineSet>, Vec<MachineSet>) = sets
        .into_iter()
        .partition(|set| set.labels().contains_key(UPGRADE_LABEL));
    let globs = &seen.in_force.configuration.scale.extra_machine_pools;
    let originals = others.into_iter().filter(|set| capacity::is_original(set, globs));
    let api: Api<Machine> = Api::namespaced(client.clone(), NAMESPACE);
    let labelled = ListParams::default().labels(&format!("{UPGRADE_LABEL}=true"));
    let mut machines = Vec::new();
    for machine in list(&api, labelled).await? {
        machines.push(extra_machine(shared, &machine).await?);
    }
    Ok(Capacity {
        originals: originals.collect(),
        copies: copies
            .iter()
            .map(|copy| Extra {
                name: copy.name_any(),
                created: copy.creation_timestamp().map_or(seen.now, |time| time.0),
                is_deleting: copy.metadata.deletion_timestamp.is_some(),
            })
            .collect(),
        machines,
    })
}

async fn extra_machine(shared: &Shared, machine: &Machine) -> Fact<ExtraMachine> {
    let status = machine.status.clone().unwrap_or_default();
    let node = status.node_ref.and_then(|reference| reference.name);
    let is_ready = match &node {
        None => false,
        Some(name) => {
            let api: Api<Node> = Api::all(shared.context.client.clone());
            let node = api.get_opt(name).await.map_err(|error| {
                Unread::Failed(format!(
                    "the node of machine {}: {}",
                    machine.name_any(),
                    write::words(&error)
                ))
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
async fn pods(
    shared: &Shared,
    seen: &Observation,
    status: &UpgradeConfigStatus,
) -> Fact<Vec<drains::ObservedPod>> {
    let facts = seen.facts()?;
    let mut pods = Vec::new();
    for node in drains::long_drains(&facts, &wanted::known_drains(status)) {
        let api: Api<Pod> = Api::all(shared.context.client.clone());
        let on_it = ListParams::default().fields(&format!("spec.nodeName={node}"));
        let found = list(&api, on_it).await?;
        pods.extend(found.iter().map(drains::pod));
    }
    Ok(pods)
}

async fn graph(shared: &Shared, seen: &Observation) -> Result<std::collections::BTreeSet<String>, String> {
    let facts = seen.facts().map_err(|unread| unread.to_string())?;
    let Some(Target::Version { channel, .. }) = facts.target() else {
        return Err("no channel is asked for".to_owned());
    };
    let current = facts.current().unwrap_or_default();
    update_graph::versions(&outside(shared)?, &facts.cluster, current, &channel)
        .await
        .map_err(|error| error.to_string())
}

async fn release(shared: &Shared, seen: &Observation) -> Result<String, String> {
    let facts = seen.facts().map_err(|unread| unread.to_string())?;
    let Some(Target::Image { image, .. }) = facts.target() else {
        return Err("no image is asked for".to_owned());
    };
    let credentials = shared.context.provider.credentials().await;
    let credentials = credentials.map_err(|error| error.to_string())?;
    let exchange = outside(shared)?;
    let registry = Registry::new(&exchange, &credentials);
    registry.version(&image).await.map_err(|error| error.to_string())
}

/// What the UpdatePlan says of the version that is asked for.
async fn update_plan(client: &Client, seen: &Observation) -> Fact<UpdatePlanState> {
    let facts = seen.facts()?;
    let Some(update) = facts.planned_update() else {
        return Err(Unread::Failed("no version is asked for".to_owned()));
    };
    update_plan::read(client, facts.current(), &update, seen.now).await
}

/// For which version the file-integrity operator was last reinitialized; on a cluster without it there is nothing to do.
async fn file_integrity(shared: &Shared) -> Fact<FileIntegrity> {
    match write::file_integrity(&shared.context.client)
        .get("osd-fileintegrity")
        .await
    {
        Ok(object) => Ok(FileIntegrity::ReinitializedFor(
            object.annotations().get(REINITIALIZED_ANNOTATION).cloned(),
        )),
        // Where the kind does not exist, the answer is no Status, and has no reason.
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(FileIntegrity::Absent),
        Err(error) => Err(Unread::Failed(write::words(&error))),
    }
}

/// Which critical alerts fired during the upgrade that has ended: asked until that is known, and then not again.
async fn fired(
    shared: &Shared,
    seen: &Observation,
    status: &UpgradeConfigStatus,
) -> Fact<std::collections::BTreeSet<String>> {
    let entry = status.history.iter().flatten().next();
    let entry = entry.filter(|entry| entry.phase == UpgradePhase::Upgraded);
    let times = entry.and_then(|entry| Some((entry.start_time.as_ref()?.0, entry.complete_time.as_ref()?.0)));
    let Some((start, end)) = times else {
        return Err(Unread::Failed("its times are not known".to_owned()));
    };
    if let Some(known) = shared.results.of(end) {
        return Ok(known);
    }
    let lasted = end.duration_since(start).as_secs().max(60);
    let ago = seen.now.duration_since(end).as_secs().max(0);
    let fired = shared.context.monitoring.alerts_during(lasted, ago).await;
    let fired = fired.map_err(failed)?;
    shared.results.note(end, &fired);
    Ok(fired)
}
