//! What OpenShift's objects say about an update, for the status and for plans (insights.md, sections 1.5 and 1.6).

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use drydock_api::Fields;
use drydock_api::conditions::{self, AnyCondition};
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{OngoingUpdate, PoolReference};
use drydock_api::openshift::cluster_version::{Release, UpdateHistory};
use drydock_api::openshift::machine_config::{CURRENT_CONFIG, DESIRED_CONFIG};
use drydock_api::openshift::release_request::{KnownRelease, ReleaseRequest};
use drydock_api::openshift::{ClusterOperator, ClusterVersion, MachineConfigPool};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use kube::core::{PartialObjectMeta, Resource};

use crate::plan::ReleaseFacts;
use crate::status;
use crate::times;
use crate::update_status::percent;
use crate::update_status::{ControlPlaneProgress, ObservedPool, Pause, PoolProgress, Start};

/// The pool of the control plane's nodes.
const CONTROL_PLANE_POOL: &str = "master";
/// How much of OpenShift's words about a refused update is kept.
const LONGEST_REASON: usize = 1024;

/// How far the control plane is, and what keeps it.
///
/// # Errors
/// If the object does not say which version the cluster should have.
pub fn control_plane(cluster: &ClusterVersion, now: Timestamp) -> Fact<ControlPlaneProgress> {
    let target = target(cluster).ok_or_else(|| Unread::Failed("it does not say which version".to_owned()))?;
    let newest = history(cluster).first();
    let is_reconciled =
        newest.is_some_and(|newest| newest.is_completed() && newest.version.as_ref() == Some(&target));
    let paused_until = cluster.spec.other.get("versionManagement");
    let paused_until = paused_until.and_then(|management| management.get("pausedUntil")?.as_str());
    Ok(ControlPlaneProgress {
        start: start(cluster, &target),
        target,
        is_reconciled,
        pause: paused_until.map_or(Pause::No, |until| pause(until, now)),
    })
}

/// How far the update to `target` is before it starts, by the condition ReleaseAccepted and the history.
fn start(cluster: &ClusterVersion, target: &str) -> Start {
    let newest = history(cluster).first();
    if newest.is_some_and(|newest| newest.version.as_deref() == Some(target)) {
        return Start::Started;
    }
    let Some(status) = &cluster.status else {
        return Start::Requested;
    };
    let is_seen =
        status.observed_generation.unwrap_or_default() >= cluster.metadata.generation.unwrap_or_default();
    let accepted = conditions::find(&status.conditions, "ReleaseAccepted").filter(|_| is_seen);
    let Some(accepted) = accepted else {
        return Start::Requested;
    };
    let (reason, message) = (accepted.reason(), accepted.message());
    if accepted.is_true() {
        return Start::Preconditions;
    }
    if !accepted.is_false() {
        return Start::Downloading;
    }
    let step = if reason.contains("Precondition") {
        "preconditions do not hold"
    } else if reason.contains("Verif") || message.contains("cannot be verified") {
        // A signature is checked as a part of RetrievePayload.
        "its release cannot be verified"
    } else {
        "its release cannot be downloaded"
    };
    let why = format!("{reason}: {message}")
        .chars()
        .take(LONGEST_REASON)
        .collect();
    Start::Refused { step, why }
}

/// What `pausedUntil` means: `true`, or a moment. What is neither pauses, too: somebody wanted that.
fn pause(until: &str, now: Timestamp) -> Pause {
    match Timestamp::from_str(until) {
        Ok(until) if until <= now => Pause::No,
        Ok(until) => Pause::Until(until),
        Err(_) if until.is_empty() || until == "false" => Pause::No,
        Err(_) => Pause::Indefinitely,
    }
}

/// The version that is asked for; until that has been accepted, the object's status still names the one before.
fn target(cluster: &ClusterVersion) -> Option<String> {
    let wanted = cluster
        .spec
        .desired_update
        .as_ref()
        .and_then(|update| update.version.clone());
    let desired = cluster
        .status
        .as_ref()
        .and_then(|status| status.desired.as_ref()?.version.clone());
    wanted.or(desired).filter(|version| !version.is_empty())
}

fn history(cluster: &ClusterVersion) -> &[UpdateHistory] {
    cluster
        .status
        .as_ref()
        .map(|status| status.history.as_slice())
        .unwrap_or_default()
}

/// The newest release that the whole cluster has reached.
pub fn completed(cluster: &ClusterVersion) -> Option<String> {
    let mut entries = history(cluster).iter();
    entries.find(|entry| entry.is_completed())?.version.clone()
}

/// The update that is under way. Another target begins another one (insights.md, section 1.9, row 23).
pub fn ongoing(cluster: &ClusterVersion, progress: &ControlPlaneProgress) -> Option<OngoingUpdate> {
    let newest = history(cluster).first();
    let of_target = newest.filter(|newest| newest.version.as_ref() == Some(&progress.target));
    if progress.is_reconciled {
        return None;
    }
    let started = of_target.and_then(|entry| times::moment(entry.started_time.as_deref()));
    Some(OngoingUpdate {
        from: completed(cluster),
        target: progress.target.clone(),
        started_at: started.map(Time),
        estimated_finish: None,
    })
}

/// What plans depend on.
///
/// # Errors
/// If the object does not say which version the cluster runs.
pub fn facts(cluster: &ClusterVersion) -> Fact<ReleaseFacts> {
    let status = cluster.status.as_ref();
    let version = completed(cluster);
    let version =
        version.ok_or_else(|| Unread::Failed("no installation or update is complete yet".to_owned()))?;
    let target = target(cluster);
    let is_silent = status.is_none_or(|status| conditions::is_false(&status.conditions, "RetrievedUpdates"));
    let offered = status.filter(|_| !is_silent).map(|status| {
        let recommended = status
            .available_updates
            .iter()
            .filter_map(|release| release.version.clone());
        let conditional = status
            .conditional_updates
            .iter()
            .filter_map(|update| update.release.version.clone());
        recommended.chain(conditional).collect()
    });
    let newest = history(cluster).first().and_then(|entry| entry.version.clone());
    let history = history(cluster).iter().filter_map(|entry| {
        let began = times::moment(entry.started_time.as_deref());
        Some((entry.version.clone()?, began))
    });
    Ok(ReleaseFacts {
        id: cluster.spec.cluster_id.clone().unwrap_or_default(),
        has_begun: newest.is_some() && newest == target,
        requested: requested(cluster),
        active_target: target.filter(|target| *target != version),
        offered,
        // Of several the newest comes first, and stays.
        history: history.rev().collect::<BTreeMap<_, _>>(),
        version,
    })
}

/// What is requested and has not begun.
pub fn requested(cluster: &ClusterVersion) -> Option<String> {
    let update = cluster.spec.desired_update.as_ref()?;
    let status = cluster.status.as_ref();
    let desired = status.and_then(|status| status.desired.as_ref());
    let available = status.into_iter().flat_map(|status| &status.available_updates);
    let conditional = status.into_iter().flat_map(|status| &status.conditional_updates);
    let offered = available.chain(conditional.map(|update| &update.release));
    let architecture = |of: &Fields| of.get("architecture")?.as_str().map(str::to_owned);
    let request = ReleaseRequest {
        version: update.version.clone(),
        image: update.image.clone(),
        architecture: architecture(&update.other),
        desired: desired.map(known).unwrap_or_default(),
        desired_architecture: desired.and_then(|desired| architecture(&desired.other)),
        has_kept_version: match history(cluster) {
            [newest, before, ..] => newest.is_completed() && newest.version == before.version,
            _ => false,
        },
        offered: offered.map(known).collect(),
    };
    request.pending()
}

fn known(release: &Release) -> KnownRelease {
    KnownRelease {
        version: release.version.clone(),
        images: release.image.iter().cloned().collect(),
    }
}

/// How many percent of the operators of the release have the version, by what they say. They are part of the release only where they are
/// marked so.
pub fn operators_percent(operators: &[ClusterOperator], target: &str) -> Option<i64> {
    let counts = status::operator_counts(operators, target);
    (counts.total > 0).then(|| percent(counts.updated, counts.total))
}

/// The pools of workers, by name. `nodes` are those of the cluster, as far as they were needed; `is_rendered` says whether the pools
/// already have the configurations of the version that the control plane is to have.
pub fn pools<K: Resource>(
    pools: &[&MachineConfigPool],
    nodes: &Fact<Vec<PartialObjectMeta<K>>>,
    is_rendered: bool,
) -> Vec<ObservedPool> {
    let mut observed: Vec<_> = pools
        .iter()
        .filter(|pool| pool.name_any() != CONTROL_PLANE_POOL)
        .map(|pool| ObservedPool {
            api_version: "machineconfiguration.openshift.io/v1".to_owned(),
            pool: PoolReference {
                kind: "MachineConfigPool".to_owned(),
                namespace: None,
                name: pool.name_any(),
            },
            uid: pool.uid().unwrap_or_default(),
            progress: progress(pool, nodes, is_rendered),
        })
        .collect();
    observed.sort_by(|one, other| one.pool.cmp(&other.pool));
    observed
}

/// Have all nodes of a pool the configuration that they should have?
pub fn is_settled(pool: &MachineConfigPool) -> bool {
    let wanted = pool
        .spec
        .configuration
        .as_ref()
        .and_then(|configuration| configuration.name.as_ref());
    pool.status.as_ref().is_some_and(|status| {
        let current = status
            .configuration
            .as_ref()
            .and_then(|configuration| configuration.name.as_ref());
        wanted == current && status.updated_machine_count == status.machine_count
    })
}

fn progress<K: Resource>(
    pool: &MachineConfigPool,
    nodes: &Fact<Vec<PartialObjectMeta<K>>>,
    is_rendered: bool,
) -> Fact<PoolProgress> {
    let pause = if pool.spec.paused == Some(true) {
        Pause::Indefinitely
    } else {
        Pause::No
    };
    let wanted = pool
        .spec
        .configuration
        .as_ref()
        .and_then(|configuration| configuration.name.clone());
    let count = pool
        .status
        .as_ref()
        .and_then(|status| status.machine_count)
        .unwrap_or_default();
    let total = usize::try_from(count).unwrap_or_default();
    if count == 0 || (is_rendered && is_settled(pool)) {
        return Ok(PoolProgress {
            nodes: total,
            outdated: Vec::new(),
            updating: Vec::new(),
            pause,
        });
    }
    let nodes = nodes.as_ref().map_err(Clone::clone)?;
    let (mut outdated, mut updating) = (BTreeSet::new(), BTreeSet::new());
    for node in nodes {
        let annotation = |name: &str| node.meta().annotations.as_ref()?.get(name).cloned();
        let (current, desired) = (annotation(CURRENT_CONFIG), annotation(DESIRED_CONFIG));
        let is_of_pool = desired
            .as_ref()
            .is_some_and(|desired| is_rendered_for(desired, &pool.name_any()));
        let name = node.meta().name.clone().unwrap_or_default();
        if !is_of_pool {
            continue;
        }
        if desired == wanted && current != desired {
            updating.insert(name.clone());
        }
        if current != wanted || !is_rendered {
            outdated.insert(name);
        }
    }
    Ok(PoolProgress {
        nodes: total,
        outdated: outdated.into_iter().collect(),
        updating: updating.into_iter().collect(),
        pause,
    })
}

/// Is a configuration one of a pool's? They are named `rendered-<pool>-<digest>`.
fn is_rendered_for(configuration: &str, pool: &str) -> bool {
    let rest = configuration
        .strip_prefix("rendered-")
        .and_then(|rest| rest.strip_prefix(pool));
    let digest = rest.and_then(|rest| rest.strip_prefix('-'));
    digest.is_some_and(|digest| !digest.is_empty() && !digest.contains('-'))
}

#[cfg(test)]
mod tests;
