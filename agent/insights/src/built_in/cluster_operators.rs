//! What ClusterOperators say (insights.md, section 2.5, thresholds of insights).

use drydock_api::conditions::{AnyCondition, ForeignCondition, find};
use drydock_api::insights::{ImpactType, Level};
use drydock_api::openshift::{ClusterOperator, ClusterVersion};
use jiff::Timestamp;
use kube::ResourceExt;

use super::draft::{Draft, object};
use super::{Question, is_minor_update};
use crate::finding::Finding;
use crate::thresholds::Thresholds;

pub(super) fn findings(
    operators: &[ClusterOperator],
    cluster: &ClusterVersion,
    question: Question<'_>,
    now: Timestamp,
) -> Vec<Finding> {
    let is_minor = match question {
        Question::Status => false,
        Question::Plan(target) => is_minor_update(cluster, target.version),
    };
    let of_operators = operators.iter().flat_map(|operator| {
        let conditions = operator
            .status
            .as_ref()
            .map(|status| status.conditions.as_slice())
            .unwrap_or_default();
        let name = operator.name_any();
        let unavailable = find(conditions, "Available").filter(|condition| condition.is_false());
        let degraded = find(conditions, "Degraded").filter(|condition| condition.is_true());
        let held = find(conditions, "Upgradeable").filter(|condition| condition.is_false() && is_minor);
        // What is not known is no reason to begin. During an update operators that start anew say so for a while.
        let is_silent = |type_: &str| {
            let found = find(conditions, type_);
            question.is_plan() && !found.is_some_and(|found| found.is_true() || found.is_false())
        };
        // What may pass by itself while an update runs is no state to begin one in.
        let least = question.is_plan().then_some(Level::Warning);
        [
            is_silent("Available")
                .then(|| unknown("operator-unknown", &name, "Available", "it is available")),
            is_silent("Degraded")
                .then(|| unknown("operator-health-unknown", &name, "Degraded", "it is degraded")),
            unavailable.and_then(|condition| {
                let level = Thresholds::UNAVAILABLE.level(condition, now).or(least)?;
                Some(draft(
                    "operator-unavailable",
                    &name,
                    level,
                    "is not available",
                    condition,
                ))
            }),
            degraded.and_then(|condition| {
                let level = Thresholds::DEGRADED.level(condition, now).or(least)?;
                Some(draft("operator-degraded", &name, level, "is degraded", condition))
            }),
            held.map(|condition| {
                let what = "forbids updates to another minor release";
                let draft = draft("operator-not-upgradeable", &name, Level::Error, what, condition);
                Draft {
                    impact_type: ImpactType::UpdateStalled,
                    verify: format!(
                        "kubectl get clusteroperator {name} -o jsonpath='{{.status.conditions}}'"
                    ),
                    ..draft
                }
            }),
        ]
    });
    of_operators.flatten().map(|draft| draft.finding(now)).collect()
}

fn unknown(uid: &'static str, name: &str, type_: &str, what: &str) -> Draft {
    Draft {
        uid,
        level: Level::Unknown,
        impact_type: ImpactType::ApiAvailability,
        summary: format!("Operator {name} does not say whether {what}"),
        description: String::new(),
        action: format!("Look at why ClusterOperator {name} does not know its condition {type_}"),
        verify: format!("kubectl get clusteroperator {name}"),
        reference: None,
        resources: vec![object("config.openshift.io", "ClusterOperator", name)],
    }
}

fn draft(uid: &'static str, name: &str, level: Level, what: &str, condition: &ForeignCondition) -> Draft {
    Draft {
        uid,
        level,
        impact_type: ImpactType::ApiAvailability,
        summary: format!("Operator {name} {what}: {}", condition.reason()),
        description: condition.message().to_owned(),
        action: format!(
            "Look at what the condition {} of ClusterOperator {name} names",
            condition.type_()
        ),
        verify: format!("kubectl get clusteroperator {name}"),
        reference: None,
        resources: vec![object("config.openshift.io", "ClusterOperator", name)],
    }
}
