//! What the user asked for, as values: parsed once from the object's spec.

use std::sync::Arc;

use drydock_names::IntOrPercent;
use jiff::SignedDuration;
use serde_json::Value;
use thiserror::Error;

use crate::{ExpectedDuration, Goal, PlacementKey, Selector, Stage, StartTimes};

/// The spec cannot be acted on. The message names the field and says what to do.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{field}: {problem}")]
pub struct InvalidSpec {
    /// The field, from `spec` down.
    pub field: String,
    /// What is wrong and what to do.
    pub problem: String,
}

impl InvalidSpec {
    /// A field and what is wrong with it.
    pub fn new(field: &str, problem: impl std::fmt::Display) -> Self {
        Self {
            field: field.to_owned(),
            problem: problem.to_string(),
        }
    }
}

/// An action before or after the upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// How long it may take.
    pub timeout: SignedDuration,
    /// The spec of its ManifestWork as JSON, with the rules that feed back its Jobs and Pods: decisions carry it, they do not
    /// read it.
    pub work: Arc<Value>,
}

/// By what clusters are upgraded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedMethod {
    /// By the agent where its add-on is available, else through ClusterVersion.
    #[default]
    Auto,
    /// By the agent, through an UpgradeConfig.
    Agent,
    /// Through ClusterVersion.
    ClusterVersion,
}

/// What the agent is given beside the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentOptions {
    /// The list of steps that it runs: `OSD` or `ARO`.
    pub steps: &'static str,
    /// Minutes that a PodDisruptionBudget may hold up the drain of a node.
    pub pdb_force_drain_minutes: i32,
    /// Whether extra workers are added for the time of the upgrade, if the user says.
    pub capacity_reservation: Option<bool>,
    /// The namespace of the agent and its UpgradeConfig.
    pub namespace: String,
}

/// How the fleet is walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Which clusters go first, if any do.
    pub canaries: Option<Selector>,
    /// How long the canaries must stay healthy before any other cluster starts.
    pub soak: SignedDuration,
    /// How many may be in flight.
    pub max_concurrency: IntOrPercent,
    /// How long a cluster's upgrade may take.
    pub cluster_timeout: SignedDuration,
    /// How long a cluster's operators may take.
    pub operators_timeout: SignedDuration,
    /// How many failures of clusters that are not canaries stop the start of further ones, if any number does.
    pub max_failures: Option<IntOrPercent>,
    /// When which clusters may be started.
    pub start_times: StartTimes,
    /// A cluster is started only if it is expected to end before its window closes and its next freeze begins.
    pub start_only_if_it_fits: bool,
    /// By what clusters are upgraded.
    pub method: RequestedMethod,
    /// What the agent is given.
    pub agent: AgentOptions,
}

impl Strategy {
    /// How many of `selected` clusters may be in flight: never less than 1.
    pub fn slots(&self, selected: usize) -> usize {
        self.max_concurrency.of(selected).max(1)
    }

    /// How many failures of clusters that are not canaries stop the start of further ones: at least one.
    pub fn failure_budget(&self, selected: usize) -> Option<usize> {
        self.max_failures.map(|failures| failures.of(selected).max(1))
    }
}

/// What follows from what clusters answer before they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PreChecksMode {
    /// Nobody is asked.
    #[default]
    Off,
    /// They are asked, and start whatever they answer.
    Report,
    /// They start only when nothing is left that has to be accepted.
    Require,
}

impl PreChecksMode {
    /// As it stands in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "Off",
            Self::Report => "Report",
            Self::Require => "Require",
        }
    }
}

/// How clusters are asked before they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreChecksPolicy {
    /// What follows.
    pub mode: PreChecksMode,
    /// How old an answer may be.
    pub max_age: SignedDuration,
    /// After how long without an answer that is reported.
    pub timeout: SignedDuration,
}

/// The whole of what the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Placements whose decisions are united.
    pub placements: Vec<PlacementKey>,
    /// The Placement that the hub keeps for `clusterSelector`, if there is a selector: its name has a hash of the selector.
    pub own_placement: Option<PlacementKey>,
    /// What the clusters shall come to.
    pub goal: Arc<Goal>,
    /// How the fleet is walked.
    pub strategy: Strategy,
    /// Whether clusters are asked before they start.
    pub pre_checks: PreChecksPolicy,
    /// What runs on a cluster before its upgrade.
    pub pre_action: Option<ActionSpec>,
    /// What runs on a cluster after its upgrade.
    pub post_action: Option<ActionSpec>,
    /// Nothing new starts.
    pub paused: bool,
}

impl Spec {
    /// How long the upgrade of a cluster is expected to take: what is known of it, and never longer than the timeouts let it.
    pub(crate) fn expected(&self, known: Option<ExpectedDuration>) -> ExpectedDuration {
        let timeouts = Stage::ALL.into_iter().filter(|stage| self.has_stage(*stage));
        let longest = timeouts
            .filter_map(|stage| stage.timeout(self))
            .fold(SignedDuration::ZERO, SignedDuration::saturating_add);
        known
            .unwrap_or_else(|| ExpectedDuration::new(longest, true))
            .at_most(longest)
    }

    /// Whether clusters go through a stage.
    pub fn has_stage(&self, stage: Stage) -> bool {
        match stage {
            Stage::PreAction => self.pre_action.is_some(),
            Stage::Platform => self.goal.target.is_some(),
            Stage::Operators => self.goal.operators.is_some(),
            Stage::PostAction => self.post_action.is_some(),
        }
    }
}
