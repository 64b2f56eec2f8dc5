//! The agent's own informers: what the cluster's objects say about an update. Each finding says what can be done, and by which command one
//! sees whether it still is so.

mod api_removals;
mod cluster_operators;
mod cluster_version;
mod disruption_budgets;
mod draft;
mod pools;
#[cfg(test)]
mod tests;

use drydock_api::fact::{Fact, Unread};
use drydock_api::openshift::{APIRequestCount, ClusterOperator, ClusterVersion, MachineConfigPool};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

use crate::finding::Finding;
use crate::hooks::Answer;
use crate::informer_name::InformerName;
use crate::merge::Attempt;
pub use disruption_budgets::blocked_namespaces;

/// One of the agent's own informers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BuiltIn {
    /// What ClusterVersion says, with the risks of the target.
    ClusterVersion,
    /// What ClusterOperators say.
    ClusterOperators,
    /// What MachineConfigPools say.
    MachineConfigPools,
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
    /// What would be a problem if the cluster were updated to this version?
    Plan(&'a str),
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
}

impl BuiltIn {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ClusterVersion,
        Self::ClusterOperators,
        Self::MachineConfigPools,
        Self::PodDisruptionBudgets,
        Self::ApiRemovals,
    ];

    /// Its name.
    pub fn name(self) -> InformerName {
        InformerName::built_in(match self {
            Self::ClusterVersion => "cluster-version",
            Self::ClusterOperators => "cluster-operators",
            Self::MachineConfigPools => "machine-config-pools",
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
            Self::ClusterVersion => cluster_version::findings(read(&facts.cluster)?, question, now),
            Self::ClusterOperators => {
                cluster_operators::findings(read(&facts.operators)?, read(&facts.cluster)?, question, now)
            }
            Self::MachineConfigPools => pools::findings(read(&facts.pools)?, now),
            Self::PodDisruptionBudgets => {
                disruption_budgets::findings(read(&facts.budgets)?, read(&facts.pods)?, now)
            }
            Self::ApiRemovals => match question {
                Question::Status => Vec::new(),
                Question::Plan(target) => api_removals::findings(read(&facts.requests)?, target, now),
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
