//! Whether the update service offers a release, and its risks (insights.md, section 2.5).

use std::collections::BTreeMap;

use drydock_api::conditions::{AnyCondition, find, is_true};
use drydock_api::fact::Fact;
use drydock_api::insights::{ImpactType, Level};
use drydock_api::names::cause;
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{
    ClusterVersionStatus, ConditionalUpdate, ConditionalUpdateRisk, Release,
};
use drydock_api::openshift::release_request::MULTI;
use drydock_api::{image_digest, is_same_image};
use serde_json::Value;

use super::super::PlannedRelease;
use super::super::draft::object;
use super::{Draft, cluster_version, draft, said};

/// The most queries that are evaluated for one target, and how long each may be.
const MOST_QUERIES: usize = 32;
const LONGEST_QUERY: usize = 16 << 10;
const VERIFY_OFFERED: &str =
    "kubectl get clusterversion version -o jsonpath='{.status.availableUpdates}{.status.conditionalUpdates}'";

/// Whether the target is offered, and its risks: each is a finding of its own, so that nobody accepts all with one.
pub(super) fn of_updates(
    cluster: &ClusterVersion,
    target: PlannedRelease<'_>,
    evaluated: &BTreeMap<String, Fact<bool>>,
) -> Vec<Draft> {
    let Some(status) = &cluster.status else {
        return Vec::new();
    };
    let mut drafts = of_release(cluster, status, target, evaluated);
    let desired = status.desired.as_ref();
    let architecture = desired.and_then(|desired| desired.other.get("architecture")?.as_str());
    if target.is_multi && architecture != Some(MULTI) {
        drafts.push(other_architecture(target.version));
    }
    drafts
}

/// The update service says nothing of a release for several architectures to a cluster that has one for its own.
fn other_architecture(version: &str) -> Draft {
    let summary =
        format!("The update to {version} changes the cluster to the release for several architectures, too");
    let action = "Update first, and change the architecture afterwards: oc adm upgrade --to-multi-arch";
    Draft {
        verify: "kubectl get clusterversion version -o jsonpath='{.status.desired.architecture}'".to_owned(),
        ..draft(
            "architecture-change",
            Level::Warning,
            ImpactType::Unknown,
            summary,
            action,
        )
        .because(cause::IMAGE, Some(MULTI))
    }
}

fn of_release(
    cluster: &ClusterVersion,
    status: &ClusterVersionStatus,
    target: PlannedRelease<'_>,
    evaluated: &BTreeMap<String, Fact<bool>>,
) -> Vec<Draft> {
    let version = target.version;
    // Of a release that is in both lists the risks count.
    if let Some(update) = conditional_update(cluster, version) {
        let mut drafts = if is_true(&update.conditions, "Recommended") {
            Vec::new()
        } else {
            risks(update, version, evaluated)
        };
        drafts.extend(other_image(target, &update.release));
        return drafts;
    }
    let mut offered = status.available_updates.iter();
    if let Some(release) = offered.find(|release| release.version.as_deref() == Some(version)) {
        return other_image(target, release).into_iter().collect();
    }
    if find(&status.conditions, "RetrievedUpdates").is_some_and(|retrieved| !retrieved.is_true()) {
        return Vec::new();
    }
    let summary = format!("{version} is not among the updates that the update service offers");
    let action = "Choose a version of oc adm upgrade, or another channel";
    vec![not_offered(target, summary, action)]
}

/// Another image than that which is offered under the version is another release, of which the update service says nothing.
fn other_image(target: PlannedRelease<'_>, offered: &Release) -> Option<Draft> {
    let asked = target.image?;
    if offered
        .image
        .as_deref()
        .is_some_and(|image| is_same_image(image, asked))
    {
        return None;
    }
    let summary = format!(
        "The update service offers {} with another image than the one that is asked for",
        target.version
    );
    let action = "Choose the image that the update service offers, or leave the image out";
    Some(not_offered(target, summary, action))
}

fn not_offered(target: PlannedRelease<'_>, summary: String, action: &str) -> Draft {
    let draft = draft("not-offered", Level::Error, ImpactType::Unknown, summary, action);
    Draft {
        verify: VERIFY_OFFERED.to_owned(),
        ..draft.because(cause::IMAGE, target.image.map(image_digest))
    }
}

/// The conditional update to a version, if it is one. Of several the one counts that is not recommended.
fn conditional_update<'a>(cluster: &'a ClusterVersion, target: &str) -> Option<&'a ConditionalUpdate> {
    let updates = cluster.status.as_ref()?.conditional_updates.iter();
    updates
        .filter(|update| update.release.version.as_deref() == Some(target))
        .min_by_key(|update| is_true(&update.conditions, "Recommended"))
}

/// The queries by which the risks of a target apply to the cluster, as PromQL: they are to be evaluated by its own Prometheus.
pub fn risk_queries(cluster: &ClusterVersion, target: &str) -> Vec<String> {
    let update =
        conditional_update(cluster, target).filter(|update| !is_true(&update.conditions, "Recommended"));
    let risks = update.map(|update| update.risks.as_slice()).unwrap_or_default();
    let queries = risks.iter().filter_map(query).map(str::to_owned);
    queries.take(MOST_QUERIES).collect()
}

/// The query of a risk: that of the first rule which is one. A risk with the rule Always has none.
fn query(risk: &ConditionalUpdateRisk) -> Option<&str> {
    let rules = risk.other.get("matchingRules")?.as_array()?;
    let is = |rule: &Value, type_: &str| rule.get("type").and_then(Value::as_str) == Some(type_);
    if rules.iter().any(|rule| is(rule, "Always")) {
        return None;
    }
    let rule = rules.iter().find(|rule| is(rule, "PromQL"))?;
    let query = rule.pointer("/promql/promql")?.as_str()?;
    Some(query).filter(|query| query.len() <= LONGEST_QUERY)
}

/// What the cluster's Prometheus says of a risk, if it was asked and has an answer.
fn applies(risk: &ConditionalUpdateRisk, evaluated: &BTreeMap<String, Fact<bool>>) -> Option<bool> {
    evaluated.get(query(risk)?)?.as_ref().ok().copied()
}

fn risks(update: &ConditionalUpdate, target: &str, evaluated: &BTreeMap<String, Fact<bool>>) -> Vec<Draft> {
    let recommended = find(&update.conditions, "Recommended");
    let why = recommended.map(said).unwrap_or_default();
    let action = "Read what the risk is, and whether it applies to this cluster";
    let is_said_to_apply = recommended.is_some_and(AnyCondition::is_false);
    let level = if is_said_to_apply {
        Level::Warning
    } else {
        Level::Unknown
    };
    // Of several OpenShift does not say which applies. That none does, although it says that one does, is taken for a moment between two looks.
    let apply: Vec<Option<bool>> = update.risks.iter().map(|risk| applies(risk, evaluated)).collect();
    let is_contradiction = is_said_to_apply && apply.iter().all(|applies| *applies == Some(false));
    let drafts: Vec<_> = update
        .risks
        .iter()
        .zip(apply)
        .map(|(risk, applies)| {
            let (level, summary, note) = match applies {
                Some(false) if !is_contradiction => (
                    Level::Info,
                    format!(
                        "The risk {} of {target} does not apply to this cluster",
                        risk.name
                    ),
                    "The cluster's Prometheus says that it does not apply.",
                ),
                Some(true) => (
                    Level::Warning,
                    format!(
                        "{target} has the risk {}, which applies to this cluster",
                        risk.name
                    ),
                    "The cluster's Prometheus says that it applies.",
                ),
                _ => (level, format!("{target} has the risk {}", risk.name), ""),
            };
            let url = risk.other.get("url").and_then(Value::as_str).unwrap_or_default();
            let mut resources = cluster_version();
            resources.push(object("", "UpdateRisk", &risk.name));
            // What the cluster says of a risk that applies is the risk's own text.
            let is_repeated = is_said_to_apply && !risk.message.is_empty() && why.contains(&risk.message);
            let said = if is_repeated { "" } else { why.as_str() };
            let parts = [risk.message.as_str(), url, said, note];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Draft {
                description: parts.join("\n"),
                verify: VERIFY_OFFERED.to_owned(),
                reference: Some(url.to_owned()),
                resources,
                ..draft("update-risk", level, ImpactType::Unknown, summary, action)
            }
        })
        .collect();
    if drafts.is_empty() {
        let summary = format!("{target} is not recommended");
        return vec![Draft {
            description: why,
            verify: VERIFY_OFFERED.to_owned(),
            ..draft("not-recommended", level, ImpactType::Unknown, summary, action)
        }];
    }
    drafts
}
