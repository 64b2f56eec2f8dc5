//! Whether a work applies the object that upgrades its cluster or only reads it.

use drydock_api::ocm::ManifestWork;
use drydock_api::ocm::manifest_work::{ManifestConfig, ResourceIdentifier, UpdateStrategy};
use serde_json::Value;

use super::{cluster_version, feedback, upgrade_config};

/// The field manager of a channel that is set alone: what the work's own manager holds of ClusterVersion is not touched by it.
const CHANNEL_MANAGER: &str = "work-agent-drydock-channel";

/// The work's configurations with that of the cluster's upgrade made `ReadOnly`, whatever somebody did to them: one that is
/// gone comes back, because without it the work agent would enforce the object.
pub(super) fn with_read_only_configs(work: &ManifestWork) -> Vec<ManifestConfig> {
    with_strategies(work, |_| Some(feedback::read_only()))
}

/// The same with the cluster's upgrade applied. ClusterVersion beside an UpgradeConfig is only read.
pub(super) fn enforced(work: &ManifestWork) -> Vec<ManifestConfig> {
    let by_agent = objects(work).any(|object| object["kind"] == "UpgradeConfig");
    with_strategies(work, |kind| match kind {
        "ClusterVersion" if by_agent => Some(feedback::read_only()),
        _ => Some(feedback::server_side_apply()),
    })
}

/// The same with ClusterVersion applied, which is to hold nothing but a channel.
pub(super) fn with_channel(work: &ManifestWork) -> Vec<ManifestConfig> {
    with_strategies(work, |kind| match kind {
        "ClusterVersion" => Some(feedback::applied_by(CHANNEL_MANAGER)),
        _ => Some(feedback::read_only()),
    })
}

fn objects(work: &ManifestWork) -> impl Iterator<Item = &Value> {
    let workload = work.spec.workload.iter();
    workload
        .flat_map(|workload| workload.manifests.iter())
        .map(|manifest| &manifest.0)
}

fn with_strategies(
    work: &ManifestWork,
    strategy: impl Fn(&str) -> Option<UpdateStrategy>,
) -> Vec<ManifestConfig> {
    let mut configs: Vec<ManifestConfig> = work.spec.manifest_configs.iter().cloned().collect();
    for object in objects(work) {
        let Some(identifier) = identifier(object) else {
            continue;
        };
        let is_its = |config: &&mut ManifestConfig| {
            let other = &config.resource_identifier;
            other.group == identifier.group
                && other.resource == identifier.resource
                && other.name == identifier.name
        };
        let strategy = strategy(object["kind"].as_str().unwrap_or_default());
        match configs.iter_mut().find(is_its) {
            Some(config) => config.update_strategy = strategy,
            None => configs.push(ManifestConfig {
                resource_identifier: identifier,
                update_strategy: strategy,
                ..ManifestConfig::default()
            }),
        }
    }
    configs
}

/// Where the object that upgrades the cluster is, if this is it.
fn identifier(object: &Value) -> Option<ResourceIdentifier> {
    match object["kind"].as_str()? {
        "ClusterVersion" => Some(cluster_version::identifier()),
        "UpgradeConfig" => Some(upgrade_config::identifier(
            object["metadata"]["namespace"].as_str()?,
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn work(configs: &Value) -> ManifestWork {
        let manifests = json!([
            {"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "a"}},
        ]);
        let spec = json!({"workload": {"manifests": manifests}, "manifestConfigs": configs});
        serde_json::from_value(json!({"metadata": {}, "spec": spec})).unwrap()
    }

    #[test]
    fn the_cluster_version_is_only_read_however_the_configurations_were_edited() {
        let own = json!({"group": "config.openshift.io", "resource": "clusterversions", "name": "version"});
        let role = json!({"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "name": "a"});
        for configs in [
            json!([]),
            json!(null),
            json!([{"resourceIdentifier": own, "updateStrategy": {"type": "ServerSideApply"}}]),
            json!([{"resourceIdentifier": role}, {"resourceIdentifier": own}]),
        ] {
            let read_only = serde_json::to_value(with_read_only_configs(&work(&configs))).unwrap();
            let strategies: Vec<&Value> = read_only
                .as_array()
                .unwrap()
                .iter()
                .filter(|config| config["resourceIdentifier"]["resource"] == "clusterversions")
                .map(|config| &config["updateStrategy"]["type"])
                .collect();
            assert_eq!(strategies, ["ReadOnly"], "{configs}");
        }
    }
}
