//! What decisions need of Placements and their pages, and the Placement that the hub keeps for a selector (hub 1).

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition};
use drydock_api::mcu::{ClusterSelector, ManagedClustersUpgrade};
use drydock_api::names::{
    DECISION_GROUP_INDEX_LABEL, PLACEMENT_LABEL, UNAVAILABLE_TAINT, UNREACHABLE_TAINT, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::placement::{
    ClusterPredicate, PlacementClusterSelector, PlacementSpec, Toleration as WireToleration,
};
use drydock_api::ocm::{Placement, PlacementDecision};
use drydock_rollout::{Page, PlacementKey, PlacementStatus, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use kube::{Resource, ResourceExt};

/// What decisions need of a Placement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlacementDigest {
    /// What it asks for.
    pub spec: PlacementSpec,
    /// The uid of the upgrade for which the hub keeps it, if it does.
    pub kept_for: Option<String>,
    /// What it says about its pages.
    pub status: PlacementStatus,
    /// Why it finds no clusters, in OCM's words, if it says so.
    pub unsatisfied: Option<String>,
}

/// What decisions need of a PlacementDecision.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PageDigest {
    /// The Placement to which it belongs.
    pub placement: PlacementKey,
    /// Its content.
    pub page: Page,
}

/// Reads a Placement.
pub(super) fn digest(placement: &Placement) -> PlacementDigest {
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
        spec: placement.spec.clone(),
        kept_for: placement.labels().get(UPGRADE_UID_LABEL).cloned(),
        status: PlacementStatus {
            decided: selected.is_some() || !conditions.is_empty(),
            selected: selected
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or_default(),
            pages: pages.flat_map(|group| group.decisions.iter().cloned()).collect(),
        },
        unsatisfied: misconfigured
            .or(unsatisfied)
            .map(|found| found.message().to_owned()),
    }
}

/// Reads a page.
pub(super) fn page(decision: &PlacementDecision) -> PageDigest {
    let label = |name: &str| {
        decision
            .labels()
            .get(name)
            .map(String::as_str)
            .unwrap_or_default()
    };
    let decisions = decision.status.iter().flat_map(|status| status.decisions.iter());
    PageDigest {
        placement: PlacementKey::new(decision.namespace().unwrap_or_default(), label(PLACEMENT_LABEL)),
        page: Page {
            group: label(DECISION_GROUP_INDEX_LABEL).parse().unwrap_or_default(),
            clusters: decisions
                .map(|decision| ClusterName::from(decision.cluster_name.as_str()))
                .collect(),
        },
    }
}

/// The taints that a Placement tolerates for as long as it likes.
pub(super) fn tolerations(spec: &PlacementSpec) -> Vec<Toleration> {
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

/// Which Placement the hub keeps for an upgrade. Its name must fit a label, and must not be a user's.
pub(super) fn own_key(upgrade: &ManagedClustersUpgrade) -> PlacementKey {
    let uid = upgrade.uid().unwrap_or_default();
    PlacementKey::new(upgrade.namespace().unwrap_or_default(), format!("drydock-{uid}"))
}

/// The Placement that the hub keeps for an upgrade with this selector. It tolerates what OCM says of a cluster that
/// reboots: such a cluster must not drop out (fleet reference 0.8).
pub(crate) fn own_placement(upgrade: &ManagedClustersUpgrade, selector: &ClusterSelector) -> Placement {
    let key = own_key(upgrade);
    let uid = upgrade.uid().unwrap_or_default();
    Placement {
        metadata: ObjectMeta {
            name: Some(key.name),
            namespace: Some(key.namespace),
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

/// Whether a Placement asks for what we want of it, whatever the server has filled in besides.
pub(super) fn asks_for(found: &PlacementSpec, selector: &ClusterSelector) -> bool {
    let wanted = own_spec(selector);
    found.cluster_sets.iter().eq(wanted.cluster_sets.iter())
        && found.predicates.iter().eq(wanted.predicates.iter())
        && found.tolerations.iter().eq(wanted.tolerations.iter())
        && found.number_of_clusters.is_none()
}
