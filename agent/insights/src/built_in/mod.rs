//! The agent's own informers: what the cluster's objects say about an update. Each finding says what can be done, and by which command one
//! sees whether it still is so.

mod alerts;
mod api_removals;
mod capacity;
mod cluster_operators;
mod cluster_version;
mod disruption_budgets;
mod draft;
mod drains;
mod etcd;
mod installed_operators;
mod nodes;
mod pods;
mod pools;
mod quantity;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::UpdatePlanSpec;
use drydock_api::olm::ClusterServiceVersion;
use drydock_api::openshift::release_request::{MULTI, is_request_of};
use drydock_api::openshift::{APIRequestCount, ClusterOperator, ClusterVersion, Etcd, MachineConfigPool};
use drydock_api::prometheus::Alert;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::core::PartialObjectMeta;

use crate::finding::Finding;
use crate::hooks::Answer;
use crate::informer_name::InformerName;
use crate::merge::Attempt;
use crate::status::sort_into_pools;
pub use capacity::NodeLoads;
pub(crate) use cluster_version::is_of_release;
pub use cluster_version::{is_cause, risk_queries};
pub use disruption_budgets::blocked_namespaces;
pub use drains::draining_nodes;

/// One of the agent's own informers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuiltIn {
    /// Alerts that fire.
    Alerts,
    /// What ClusterVersion says, with the risks of the target.
    ClusterVersion,
    /// What ClusterOperators say.
    ClusterOperators,
    /// What etcd's operator says.
    Etcd,
    /// Operators of OLM that are not meant for the target.
    InstalledOperators,
    /// What MachineConfigPools say.
    MachineConfigPools,
    /// Whether there is room for the pods of nodes that are drained.
    NodeCapacity,
    /// What nodes say, and what those wait for that are drained.
    Nodes,
    /// PodDisruptionBudgets that let no pod be evicted.
    PodDisruptionBudgets,
    /// APIs that the target no longer has, and that are still used.
    ApiRemovals,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question<'a> {
    /// What is with the update that is under way?
    Status,
    /// What would be a problem if the cluster were updated to this release?
    Plan(PlannedRelease<'a>),
}

/// The release that a plan is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRelease<'a> {
    /// Its version.
    pub version: &'a str,
    /// The image that is asked for, if one is: it may be another than the update service offers under that version.
    pub image: Option<&'a str>,
    /// It is asked for the release for several architectures.
    pub is_multi: bool,
}

impl<'a> PlannedRelease<'a> {
    /// That of a plan.
    pub fn of_plan(plan: &'a UpdatePlanSpec) -> Self {
        Self {
            version: &plan.target_release,
            image: plan.target_image.as_deref().filter(|image| !image.is_empty()),
            is_multi: plan.architecture() == Some(MULTI),
        }
    }

    /// Whether it is what is requested, by the name of that ([`ReleaseRequest::pending`](drydock_api::openshift::release_request::ReleaseRequest::pending)).
    pub fn is_requested_as(self, requested: &str) -> bool {
        if self.is_multi {
            requested == format!("{} {MULTI}", self.version)
        } else {
            is_request_of(requested, self.version, self.image)
        }
    }
}

impl<'a> Question<'a> {
    /// About the release that is offered under a version.
    pub fn of_version(version: &'a str) -> Self {
        Self::Plan(PlannedRelease {
            version,
            image: None,
            is_multi: false,
        })
    }

    /// About what a plan asks.
    pub fn of_plan(plan: &'a UpdatePlanSpec) -> Self {
        Self::Plan(PlannedRelease::of_plan(plan))
    }

    /// Is it asked before an update? Then what is not known, or has just begun, is no state to begin one in.
    pub(crate) fn is_plan(self) -> bool {
        matches!(self, Self::Plan(_))
    }
}

/// What the cluster's objects say, as far as they could be read.
#[derive(Clone, Debug)]
pub struct BuiltInFacts {
    /// ClusterVersion.
    pub cluster: Fact<ClusterVersion>,
    /// ClusterOperators.
    pub operators: Fact<Vec<ClusterOperator>>,
    /// MachineConfigPools.
    pub pools: Fact<Vec<MachineConfigPool>>,
    /// PodDisruptionBudgets.
    pub budgets: Fact<Vec<PodDisruptionBudget>>,
    /// Pods of the namespaces that have a budget which lets none be evicted.
    pub pods: Fact<Vec<Pod>>,
    /// APIRequestCounts.
    pub requests: Fact<Vec<APIRequestCount>>,
    /// Alerts that are pending or fire.
    pub alerts: Fact<Vec<Alert>>,
    /// Nodes.
    pub nodes: Fact<Vec<Node>>,
    /// The nodes of [`draining_nodes`], with their pods.
    pub draining: Fact<Vec<DrainingNode>>,
    /// What the pods of each node ask for.
    pub loads: Fact<NodeLoads>,
    /// What the operator of etcd says.
    pub etcd: Fact<Etcd>,
    /// The ClusterServiceVersions of OLM, without those that it has copied.
    pub installed: Fact<Vec<PartialObjectMeta<ClusterServiceVersion>>>,
    /// Whether the cluster's Prometheus says that risks apply, by the queries of [`risk_queries`].
    pub risks: BTreeMap<String, Fact<bool>>,
}

impl BuiltInFacts {
    /// Those of a cluster of which nothing else has been asked for.
    pub fn of(cluster: Fact<ClusterVersion>) -> Self {
        Self {
            cluster,
            operators: Err(Unread::NotAsked),
            pools: Err(Unread::NotAsked),
            budgets: Err(Unread::NotAsked),
            pods: Err(Unread::NotAsked),
            requests: Err(Unread::NotAsked),
            alerts: Err(Unread::NotAsked),
            nodes: Err(Unread::NotAsked),
            draining: Err(Unread::NotAsked),
            loads: Err(Unread::NotAsked),
            etcd: Err(Unread::NotAsked),
            installed: Err(Unread::NotAsked),
            risks: BTreeMap::new(),
        }
    }
}

/// A node that is being drained, and its pods.
#[derive(Clone, Debug)]
pub struct DrainingNode {
    /// Its name.
    pub name: String,
    /// All of its pods.
    pub pods: Vec<Pod>,
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Alerts,
        Self::ClusterVersion,
        Self::ClusterOperators,
        Self::Etcd,
        Self::InstalledOperators,
        Self::MachineConfigPools,
        Self::NodeCapacity,
        Self::Nodes,
        Self::PodDisruptionBudgets,
        Self::ApiRemovals,
    ];

    /// Its name.
    pub fn name(self) -> InformerName {
        InformerName::built_in(match self {
            Self::Alerts => "alerts",
            Self::ClusterVersion => "cluster-version",
            Self::ClusterOperators => "cluster-operators",
            Self::Etcd => "etcd",
            Self::InstalledOperators => "installed-operators",
            Self::MachineConfigPools => "machine-config-pools",
            Self::NodeCapacity => "node-capacity",
            Self::Nodes => "nodes",
            Self::PodDisruptionBudgets => "pod-disruption-budgets",
            Self::ApiRemovals => "api-removals",
        })
    }

    /// The informer of a name.
    pub fn of(name: &InformerName) -> Option<Self> {
        Self::ALL.into_iter().find(|informer| informer.name() == *name)
    }

    /// What it has found. What cannot be read is no answer, so that nothing counts as resolved.
    pub fn attempt(self, facts: &BuiltInFacts, question: Question<'_>, now: Timestamp) -> Attempt {
        match self.findings(facts, question, now) {
            Ok(findings) => Attempt::Answered(Answer::Success(findings)),
            Err(Unread::NotAsked) => Attempt::NotImplemented,
            Err(why @ Unread::Failed(_)) => Attempt::Unavailable(why.to_string()),
        }
    }

    fn findings(self, facts: &BuiltInFacts, question: Question<'_>, now: Timestamp) -> Fact<Vec<Finding>> {
        fn read<T>(fact: &Fact<T>) -> Fact<&T> {
            fact.as_ref().map_err(Clone::clone)
        }
        Ok(match self {
            Self::Alerts => alerts::findings(read(&facts.alerts)?, read(&facts.cluster)?, question, now),
            Self::ClusterVersion => {
                cluster_version::findings(read(&facts.cluster)?, question, &facts.risks, now)
            }
            Self::ClusterOperators => {
                cluster_operators::findings(read(&facts.operators)?, read(&facts.cluster)?, question, now)
            }
            Self::Etcd => etcd::findings(read(&facts.etcd)?, now),
            Self::InstalledOperators => match question {
                Question::Status => Vec::new(),
                Question::Plan(target) => {
                    // Where the version that runs is not known, it may be any.
                    let is_minor = facts
                        .cluster
                        .as_ref()
                        .map_or(true, |cluster| is_minor_update(cluster, target.version));
                    installed_operators::findings(read(&facts.installed)?, target.version, is_minor, now)
                }
            },
            Self::MachineConfigPools => pools::findings(read(&facts.pools)?, question, now),
            Self::NodeCapacity => match question {
                Question::Status => Vec::new(),
                Question::Plan(_) => {
                    let (nodes, pools) = (read(&facts.nodes)?, read(&facts.pools)?);
                    capacity::findings(nodes, pools, read(&facts.loads)?, now)
                }
            },
            Self::Nodes => {
                let none = Vec::new();
                let pools = match &facts.pools {
                    // Before an update, nodes are looked at where there are no pools, too: a hosted control plane has none.
                    Err(Unread::NotAsked) if question.is_plan() => &none,
                    pools => read(pools)?,
                };
                let all = read(&facts.nodes)?;
                let by_pool = sort_into_pools(pools, all);
                let mut found = nodes::findings(all, &by_pool, pools, question, now);
                if matches!(question, Question::Status) {
                    found.extend(drains::findings(
                        read(&facts.draining)?,
                        &by_pool,
                        read(&facts.budgets)?,
                        now,
                    ));
                }
                found
            }
            Self::PodDisruptionBudgets => {
                disruption_budgets::findings(read(&facts.budgets)?, read(&facts.pods)?, now)
            }
            Self::ApiRemovals => match question {
                Question::Status => Vec::new(),
                Question::Plan(target) => api_removals::findings(read(&facts.requests)?, target.version, now),
            },
        })
    }
}

/// Is the target of a plan another minor release than the cluster runs?
fn is_minor_update(cluster: &ClusterVersion, target: &str) -> bool {
    let version = |text: &str| {
        semver::Version::parse(text)
            .ok()
            .map(|version| (version.major, version.minor))
    };
    let running = crate::cluster::facts(cluster)
        .ok()
        .and_then(|facts| version(&facts.version));
    match (running, version(target)) {
        (Some(running), Some(target)) => target > running,
        // What is not known may be one.
        _ => true,
    }
}
