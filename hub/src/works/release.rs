//! Letting go of what a work holds, so that the cluster is its own again (hub 2, Complete / Failed).

use drydock_api::ocm::ManifestWork;
use drydock_api::ocm::manifest_work::{ManifestConfig, ResourceIdentifier, UpdateStrategy};
use serde_json::Value;

use super::{cluster_version, upgrade_config};

/// The work's configurations with that of the cluster's upgrade made `ReadOnly`, whatever somebody did to them: one that is
/// gone comes back, because without it the work agent would enforce the object.
pub fn released(work: &ManifestWork) -> Vec<ManifestConfig> {
    let mut configs: Vec<ManifestConfig> = work.spec.manifest_configs.iter().cloned().collect();
    let workload = work.spec.workload.iter();
    let manifests = workload.flat_map(|workload| workload.manifests.iter());
    for object in manifests.map(|manifest| &manifest.0) {
        let Some(identifier) = identifier(object) else {
            continue;
        };
        let is_its = |config: &&mut ManifestConfig| {
            let other = &config.resource_identifier;
            other.group == identifier.group
                && other.resource == identifier.resource
                && other.name == identifier.name
        };
        let read_only = Some(UpdateStrategy {
            type_: "ReadOnly".to_owned(),
            ..UpdateStrategy::default()
        });
        match configs.iter_mut().find(is_its) {
            Some(config) => config.update_strategy = read_only,
            None => configs.push(ManifestConfig {
                resource_identifier: identifier,
                update_strategy: read_only,
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
    fn the_cluster_version_is_released_however_the_configurations_were_edited() {
        let own = json!({"group": "config.openshift.io", "resource": "clusterversions", "name": "version"});
        let role = json!({"group": "rbac.authorization.k8s.io", "resource": "clusterroles", "name": "a"});
        for configs in [
            json!([]),
            json!(null),
            json!([{"resourceIdentifier": own, "updateStrategy": {"type": "ServerSideApply"}}]),
            json!([{"resourceIdentifier": role}, {"resourceIdentifier": own}]),
        ] {
            let released = serde_json::to_value(released(&work(&configs))).unwrap();
            let strategies: Vec<&Value> = released
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
