//! The stages of a cluster's upgrade, one after the other. All that differs between them stands in one table.

use drydock_names::names::WorkKind;
use jiff::SignedDuration;

use crate::{ClusterState, FailureReason, Spec};

/// A stage of a cluster's upgrade. Each has a ManifestWork of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The user's action before the upgrade.
    PreAction,
    /// The upgrade of the platform.
    Platform,
    /// The upgrade of installed operators.
    Operators,
    /// The user's action after the upgrade.
    PostAction,
}

struct StageRow {
    kind: WorkKind,
    state: ClusterState,
    label: &'static str,
    failed: FailureReason,
    timed_out: FailureReason,
    refused: FailureReason,
    timeout: fn(&Spec) -> Option<SignedDuration>,
}

const TABLE: [StageRow; 4] = [
    StageRow {
        kind: WorkKind::Pre,
        state: ClusterState::PreAction,
        label: "pre-upgrade action",
        failed: FailureReason::PreActionFailed,
        timed_out: FailureReason::PreActionTimedOut,
        refused: FailureReason::PreActionRefused,
        timeout: |spec| spec.pre_action.as_ref().map(|action| action.timeout),
    },
    StageRow {
        kind: WorkKind::Cluster,
        state: ClusterState::Initialized,
        label: "upgrade",
        failed: FailureReason::InvalidTarget,
        timed_out: FailureReason::UpgradeTimedOut,
        refused: FailureReason::UpgradeRefused,
        timeout: |spec| Some(spec.strategy.cluster_timeout),
    },
    StageRow {
        kind: WorkKind::Operators,
        state: ClusterState::Operators,
        label: "upgrade of the operators",
        failed: FailureReason::OperatorsFailed,
        timed_out: FailureReason::OperatorsTimedOut,
        refused: FailureReason::OperatorsRefused,
        timeout: |spec| Some(spec.strategy.operators_timeout),
    },
    StageRow {
        kind: WorkKind::Post,
        state: ClusterState::PostAction,
        label: "post-upgrade action",
        failed: FailureReason::PostActionFailed,
        timed_out: FailureReason::PostActionTimedOut,
        refused: FailureReason::PostActionRefused,
        timeout: |spec| spec.post_action.as_ref().map(|action| action.timeout),
    },
];

impl Stage {
    /// All stages, in their order.
    pub const ALL: [Self; 4] = [Self::PreAction, Self::Platform, Self::Operators, Self::PostAction];

    fn row(self) -> &'static StageRow {
        &TABLE[self as usize]
    }

    /// The stage that works of this kind are for.
    pub fn of(kind: WorkKind) -> Self {
        match kind {
            WorkKind::Pre => Self::PreAction,
            WorkKind::Cluster => Self::Platform,
            WorkKind::Operators => Self::Operators,
            WorkKind::Post => Self::PostAction,
        }
    }

    /// The kind of its work.
    pub fn kind(self) -> WorkKind {
        self.row().kind
    }

    /// The state of a cluster that has just entered it.
    pub fn state(self) -> ClusterState {
        self.row().state
    }

    /// What it is called in messages.
    pub fn label(self) -> &'static str {
        self.row().label
    }

    /// The failure of what runs in it.
    pub fn failed(self) -> FailureReason {
        self.row().failed
    }

    /// The failure of taking too long.
    pub fn timed_out(self) -> FailureReason {
        self.row().timed_out
    }

    /// The failure of its work, which could not be written.
    pub fn refused(self) -> FailureReason {
        self.row().refused
    }

    /// How long it may take, as the spec says; `None` for an action that the spec has no longer.
    pub fn timeout(self, spec: &Spec) -> Option<SignedDuration> {
        (self.row().timeout)(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_finds_its_own_row() {
        for stage in Stage::ALL {
            assert_eq!(Stage::of(stage.kind()), stage);
        }
    }
}
