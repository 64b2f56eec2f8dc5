//! What the placement controller sees, parsed once.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    super::{
        cel::{CelError, Expression},
        names,
    },
    filter::Toleration,
};
use kube_sandbox::object::{self, NamespacedName, Shared};
use kube_sandbox::server::{LabelSelector, Status};

/// A taint of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value, mostly empty.
    pub value: String,
    /// `NoSelect`, `PreferNoSelect` or `NoSelectIfNew`.
    pub effect: String,
    /// Since when it is there; `tolerationSeconds` count from here.
    pub added: Option<Timestamp>,
}

/// A ManagedCluster, as far as placement reads it.
#[derive(Clone, Debug)]
pub struct CandidateCluster {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// `status.clusterClaims`.
    pub claims: BTreeMap<String, String>,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// True once its deletion was asked for.
    pub deleting: bool,
    /// The whole object, for CEL.
    pub object: Shared,
}

impl CandidateCluster {
    /// Reads a ManagedCluster.
    pub fn parse(object: Shared) -> Self {
        let claims = object::list(&object["status"]["clusterClaims"])
            .iter()
            .filter_map(|claim| {
                Some((
                    claim["name"].as_str()?.to_owned(),
                    claim["value"].as_str()?.to_owned(),
                ))
            })
            .collect();
        Self {
            name: object::name(&object).to_owned(),
            labels: object::labels(&object),
            claims,
            taints: object::list(&object["spec"]["taints"])
                .iter()
                .map(Taint::parse)
                .collect(),
            deleting: object::is_deleting(&object),
            object,
        }
    }

    /// True if nothing that a label, claim, taint or set could show has changed.
    pub fn selects_like(&self, other: &Self) -> bool {
        self.labels == other.labels
            && self.claims == other.claims
            && self.taints == other.taints
            && self.deleting == other.deleting
    }
}

impl Taint {
    fn parse(taint: &Value) -> Self {
        let text = |field: &str| taint[field].as_str().unwrap_or_default().to_owned();
        Self {
            key: text("key"),
            value: text("value"),
            effect: text("effect"),
            added: text("timeAdded").parse().ok(),
        }
    }
}

/// A ManagedClusterSet: which clusters are members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterSet {
    /// Those with the set's label.
    ExclusiveLabel(String),
    /// Those that the selector matches; none if it cannot be read.
    Labels(Option<LabelSelector>),
}

impl ClusterSet {
    /// Reads a ManagedClusterSet.
    pub fn parse(object: &Value) -> Self {
        let selector = &object["spec"]["clusterSelector"];
        match selector["selectorType"].as_str() {
            Some("LabelSelector") => Self::Labels(
                LabelSelector::from_value(selector.get("labelSelector"))
                    .ok()
                    .flatten(),
            ),
            _ => Self::ExclusiveLabel(object::name(object).to_owned()),
        }
    }

    /// True if the cluster is a member.
    pub fn contains(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::ExclusiveLabel(name) => labels.get(names::CLUSTER_SET_LABEL) == Some(name),
            Self::Labels(selector) => selector
                .as_ref()
                .is_some_and(|selector| selector.selects(|key| labels.get(key).map(String::as_str))),
        }
    }
}

/// A selector of clusters by label, claim and CEL; a cluster must match all three.
#[derive(Debug)]
pub struct ClusterSelector {
    /// By label.
    pub labels: LabelSelector,
    /// By claim.
    pub claims: LabelSelector,
    /// By expressions over `managedCluster`.
    pub expressions: Vec<Expression>,
}

/// Why a selector cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterSelectorError {
    /// Its label or claim selector.
    #[error(transparent)]
    Selector(#[from] Status),
    /// One of its expressions.
    #[error("invalid: compilation failed: {0}")]
    Cel(#[from] CelError),
}

impl ClusterSelector {
    /// Reads `{labelSelector, claimSelector, celSelector}`.
    pub fn parse(selector: &Value) -> Result<Self, ClusterSelectorError> {
        let expressions = object::string_list(&selector["celSelector"]["celExpressions"])
            .iter()
            .map(|source| Expression::compile(source))
            .collect::<Result<_, _>>()?;
        // One that is absent selects everything.
        let part =
            |field: &str| LabelSelector::from_value(selector.get(field)).map(Option::unwrap_or_default);
        Ok(Self {
            labels: part("labelSelector")?,
            claims: part("claimSelector")?,
            expressions,
        })
    }
}

/// A group that the Placement names.
#[derive(Debug)]
pub struct PredefinedGroup {
    /// Its name.
    pub name: String,
    /// Its members, of those that no earlier group has.
    pub selector: Result<ClusterSelector, ClusterSelectorError>,
}

/// A Placement.
#[derive(Debug)]
pub struct Placement {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// True if it is being deleted, or left to another controller by annotation.
    pub ignored: bool,
    /// `spec.clusterSets`.
    pub cluster_sets: Vec<String>,
    /// `spec.numberOfClusters`.
    pub number_of_clusters: Option<i64>,
    /// `spec.predicates`, ORed.
    pub predicates: Vec<Result<ClusterSelector, ClusterSelectorError>>,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.decisionStrategy.groupStrategy.decisionGroups`.
    pub groups: Vec<PredefinedGroup>,
    /// `spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup`.
    pub clusters_per_group: Value,
    /// The whole object.
    pub object: Shared,
}

impl Placement {
    /// Reads a Placement.
    pub fn parse(object: Shared) -> Self {
        let spec = &object["spec"];
        let strategy = &spec["decisionStrategy"]["groupStrategy"];
        Self {
            namespace: object::namespace(&object).to_owned(),
            name: object::name(&object).to_owned(),
            ignored: object::is_deleting(&object)
                || object::annotation(&object, names::SCHEDULING_DISABLED) == Some("true"),
            cluster_sets: object::string_list(&spec["clusterSets"]),
            number_of_clusters: spec["numberOfClusters"].as_i64(),
            predicates: object::list(&spec["predicates"])
                .iter()
                .map(|predicate| ClusterSelector::parse(&predicate["requiredClusterSelector"]))
                .collect(),
            tolerations: object::list(&spec["tolerations"])
                .iter()
                .map(Toleration::parse)
                .collect(),
            groups: object::list(&strategy["decisionGroups"])
                .iter()
                .map(|group| PredefinedGroup {
                    name: group["groupName"].as_str().unwrap_or_default().to_owned(),
                    selector: ClusterSelector::parse(&group["groupClusterSelector"]),
                })
                .collect(),
            clusters_per_group: strategy["clustersPerDecisionGroup"].clone(),
            object,
        }
    }
}

/// A PlacementDecision that exists.
#[derive(Clone, Debug)]
pub struct Page {
    /// The Placement that its label names.
    pub placement: String,
    /// The clusters in it.
    pub clusters: Vec<String>,
    /// The whole object.
    pub object: Shared,
}

impl Page {
    /// Reads a PlacementDecision.
    pub fn parse(object: Shared) -> Self {
        Self {
            placement: object["metadata"]["labels"][names::PLACEMENT_LABEL]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            clusters: object::list(&object["status"]["decisions"])
                .iter()
                .filter_map(|decision| decision["clusterName"].as_str().map(str::to_owned))
                .collect(),
            object,
        }
    }
}

/// Everything on the hub that placement reads.
#[derive(Debug, Default)]
pub struct Observed {
    /// ManagedClusters by name.
    pub clusters: BTreeMap<String, CandidateCluster>,
    /// ManagedClusterSets by name.
    pub sets: BTreeMap<String, ClusterSet>,
    /// ManagedClusterSetBindings.
    pub bindings: std::collections::BTreeSet<NamespacedName>,
    /// Placements.
    pub placements: BTreeMap<NamespacedName, Placement>,
    /// PlacementDecisions.
    pub pages: BTreeMap<NamespacedName, Page>,
}
