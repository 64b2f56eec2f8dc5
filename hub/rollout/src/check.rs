//! The invariants of a plan, computed apart from the decision: from the rows alone. The hub refuses to act on a plan that breaks
//! one.

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;
use drydock_names::names::{EndState, WorkKind};
use thiserror::Error;

use crate::assess::rollout_since;
use crate::{
    Action, ActionJobState, AnswerSource, ClusterRow, FailureReason, Finding, Plan, PreChecksMode,
    RecordedOutcome, RequestedMethod, Rollout, Spec, Stage, Uid, VersionFeedback, Work, WorkFeedback,
};

/// A rule that a plan would break.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Violation {
    /// More clusters would be in flight than `maxConcurrency` allows.
    #[error("{in_flight} clusters would be in flight, {limit} are allowed")]
    TooMany {
        /// How many would be.
        in_flight: usize,
        /// How many may be.
        limit: usize,
    },
    /// A cluster that is no canary would start before all canaries are complete.
    #[error("{0} would start before the canaries are complete")]
    BeforeCanaries(ClusterName),
    /// A cluster would start although nothing may.
    #[error("{0} would start although {1}")]
    MustNotStart(ClusterName, &'static str),
    /// A cluster would start although an answer is required of it, and there is none, or one with findings that nobody has accepted.
    #[error("{0} would start although its pre-checks do not let it")]
    NotCleared(ClusterName),
    /// A work would be created where one is.
    #[error("the work {1:?} of {0} exists")]
    Exists(ClusterName, WorkKind),
    /// A cluster would start while another upgrade is at work on it.
    #[error("{0} is another upgrade's")]
    NotOurs(ClusterName),
    /// A work would be deleted or changed that is not the observed one, or is another upgrade's and not finished.
    #[error("the work {1:?} of {0} must not be touched")]
    MustNotTouch(ClusterName, WorkKind),
    /// A work with an outcome would be deleted before that is on a page of records.
    #[error("the outcome on the work {1:?} of {0} is on no record")]
    WouldBeLost(ClusterName, WorkKind),
}

/// Says which rules the plan would break.
pub fn check(
    rollout: &Rollout,
    rows: &BTreeMap<ClusterName, Box<ClusterRow>>,
    plan: &Plan,
) -> Vec<Violation> {
    let check = Check { rollout, rows };
    let mut violations = Vec::new();
    let starts: BTreeSet<&ClusterName> = plan
        .actions
        .iter()
        .filter_map(Action::starts)
        .filter(|cluster| !check.in_flight(cluster))
        .collect();
    if !starts.is_empty() {
        check.starts(plan, &starts, &mut violations);
    }
    check.upgrades(plan, &mut violations);
    for action in &plan.actions {
        check.action(action, &mut violations);
    }
    violations
}

struct Check<'a> {
    rollout: &'a Rollout,
    rows: &'a BTreeMap<ClusterName, Box<ClusterRow>>,
}

impl<'a> Check<'a> {
    fn starts(&self, plan: &Plan, starts: &BTreeSet<&ClusterName>, violations: &mut Vec<Violation>) {
        let canaries_wait = self.canaries_wait();
        for name in starts {
            self.start(name, canaries_wait, violations);
        }
        if let Ok(spec) = &self.rollout.spec {
            let limit = spec.strategy.slots(self.selected());
            let running = self.rows.iter().filter(|(name, row)| {
                self.in_flight(name) && !self.waits_between(plan, name) || row.may_hide_work()
            });
            let running = running.count();
            if running + starts.len() > limit {
                violations.push(Violation::TooMany {
                    in_flight: running + starts.len(),
                    limit,
                });
            }
        }
    }

    /// Clusters that have started before continue to their upgrade only while fewer are being upgraded than may be in flight.
    fn upgrades(&self, plan: &Plan, violations: &mut Vec<Violation>) {
        let Ok(spec) = &self.rollout.spec else {
            return;
        };
        let is_upgrading =
            |name: &ClusterName| self.in_flight(name) && self.own(name).any(|(kind, _)| is_main(kind));
        let continuing = plan.actions.iter().filter(|action| match action {
            Action::CreateWork(new) => {
                is_main(new.kind) && self.in_flight(&new.cluster) && !is_upgrading(&new.cluster)
            }
            _ => false,
        });
        let continuing = continuing.count();
        if continuing == 0 {
            return;
        }
        let upgrading = self.rows.keys().filter(|name| is_upgrading(name)).count();
        let limit = spec.strategy.slots(self.selected());
        if upgrading + continuing > limit {
            violations.push(Violation::TooMany {
                in_flight: upgrading + continuing,
                limit,
            });
        }
    }

    fn start(&self, name: &ClusterName, canaries_wait: bool, violations: &mut Vec<Violation>) {
        let upgrade = &self.rollout.upgrade;
        let is_selected = self.rows.get(name).is_some_and(|row| row.selection.is_some());
        let why = match &self.rollout.spec {
            Err(_) => Some("the spec is invalid"),
            Ok(spec) if spec.paused => Some("it is paused"),
            Ok(_) if upgrade.deleting => Some("the upgrade is being deleted"),
            Ok(_) if !is_selected => Some("it is not selected"),
            Ok(_) if !upgrade.finalizer => Some("the upgrade has no finalizer yet"),
            Ok(_) => None,
        };
        if let Some(why) = why {
            violations.push(Violation::MustNotStart(name.clone(), why));
        }
        if self.works(name).any(|(_, work)| !upgrade.owns_work(work)) {
            violations.push(Violation::NotOurs(name.clone()));
        }
        if let Ok(spec) = &self.rollout.spec
            && canaries_wait
            && !self.is_canary(spec, name)
        {
            violations.push(Violation::BeforeCanaries(name.clone()));
        }
        if let Ok(spec) = &self.rollout.spec
            && let Some(row) = self.rows.get(name)
            && self.needs_answer(spec, name, row)
            && !self.has_cleared(spec, name, row)
        {
            violations.push(Violation::NotCleared(name.clone()));
        }
    }

    /// Whether a cluster starts only with an answer: not where its platform is at the target, or where a later stage is taken up again.
    fn needs_answer(&self, spec: &Spec, name: &ClusterName, row: &ClusterRow) -> bool {
        let is_required = spec.pre_checks.mode == PreChecksMode::Require && spec.goal.target.is_some();
        let claims = row.facts.as_ref().and_then(|facts| facts.version.as_ref());
        let fed_back = self
            .works(name)
            .filter_map(|(_, work)| work.feedback.cluster_version()?.completed());
        let is_ahead = !spec.goal.platform_reached(fed_back.chain(claims).max());
        let is_later = |reason: &str| {
            let failed = FailureReason::parse(reason).map(FailureReason::stage);
            failed.is_some_and(|stage| stage > Stage::Platform)
        };
        let by_works = self.own(name).filter_map(|(_, work)| work.outcome.as_ref());
        let by_records = row.entries.iter().map(|recorded| &recorded.entry.reason);
        let is_taken_up = by_works
            .map(|outcome| &outcome.reason)
            .chain(by_records)
            .any(|reason| is_later(reason));
        is_required && is_ahead && !is_taken_up
    }

    fn has_cleared(&self, spec: &Spec, name: &ClusterName, row: &ClusterRow) -> bool {
        let Some((work, target)) = row.pre_checks.as_ref().zip(spec.goal.target.as_ref()) else {
            return false;
        };
        let image = target.image.as_deref().unwrap_or_default();
        let named = target.to_string();
        let is_asked = work.question.as_ref().is_some_and(|question| {
            let joined = row.facts.as_ref().and_then(|facts| facts.created);
            let is_of_it = joined.is_none_or(|joined| question.asked_at >= joined);
            is_of_it && *question.target == *named && *question.image == *image
        });
        let is_by_agent = match spec.strategy.method {
            RequestedMethod::Auto => row.agent && target.fits_agent(),
            RequestedMethod::Agent => true,
            RequestedMethod::ClusterVersion => false,
        };
        let is_by_version = target.image.is_none() && !is_by_agent;
        let is_own = work.owner.uid == self.rollout.upgrade.uid && !work.deleting;
        let facts = row.facts.as_deref();
        let is_accepted = |found: &Finding| {
            let mut risks = self.rollout.acceptances.iter();
            risks.any(|risk| {
                let is_of_cluster = *risk.target == *named && risk.is_about(name, facts);
                is_of_cluster && !risk.ended.has(name) && risk.covers(found)
            })
        };
        let is_clear = work.answer.current().is_some_and(|answer| match &answer.source {
            AnswerSource::AtTarget => true,
            AnswerSource::Agent { stops, .. } => !stops,
            AnswerSource::ClusterVersion => answer.findings.iter().all(is_accepted),
        });
        let is_at_target = work
            .answer
            .current()
            .is_some_and(|answer| answer.source == AnswerSource::AtTarget);
        let mut without_image = work
            .without_image
            .iter()
            .filter(|_| is_by_version && !is_at_target);
        let is_clear = is_clear && without_image.all(is_accepted);
        is_own && is_asked && is_clear && row.pre_check_write.is_none()
    }

    fn action(&self, action: &Action, violations: &mut Vec<Violation>) {
        let own = |cluster: &ClusterName, kind, uid: &Uid| {
            self.find(cluster, kind, uid)
                .is_some_and(|work| self.rollout.upgrade.owns_work(work))
        };
        match action {
            Action::CreateWork(new) => {
                if self.works(&new.cluster).any(|(kind, _)| kind == new.kind) {
                    violations.push(Violation::Exists(new.cluster.clone(), new.kind));
                }
            }
            Action::FinishWork(finish) => {
                if !own(&finish.cluster, finish.kind, &finish.uid) {
                    violations.push(Violation::MustNotTouch(finish.cluster.clone(), finish.kind));
                }
            }
            Action::EnforceWork { cluster, uid, .. } | Action::SetChannel { cluster, uid, .. } => {
                if !own(cluster, WorkKind::Cluster, uid) {
                    violations.push(Violation::MustNotTouch(cluster.clone(), WorkKind::Cluster));
                }
            }
            Action::LabelWork {
                cluster, kind, uid, ..
            } => {
                if !own(cluster, *kind, uid) {
                    violations.push(Violation::MustNotTouch(cluster.clone(), *kind));
                }
            }
            Action::ReopenWork { cluster, uid, .. } => {
                let failed = self
                    .find(cluster, WorkKind::Cluster, uid)
                    .is_some_and(|work| self.has_failed(cluster, work));
                if !failed || !own(cluster, WorkKind::Cluster, uid) {
                    violations.push(Violation::MustNotTouch(cluster.clone(), WorkKind::Cluster));
                }
            }
            Action::DeleteWork { cluster, kind, uid } => self.deletion(cluster, *kind, uid, violations),
            Action::AddFinalizer
            | Action::RemoveFinalizer
            | Action::ApplyPlacement(_)
            | Action::DeletePlacement(_)
            | Action::ConfirmWork { .. }
            | Action::AskPreChecks(_)
            | Action::DeletePreChecks { .. }
            | Action::WritePage(_)
            | Action::MarkPage { .. } => {}
        }
    }

    fn deletion(&self, cluster: &ClusterName, kind: WorkKind, uid: &Uid, violations: &mut Vec<Violation>) {
        let Some(work) = self.find(cluster, kind, uid) else {
            violations.push(Violation::MustNotTouch(cluster.clone(), kind));
            return;
        };
        let upgrade = &self.rollout.upgrade;
        if !upgrade.owns_work(work) && upgrade.live.has(&work.owner) && self.is_at_work(cluster, work) {
            violations.push(Violation::MustNotTouch(cluster.clone(), kind));
        }
        let without_records =
            upgrade.deleting && upgrade.namespace_deleting || upgrade.live.has_no_place_for(&work.owner);
        if work.outcome.is_some() && !self.is_recorded(cluster, work) && !without_records {
            violations.push(Violation::WouldBeLost(cluster.clone(), kind));
        }
    }

    fn selected(&self) -> usize {
        self.rows.values().filter(|row| row.selection.is_some()).count()
    }

    fn is_canary(&self, spec: &Spec, name: &ClusterName) -> bool {
        let facts = self.rows.get(name).and_then(|row| row.facts.as_ref());
        let canaries = spec.strategy.canaries.as_ref();
        canaries
            .zip(facts)
            .is_some_and(|(canaries, facts)| canaries.matches(&facts.labels))
    }

    /// Whether a canary is not complete that is selected and was not left to a later upgrade.
    fn canaries_wait(&self) -> bool {
        self.rollout.spec.as_ref().is_ok_and(|spec| {
            let mut selected = self.rows.iter().filter(|(_, row)| row.selection.is_some());
            selected.any(|(name, row)| {
                self.is_canary(spec, name) && !self.is_complete(spec, name) && !self.is_left(row)
            })
        })
    }

    /// Whether a rollout of another upgrade that began later has had the cluster.
    fn is_left(&self, row: &ClusterRow) -> bool {
        let upgrade = &self.rollout.upgrade;
        let works = row.works.iter().filter(|(_, work)| !upgrade.owns_work(work));
        let works =
            works.filter_map(|(_, work)| work.revision.as_ref().map(|revision| revision.rollout_since));
        let entries = row.entries.iter().filter(|found| !found.entry.is_without_work());
        let entries = entries.map(|recorded| &recorded.page);
        let entries = entries
            .filter(|page| page.closed || !upgrade.owns(&page.owner))
            .map(|page| page.rollout_since);
        let latest = works.chain(entries).max();
        latest.is_some_and(|latest| rollout_since(self.rollout).is_some_and(|ours| latest >= ours))
    }

    fn works(&self, name: &ClusterName) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        let works = self.rows.get(name).into_iter().flat_map(|row| row.works.iter());
        works.map(|(kind, work)| (kind, &**work))
    }

    fn own(&self, name: &ClusterName) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        self.works(name)
            .filter(|(_, work)| self.rollout.upgrade.owns_work(work))
    }

    fn find(&self, name: &ClusterName, kind: WorkKind, uid: &Uid) -> Option<&'a Work> {
        self.works(name)
            .find(|(other, work)| *other == kind && work.uid == *uid)
            .map(|(_, work)| work)
    }

    /// Whether the attempt of a work has failed, by its outcome or, where that could not be committed on it, by a page of records.
    fn has_failed(&self, name: &ClusterName, work: &Work) -> bool {
        if let Some(outcome) = &work.outcome {
            return outcome.state == EndState::Failed;
        }
        let mut entries = self.rows.get(name).into_iter().flat_map(|row| row.entries.iter());
        entries.any(|recorded| {
            recorded.entry.outcome == RecordedOutcome::Failed
                && self.rollout.upgrade.owns(&recorded.page.owner)
                && work.is_recorded_by(&recorded.entry)
        })
    }

    /// Whether the end of the attempt that a work is part of is on a page of records.
    fn is_recorded(&self, name: &ClusterName, work: &Work) -> bool {
        let entries = self.rows.get(name).into_iter().flat_map(|row| row.entries.iter());
        entries
            .filter(|recorded| recorded.page.owner.is_same(&work.owner))
            .any(|recorded| work.is_recorded_by(&recorded.entry))
    }

    /// Whether the maker of a work has works on the cluster without an outcome.
    fn is_at_work(&self, name: &ClusterName, work: &Work) -> bool {
        let theirs = || {
            self.works(name)
                .filter(|(_, other)| other.owner.is_same(&work.owner) && !other.deleting)
        };
        let started = theirs().any(|(kind, _)| starts(kind));
        started && theirs().all(|(_, other)| other.outcome.is_none() && !self.is_recorded(name, other))
    }

    fn in_flight(&self, name: &ClusterName) -> bool {
        let started = self.own(name).any(|(kind, _)| starts(kind));
        started
            && self
                .own(name)
                .all(|(_, work)| work.outcome.is_none() && !self.is_recorded(name, work))
    }

    /// Whether its action is done, and its upgrade does not follow with this plan.
    fn waits_between(&self, plan: &Plan, name: &ClusterName) -> bool {
        let is_done = |work: &Work| match &work.feedback {
            WorkFeedback::ActionJobs(jobs) => {
                work.available && jobs.iter().all(|job| job.state == ActionJobState::Succeeded)
            }
            _ => false,
        };
        let follows = plan.actions.iter().any(|action| match action {
            Action::CreateWork(new) => new.cluster == *name,
            _ => false,
        });
        !follows
            && self
                .own(name)
                .all(|(kind, work)| kind == WorkKind::Pre && is_done(work))
    }

    fn is_complete(&self, spec: &Spec, name: &ClusterName) -> bool {
        let Some(row) = self.rows.get(name) else {
            return false;
        };
        let is_enough = |version| {
            spec.goal.operators.is_none() && version_is(spec.goal.platform_reached(version), version)
        };
        let claims = row.facts.as_ref().and_then(|facts| facts.version.as_ref());
        let by_works = self.own(name).any(|(kind, work)| {
            let outcome = work.outcome.as_ref();
            let complete = outcome.is_some_and(|outcome| outcome.state == EndState::Complete);
            is_main(kind) && complete && work.is_for(&spec.goal)
        });
        // What a cluster runs it says on anybody's work.
        let by_feedback = self.works(name).any(|(_, work)| {
            let feedback = work.feedback.cluster_version();
            is_enough(feedback.and_then(VersionFeedback::completed))
        });
        let by_records = row.entries.iter().any(|recorded| {
            recorded.entry.outcome == RecordedOutcome::Complete
                && self.rollout.upgrade.owns(&recorded.page.owner)
                && recorded.page.goal == spec.goal.fingerprint()
        });
        by_works || by_feedback || by_records || is_enough(claims)
    }
}

fn version_is(reached: bool, version: Option<&semver::Version>) -> bool {
    reached && version.is_some()
}

fn is_main(kind: WorkKind) -> bool {
    matches!(kind, WorkKind::Cluster | WorkKind::Operators)
}

/// Whether a cluster has started when it has such a work.
fn starts(kind: WorkKind) -> bool {
    kind == WorkKind::Pre || is_main(kind)
}
