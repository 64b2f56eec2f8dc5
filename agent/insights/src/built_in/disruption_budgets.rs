//! PodDisruptionBudgets that let no pod be evicted: which budget, which pods, and whose they are (insights.md, section 5, point 3). A node
//! with such a pod cannot be drained.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use drydock_api::insights::{ImpactType, Level, ResourceReference};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::core::{Selector, SelectorExt};

use super::draft::Draft;
use super::pods::{is_over, owner, stays};
use crate::finding::Finding;

/// How many pods are named.
const SHOWN: usize = 5;

pub(super) fn findings(budgets: &[PodDisruptionBudget], pods: &[Pod], now: Timestamp) -> Vec<Finding> {
    let blocking = budgets
        .iter()
        .filter(|budget| is_blocking(budget) && !is_of_what_stays(budget, pods));
    let drafts = blocking
        .map(|budget| draft(budget, pods))
        .chain(overlapping(budgets));
    drafts.map(|draft| draft.finding(now)).collect()
}

/// Budgets with the selector of an earlier one of their namespace: the API server evicts no pod that several budgets select.
fn overlapping(budgets: &[PodDisruptionBudget]) -> Vec<Draft> {
    let mut first: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut drafts = Vec::new();
    for budget in budgets {
        let (namespace, name) = (budget.namespace().unwrap_or_default(), budget.name_any());
        let Some(selector) = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else {
            continue;
        };
        let is_used = budget
            .status
            .as_ref()
            .is_some_and(|status| status.expected_pods > 0);
        // A selector is text wherever it is written.
        let selector = serde_json::to_string(selector).unwrap_or_default();
        match first.entry((namespace.clone(), selector)) {
            Entry::Vacant(entry) => {
                entry.insert(name);
            }
            Entry::Occupied(entry) if is_used => drafts.push(Draft {
                uid: "budgets-overlap",
                summary: format!(
                    "Budgets {namespace}/{} and {name} select the same pods, of which none can be evicted",
                    entry.get()
                ),
                description: "The API server evicts no pod that several budgets select.".to_owned(),
                action: "Ask whoever owns the pods to delete one of the budgets".to_owned(),
                ..draft(budget, &[])
            }),
            Entry::Occupied(_) => {}
        }
    }
    drafts
}

/// The namespaces whose pods a budget keeps from being evicted: those pods have to be read.
pub fn blocked_namespaces(budgets: &[PodDisruptionBudget]) -> BTreeSet<String> {
    let blocking = budgets.iter().filter(|budget| is_blocking(budget));
    blocking.filter_map(ResourceExt::namespace).collect()
}

/// Does a budget let none of its pods be evicted?
pub(super) fn is_blocking(budget: &PodDisruptionBudget) -> bool {
    let status = budget.status.as_ref();
    let has_no_room =
        status.is_some_and(|status| status.expected_pods > 0 && status.disruptions_allowed <= 0);
    has_no_room || !is_counted(budget) || cannot_be_counted(budget)
}

/// Do all pods of a budget stay when their node is drained? Then it keeps nobody waiting.
fn is_of_what_stays(budget: &PodDisruptionBudget, pods: &[Pod]) -> bool {
    let mut held = pods
        .iter()
        .filter(|pod| is_of(budget, pod) && !is_over(pod))
        .peekable();
    held.peek().is_some() && held.all(stays)
}

/// Has somebody counted the pods of the budget as it is now? Before that the API server evicts none of them.
fn is_counted(budget: &PodDisruptionBudget) -> bool {
    let counted = budget
        .status
        .as_ref()
        .and_then(|status| status.observed_generation);
    counted >= budget.metadata.generation || budget.metadata.generation.is_none()
}

/// Does the controller of budgets say that it cannot count the pods? Then the API server evicts none.
fn cannot_be_counted(budget: &PodDisruptionBudget) -> bool {
    let status = budget.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    conditions.into_iter().flatten().any(|condition| {
        condition.type_ == "DisruptionAllowed"
            && condition.status != "True"
            && condition.reason == "SyncFailed"
    })
}

fn draft(budget: &PodDisruptionBudget, pods: &[Pod]) -> Draft {
    let (namespace, name) = (budget.namespace().unwrap_or_default(), budget.name_any());
    let held: Vec<_> = pods.iter().filter(|pod| is_of(budget, pod)).collect();
    let status = budget.status.clone().unwrap_or_default();
    // One that would let none be evicted with all of its pods healthy, always does.
    let is_permanent = status.current_healthy >= status.expected_pods;
    let why = if !is_counted(budget) {
        "Nobody has counted its pods since it was changed: does the controller of budgets run?"
    } else if cannot_be_counted(budget) {
        "Its pods cannot be counted (SyncFailed): they belong to nothing that says how many there should be."
    } else if is_permanent {
        "It would not even if all of its pods are healthy: minAvailable or maxUnavailable leaves no room."
    } else {
        "Some of its pods are not healthy."
    };
    let mut lines: Vec<_> = held.iter().take(SHOWN).map(|pod| words(pod)).collect();
    lines.insert(0, why.to_owned());
    if held.len() > SHOWN {
        lines.push(format!("and {} more", held.len() - SHOWN));
    }
    Draft {
        uid: "budget-at-limit",
        level: Level::Warning,
        impact_type: ImpactType::UpdateStalled,
        summary: format!(
            "Budget {namespace}/{name} lets no pod be evicted: {} of {} healthy",
            status.current_healthy, status.expected_pods
        ),
        description: lines.join("\n"),
        action: if !is_counted(budget) {
            "See whether kube-controller-manager runs".to_owned()
        } else if cannot_be_counted(budget) {
            "Ask whoever owns the pods for minAvailable as a number, or for a controller that can be scaled"
                .to_owned()
        } else if is_permanent {
            "Ask whoever owns the pods for another replica, or for a budget that leaves room for one"
                .to_owned()
        } else {
            "Get the pods of the budget to be healthy again".to_owned()
        },
        verify: format!("kubectl get poddisruptionbudget {name} -n {namespace}"),
        reference: None,
        resources: vec![ResourceReference {
            group: Some("policy".to_owned()),
            kind: "PodDisruptionBudget".to_owned(),
            namespace: Some(namespace),
            name,
        }],
    }
}

pub(super) fn is_of(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    let selector = budget.spec.as_ref().and_then(|spec| spec.selector.as_ref());
    pod.namespace() == budget.namespace()
        && selector.is_some_and(|selector| {
            let selector = Selector::try_from(selector.clone());
            selector.is_ok_and(|selector| selector.matches(pod.labels()))
        })
}

/// Which pod, on which node, and whose.
fn words(pod: &Pod) -> String {
    let node = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.node_name.clone())
        .unwrap_or_else(|| "no node".to_owned());
    format!("pod {} on {node}, of {}", pod.name_any(), owner(pod))
}
