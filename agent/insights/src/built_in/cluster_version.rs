//! What ClusterVersion says about an update (insights.md, sections 2.2 and 2.5), and the risks of the target.

use std::collections::BTreeMap;

use drydock_api::conditions::{AnyCondition, ForeignCondition, find, is_true};
use drydock_api::fact::Fact;
use drydock_api::image_digest;
use drydock_api::insights::{ImpactType, Level, ResourceReference};
use drydock_api::names::cause;
use drydock_api::openshift::ClusterVersion;
use drydock_api::openshift::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use jiff::Timestamp;
use serde_json::Value;

use super::draft::{Draft, object};
use super::{PlannedRelease, Question, is_minor_update};
use crate::finding::Finding;
use crate::identity;

/// The most queries that are evaluated for one target, and how long each may be.
const MOST_QUERIES: usize = 32;
const LONGEST_QUERY: usize = 16 << 10;
const GROUP: &str = "config.openshift.io";
const VERIFY: &str = "kubectl get clusterversion version -o jsonpath='{.status.conditions}'";
const VERIFY_OFFERED: &str =
    "kubectl get clusterversion version -o jsonpath='{.status.availableUpdates}{.status.conditionalUpdates}'";

/// Whether this is no object, but what makes a finding about ClusterVersion another one.
pub fn is_cause(resource: &ResourceReference) -> bool {
    resource.group.as_deref() == Some(GROUP) && cause::ALL.contains(&&*resource.kind)
}

pub(super) fn findings(
    cluster: &ClusterVersion,
    question: Question<'_>,
    evaluated: &BTreeMap<String, Fact<bool>>,
    now: Timestamp,
) -> Vec<Finding> {
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
            let because = |draft: Option<Draft>, type_, said: fn(&ForeignCondition) -> &str| {
                let said = find(conditions, type_).map(said);
                Some(draft?.because(cause::CONDITION, said))
            };
            let of_target = [
                because(failing(conditions), "Failing", AnyCondition::message),
                in_progress(cluster, conditions),
                other_request(cluster, target),
                no_next_release(cluster, target.version),
                because(not_accepted(conditions), "ReleaseAccepted", AnyCondition::reason),
                not_retrieved(conditions),
                because(invalid(conditions), "Invalid", AnyCondition::reason),
                because(unavailable(conditions), "Available", AnyCondition::reason),
                not_upgradeable(conditions).filter(|_| is_minor_update(cluster, target.version)),
            ];
            let mut drafts: Vec<_> = of_target.into_iter().flatten().collect();
            drafts.extend(of_updates(cluster, target, evaluated));
            drafts
        }
    };
    drafts.into_iter().map(|draft| draft.finding(now)).collect()
}

fn cluster_version() -> Vec<ResourceReference> {
    vec![object(GROUP, "ClusterVersion", "version")]
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
        reference: None,
        resources: cluster_version(),
    }
}

impl Draft {
    /// The same with its cause as a part of what it is: who has accepted it has accepted no other.
    fn because(mut self, kind: &'static str, said: Option<&str>) -> Self {
        let said = said.filter(|said| !said.is_empty());
        self.resources.extend(said.map(|said| {
            let name: String = identity::digest(said).chars().take(cause::DIGITS).collect();
            object(GROUP, kind, &name)
        }));
        self
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

/// While it is not known, the release is being downloaded and verified, as each is.
fn not_accepted(conditions: &[ForeignCondition]) -> Option<Draft> {
    let accepted = find(conditions, "ReleaseAccepted").filter(|accepted| accepted.is_false())?;
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
fn in_progress(cluster: &ClusterVersion, conditions: &[ForeignCondition]) -> Option<Draft> {
    let progressing = find(conditions, "Progressing");
    let newest = cluster.status.as_ref().and_then(|status| status.history.first());
    let is_partial = newest.is_some_and(|newest| newest.state != "Completed");
    let (level, summary) = match progressing {
        Some(progressing) if progressing.is_true() => (Level::Warning, "Another update is under way"),
        _ if is_partial => (Level::Warning, "The update before it has not been completed"),
        Some(progressing) if progressing.is_false() => return None,
        _ => (
            Level::Unknown,
            "The cluster does not say whether an update is under way",
        ),
    };
    let action = "Wait until the update that is under way has ended";
    let draft = draft(
        "update-in-progress",
        level,
        ImpactType::UpdateStalled,
        summary.to_owned(),
        action,
    );
    Some(Draft {
        description: progressing.map(said).unwrap_or_default(),
        ..draft.because(cause::DESIRED, desired_version(cluster))
    })
}

/// An update goes to a newer release, and by one minor release at a time.
fn no_next_release(cluster: &ClusterVersion, target: &str) -> Option<Draft> {
    let running = crate::cluster::facts(cluster).ok()?.version;
    let [from, to] = [&running, target].map(|text| semver::Version::parse(text).ok());
    let (from, to) = (from?, to?);
    let (summary, action) = if to.cmp_precedence(&from).is_le() {
        let summary = format!("{target} is not newer than {running}, which the cluster runs");
        (summary, "Choose a newer version")
    } else if to.major == from.major && to.minor > from.minor + 1 {
        let summary = format!("{target} is more than one minor release ahead of {running}");
        (summary, "Update to the minor release between them first")
    } else {
        return None;
    };
    Some(draft(
        "not-a-next-release",
        Level::Error,
        ImpactType::UpdateStalled,
        summary,
        action,
    ))
}

/// Somebody has asked for another release, which the cluster has not begun to take: a request now would replace it.
fn other_request(cluster: &ClusterVersion, target: PlannedRelease<'_>) -> Option<Draft> {
    let update = cluster.spec.desired_update.as_ref()?;
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (wanted, cause, is_it) = match (given(&update.version), given(&update.image)) {
        (Some(version), _) => {
            let is_it = version == target.version || Some(&*version) == desired_version(cluster);
            (version.clone(), version, is_it)
        }
        (None, Some(image)) => {
            let digest = image_digest(&image).to_owned();
            let is_it = is_image_of(cluster, target, &digest);
            (image, digest, is_it)
        }
        (None, None) => return None,
    };
    if is_it {
        return None;
    }
    let action = "Wait until that update has ended, or take the request back with oc adm upgrade --clear";
    let draft = draft(
        "other-update-requested",
        Level::Warning,
        ImpactType::UpdateStalled,
        format!("An update to {wanted} has been requested, and has not begun"),
        action,
    );
    Some(draft.because(cause::REQUESTED, Some(&cause)))
}

/// Whether an image is that of the target, as it is asked for or as it is offered, or what the cluster has begun to take.
fn is_image_of(cluster: &ClusterVersion, target: PlannedRelease<'_>, digest: &str) -> bool {
    let Some(status) = &cluster.status else {
        return false;
    };
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let offered = status.available_updates.iter().chain(conditional);
    let of_target = offered.filter(|release| release.version.as_deref() == Some(target.version));
    let known = of_target
        .chain(&status.desired)
        .filter_map(|release| release.image.as_deref());
    let mut known = known.chain(target.image);
    known.any(|image| !image.is_empty() && image_digest(image) == digest)
}

fn desired_version(cluster: &ClusterVersion) -> Option<&str> {
    cluster.status.as_ref()?.desired.as_ref()?.version.as_deref()
}

/// What was asked for cannot be done: another request is refused until it is taken back.
fn invalid(conditions: &[ForeignCondition]) -> Option<Draft> {
    let invalid = find(conditions, "Invalid").filter(|invalid| invalid.is_true())?;
    let action = "Correct what the condition Invalid of ClusterVersion names, or take the request back with oc adm upgrade --clear";
    let summary = format!("What the cluster is asked for is invalid: {}", invalid.reason());
    Some(Draft {
        description: said(invalid),
        ..draft(
            "update-invalid",
            Level::Error,
            ImpactType::UpdateStalled,
            summary,
            action,
        )
    })
}

fn unavailable(conditions: &[ForeignCondition]) -> Option<Draft> {
    let available = find(conditions, "Available");
    let (level, summary) = match available {
        Some(available) if available.is_true() => return None,
        Some(available) if available.is_false() => (
            Level::Error,
            format!("The cluster is not available: {}", available.reason()),
        ),
        _ => (
            Level::Unknown,
            "The cluster does not say whether it is available".to_owned(),
        ),
    };
    let action = "Correct what the condition Available of ClusterVersion names";
    Some(Draft {
        description: available.map(said).unwrap_or_default(),
        ..draft(
            "cluster-unavailable",
            level,
            ImpactType::ApiAvailability,
            summary,
            action,
        )
    })
}

fn not_retrieved(conditions: &[ForeignCondition]) -> Option<Draft> {
    let retrieved = find(conditions, "RetrievedUpdates").filter(|retrieved| !retrieved.is_true())?;
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
    let upgradeable = find(conditions, "Upgradeable").filter(|upgradeable| !upgradeable.is_true())?;
    if !upgradeable.is_false() {
        let summary = "The cluster does not say whether it may be updated to another minor release";
        let action = "Correct what the condition Upgradeable of ClusterVersion names";
        return Some(Draft {
            description: said(upgradeable),
            ..draft(
                "not-upgradeable",
                Level::Unknown,
                ImpactType::UpdateStalled,
                summary.to_owned(),
                action,
            )
        });
    }
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
    let draft = draft(uid, Level::Error, ImpactType::UpdateStalled, summary, action);
    // One reason stands for several, such as MultipleReasons.
    let said = format!("{}: {}", upgradeable.reason(), upgradeable.message());
    Some(Draft {
        description: upgradeable.message().to_owned(),
        ..draft.because(cause::CONDITION, Some(&said))
    })
}

/// Whether the target is offered, and its risks: each is a finding of its own, so that nobody accepts all with one.
fn of_updates(
    cluster: &ClusterVersion,
    target: PlannedRelease<'_>,
    evaluated: &BTreeMap<String, Fact<bool>>,
) -> Vec<Draft> {
    let Some(status) = &cluster.status else {
        return Vec::new();
    };
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
        .is_some_and(|image| image_digest(image) == image_digest(asked))
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
            let parts = [risk.message.as_str(), url, why.as_str(), note];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            Draft {
                description: parts.join("\n"),
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
            ..draft("not-recommended", level, ImpactType::Unknown, summary, action)
        }];
    }
    drafts
}
