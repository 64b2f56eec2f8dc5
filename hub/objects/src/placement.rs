//! What decisions need of Placements, their pages and cluster sets, and the Placement that the hub keeps for a selector.

use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition};
use drydock_api::mcu::{ClusterSelector, ManagedClustersUpgrade};
use drydock_api::names::{
    CLUSTER_SET_LABEL, DECISION_GROUP_INDEX_LABEL, PLACEMENT_LABEL, SCHEDULING_DISABLED_ANNOTATION,
    UNAVAILABLE_TAINT, UNREACHABLE_TAINT, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::placement::{
    ClusterPredicate, PlacementClusterSelector, PlacementSpec, Toleration as WireToleration,
};
use drydock_api::ocm::{ManagedClusterSet, Placement, PlacementDecision};
use drydock_rollout::{
    DecisionPage, PlacementKey, PlacementSummary, Requirements, Selector, Toleration, Uid, bounded,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};
use kube::{Resource, ResourceExt};
use serde_json::json;
use sha2::{Digest, Sha256};

/// What decisions need of a Placement.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacementDigest {
    /// Its uid: decisions of an earlier one of the same name do not count.
    pub uid: Uid,
    /// What it asks for.
    pub spec: PlacementSpec,
    /// The label selectors of its predicates; none where every cluster will do, or where the hub cannot tell.
    pub predicates: Vec<Selector>,
    /// Another controller decides it: what it asks for says nothing about its decisions.
    pub decided_by_others: bool,
    /// The uid of the upgrade for which the hub keeps it, if it does.
    pub kept_for: Option<String>,
    /// What it says about its pages.
    pub status: PlacementSummary,
    /// Why it finds no clusters, or not all that it should, by OCM's reason and words, if it says so.
    pub unsatisfied: Option<String>,
}

/// What decisions need of a PlacementDecision.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionDigest {
    /// The Placement to which it belongs.
    pub placement: PlacementKey,
    /// The uid of the Placement that owns it.
    pub owner: Uid,
    /// Its content.
    pub page: DecisionPage,
}

/// Reads a Placement.
pub fn digest(placement: &Placement) -> PlacementDigest {
    let status = placement.status.as_ref();
    let conditions = status.map_or(&[][..], |status| &status.conditions);
    let selected = status.and_then(|status| status.number_of_selected_clusters);
    let pages = status
        .into_iter()
        .flat_map(|status| status.decision_groups.iter());
    let misconfigured =
        conditions::find(conditions, "PlacementMisconfigured").filter(|found| found.is_true());
    let unsatisfied = conditions::find(conditions, "PlacementSatisfied").filter(|found| found.is_false());
    PlacementDigest {
        uid: Uid::new(placement.uid().unwrap_or_default()),
        predicates: predicates(&placement.spec),
        decided_by_others: placement
            .annotations()
            .get(SCHEDULING_DISABLED_ANNOTATION)
            .is_some_and(|value| value == "true"),
        spec: placement.spec.clone(),
        kept_for: placement.labels().get(UPGRADE_UID_LABEL).cloned(),
        status: PlacementSummary {
            decided: selected.is_some() || !conditions.is_empty(),
            selected: selected
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or_default(),
            pages: pages.flat_map(|group| group.decisions.iter().cloned()).collect(),
        },
        unsatisfied: misconfigured
            .or(unsatisfied)
            .map(|found| format!("{}: {}", found.reason(), bounded(found.message(), 512))),
    }
}

/// The label selectors of a Placement's predicates, one of which must hold. A predicate that asks for more than labels is judged by its
/// labels alone; one without any makes every cluster do.
fn predicates(spec: &PlacementSpec) -> Vec<Selector> {
    let selector = |predicate: &ClusterPredicate| {
        let labels = predicate
            .required_cluster_selector
            .as_ref()?
            .label_selector
            .as_ref()?;
        label_selector(labels)
    };
    let selectors: Option<Vec<Selector>> = spec.predicates.iter().map(selector).collect();
    selectors.unwrap_or_default()
}

/// A label selector; nothing for one that Kubernetes would refuse.
fn label_selector(labels: &LabelSelector) -> Option<Selector> {
    let mut selector = Selector::labels(&labels.match_labels.clone().unwrap_or_default());
    for requirement in labels.match_expressions.iter().flatten() {
        let values = requirement.values.as_deref().unwrap_or_default();
        selector
            .require(&requirement.key, &requirement.operator, values)
            .ok()?;
    }
    Some(selector)
}

/// What the labels of a cluster set's members must be.
pub fn set_members(set: &ManagedClusterSet) -> Option<Arc<Selector>> {
    let by_labels = set
        .spec
        .cluster_selector
        .as_ref()
        .filter(|selector| selector.selector_type == "LabelSelector");
    if let Some(selector) = by_labels {
        return label_selector(&selector.label_selector.clone().unwrap_or_default()).map(Arc::new);
    }
    let label = [(CLUSTER_SET_LABEL.to_owned(), set.name_any())];
    Some(Arc::new(Selector::labels(&label.into())))
}

/// What the hub itself checks of a cluster before it starts it, beside the Placement's decision. `members` gives the selectors of the
/// sets that the Placement may select from.
pub fn requirements(
    found: &PlacementDigest,
    members: impl Fn(&PlacementSpec) -> Vec<Selector>,
) -> Requirements {
    if found.decided_by_others {
        return Requirements::default();
    }
    Requirements {
        predicates: found.predicates.clone(),
        sets: Some(members(&found.spec)),
    }
}

/// Reads a page.
pub fn page(decision: &PlacementDecision) -> DecisionDigest {
    let label = |name: &str| {
        decision
            .labels()
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    };
    let decisions = decision.status.iter().flat_map(|status| status.decisions.iter());
    let owners = decision.metadata.owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.kind == "Placement");
    DecisionDigest {
        placement: PlacementKey::new(decision.namespace().unwrap_or_default(), label(PLACEMENT_LABEL)),
        owner: Uid::new(owners.next().map(|owner| owner.uid.clone()).unwrap_or_default()),
        page: DecisionPage {
            group: label(DECISION_GROUP_INDEX_LABEL).parse().unwrap_or_default(),
            clusters: decisions
                .map(|decision| ClusterName::from(decision.cluster_name.as_str()))
                .collect(),
        },
    }
}

/// The taints that a Placement tolerates for as long as it likes.
pub fn tolerations(spec: &PlacementSpec) -> Vec<Toleration> {
    spec.tolerations
        .iter()
        .filter(|toleration| toleration.toleration_seconds.is_none())
        .map(|toleration| Toleration {
            key: toleration.key.clone().unwrap_or_default(),
            value: match toleration.operator.as_deref() {
                Some("Exists") => None,
                _ => Some(toleration.value.clone().unwrap_or_default()),
            },
            effect: toleration.effect.clone().unwrap_or_default(),
        })
        .collect()
}

/// The longest name of a Placement: the pages of its decisions carry it as a label.
const LONGEST_NAME: usize = 63;

/// Which Placement the hub keeps for an upgrade with this selector. Another selector is another Placement, so that no decision is taken
/// for an answer to a question that was not asked.
pub fn own_key(upgrade: &ManagedClustersUpgrade, selector: &ClusterSelector) -> PlacementKey {
    let asked = format!("{} {}", upgrade.name_any(), json!(own_spec(selector)));
    let hash: String = Sha256::digest(asked.as_bytes())
        .iter()
        .take(5)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let name = upgrade.name_any();
    // A label value begins and ends with a letter or a digit.
    let name = bounded(&name, LONGEST_NAME - hash.len() - 1).trim_end_matches(['-', '.']);
    PlacementKey::new(upgrade.namespace().unwrap_or_default(), format!("{name}-{hash}"))
}

/// The Placement that the hub keeps for an upgrade with this selector. It tolerates what OCM says of a cluster that
/// reboots: such a cluster must not drop out.
pub fn own_placement(upgrade: &ManagedClustersUpgrade, selector: &ClusterSelector) -> Placement {
    let key = own_key(upgrade, selector);
    let uid = upgrade.uid().unwrap_or_default();
    Placement {
        metadata: ObjectMeta {
            name: Some(key.name.to_string()),
            namespace: Some(key.namespace.to_string()),
            labels: Some([(UPGRADE_UID_LABEL.to_owned(), uid)].into()),
            owner_references: upgrade.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: own_spec(selector),
        ..Placement::default()
    }
}

fn own_spec(selector: &ClusterSelector) -> PlacementSpec {
    let requirements: Vec<LabelSelectorRequirement> = selector
        .match_expressions
        .iter()
        .flatten()
        .map(|requirement| LabelSelectorRequirement {
            key: requirement.key.clone(),
            operator: requirement.operator.clone(),
            values: requirement.values.clone(),
        })
        .collect();
    let labels = LabelSelector {
        match_expressions: (!requirements.is_empty()).then_some(requirements),
        match_labels: selector.match_labels.clone(),
    };
    let predicates = if labels == LabelSelector::default() {
        Vec::new()
    } else {
        vec![ClusterPredicate {
            required_cluster_selector: Some(PlacementClusterSelector {
                label_selector: Some(labels),
                ..PlacementClusterSelector::default()
            }),
            ..ClusterPredicate::default()
        }]
    };
    PlacementSpec {
        cluster_sets: selector.cluster_sets.clone().unwrap_or_default().into(),
        predicates: predicates.into(),
        tolerations: [UNAVAILABLE_TAINT, UNREACHABLE_TAINT]
            .map(tolerated)
            .to_vec()
            .into(),
        ..PlacementSpec::default()
    }
}

fn tolerated(taint: &str) -> WireToleration {
    WireToleration {
        key: Some(taint.to_owned()),
        operator: Some("Exists".to_owned()),
        ..WireToleration::default()
    }
}

/// The Placement that the hub would keep for a selector, as if it existed.
pub(crate) fn presumed(selector: &ClusterSelector) -> PlacementDigest {
    let spec = own_spec(selector);
    PlacementDigest {
        uid: Uid::default(),
        predicates: predicates(&spec),
        spec,
        decided_by_others: false,
        kept_for: None,
        status: PlacementSummary::default(),
        unsatisfied: None,
    }
}

/// Whether a Placement asks for what we want of it, whatever the server has filled in besides.
pub fn asks_for(found: &PlacementSpec, selector: &ClusterSelector) -> bool {
    let wanted = own_spec(selector);
    found.cluster_sets.iter().eq(wanted.cluster_sets.iter())
        && found.predicates.iter().eq(wanted.predicates.iter())
        && found.tolerations.iter().eq(wanted.tolerations.iter())
        && found.number_of_clusters.is_none()
}
