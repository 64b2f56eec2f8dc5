//! What users have written on the hub at a moment: clusters, Placements, sets and bindings. Which clusters an
//! upgrade selects is computed from these, apart from the hub and from OCM's decisions.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::{Access, Object, Selection};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, MANAGED_CLUSTER_SET, MANAGED_CLUSTER_SET_BINDING, PLACEMENT};
use ocm_sandbox::names::CLUSTER_SET_LABEL;
use ocm_sandbox::spokes::PlanLevel;
use semver::Version;
use serde_json::Value;

use crate::simulation::acceptances::{self, ACCEPTANCE};

/// A cluster, as the hub shows it.
#[derive(Clone, Debug)]
pub(in super::super) struct ObservedCluster {
    pub labels: Value,
    pub available: bool,
    pub accepted: bool,
    /// The version that it has really come to, if that is known.
    pub version: Option<Version>,
}

/// What users have written on the hub at a moment.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct HubInputs {
    pub clusters: BTreeMap<String, ObservedCluster>,
    /// By namespace and name, the label selectors one of which must match; none where every cluster will do.
    placements: BTreeMap<(String, String), Vec<Value>>,
    sets: BTreeMap<String, Value>,
    /// The specs of acceptances, with their namespaces.
    acceptances: Vec<(String, Value)>,
    bound: BTreeSet<(String, String)>,
}

impl HubInputs {
    /// Reads them all.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub async fn read(hub: &Access, version: impl Fn(&str) -> Option<Version>) -> anyhow::Result<Self> {
        let all = Selection::everything();
        let clusters = hub.list(&MANAGED_CLUSTER, &all).await?;
        let sets = hub.list(&MANAGED_CLUSTER_SET, &all).await?;
        let bindings = hub.list(&MANAGED_CLUSTER_SET_BINDING, &all).await?;
        let placements = hub.list(&PLACEMENT, &all).await?;
        let acceptances = hub.list(&ACCEPTANCE, &all).await?;
        let id = |object: &Object| {
            (
                object.namespace().unwrap_or_default().to_owned(),
                object.name().to_owned(),
            )
        };
        Ok(Self {
            clusters: clusters
                .iter()
                .map(|cluster| {
                    let seen = ObservedCluster {
                        labels: cluster["metadata"]["labels"].clone(),
                        available: has_condition(cluster, "ManagedClusterConditionAvailable"),
                        accepted: cluster["spec"]["hubAcceptsClient"] == true,
                        version: version(cluster.name()),
                    };
                    (cluster.name().to_owned(), seen)
                })
                .collect(),
            placements: placements
                .iter()
                .map(|placement| {
                    let predicates = placement["spec"]["predicates"].as_array().cloned();
                    let selectors = predicates.into_iter().flatten();
                    let selectors = selectors
                        .map(|predicate| predicate["requiredClusterSelector"]["labelSelector"].clone());
                    (id(placement), selectors.collect())
                })
                .collect(),
            sets: sets
                .iter()
                .map(|set| (set.name().to_owned(), set["spec"]["clusterSelector"].clone()))
                .collect(),
            acceptances: acceptances
                .iter()
                .map(|object| (id(object).0, object["spec"].clone()))
                .collect(),
            bound: bindings.iter().map(|binding| id(binding)).collect(),
        })
    }

    /// Whether the spec of an upgrade selects a cluster.
    pub fn selects(&self, namespace: &str, spec: &Value, cluster: &str) -> bool {
        let Some(seen) = self.clusters.get(cluster) else {
            return false;
        };
        if !self.is_bound(namespace, &seen.labels) {
            return false;
        }
        let by_selector = spec
            .get("clusterSelector")
            .is_some_and(|selector| !selector.is_null() && matches_selector(selector, &seen.labels));
        let references = spec["placement"].as_array().into_iter().flatten();
        let mut placements = references.filter_map(|reference| {
            let name = reference["name"].as_str()?.to_owned();
            self.placements.get(&(namespace.to_owned(), name))
        });
        by_selector
            || placements.any(|selectors| {
                selectors.is_empty()
                    || selectors
                        .iter()
                        .any(|selector| matches_selector(selector, &seen.labels))
            })
    }

    /// All clusters that the spec selects.
    pub fn selected(&self, namespace: &str, spec: &Value) -> BTreeSet<String> {
        let names = self.clusters.keys();
        let selected = names.filter(|name| self.selects(namespace, spec, name));
        selected.cloned().collect()
    }

    /// Whether labels are those of a canary.
    pub fn is_canary(&self, spec: &Value, cluster: &str) -> bool {
        let selector = spec.pointer("/upgradeStrategy/canaryClusters/clusterSelector");
        selector
            .zip(self.clusters.get(cluster))
            .is_some_and(|(selector, seen)| matches_selector(selector, &seen.labels))
    }

    /// Whether a cluster has the labels that a selector requires, if it is given.
    pub fn has_labels(&self, cluster: &str, selector: &Value) -> bool {
        let seen = self.clusters.get(cluster);
        selector.is_null() || seen.is_some_and(|seen| matches_selector(selector, &seen.labels))
    }

    /// Whether somebody accepts, for a target of an upgrade, what was found on a cluster at a moment.
    pub fn accepts(
        &self,
        upgrade: (&str, &str),
        target: &str,
        cluster: &str,
        (level, at): (PlanLevel, Timestamp),
        off: SignedDuration,
    ) -> bool {
        let (namespace, name) = upgrade;
        let specs = self
            .acceptances
            .iter()
            .filter(|(of, spec)| of == namespace && spec["upgrade"] == name && spec["target"] == target);
        let mut risks = specs.flat_map(|(_, spec)| spec["acceptedRisks"].as_array().into_iter().flatten());
        risks.any(|risk| acceptances::covers(risk, self, cluster, level, at, off))
    }

    fn is_bound(&self, namespace: &str, labels: &Value) -> bool {
        self.sets.iter().any(|(name, selector)| {
            let is_member = match selector["selectorType"].as_str() {
                Some("LabelSelector") => matches_selector(&selector["labelSelector"], labels),
                _ => labels[CLUSTER_SET_LABEL] == name.as_str(),
            };
            is_member && self.bound.contains(&(namespace.to_owned(), name.clone()))
        })
    }
}

fn has_condition(object: &Object, type_: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == type_ && condition["status"] == "True")
}

/// Whether labels satisfy a label selector.
fn matches_selector(selector: &Value, labels: &Value) -> bool {
    let by_labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut expressions = selector["matchExpressions"].as_array().into_iter().flatten();
    by_labels.into_iter().all(|(key, value)| labels[key] == *value)
        && expressions.all(|expression| {
            let label = &labels[expression["key"].as_str().unwrap_or_default()];
            let is_named = expression["values"]
                .as_array()
                .is_some_and(|values| values.contains(label));
            match expression["operator"].as_str() {
                Some("In") => is_named,
                Some("NotIn") => !is_named,
                Some("Exists") => !label.is_null(),
                _ => label.is_null(),
            }
        })
}
