//! PodDisruptionBudgets that let no pod be evicted: which budget, which pods, and whose they are (insights.md, section 5, point 3). A node
//! with such a pod cannot be drained.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

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
    let mut held_by = HeldPods::of(pods);
    let mut drafts = Vec::new();
    for budget in budgets.iter().filter(|budget| is_blocking(budget)) {
        let held = held_by.budget(budget);
        if !all_stay(&held) {
            drafts.push(draft(budget, &held));
        }
    }
    drafts.extend(overlapping(budgets));
    drafts.into_iter().map(|draft| draft.finding(now)).collect()
}

/// The pods that budgets select. Budgets of a namespace with the same selector select the same, and are not asked twice.
struct HeldPods<'a> {
    by_namespace: BTreeMap<String, Vec<&'a Pod>>,
    by_selector: BTreeMap<(String, String), Rc<[&'a Pod]>>,
}

impl<'a> HeldPods<'a> {
    fn of(pods: &'a [Pod]) -> Self {
        let mut by_namespace = BTreeMap::<String, Vec<&Pod>>::new();
        for pod in pods {
            let namespace = pod.namespace().unwrap_or_default();
            by_namespace.entry(namespace).or_default().push(pod);
        }
        Self {
            by_namespace,
            by_selector: BTreeMap::new(),
        }
    }

    fn budget(&mut self, budget: &PodDisruptionBudget) -> Rc<[&'a Pod]> {
        let namespace = budget.namespace().unwrap_or_default();
        let pods = self.by_namespace.get(&namespace);
        let key = (namespace, selector_text(budget).unwrap_or_default());
        let held = self.by_selector.entry(key).or_insert_with(|| {
            let selector = selector(budget);
            let matches = |pod: &&&Pod| {
                selector
                    .as_ref()
                    .is_some_and(|selector| selector.matches(pod.labels()))
            };
            pods.into_iter().flatten().filter(matches).copied().collect()
        });
        Rc::clone(held)
    }
}

/// The selector as text: the same wherever the same is written.
fn selector_text(budget: &PodDisruptionBudget) -> Option<String> {
    let selector = budget.spec.as_ref()?.selector.as_ref()?;
    Some(serde_json::to_string(selector).unwrap_or_default())
}

fn selector(budget: &PodDisruptionBudget) -> Option<Selector> {
    let selector = budget.spec.as_ref()?.selector.clone()?;
    Selector::try_from(selector).ok()
}

/// Budgets with the selector of an earlier one of their namespace: the API server evicts no pod that several budgets select.
fn overlapping(budgets: &[PodDisruptionBudget]) -> Vec<Draft> {
    let mut first: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut drafts = Vec::new();
    for budget in budgets {
        let (namespace, name) = (budget.namespace().unwrap_or_default(), budget.name_any());
        let Some(selector) = selector_text(budget) else {
            continue;
        };
        let is_used = budget
            .status
            .as_ref()
            .is_some_and(|status| status.expected_pods > 0);
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
fn all_stay(held: &[&Pod]) -> bool {
    let mut held = held.iter().filter(|pod| !is_over(pod)).peekable();
    held.peek().is_some() && held.all(|pod| stays(pod))
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

fn draft(budget: &PodDisruptionBudget, held: &[&Pod]) -> Draft {
    let (namespace, name) = (budget.namespace().unwrap_or_default(), budget.name_any());
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
    pod.namespace() == budget.namespace()
        && selector(budget).is_some_and(|selector| selector.matches(pod.labels()))
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
