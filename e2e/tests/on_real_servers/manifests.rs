//! `manifests/hub`, `manifests/agent` and `manifests/addon` on a real API server: all of them is accepted, and placements of
//! other namespaces are for who may read them.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use drydock_e2e::manifests;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

/// The objects of a kustomization, as `kubectl apply -k` sends them.
pub(crate) fn kustomized(folder: &str) -> Vec<DynamicObject> {
    drydock_e2e::manifests::kustomized(folder).unwrap()
}

/// May do anything with upgrades, and get placements where a binding says so.
async fn allow(admin: &Client) {
    let role = |name: &str, namespace: Option<&str>, resource: &str, verbs: Value| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": if namespace.is_some() { "Role" } else { "ClusterRole" },
            "metadata": {"name": name, "namespace": namespace},
            "rules": [{"apiGroups": ["cluster.open-cluster-management.io"], "resources": [resource], "verbs": verbs}],
        })
    };
    let user = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
    let binding = |kind: &str, name: &str, namespace: Option<&str>, of: &str, users: Vec<Value>| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
            "metadata": {"name": name, "namespace": namespace},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": if kind == "ClusterRoleBinding" { "ClusterRole" } else { "Role" },
                "name": of,
            },
            "subjects": users,
        })
    };
    let everybody = vec![user("outsider"), user("insider")];
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dev"}}),
        role("upgrader", None, "managedclustersupgrades", json!(["*"])),
        role(
            "writer",
            None,
            "managedclustersupgraderecords",
            json!(["create", "patch"]),
        ),
        binding("ClusterRoleBinding", "writers", None, "writer", everybody.clone()),
        role("placement-reader", Some("dev"), "placements", json!(["get"])),
        binding("ClusterRoleBinding", "upgraders", None, "upgrader", everybody),
        // Who looks at the fleet may name no more Placements for it.
        binding(
            "ClusterRoleBinding",
            "viewers",
            None,
            "drydock-fleet-viewer",
            vec![user("outsider")],
        ),
        binding(
            "RoleBinding",
            "reader",
            Some("dev"),
            "placement-reader",
            vec![user("insider")],
        ),
    ] {
        manifests::apply(admin, &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }
}

fn upgrade(name: &str, placement: &str) -> ManagedClustersUpgrade {
    serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "placement": [{"name": "all", "namespace": placement}],
            "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
        },
    }))
    .unwrap()
}

fn upgrades(client: &Client) -> Api<ManagedClustersUpgrade> {
    Api::namespaced(client.clone(), "default")
}

async fn create(client: &Client, name: &str, placement: &str, dry_run: bool) -> Result<(), String> {
    let parameters = PostParams {
        dry_run,
        ..PostParams::default()
    };
    let created = upgrades(client)
        .create(&parameters, &upgrade(name, placement))
        .await;
    created.map(drop).map_err(|error| error.to_string())
}

/// A policy works some moments after it was made.
async fn until_the_policy_works(outsider: &Client) {
    let mut looks = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..300 {
        looks.tick().await;
        if create(outsider, "probe", "dev", true).await.is_err() {
            return;
        }
    }
    panic!("the policy does not work within a minute");
}

#[tokio::test]
async fn placements_of_other_namespaces_are_for_who_may_read_them() {
    let mut settings = Settings::named("hub");
    settings.users = ["outsider", "insider"]
        .map(|name| (name.to_owned(), Vec::new()))
        .into();
    let server = ControlPlane::start_with(&settings, Etcd::start().unwrap())
        .await
        .unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    let objects = kustomized("manifests/hub");
    let kinds: Vec<&str> = objects
        .iter()
        .map(|object| object.types.as_ref().unwrap().kind.as_str())
        .collect();
    for kind in [
        "Deployment",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "ValidatingAdmissionPolicy",
        "Role",
    ] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(
        kinds
            .iter()
            .filter(|kind| **kind == "CustomResourceDefinition")
            .count(),
        3,
        "the hub's own: upgrades, records and acceptances"
    );
    manifests::install(&admin, &drydock_api::crds()[..2])
        .await
        .unwrap();
    for object in &objects {
        manifests::apply(&admin, object).await.unwrap();
    }
    allow(&admin).await;
    let outsider = server.client("outsider").await.unwrap();
    let insider = server.client("insider").await.unwrap();
    until_the_policy_works(&outsider).await;

    let refused = create(&outsider, "a", "dev", false).await.unwrap_err();
    assert!(
        refused.contains("spec.placement names dev/all, which you may not get"),
        "{refused}"
    );
    create(&outsider, "own", "default", false).await.unwrap();
    create(&insider, "bound", "dev", false).await.unwrap();
    create(&admin, "any", "dev", false).await.unwrap();

    records_are_for_the_hub_and_administrators(&admin, &outsider).await;

    // Who edits something else need not have the rights of who named the placement.
    let pause = json!({"spec": {"paused": true}});
    upgrades(&outsider)
        .patch("bound", &PatchParams::default(), &Patch::Merge(&pause))
        .await
        .unwrap();
    let more = json!({"spec": {"placement": [
        {"name": "all", "namespace": "dev"}, {"name": "other", "namespace": "dev"},
    ]}});
    let refused = upgrades(&outsider)
        .patch("bound", &PatchParams::default(), &Patch::Merge(&more))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("dev/other") && !refused.contains("dev/all"),
        "{refused}"
    );
}

/// Records take clusters away from other upgrades: only the hub and administrators write them.
async fn records_are_for_the_hub_and_administrators(admin: &Client, outsider: &Client) {
    let record: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgradeRecord",
        "metadata": {"name": "forged-1", "namespace": "default"},
        "spec": {
            "upgrade": {"name": "forged", "uid": "1", "rolloutSince": "2026-01-05T08:00:00Z", "target": "4.14.12", "goal": "x"},
            "entries": [],
        },
    }))
    .unwrap();
    let refused = manifests::apply(outsider, &record).await.unwrap_err();
    let refused = format!("{refused:#}");
    assert!(refused.contains("records are written by the hub"), "{refused}");
    manifests::apply(admin, &record).await.unwrap();
}

#[tokio::test]
async fn the_agent_can_be_installed() {
    let server = ControlPlane::start().await.unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    let objects = kustomized("manifests/agent");
    let count = |kind: &str| {
        let kinds = objects
            .iter()
            .map(|object| object.types.as_ref().unwrap().kind.as_str());
        kinds.filter(|known| *known == kind).count()
    };
    for (kind, expected) in [("CustomResourceDefinition", 11), ("Deployment", 1), ("Role", 6)] {
        assert_eq!(count(kind), expected, "{kind}");
    }
    for namespace in [
        "openshift-machine-api",
        "openshift-monitoring",
        "openshift-config",
    ] {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        manifests::apply(&admin, &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }
    let monitoring = [
        lenient(
            "monitoring.coreos.com",
            "v1",
            "Namespaced",
            "servicemonitors",
            "ServiceMonitor",
        ),
        lenient(
            "monitoring.coreos.com",
            "v1",
            "Namespaced",
            "prometheusrules",
            "PrometheusRule",
        ),
    ];
    manifests::install(&admin, &monitoring).await.unwrap();
    for object in &objects {
        manifests::apply(&admin, object).await.unwrap();
    }
}

/// A definition that takes anything.
fn lenient(group: &str, version: &str, scope: &str, plural: &str, kind: &str) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    }))
    .unwrap()
}

#[test]
fn the_add_on_carries_the_agent_as_it_is_and_the_rights_to_install_it() {
    let objects = kustomized("manifests/addon");
    let template = objects
        .iter()
        .find(|object| object.types.as_ref().unwrap().kind == "AddOnTemplate")
        .unwrap();
    let carried = template.data["spec"]["agentSpec"]["workload"]["manifests"]
        .as_array()
        .unwrap();
    let agent: Vec<Value> = kustomized("manifests/agent")
        .iter()
        .map(|object| serde_json::to_value(object).unwrap())
        .collect();
    assert_eq!(
        carried[1..],
        agent[..],
        "generate manifests/addon/addon-template.yaml again"
    );
    let label = &carried[0]["metadata"]["labels"]["open-cluster-management.io/aggregate-to-work"];
    assert_eq!(label, "true");
}

/// The definitions of add-ons: OCM's own where the test data beside the repository has them, else ones that take anything.
fn add_on_definitions() -> Vec<CustomResourceDefinition> {
    let known = manifests::definitions().unwrap();
    let ours = [
        lenient(
            "addon.open-cluster-management.io",
            "v1alpha1",
            "Cluster",
            "addontemplates",
            "AddOnTemplate",
        ),
        lenient(
            "addon.open-cluster-management.io",
            "v1alpha1",
            "Cluster",
            "clustermanagementaddons",
            "ClusterManagementAddOn",
        ),
    ];
    let names = known.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    let missing = ours
        .into_iter()
        .filter(|definition| !names.contains(&definition.name_any()));
    let missing: Vec<CustomResourceDefinition> = missing.collect();
    known.into_iter().chain(missing).collect()
}

#[tokio::test]
async fn the_add_on_can_be_installed() {
    let server = ControlPlane::start().await.unwrap();
    let admin = server.client(ADMIN).await.unwrap();
    manifests::install(&admin, &add_on_definitions()).await.unwrap();
    let objects = kustomized("manifests/addon");
    assert!(objects.len() >= 3, "{}", objects.len());
    for object in &objects {
        let namespace = object.namespace().unwrap_or_else(|| "default".to_owned());
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        manifests::apply(&admin, &serde_json::from_value(namespace).unwrap())
            .await
            .unwrap();
        let kept = manifests::apply(&admin, object).await.unwrap();
        let lost = lost(&object.data, &kept.data, "");
        assert!(lost.is_empty(), "{}: {lost:?}", object.name_any());
    }
}

/// What the server has dropped of what was sent, since its definition does not know it.
fn lost(sent: &Value, kept: &Value, at: &str) -> Vec<String> {
    match (sent, kept) {
        (Value::Object(sent), Value::Object(_)) => sent
            .iter()
            .flat_map(|(key, value)| lost(value, &kept[key], &format!("{at}.{key}")))
            .collect(),
        (Value::Array(sent), Value::Array(all)) if sent.len() == all.len() => sent
            .iter()
            .zip(all)
            .enumerate()
            .flat_map(|(index, (value, kept))| lost(value, kept, &format!("{at}[{index}]")))
            .collect(),
        (sent, kept) if sent == kept => Vec::new(),
        _ => vec![at.to_owned()],
    }
}
