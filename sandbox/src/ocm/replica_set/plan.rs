//! What is to be written for a ManifestWorkReplicaSet: works first, then what its status says of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::super::object::{self, Named, Shared};
use super::groups::Groups;
use super::rollout::Rollout;
use super::standing::{Standing, State};
use super::strategy::Strategy;
use crate::ocm::names;

/// What a hub has that concerns ManifestWorkReplicaSets.
#[derive(Debug, Default)]
pub struct Observed {
    /// The sets.
    pub sets: BTreeMap<Named, Shared>,
    /// The works that a set has made.
    pub works: BTreeMap<Named, Shared>,
    /// Placements.
    pub placements: BTreeMap<Named, Shared>,
    /// PlacementDecisions.
    pub pages: BTreeMap<Named, Shared>,
}

/// A write of a work.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkWrite {
    /// A cluster gets its work, or its work gets what the template says now.
    Apply {
        /// The cluster.
        cluster: String,
        /// The Placement that selected it.
        placement: String,
    },
    /// A work goes.
    Delete(Named),
}

/// What is to be done to the works of a set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// In their order.
    pub writes: Vec<WorkWrite>,
    /// When to look again although nothing changes.
    pub recheck: Option<Timestamp>,
}

/// A Placement does not exist: nothing is done for any of the set.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("Placement {0} is not there")]
pub struct NoPlacement(String);

/// A Placement cannot be rolled out; the others of the set are.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("rolling out Placement {placement}: {why}")]
pub struct Stuck {
    placement: String,
    why: String,
}

impl Stuck {
    fn new(placement: &str, why: &impl ToString) -> Self {
        Self {
            placement: placement.to_owned(),
            why: why.to_string(),
        }
    }
}

/// The value of the label by which works name their set.
pub fn label_of(set: &Value) -> String {
    format!("{}.{}", object::namespace(set), object::name(set))
}

impl Observed {
    /// The works of a set; of one Placement of it where that is given.
    pub fn works_of<'o>(
        &'o self,
        set: &Value,
        placement: Option<&'o str>,
    ) -> impl Iterator<Item = &'o Shared> {
        let label = label_of(set);
        self.works.values().filter(move |work| {
            let has = |name: &str, value: &str| work["metadata"]["labels"][name] == value;
            has(names::REPLICA_SET_LABEL, &label)
                && placement.is_none_or(|placement| has(names::REPLICA_SET_PLACEMENT_LABEL, placement))
        })
    }

    /// The works of a Placement that are as the template says.
    pub fn current_works<'o>(
        &'o self,
        set: &'o Value,
        placement: &'o str,
    ) -> impl Iterator<Item = &'o Shared> {
        let template = &set["spec"]["manifestWorkTemplate"];
        self.works_of(set, Some(placement))
            .filter(move |work| work["spec"] == *template)
    }

    /// The decision groups of a Placement.
    fn groups(&self, namespace: &str, placement: &str) -> Result<Groups, Stuck> {
        let pages = self.pages.iter().filter(|((of, _), page)| {
            of == namespace && page["metadata"]["labels"][names::PLACEMENT_LABEL] == placement
        });
        Groups::read(pages.map(|(_, page)| page.value())).map_err(|error| Stuck::new(placement, &error))
    }

    /// The clusters that a Placement selects; none if its pages cannot be read, which the plan says.
    pub fn selected(&self, namespace: &str, placement: &str) -> BTreeSet<String> {
        let groups = self.groups(namespace, placement).unwrap_or_default();
        groups.clusters().into_iter().map(str::to_owned).collect()
    }

    /// Plans the works of a set. What goes wrong with one Placement is returned beside the plan for the others.
    ///
    /// # Errors
    /// [`NoPlacement`] if one of its Placements does not exist.
    pub fn plan(&self, set: &Value, now: Timestamp) -> Result<(Plan, Vec<Stuck>), NoPlacement> {
        let namespace = object::namespace(set);
        let references = object::list(&set["spec"]["placementRefs"]);
        let mut plan = Plan::default();
        let mut failures = Vec::new();
        let is_referred_to = |work: &&Shared| {
            let placement = &work["metadata"]["labels"][names::REPLICA_SET_PLACEMENT_LABEL];
            references.iter().any(|reference| reference["name"] == *placement)
        };
        let stray = self.works_of(set, None).filter(|work| !is_referred_to(work));
        plan.writes
            .extend(stray.map(|work| WorkWrite::Delete(object::named(work))));
        for reference in references {
            let placement = reference["name"].as_str().unwrap_or_default();
            let key = (namespace.to_owned(), placement.to_owned());
            if !self.placements.contains_key(&key) {
                return Err(NoPlacement(placement.to_owned()));
            }
            match self.next_of(set, reference, placement, now) {
                Ok(rollout) => self.add(&mut plan, set, placement, rollout),
                Err(failure) => failures.push(failure),
            }
        }
        Ok((plan, failures))
    }

    fn next_of(
        &self,
        set: &Value,
        reference: &Value,
        placement: &str,
        now: Timestamp,
    ) -> Result<Rollout, Stuck> {
        let strategy =
            Strategy::parse(&reference["rolloutStrategy"]).map_err(|error| Stuck::new(placement, &error))?;
        let groups = self.groups(object::namespace(set), placement)?;
        let standings = self.current_works(set, placement).map(|work| Standing::of(work));
        Ok(Rollout::next(&strategy, &groups, standings.collect(), now))
    }

    fn add(&self, plan: &mut Plan, set: &Value, placement: &str, rollout: Rollout) {
        let to_apply = rollout
            .under_way
            .into_iter()
            .filter(|standing| standing.state == State::ToApply);
        plan.writes.extend(to_apply.map(|standing| WorkWrite::Apply {
            cluster: standing.cluster,
            placement: placement.to_owned(),
        }));
        let removed = self.works_of(set, Some(placement)).filter(|work| {
            rollout
                .removed
                .iter()
                .any(|cluster| object::namespace(work) == cluster)
        });
        plan.writes
            .extend(removed.map(|work| WorkWrite::Delete(object::named(work))));
        plan.recheck = [plan.recheck, rollout.recheck].into_iter().flatten().min();
    }
}
