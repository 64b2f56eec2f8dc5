//! The two filters: predicates, and taints with their tolerations.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{
    super::cel,
    observed::{CandidateCluster, ClusterSelector, Placement, Taint},
    schedule::SchedulingError,
};
use kube_sandbox::server::LabelSelector;

/// A toleration of a Placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toleration {
    key: String,
    operator: String,
    value: String,
    effect: String,
    seconds: Option<i64>,
}

impl Toleration {
    /// Reads one of `spec.tolerations`.
    pub fn parse(toleration: &Value) -> Self {
        let text = |field: &str| toleration[field].as_str().unwrap_or_default().to_owned();
        Self {
            key: text("key"),
            operator: text("operator"),
            value: text("value"),
            effect: text("effect"),
            seconds: toleration["tolerationSeconds"].as_i64(),
        }
    }

    fn check(&self) -> Result<(), SchedulingError> {
        let exists = self.operator == "Exists";
        if self.key.is_empty() && !exists {
            return Err(SchedulingError::misconfigured(
                "TaintToleration",
                "If the key is empty, operator must be Exists.",
            ));
        }
        if exists && !self.value.is_empty() {
            return Err(SchedulingError::misconfigured(
                "TaintToleration",
                "If the operator is Exists, the value should be empty.",
            ));
        }
        Ok(())
    }

    /// How long the taint is tolerated.
    fn tolerates(&self, taint: &Taint, now: Timestamp) -> Tolerated {
        let other_effect = !self.effect.is_empty() && self.effect != taint.effect;
        let other_key = !self.key.is_empty() && self.key != taint.key;
        let other_value = self.operator != "Exists" && self.value != taint.value;
        if other_effect || other_key || other_value {
            return Tolerated::No;
        }
        let Some(seconds) = self.seconds else {
            return Tolerated::Always;
        };
        let end = taint
            .added
            .and_then(|added| added.checked_add(SignedDuration::from_secs(seconds)).ok());
        match end {
            Some(end) if now < end => Tolerated::Until(end),
            _ => Tolerated::No,
        }
    }
}

/// Whether, and how long, a taint does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tolerated {
    Always,
    Until(Timestamp),
    No,
}

/// Keeps the clusters that at least one predicate selects.
pub fn by_predicates<'a>(
    placement: &Placement,
    clusters: Vec<&'a CandidateCluster>,
) -> Result<Vec<&'a CandidateCluster>, SchedulingError> {
    if placement.predicates.is_empty() || clusters.is_empty() {
        return Ok(clusters);
    }
    let selectors = placement
        .predicates
        .iter()
        .map(Result::as_ref)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| SchedulingError::misconfigured("Predicate", error.to_string()))?;
    Ok(clusters
        .into_iter()
        .filter(|cluster| selectors.iter().any(|selector| selects(selector, cluster)))
        .collect())
}

/// True if label, claim and CEL selectors all match; an expression that fails does not.
pub fn selects(selector: &ClusterSelector, cluster: &CandidateCluster) -> bool {
    let fits = |selector: &LabelSelector, values: &BTreeMap<String, String>| {
        selector.selects(|key| values.get(key).map(String::as_str))
    };
    if !fits(&selector.labels, &cluster.labels) || !fits(&selector.claims, &cluster.claims) {
        return false;
    }
    if selector.expressions.is_empty() {
        return true;
    }
    let variables = [("managedCluster", cel::value_of(&cluster.object))];
    selector
        .expressions
        .iter()
        .all(|expression| expression.boolean(&variables).unwrap_or(false))
}

/// Keeps the clusters whose taints are tolerated; the second value is when the first toleration ends.
pub fn by_taints<'a>(
    placement: &Placement,
    clusters: Vec<&'a CandidateCluster>,
    chosen_before: &BTreeSet<&str>,
    now: Timestamp,
) -> Result<(Vec<&'a CandidateCluster>, Option<Timestamp>), SchedulingError> {
    if clusters.is_empty() {
        return Ok((clusters, None));
    }
    placement.tolerations.iter().try_for_each(Toleration::check)?;
    let mut wake: Option<Timestamp> = None;
    let mut kept = Vec::with_capacity(clusters.len());
    for cluster in clusters {
        let chosen = chosen_before.contains(cluster.name.as_str());
        let mut tolerated = true;
        let mut end: Option<Timestamp> = None;
        for taint in &cluster.taints {
            match taint_tolerated(taint, &placement.tolerations, chosen, now) {
                Tolerated::Always => {}
                Tolerated::Until(moment) => end = Some(end.map_or(moment, |known| known.min(moment))),
                Tolerated::No => tolerated = false,
            }
        }
        if tolerated {
            kept.push(cluster);
            wake = [wake, end].into_iter().flatten().min();
        }
    }
    Ok((kept, wake))
}

/// The first toleration that fits decides.
fn taint_tolerated(taint: &Taint, tolerations: &[Toleration], chosen: bool, now: Timestamp) -> Tolerated {
    match taint.effect.as_str() {
        "PreferNoSelect" => return Tolerated::Always,
        "NoSelectIfNew" if chosen => return Tolerated::Always,
        _ => {}
    }
    tolerations
        .iter()
        .map(|toleration| toleration.tolerates(taint, now))
        .find(|tolerated| *tolerated != Tolerated::No)
        .unwrap_or(Tolerated::No)
}
