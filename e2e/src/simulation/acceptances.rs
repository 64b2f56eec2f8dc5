//! Acceptances of what pre-checks find: what users write of them, and whether one covers a finding, computed apart from the hub.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::Kind;
use ocm_sandbox::spokes::{PlanLevel, finding, image_of};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::draw::{self, ALL, TARGETS, Which, below, chance, pick};
use super::rules::HubInputs;
use super::scenario::Scenario;
use crate::local_fleet::EPOCH;

/// UpgradeRiskAcceptance.
pub(super) const ACCEPTANCE: Kind = Kind::new(
    "cluster.open-cluster-management.io",
    "v1beta1",
    "UpgradeRiskAcceptance",
    "upgraderiskacceptances",
    true,
);
/// The names that they have in each namespace.
pub(super) const NAMES: [&str; 2] = ["known", "late"];

/// An acceptance for some upgrade, written at this time after the begin of the run: mostly of the target that the upgrade begins with.
pub(super) fn draw(rng: &mut ChaCha8Rng, scenario: &Scenario, at: Duration) -> (&'static str, Value) {
    let (which, spec) = pick(rng, &scenario.upgrades);
    if chance(rng, 70) {
        return of_upgrade(rng, scenario, (&which, &spec), at);
    }
    let version = pick(rng, &TARGETS);
    let target = if chance(rng, 85) {
        version.to_owned()
    } else {
        image_of(version)
    };
    let which = pick(rng, &ALL);
    (
        which.namespace,
        acceptance(rng, which.name, &target, scenario, at),
    )
}

/// An acceptance of the target of this upgrade.
pub(super) fn of_upgrade(
    rng: &mut ChaCha8Rng,
    scenario: &Scenario,
    (which, spec): (&Which, &Value),
    at: Duration,
) -> (&'static str, Value) {
    let release = &spec["clusterVersion"];
    let target = release["version"].as_str().or(release["image"].as_str());
    let target = target.unwrap_or("operators");
    (which.namespace, acceptance(rng, which.name, target, scenario, at))
}

fn acceptance(rng: &mut ChaCha8Rng, upgrade: &str, target: &str, scenario: &Scenario, at: Duration) -> Value {
    let clusters = scenario.clusters.len();
    let risks: Vec<Value> = (0..=below(rng, 2)).map(|_| risk(rng, clusters, at)).collect();
    json!({"upgrade": upgrade, "target": target, "acceptedRisks": risks})
}

fn risk(rng: &mut ChaCha8Rng, clusters: usize, at: Duration) -> Value {
    let mut risk = match below(rng, 10) {
        0..5 => json!({"finding": finding::UUID}),
        5..8 => json!({"informer": finding::INFORMER, "uid": finding::UID}),
        8 => json!({"informer": finding::INFORMER, "uid": "another"}),
        _ => json!({"finding": finding::UUID.replace('0', "f")}),
    };
    risk["reason"] = "known".into();
    risk["acceptedBy"] = "ann".into();
    if chance(rng, 60) {
        risk["level"] = pick(rng, &["Warning", "Unknown", "Error", "Error", "Critical"]).into();
    }
    if chance(rng, 25) {
        let names = draw::names(clusters);
        risk["clusters"] = names.into_iter().filter(|_| chance(rng, 50)).collect();
    }
    if chance(rng, 25) {
        risk["clusterSelector"] = draw::selector(rng, clusters);
    }
    if chance(rng, 40) {
        // Some are over when they are written.
        let minutes = i64::try_from(below(rng, 300)).unwrap_or_default() - 20;
        let at = SignedDuration::try_from(at).unwrap_or_default();
        risk["until"] = (EPOCH + at + SignedDuration::from_mins(minutes))
            .to_string()
            .into();
    }
    risk
}

/// Whether the entry of an acceptance covers what was found on a cluster at a moment of a clock that may be off by some time.
pub(super) fn covers(
    risk: &Value,
    inputs: &HubInputs,
    cluster: &str,
    level: PlanLevel,
    at: Timestamp,
    off: SignedDuration,
) -> bool {
    let is_it = risk["finding"] == finding::UUID
        || risk["informer"] == finding::INFORMER && risk["uid"] == finding::UID;
    let is_named = risk["clusters"]
        .as_array()
        .is_none_or(|names| names.iter().any(|name| name == cluster));
    let until = risk["until"]
        .as_str()
        .and_then(|until| until.parse::<Timestamp>().ok());
    is_it
        && is_named
        && inputs.has_labels(cluster, &risk["clusterSelector"])
        && level.is_covered_by(risk["level"].as_str())
        && until.is_none_or(|until| at < until + off)
}
