//! What the user asked for, as values: parsed once from the object's spec by [`crate::parse_spec`].

use std::sync::Arc;

use drydock_api::IntOrPercent;
use drydock_api::mcu::UpgradeVia;
use jiff::SignedDuration;

use crate::{Goal, PlacementKey, Selector, StartWindow};

/// An action before or after the upgrade. The manifests themselves stay in the object; here is what decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionSpec {
    /// How long it may take.
    pub timeout: SignedDuration,
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
    /// When clusters may be started; always without any.
    pub windows: Vec<StartWindow>,
    /// How the upgrade reaches the clusters.
    pub via: UpgradeVia,
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

/// The whole of what the user asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Placements whose decisions are united.
    pub placements: Vec<PlacementKey>,
    /// Whether the hub keeps a Placement of its own for `clusterSelector`.
    pub has_selector: bool,
    /// What the clusters shall come to.
    pub goal: Arc<Goal>,
    /// How the fleet is walked.
    pub strategy: Strategy,
    /// What runs on a cluster before.
    pub pre_action: Option<ActionSpec>,
    /// What runs on a cluster after.
    pub post_action: Option<ActionSpec>,
    /// Nothing new starts.
    pub paused: bool,
}
