//! The decision at the cost of what has changed: assessments are kept while their rows, what all clusters share, and their deadlines
//! stand.

use std::collections::{BTreeMap, BTreeSet};

use drydock_names::ClusterName;
use jiff::Timestamp;

use crate::assess::{Assessment, ClusterPreChecks, ClusterView, Context, assess};
use crate::decide::{AssessedFleet, is_frozen};
use crate::slots::halt;
use crate::totals::Totals;
use crate::{ClusterRow, ClusterStatus, Observed, Plan, Report, Rollout};

/// Decides about one upgrade again and again. Given what has changed, it makes the plan that [`crate::decide`] would give for
/// everything.
#[derive(Clone, Debug)]
pub struct Decider {
    rollout: Rollout,
    context: Context,
    rows: BTreeMap<ClusterName, Box<ClusterRow>>,
    assessments: BTreeMap<ClusterName, Box<Assessment>>,
    totals: Totals,
    /// Clusters that must be assessed again.
    changed: BTreeSet<ClusterName>,
}

impl Decider {
    /// Begins with an upgrade whose clusters are given by [`Decider::set_row`].
    pub fn new(rollout: Rollout) -> Self {
        Self {
            context: Context::of(&rollout),
            rollout,
            rows: BTreeMap::new(),
            assessments: BTreeMap::new(),
            totals: Totals::default(),
            changed: BTreeSet::new(),
        }
    }

    /// Begins with all that is observed.
    pub fn of(observed: Observed) -> Self {
        let mut decider = Self::new(observed.rollout);
        for (name, row) in observed.rows {
            decider.set_row(name, Some(*row));
        }
        decider
    }

    /// What is observed of the upgrade beside its clusters.
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// The rows of its clusters.
    pub fn rows(&self) -> &BTreeMap<ClusterName, Box<ClusterRow>> {
        &self.rows
    }

    /// Something else is observed of the upgrade beside its clusters.
    pub fn set_rollout(&mut self, rollout: Rollout) {
        let context = Context::of(&rollout);
        if context != self.context {
            self.changed.extend(self.rows.keys().cloned());
            self.context = context;
        }
        self.rollout = rollout;
    }

    /// A cluster is seen so, or takes no part any more.
    pub fn set_row(&mut self, name: ClusterName, row: Option<ClusterRow>) {
        match row {
            Some(row) if self.rows.get(&name).is_some_and(|known| **known == row) => return,
            Some(row) => {
                self.rows.insert(name.clone(), Box::new(row));
            }
            None => {
                self.rows.remove(&name);
            }
        }
        self.changed.insert(name);
    }

    pub(crate) fn bring_up_to_date(&mut self, now: Timestamp) {
        while let Some((moment, name)) = self.totals.deadlines.first().cloned() {
            if moment > now {
                break;
            }
            self.assess_again(&name, now);
        }
        for name in std::mem::take(&mut self.changed) {
            self.assess_again(&name, now);
        }
    }

    fn assess_again(&mut self, name: &ClusterName, now: Timestamp) {
        if let Some(before) = self.assessments.remove(name) {
            self.totals.subtract(name, &before);
        }
        if let Some(row) = self.rows.get(name) {
            let assessment = assess(&self.context, name, row, now);
            self.totals.add(name, &assessment);
            self.assessments.insert(name.clone(), Box::new(assessment));
        }
    }

    pub(crate) fn fleet(&self) -> AssessedFleet<'_> {
        AssessedFleet {
            rollout: &self.rollout,
            context: &self.context,
            rows: &self.rows,
            assessments: &self.assessments,
            totals: &self.totals,
        }
    }

    /// The plan for this moment. Clusters that are taken, because an upgrade that comes before this one starts them, are left out.
    pub fn plan(&mut self, now: Timestamp, is_taken: &dyn Fn(&ClusterName) -> bool) -> Plan {
        self.bring_up_to_date(now);
        self.fleet().plan(now, is_taken)
    }

    /// The clusters that a plan of this moment would start.
    pub fn starts(&mut self, now: Timestamp, is_taken: &dyn Fn(&ClusterName) -> bool) -> Vec<ClusterName> {
        self.bring_up_to_date(now);
        if self.rollout.upgrade.deleting || is_frozen(&self.rollout) {
            return Vec::new();
        }
        let halt = halt(&self.rollout, &self.totals, now);
        self.fleet().fill(halt.as_ref(), now, is_taken).starts
    }

    /// What every cluster that takes part has answered before it starts.
    pub fn pre_checks(&self, now: Timestamp) -> BTreeMap<ClusterName, ClusterPreChecks> {
        let names = self.assessments.keys();
        names
            .filter_map(|name| Some((name.clone(), self.pre_checks_of(name, now)?)))
            .collect()
    }

    /// What a cluster has answered before it starts; `None` if it takes no part.
    pub fn pre_checks_of(&self, name: &ClusterName, now: Timestamp) -> Option<ClusterPreChecks> {
        self.assessments.get(name)?.status.as_ref()?;
        let row = self.rows.get(name)?;
        Some(ClusterPreChecks {
            is_unasked: self.totals.unasked.contains(name),
            ..ClusterView::new(&self.context, name, row, now).pre_checks()
        })
    }

    /// Every cluster that takes part, with where it is: in the words of the report that a plan of this moment gave.
    pub fn clusters(
        &self,
        report: &Report,
        now: Timestamp,
    ) -> impl Iterator<Item = (&ClusterName, ClusterStatus)> {
        let fleet = self.fleet();
        let halt = report.halt.as_ref();
        let filled = fleet.fill(halt, now, &|_| false);
        let names = self.assessments.keys();
        names.filter_map(move |name| Some((name, fleet.resolved(name, report, &filled, now)?)))
    }
}
