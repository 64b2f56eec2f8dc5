//! What ClusterVersion says about an update (insights.md, sections 2.2 and 2.5), and the risks of the target.

use drydock_api::conditions::{AnyCondition, ForeignCondition, find, is_false, is_true};
use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::ConditionalUpdate;
use jiff::Timestamp;
use serde_json::Value;

use super::draft::{Draft, object};
use super::{Question, is_minor_update};
use crate::finding::Finding;

const VERIFY: &str = "kubectl get clusterversion version -o jsonpath='{.status.conditions}'";

pub(super) fn findings(cluster: &ClusterVersion, question: Question<'_>, now: Timestamp) -> Vec<Finding> {
    let conditions = cluster
        .status
        .as_ref()
        .map(|status| status.conditions.as_slice())
        .unwrap_or_default();
    let drafts = match question {
        Question::Status => [failing(conditions), not_accepted(conditions)]
            .into_iter()
            .flatten()
            .collect(),
        Question::Plan(target) => {
            let of_target = [
                failing(conditions),
                in_progress(conditions),
                not_retrieved(conditions),
                not_upgradeable(conditions).filter(|_| is_minor_update(cluster, target)),
            ];
            let mut drafts: Vec<_> = of_target.into_iter().flatten().collect();
            drafts.extend(of_updates(cluster, target));
            drafts
        }
    };
    drafts.into_iter().map(|draft| draft.finding(now)).collect()
}

fn cluster_version() -> Vec<ResourceReference> {
    vec![object("config.openshift.io", "ClusterVersion", "version")]
}

fn draft(uid: &'static str, level: Level, impact_type: ImpactType, summary: String, action: &str) -> Draft {
    Draft {
        uid,
        level,
        impact_type,
        summary,
        description: String::new(),
        action: action.to_owned(),
        verify: VERIFY.to_owned(),
        resources: cluster_version(),
    }
}

fn said(condition: &ForeignCondition) -> String {
    format!("{}: {}", condition.reason(), condition.message())
}

fn failing(conditions: &[ForeignCondition]) -> Option<Draft> {
    let failing = find(conditions, "Failing");
    let summary = match failing {
        Some(failing) if failing.is_false() => return None,
        Some(failing) if failing.is_true() => "The cluster's update is failing",
        Some(_) => "The cluster's update may be failing",
        None => "The cluster does not say whether its update is failing",
    };
    let action = "Correct what the condition Failing of ClusterVersion names";
    Some(Draft {
        description: failing.map(said).unwrap_or_default(),
        ..draft(
            "failing",
            Level::Warning,
            ImpactType::UpdateStalled,
            summary.to_owned(),
            action,
        )
    })
}

fn not_accepted(conditions: &[ForeignCondition]) -> Option<Draft> {
    let accepted = find(conditions, "ReleaseAccepted").filter(|accepted| !accepted.is_true())?;
    let action = "Correct what the condition ReleaseAccepted of ClusterVersion names, or take the request back with oc adm upgrade --clear";
    let summary = format!("The requested release is not accepted: {}", accepted.reason());
    Some(Draft {
        description: said(accepted),
        ..draft(
            "release-not-accepted",
            Level::Error,
            ImpactType::UpdateStalled,
            summary,
            action,
        )
    })
}

/// Another target in mid-update leaves the cluster between releases.
fn in_progress(conditions: &[ForeignCondition]) -> Option<Draft> {
    let progressing = find(conditions, "Progressing").filter(|progressing| progressing.is_true())?;
    let action = "Wait until the update that is under way has ended";
    Some(Draft {
        description: said(progressing),
        ..draft(
            "update-in-progress",
            Level::Warning,
            ImpactType::UpdateStalled,
            "Another update is under way".to_owned(),
            action,
        )
    })
}

fn not_retrieved(conditions: &[ForeignCondition]) -> Option<Draft> {
    if !is_false(conditions, "RetrievedUpdates") {
        return None;
    }
    let retrieved = find(conditions, "RetrievedUpdates")?;
    let action = "Make the update service reachable, or choose a channel that it knows";
    let summary = "Whether the target is recommended is not known: the update service does not answer";
    Some(Draft {
        description: said(retrieved),
        ..draft(
            "updates-not-retrieved",
            Level::Warning,
            ImpactType::Unknown,
            summary.to_owned(),
            action,
        )
    })
}

/// Upgradeable=False holds updates to another minor release, and no others.
fn not_upgradeable(conditions: &[ForeignCondition]) -> Option<Draft> {
    let upgradeable = find(conditions, "Upgradeable").filter(|upgradeable| upgradeable.is_false())?;
    let is_ack = upgradeable.reason().contains("AdminAck");
    let (uid, action) = if is_ack {
        let action = "Read what has to be acknowledged, and acknowledge it in ConfigMap admin-acks of openshift-config";
        ("admin-ack-required", action)
    } else {
        (
            "not-upgradeable",
            "Correct what the condition Upgradeable of ClusterVersion names",
        )
    };
    let summary = format!(
        "The cluster may not be updated to another minor release: {}",
        upgradeable.reason()
    );
    Some(Draft {
        description: upgradeable.message().to_owned(),
        ..draft(uid, Level::Error, ImpactType::UpdateStalled, summary, action)
    })
}

/// Whether the target is offered, and its risks: each is a finding of its own, so that nobody accepts all with one.
fn of_updates(cluster: &ClusterVersion, target: &str) -> Vec<Draft> {
    let Some(status) = &cluster.status else {
        return Vec::new();
    };
    let is_target = |version: Option<&String>| version.is_some_and(|version| version == target);
    if status
        .available_updates
        .iter()
        .any(|release| is_target(release.version.as_ref()))
    {
        return Vec::new();
    }
    let mut conditional = status.conditional_updates.iter();
    if let Some(update) = conditional.find(|update| is_target(update.release.version.as_ref())) {
        return if is_true(&update.conditions, "Recommended") {
            Vec::new()
        } else {
            risks(update, target)
        };
    }
    if is_false(&status.conditions, "RetrievedUpdates") {
        return Vec::new();
    }
    let summary = format!("{target} is not among the updates that the update service offers");
    let action = "Choose a version of oc adm upgrade, or another channel";
    vec![draft(
        "not-offered",
        Level::Error,
        ImpactType::Unknown,
        summary,
        action,
    )]
}

fn risks(update: &ConditionalUpdate, target: &str) -> Vec<Draft> {
    let recommended = find(&update.conditions, "Recommended");
    let why = recommended.map(said).unwrap_or_default();
    let action = "Read what the risk is, and whether it applies to this cluster";
    let level = if recommended.is_some_and(AnyCondition::is_false) {
        Level::Warning
    } else {
        Level::Unknown
    };
    let drafts: Vec<_> = update
        .risks
        .iter()
        .map(|risk| {
            let url = risk.other.get("url").and_then(Value::as_str).unwrap_or_default();
            let mut resources = cluster_version();
            resources.push(object("", "UpdateRisk", &risk.name));
            Draft {
                description: format!("{}\n{url}\n{why}", risk.message),
                resources,
                ..draft(
                    "update-risk",
                    level,
                    ImpactType::Unknown,
                    format!("{target} has the risk {}", risk.name),
                    action,
                )
            }
        })
        .collect();
    if drafts.is_empty() {
        let summary = format!("{target} is not recommended");
        return vec![Draft {
            description: why,
            ..draft("not-recommended", level, ImpactType::Unknown, summary, action)
        }];
    }
    drafts
}
