//! From an order to the ManifestWork that carries it out. The body of a work is written once and never changed, but for
//! the end of enforcement.

use std::collections::BTreeMap;

use drydock_api::mcu::{AgentSettings, ManagedClustersUpgradeSpec};
use drydock_api::names::{
    CANARY_ANNOTATION, KIND_LABEL, REVISION_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL, WorkKind,
};
use drydock_api::ocm::{ManifestWork, manifest_work::ManifestWorkSpec};
use drydock_rollout::{Uid, UpgradeKey, Via, WorkOrder};
use jiff::Timestamp;
use kube::api::ObjectMeta;
use thiserror::Error;

use super::{action, cluster_version, operators, upgrade_config};

/// What the works of one upgrade have in common.
#[derive(Clone, Copy, Debug)]
pub struct Template<'a> {
    /// Which upgrade.
    pub upgrade: &'a UpgradeKey,
    /// Its uid.
    pub uid: &'a Uid,
    /// Its spec, for the manifests of actions and for what the agent is told.
    pub spec: &'a ManagedClustersUpgradeSpec,
    /// Whether the work agent is made cluster admin, as the founding document does, instead of being given ClusterVersion
    /// only.
    pub grant_cluster_admin: bool,
    /// The image of Drydock's agent.
    pub agent_image: &'a str,
}

/// An order that cannot be carried out.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The spec has no such action any more.
    #[error("building the {kind} work of cluster {cluster}: the spec has no such action")]
    NoAction {
        /// Which kind of work.
        kind: &'static str,
        /// For which cluster.
        cluster: String,
    },
    /// The order does not say what it needs to.
    #[error("building the {kind} work of cluster {cluster}: the order does not say what to upgrade to")]
    NoGoal {
        /// Which kind of work.
        kind: &'static str,
        /// For which cluster.
        cluster: String,
    },
    /// What the work was made for cannot be written down.
    #[error("building the work of cluster {cluster}: writing down what it is for")]
    Revision {
        /// For which cluster.
        cluster: String,
        /// Why.
        source: serde_json::Error,
    },
}

/// The ManifestWork for an order that is carried out at `now`.
///
/// # Errors
/// If the spec does not say what the work must contain.
pub fn build(template: &Template<'_>, order: &WorkOrder, now: Timestamp) -> Result<ManifestWork, BuildError> {
    let no_goal = || BuildError::NoGoal {
        kind: order.kind.as_str(),
        cluster: order.cluster.to_string(),
    };
    let target = || order.revision.goal.target.as_ref().ok_or_else(no_goal);
    let spec = match order.kind {
        WorkKind::Pre => action_spec(template.spec.pre_upgrade_action.as_ref(), order)?,
        WorkKind::Post => action_spec(template.spec.post_upgrade_action.as_ref(), order)?,
        WorkKind::Operators => {
            let operators = order.revision.goal.operators.as_ref().ok_or_else(no_goal)?;
            operators::spec(operators, order.revision.timeout(), template.agent_image)
        }
        WorkKind::Cluster => match order.revision.via {
            Via::ClusterVersion => cluster_version::spec(
                target()?,
                order.cluster_id.as_deref(),
                template.grant_cluster_admin,
            ),
            Via::Agent => {
                let none = AgentSettings::default();
                let strategy = template.spec.upgrade_strategy.as_ref();
                let settings = strategy
                    .and_then(|strategy| strategy.agent.as_ref())
                    .unwrap_or(&none);
                upgrade_config::spec(target()?, settings, now)
            }
        },
    };
    Ok(ManifestWork {
        metadata: metadata(template, order)?,
        spec,
        ..ManifestWork::default()
    })
}

fn action_spec(
    action: Option<&drydock_api::mcu::Action>,
    order: &WorkOrder,
) -> Result<ManifestWorkSpec, BuildError> {
    action
        .map(|action| action::spec(action.manifest_work.work_spec()))
        .ok_or_else(|| BuildError::NoAction {
            kind: order.kind.as_str(),
            cluster: order.cluster.to_string(),
        })
}

fn metadata(template: &Template<'_>, order: &WorkOrder) -> Result<ObjectMeta, BuildError> {
    let revision = serde_json::to_string(&order.revision).map_err(|source| BuildError::Revision {
        cluster: order.cluster.to_string(),
        source,
    })?;
    let labels = [
        (UPGRADE_UID_LABEL, template.uid.to_string()),
        (KIND_LABEL, order.kind.as_str().to_owned()),
    ];
    let mut annotations = vec![
        (UPGRADE_ANNOTATION, template.upgrade.to_string()),
        (REVISION_ANNOTATION, revision),
    ];
    if order.canary {
        annotations.push((CANARY_ANNOTATION, "true".to_owned()));
    }
    let map = |pairs: Vec<(&str, String)>| -> BTreeMap<String, String> {
        pairs
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect()
    };
    Ok(ObjectMeta {
        name: Some(order.kind.work_name(&order.cluster)),
        namespace: Some(order.cluster.to_string()),
        labels: Some(map(labels.into())),
        annotations: Some(map(annotations)),
        ..ObjectMeta::default()
    })
}
