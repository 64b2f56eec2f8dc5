//! The rules again, computed in another way than the hub's own check.

use std::collections::BTreeSet;

use drydock_rollout::{
    Action, ActionJobState, ClusterName, ClusterRow, EndState, Enforcement, Plan, RecordedOutcome,
    UpdateState, UpgradeMethod, Work, WorkFeedback, WorkKind,
};
use semver::Version;

use super::world::World;

impl World {
    pub fn keeps_the_rules(&self, plan: &Plan) {
        self.nothing_is_lost(plan);
        self.nobody_is_asked_for_an_older_version(plan);
        self.nobody_is_asked_while_another_upgrade_has_the_lock(plan);
        let starts: BTreeSet<&ClusterName> = plan
            .actions
            .iter()
            .filter_map(Action::starts)
            .filter(|cluster| !self.is_under_way(cluster))
            .collect();
        let spec = self.spec();
        let limit = spec.strategy.max_concurrency.of(self.selected().len()).max(1);
        self.limits_upgrades(plan, limit);
        if starts.is_empty() {
            return;
        }
        assert!(!spec.paused, "nothing starts while it is paused");
        assert!(
            self.in_flight() + starts.len() <= limit,
            "never more in flight than allowed"
        );
        if let Some(budget) = spec.strategy.max_failures {
            let fails = plan.actions.iter().filter(|action| match action {
                Action::FinishWork(finish) => {
                    finish.outcome == EndState::Failed && !self.is_canary(&finish.cluster)
                }
                _ => false,
            });
            let failed = self
                .observed
                .rows
                .keys()
                .filter(|name| self.has_failed(name) && !self.is_canary(name));
            let failures = failed.count() + fails.count();
            assert!(
                failures < budget.of(self.selected().len()).max(1),
                "the failure budget is spent"
            );
        }
        for name in starts {
            self.may_start(name);
        }
    }

    fn may_start(&self, name: &ClusterName) {
        let row = &self.observed.rows[name];
        assert!(row.selection.is_some(), "{name} is not selected");
        let facts = row.facts.as_ref().unwrap();
        assert!(
            facts.labels.get("in") == Some("yes")
                && !facts.deleting
                && facts.available
                && facts.product.is_none(),
            "{name} is not what was asked for: {facts:?}"
        );
        let others = row.works.iter().filter(|(_, work)| !self.is_own(work));
        assert_eq!(others.count(), 0, "{name} is another upgrade's");
        assert!(row.unconfirmed.is_empty(), "{name} has works that are not known");
        let spec = self.spec();
        if spec.strategy.canaries.is_some() && !self.is_canary(name) {
            let open = self.selected().into_iter().find(|other| {
                self.is_canary(other) && !self.is_complete(other) && !self.is_left_to_a_later(other)
            });
            assert_eq!(open, None, "{name} starts before this canary is complete");
        }
    }

    /// No work with an outcome goes before that is on a page of records.
    fn nothing_is_lost(&self, plan: &Plan) {
        for action in &plan.actions {
            let Action::DeleteWork { cluster, kind, .. } = action else {
                continue;
            };
            let row = &self.observed.rows[cluster];
            let work = row.works.get(*kind).unwrap();
            let is_recorded = row
                .entries
                .iter()
                .any(|recorded| recorded.entry.started == Some(work.attempt_since()));
            assert!(
                work.outcome.is_none() || is_recorded,
                "the outcome of {cluster} would be lost"
            );
        }
    }

    /// What is enforced on a cluster is never older than what it is known to run.
    fn nobody_is_asked_for_an_older_version(&self, plan: &Plan) {
        for action in &plan.actions {
            let Action::CreateWork(new) = action else { continue };
            if new.kind != WorkKind::Cluster || new.revision.enforcement != Enforcement::Enforced {
                continue;
            }
            let Some(target) = new.revision.goal.version() else {
                continue;
            };
            let shown = shown(&self.observed.rows[&new.cluster]);
            // A cluster that runs the target may be asked for it again: a stage after it is repeated.
            assert!(
                shown.as_ref().is_some_and(|shown| shown <= target),
                "{} is asked for {target} and is known to run {shown:?}",
                new.cluster
            );
        }
    }

    /// A ClusterVersion is read before it is written, and not written while somebody has the lock of its cluster.
    fn nobody_is_asked_while_another_upgrade_has_the_lock(&self, plan: &Plan) {
        for action in &plan.actions {
            match action {
                Action::CreateWork(new) if new.kind == WorkKind::Cluster => assert!(
                    new.revision.method == UpgradeMethod::Agent
                        || new.revision.enforcement == Enforcement::Observed,
                    "{} is written without having been read",
                    new.cluster
                ),
                Action::EnforceWork { cluster, .. } => {
                    let work = self.observed.rows[cluster].works.get(WorkKind::Cluster).unwrap();
                    let WorkFeedback::ClusterVersion(feedback) = &work.feedback else {
                        continue;
                    };
                    assert_eq!(feedback.locked_by, None, "{cluster} is written against its lock");
                    let is_under_way =
                        feedback.state == Some(UpdateState::Partial) && feedback.blocked_by.is_none();
                    assert!(!is_under_way, "{cluster} is led elsewhere in mid-update");
                }
                _ => {}
            }
        }
    }

    fn own_works<'a>(&'a self, row: &'a ClusterRow) -> impl Iterator<Item = (WorkKind, &'a Work)> {
        let works = row.works.iter().map(|(kind, work)| (kind, &**work));
        works.filter(|(_, work)| self.is_own(work))
    }

    pub fn is_under_way(&self, name: &ClusterName) -> bool {
        let row = &self.observed.rows[name];
        let mut own = self.own_works(row).peekable();
        own.peek().is_some()
            && own.all(|(_, work)| {
                let started = Some(work.attempt_since());
                let mut ours = row
                    .entries
                    .iter()
                    .filter(|recorded| self.observed.rollout.upgrade.owns(&recorded.page.owner));
                work.outcome.is_none() && !ours.any(|recorded| recorded.entry.started == started)
            })
    }

    fn in_flight(&self) -> usize {
        let names = self.observed.rows.keys();
        names
            .filter(|name| self.is_under_way(name) && !self.waits_for_its_start_time(name))
            .count()
    }

    /// Its action is done, and its upgrade does not follow before its window opens: it may take days, and others go first.
    fn waits_for_its_start_time(&self, name: &ClusterName) -> bool {
        let row = &self.observed.rows[name];
        let is_between = self.own_works(row).all(|(kind, work)| {
            let WorkFeedback::ActionJobs(jobs) = &work.feedback else {
                return false;
            };
            kind == WorkKind::Pre && jobs.iter().all(|job| job.state == ActionJobState::Succeeded)
        });
        let labels = row.facts.as_ref().map(|facts| facts.labels.clone());
        let times = &self.spec().strategy.start_times;
        let timetable = times.timetable(&labels.unwrap_or_default());
        is_between && !times.opening(timetable, self.now).is_open()
    }

    fn selected(&self) -> Vec<ClusterName> {
        let rows = self
            .observed
            .rows
            .iter()
            .filter(|(_, row)| row.selection.is_some());
        rows.map(|(name, _)| name.clone()).collect()
    }

    pub fn is_complete(&self, name: &ClusterName) -> bool {
        let row = &self.observed.rows[name];
        let goal = &self.spec().goal;
        let by_work = self
            .own_works(row)
            .any(|(_, work)| has_ended(work, EndState::Complete) && work.is_for(goal));
        let by_record = self.own_outcome(row) == Some((RecordedOutcome::Complete, true));
        let shown = shown(row);
        by_work
            || by_record
            || goal.operators.is_none() && shown.is_some() && goal.platform_reached(shown.as_ref())
    }

    /// Whether a rollout of another upgrade that began after this one has had the cluster: it is as if it had left the placement.
    fn is_left_to_a_later(&self, name: &ClusterName) -> bool {
        let row = &self.observed.rows[name];
        let ours = drydock_rollout::rollout_since(&self.observed.rollout);
        let works = row.works.iter().filter(|(_, work)| !self.is_own(work));
        let by_works = works.filter_map(|(_, work)| Some(work.revision.as_ref()?.rollout_since));
        let others = row
            .entries
            .iter()
            .filter(|recorded| !self.observed.rollout.upgrade.owns(&recorded.page.owner));
        let by_entries = others
            .map(|recorded| recorded.page.rollout_since)
            .filter(|since| *since <= self.now);
        by_works.chain(by_entries).max() > ours && ours.is_some()
    }

    /// The newest outcome on the upgrade's records, and whether it is for the present goal.
    fn own_outcome(&self, row: &ClusterRow) -> Option<(RecordedOutcome, bool)> {
        let own = row
            .entries
            .iter()
            .filter(|recorded| self.observed.rollout.upgrade.owns(&recorded.page.owner));
        let mut outcomes = own.filter(|recorded| {
            matches!(
                recorded.entry.outcome,
                RecordedOutcome::Complete | RecordedOutcome::Failed
            )
        });
        let newest = outcomes.next_back()?;
        Some((
            newest.entry.outcome,
            newest.page.goal == self.spec().goal.fingerprint(),
        ))
    }

    /// Whether a cluster takes part and has failed for good: no retry was asked for since.
    fn has_failed(&self, name: &ClusterName) -> bool {
        let row = &self.observed.rows[name];
        let retry = self.observed.rollout.upgrade.retries.of(name);
        let goal = &self.spec().goal;
        let takes_part = |is_current: bool| is_current || row.selection.is_some();
        self.own_works(row).any(|(_, work)| {
            has_ended(work, EndState::Failed)
                && (row.selection.is_none() || !retry.is_new_since(&work.outcome.as_ref().unwrap().retry))
                && takes_part(work.is_for(goal))
        })
    }

    pub fn is_canary(&self, name: &ClusterName) -> bool {
        let facts = self.observed.rows[name].facts.as_ref().unwrap();
        self.spec().strategy.canaries.is_some() && facts.labels.contains_key("canary")
    }

    /// Clusters whose upgrade has begun and has not ended.
    pub fn upgrading(&self) -> Vec<ClusterName> {
        let rows = self.observed.rows.iter();
        rows.filter(|(name, row)| {
            self.is_under_way(name) && self.own_works(row).any(|(kind, _)| is_main(kind))
        })
        .map(|(name, _)| name.clone())
        .collect()
    }

    /// No upgrade begins while as many clusters are being upgraded as are allowed, however that number came about.
    fn limits_upgrades(&self, plan: &Plan, limit: usize) {
        let upgrading = self.upgrading();
        let begun = plan.actions.iter().filter(|action| match action {
            Action::CreateWork(new) => is_main(new.kind) && !upgrading.contains(&new.cluster),
            _ => false,
        });
        let begun = begun.count();
        assert!(
            begun == 0 || upgrading.len() + begun <= limit,
            "never more being upgraded than allowed"
        );
    }
}

fn has_ended(work: &Work, state: EndState) -> bool {
    work.outcome
        .as_ref()
        .is_some_and(|outcome| outcome.state == state)
}

/// The newest version that a cluster shows, by its claim or by what its work feeds back.
fn shown(row: &ClusterRow) -> Option<Version> {
    let claimed = row.facts.as_ref().and_then(|facts| facts.version.clone());
    let work = row.works.get(WorkKind::Cluster);
    let fed_back = work.and_then(|work| match &work.feedback {
        WorkFeedback::ClusterVersion(feedback) => Some(feedback),
        WorkFeedback::Agent(feedback) => Some(&feedback.cluster),
        _ => None,
    });
    let fed_back = fed_back.filter(|feedback| feedback.state == Some(UpdateState::Completed));
    claimed.max(fed_back.and_then(|feedback| feedback.version.clone()))
}

fn is_main(kind: WorkKind) -> bool {
    matches!(kind, WorkKind::Cluster | WorkKind::Operators)
}
