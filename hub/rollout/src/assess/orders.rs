//! The works that are made for a cluster, and what they are for.

use std::sync::Arc;

use drydock_names::names::WorkKind;
use jiff::{SignedDuration, Timestamp};
use semver::Version;

use super::{ClusterView, StartKind};
use crate::{
    Enforcement, FailureReason, Goal, NewWork, RecordedEntry, RecordedOutcome, RequestedMethod, Revision,
    Spec, Stage, Target, UpgradeMethod, Work, WorkContent,
};

/// By how much the clocks of two hubs may differ.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// The first release whose ClusterVersion has the field `desiredUpdate.architecture`: what an API does not know cannot be applied to it.
const WITH_ARCHITECTURE: (u64, u64) = (4, 12);

fn has_architecture(running: &Version) -> bool {
    (running.major, running.minor) >= WITH_ARCHITECTURE
}

impl ClusterView<'_> {
    /// The first work of the cluster, which starts now.
    pub fn first_work(&self, kind: StartKind, generation: i64, since: Timestamp) -> Option<NewWork> {
        let spec = self.spec()?;
        let stage = match kind {
            StartKind::ByReading => Stage::Platform,
            StartKind::New | StartKind::ByReopening => self.first_stage()?,
        };
        let method = self.method(spec);
        let revision = Revision {
            generation,
            rollout_since: since,
            goal: spec.goal.clone(),
            method,
            timeout_seconds: stage.timeout(spec)?.as_secs(),
            started_at: self.new_attempt(),
            from: self.known_version().cloned(),
            started_by: Arc::clone(&self.context.upgrade.started_by),
            enforcement: self.enforcement_in(stage, &spec.goal, method),
        };
        self.work(stage, revision)
    }

    /// When an attempt begins that starts now: no two attempts on a cluster begin at the same moment, because they are distinguished by
    /// it. One that a page says to begin much later than now is none of ours.
    fn new_attempt(&self) -> Timestamp {
        let recorded = self
            .row
            .entries
            .iter()
            .filter_map(|recorded| recorded.entry.started)
            .filter(|started| started.duration_since(self.present.now()) < CLOCK_SKEW);
        let after = recorded.map(|started| started.saturating_add(SignedDuration::from_millis(1)));
        let earliest = after.filter_map(Result::ok).max();
        self.present.now().max(earliest.unwrap_or(Timestamp::MIN))
    }

    /// The work that follows on the one that carries the cluster's outcome.
    pub fn next_work(&self, stage: Stage) -> Option<NewWork> {
        let (_, lead) = self.lead()?;
        let revision = self.revision_after(lead, stage)?;
        self.work(stage, revision)
    }

    pub(super) fn revision_after(&self, lead: &Work, stage: Stage) -> Option<Revision> {
        let spec = self.spec();
        let mut revision = (**lead.revision.as_ref()?).clone();
        revision.enforcement = self.enforcement_in(stage, &revision.goal, revision.method);
        match spec.and_then(|spec| stage.timeout(spec)) {
            Some(timeout) => revision.timeout_seconds = timeout.as_secs(),
            // An action stands in the spec alone.
            None if stage == Stage::PostAction => return None,
            None => {}
        }
        Some(revision)
    }

    fn work(&self, stage: Stage, revision: Revision) -> Option<NewWork> {
        let spec = self.spec();
        let content = match stage {
            Stage::PreAction => WorkContent::Action(spec?.pre_action.as_ref()?.work.clone()),
            Stage::PostAction => WorkContent::Action(spec?.post_action.as_ref()?.work.clone()),
            Stage::Operators => WorkContent::Operators(revision.goal.operators.clone()?),
            Stage::Platform => {
                let target = revision.goal.target.clone()?;
                match revision.method {
                    UpgradeMethod::ClusterVersion => WorkContent::ClusterVersion {
                        target,
                        cluster_id: self.row.facts.as_ref().and_then(|facts| facts.cluster_id.clone()),
                        has_architecture: self.known_version().is_some_and(has_architecture),
                    },
                    UpgradeMethod::Agent => WorkContent::UpgradeConfig {
                        target,
                        settings: spec?.strategy.agent.clone(),
                    },
                }
            }
        };
        Some(NewWork {
            cluster: self.name.clone(),
            kind: stage.kind(),
            revision,
            content,
            canary: self.is_canary(),
        })
    }

    fn enforcement_in(&self, stage: Stage, goal: &Goal, method: UpgradeMethod) -> Enforcement {
        match stage {
            Stage::Platform => self.enforcement(goal, method),
            Stage::PreAction | Stage::Operators | Stage::PostAction => Enforcement::Enforced,
        }
    }

    /// Only a cluster that is known to be below the target is asked for it; every other one is read first. An image has no version
    /// to compare. A ClusterVersion is always read first: somebody may have the lock of the cluster.
    fn enforcement(&self, goal: &Goal, method: UpgradeMethod) -> Enforcement {
        match (self.known_version(), goal.version()) {
            _ if method == UpgradeMethod::ClusterVersion => Enforcement::Observed,
            (_, None) => Enforcement::Enforced,
            (Some(shown), Some(target))
                if shown.cmp_precedence(target).is_lt() && !self.may_be_at(target) =>
            {
                Enforcement::Enforced
            }
            _ => Enforcement::Observed,
        }
    }

    /// Whether the cluster may have come to the target, or to something that cannot be compared, by the records since it was last known
    /// where it is: a claim may lag behind, and an attempt that failed or was abandoned may have brought it there.
    fn may_be_at(&self, target: &Version) -> bool {
        let reaches = |recorded: &RecordedEntry| {
            let failed = FailureReason::parse(&recorded.entry.reason).map(FailureReason::stage);
            let version = recorded.entry.to.parse::<Version>();
            failed != Some(Stage::PreAction) && version.map_or(true, |version| version >= *target)
        };
        let is_known = |recorded: &&RecordedEntry| {
            matches!(
                recorded.entry.outcome,
                RecordedOutcome::Complete | RecordedOutcome::Drifted
            )
        };
        let mut newest_first = self.row.entries.iter().rev().map(|recorded| &**recorded);
        let mut unknown = true;
        newest_first.any(|recorded| {
            let counts = unknown;
            unknown &= !is_known(&recorded);
            counts && reaches(recorded)
        })
    }

    pub(super) fn method(&self, spec: &Spec) -> UpgradeMethod {
        let fits = spec.goal.target.as_ref().is_some_and(Target::fits_agent);
        match spec.strategy.method {
            RequestedMethod::Auto if self.row.agent && fits => UpgradeMethod::Agent,
            RequestedMethod::Auto | RequestedMethod::ClusterVersion => UpgradeMethod::ClusterVersion,
            RequestedMethod::Agent => UpgradeMethod::Agent,
        }
    }

    /// The revision of the cluster's upgrade work in a new attempt, which continues where the last one failed.
    pub fn reopened(&self) -> Option<Revision> {
        let work = self.own(WorkKind::Cluster)?;
        let mut revision = (**work.revision.as_ref()?).clone();
        revision.started_at = self.new_attempt();
        revision.started_by = Arc::clone(&self.context.upgrade.started_by);
        // With the outcome the work has ceased to enforce the target, which the cluster has come to.
        revision.enforcement = Enforcement::Observed;
        // It is the present spec that lets it start.
        revision.generation = self.context.upgrade.generation;
        Some(revision)
    }

    /// The revision of the cluster's upgrade work with another enforcement and, for a channel, another goal.
    pub fn revised(&self, enforcement: Enforcement) -> Option<Revision> {
        let work = self.own(WorkKind::Cluster)?;
        let mut revision = (**work.revision.as_ref()?).clone();
        revision.enforcement = enforcement;
        if enforcement == Enforcement::ChannelOnly {
            revision.goal = self.spec()?.goal.clone();
        }
        Some(revision)
    }
}
