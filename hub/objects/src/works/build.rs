//! From a decision to the ManifestWork that carries it out.

use drydock_api::names::{
    CANARY_ANNOTATION, KIND_LABEL, REVISION_ANNOTATION, UPGRADE_ANNOTATION, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::ManifestWork;
use drydock_rollout::{Enforcement, NewWork, Uid, UpgradeKey, WorkContent};
use jiff::Timestamp;
use kube::Resource;
use serde_json::{Map, Value, json};

use super::{action, cluster_version, operators, upgrade_config};

/// What the works of one upgrade have in common.
#[derive(Clone, Copy, Debug)]
pub struct WorkTemplate<'a> {
    /// Which upgrade.
    pub upgrade: &'a UpgradeKey,
    /// Its uid.
    pub uid: &'a Uid,
    /// Whether the work agent is made cluster admin, as the design of ManagedClustersUpgrade has it, instead of being given
    /// ClusterVersion only.
    pub grant_cluster_admin: bool,
    /// The image of Drydock's agent.
    pub agent_image: &'a str,
}

/// The ManifestWork for a decision that is carried out at `now`.
pub fn build(template: &WorkTemplate<'_>, new: &NewWork, now: Timestamp) -> Value {
    let attempt = new.revision.attempt(template.uid);
    let observed = new.revision.enforcement == Enforcement::Observed;
    let spec = match &new.content {
        WorkContent::Action(spec) => action::of_attempt(spec, &attempt),
        WorkContent::Operators(wanted) => {
            json!(operators::spec(
                wanted,
                new.revision.timeout(),
                template.agent_image,
                &attempt
            ))
        }
        WorkContent::ClusterVersion {
            target,
            cluster_id,
            has_architecture,
        } => json!(cluster_version::spec(
            cluster_version::cluster_version(target, cluster_id.as_deref(), *has_architecture),
            template.grant_cluster_admin,
            observed
        )),
        WorkContent::UpgradeConfig { target, settings } => json!(upgrade_config::spec(
            template.upgrade,
            target,
            settings,
            now,
            template.grant_cluster_admin,
            observed
        )),
    };
    json!({
        "apiVersion": ManifestWork::api_version(&()),
        "kind": ManifestWork::kind(&()),
        "metadata": metadata(template, new),
        "spec": spec,
    })
}

fn metadata(template: &WorkTemplate<'_>, new: &NewWork) -> Value {
    let mut annotations = Map::new();
    annotations.insert(UPGRADE_ANNOTATION.to_owned(), template.upgrade.to_string().into());
    annotations.insert(
        REVISION_ANNOTATION.to_owned(),
        json!(new.revision).to_string().into(),
    );
    if new.canary {
        annotations.insert(CANARY_ANNOTATION.to_owned(), "true".into());
    }
    json!({
        "name": new.kind.work_name(&new.cluster),
        "namespace": new.cluster.as_str(),
        "labels": {UPGRADE_UID_LABEL: template.uid.as_str(), KIND_LABEL: new.kind.as_str()},
        "annotations": annotations,
    })
}
