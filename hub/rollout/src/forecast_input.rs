//! What a forecast begins with: where each cluster of a rollout is now, and what the rules of the rollout as a whole depend on.

use std::sync::Arc;

use drydock_names::ClusterName;
use jiff::Timestamp;
use semver::Version;
use thiserror::Error;

use crate::assess::ClusterView;
use crate::decide::is_frozen;
use crate::slots::SlotInputs;
use crate::{
    Decider, InvalidSpec, Labels, PlacementKey, Reason, SelectionProblem, Spec, Stage, StageSet, Timetable,
};

/// Where a cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// It starts when it is its turn.
    Waits {
        /// The stages through which it goes.
        stages: StageSet,
        /// How many decisions it takes to make room for its first work.
        clearing: u8,
    },
    /// It does not start before something else happens.
    Blocked(Reason),
    /// A stage is under way.
    UnderWay {
        /// Which.
        stage: Stage,
        /// Since when.
        since: Timestamp,
        /// When it fails at the latest.
        deadline: Timestamp,
        /// The stages after it.
        then: StageSet,
        /// When the cluster started.
        started: Option<Timestamp>,
    },
    /// A stage is done; these follow.
    Advances {
        /// The stages.
        stages: StageSet,
        /// When the cluster started.
        started: Option<Timestamp>,
        /// Its upgrade has begun; else it is between the pre-upgrade action and the upgrade.
        upgrading: bool,
    },
    /// Its last stage is over, which is committed next.
    Ends {
        /// It failed.
        failed: bool,
        /// When the cluster started.
        started: Option<Timestamp>,
        /// Its upgrade had begun.
        upgrading: bool,
    },
    /// It is done, or failed.
    Ended {
        /// It failed.
        failed: bool,
        /// When it started; `None` if it needed nothing.
        started: Option<Timestamp>,
        /// When it ended.
        finished: Option<Timestamp>,
    },
}

/// What follows when a cluster that is in flight has ended: it was started for the goal of that moment, which may be another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AfterEnd {
    /// Nothing.
    Rests,
    /// If it has succeeded, it waits for its turn again.
    Repeats {
        /// The stages through which it goes then.
        stages: StageSet,
        /// How many decisions it takes to make room for its first work.
        clearing: u8,
    },
    /// If it has succeeded, this keeps it from starting again.
    Blocked(Reason),
    /// It takes no part any more: no Placement selects it.
    Leaves,
}

/// One cluster of a rollout, as a forecast sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterProgress {
    /// Its name.
    pub name: ClusterName,
    /// Whether it is a canary.
    pub canary: bool,
    /// Whether a Placement selects it now.
    pub selected: bool,
    /// The labels of its ManagedCluster.
    pub labels: Labels,
    /// The version from which it is upgraded, if that is known.
    pub from: Option<Version>,
    /// It is a canary in trouble.
    pub unhealthy: bool,
    /// When it may be started.
    pub timetable: Timetable,
    /// Where it is.
    pub position: Position,
    /// The stages through which it goes if it starts as it is now.
    pub from_start: StageSet,
    /// What follows when it has ended.
    pub after: AfterEnd,
}

impl ClusterProgress {
    /// Why it does not start, or not once more, before something else happens.
    pub fn blocked_by(&self) -> Option<&Reason> {
        match (&self.position, &self.after) {
            (Position::Blocked(reason), _) | (_, AfterEnd::Blocked(reason)) => Some(reason),
            _ => None,
        }
    }
}

/// What a forecast begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForecastInput {
    /// The moment of it.
    pub now: Timestamp,
    /// What the user asked for.
    pub spec: Arc<Spec>,
    /// When the rollout began, if it has.
    pub since: Option<Timestamp>,
    /// What the rules of the rollout depend on.
    pub inputs: SlotInputs,
    /// The clusters that take part, by name.
    pub clusters: Vec<ClusterProgress>,
    /// Those that wait for their turn, and those that will again, in the order in which they start: indexes into the clusters.
    pub queue: Vec<usize>,
}

/// Why there is nothing to forecast.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ForecastUnavailable {
    /// The spec cannot be acted on.
    #[error("the spec is invalid: {0}")]
    InvalidSpec(InvalidSpec),
    /// The selection is not known.
    #[error("{}", problem.about(placement))]
    Selection {
        /// The Placement.
        placement: PlacementKey,
        /// Why not.
        problem: SelectionProblem,
    },
    /// The upgrade is being deleted.
    #[error("the upgrade is being deleted")]
    Deleting,
    /// The upgrade is complete.
    #[error("the upgrade is complete")]
    Complete,
    /// All clusters have ended, or need nothing.
    #[error("{}", nothing_left(*failed))]
    Ended {
        /// Clusters that failed.
        failed: usize,
    },
}

fn nothing_left(failed: usize) -> String {
    if failed == 0 {
        return "nothing is left to do: all clusters have ended, or run the target already".to_owned();
    }
    format!(
        "nothing is left to do: all clusters have ended, {failed} of them failed; kubectl drydock retry lets these start over"
    )
}

impl Decider {
    /// What a forecast of this moment begins with.
    ///
    /// # Errors
    /// If the rollout comes to no end by itself, because of what only a user can change, or has come to it.
    pub fn forecast_input(&mut self, now: Timestamp) -> Result<ForecastInput, ForecastUnavailable> {
        self.bring_up_to_date(now);
        let fleet = self.fleet();
        let rollout = fleet.rollout;
        if rollout.upgrade.deleting {
            return Err(ForecastUnavailable::Deleting);
        }
        let spec = rollout.spec.clone().map_err(ForecastUnavailable::InvalidSpec)?;
        if is_frozen(rollout) {
            return Err(ForecastUnavailable::Complete);
        }
        for source in &rollout.selection.sources {
            if let Some(problem) = &source.problem {
                return Err(ForecastUnavailable::Selection {
                    placement: source.placement.clone(),
                    problem: problem.clone(),
                });
            }
        }
        let mut clusters = Vec::new();
        let mut queue = Vec::new();
        let (mut startable, mut refused) = (0, 0);
        for (name, assessment) in fleet.assessments {
            let Some(row) = fleet.rows.get(name) else { continue };
            let cluster = ClusterView::new(fleet.context, name, row, now);
            let Some(forecast_input) = cluster.forecast_input(assessment) else {
                continue;
            };
            let waits = matches!(forecast_input.position, Position::Waits { .. });
            if waits || matches!(forecast_input.after, AfterEnd::Repeats { .. }) {
                queue.push((cluster.turn(&forecast_input), clusters.len()));
            }
            if waits {
                startable += 1;
                let status = assessment.status.as_ref();
                refused += usize::from(status.is_some_and(|status| status.state.in_flight()));
            }
            clusters.push(forecast_input);
        }
        let is_ended = |cluster: &ClusterProgress| matches!(cluster.position, Position::Ended { .. });
        if !clusters.is_empty() && clusters.iter().all(is_ended) {
            let failed = clusters
                .iter()
                .filter(|cluster| matches!(cluster.position, Position::Ended { failed: true, .. }));
            return Err(ForecastUnavailable::Ended {
                failed: failed.count(),
            });
        }
        queue.sort();
        let totals = SlotInputs::of(fleet.totals);
        // They are recorded at once.
        let recorded = (totals.unrecorded_canaries > 0).then_some(now);
        let inputs = SlotInputs {
            startable,
            // A start that was refused is tried again: it has begun nothing yet.
            in_flight: totals.in_flight.saturating_sub(refused),
            pending: totals.pending + refused,
            refused_starts: 0,
            // Whether these are there is known within a minute.
            may_hide_works: 0,
            unrecorded_canaries: 0,
            canaries_finished: totals.canaries_finished.max(recorded),
            canaries_available: totals.canaries_available.max(recorded),
            ..totals
        };
        Ok(ForecastInput {
            now,
            spec,
            since: fleet.context.since,
            inputs,
            clusters,
            queue: queue.into_iter().map(|(_, index)| index).collect(),
        })
    }
}
