//! The fleet page as a server of a real hub, and some users of it: ann may do everything, bob sees one namespace, dan two, and cyd nothing.

use std::net::TcpListener;
use std::path::Path;

use anyhow::Context;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::control_plane::{ADMIN, ControlPlane, Etcd, Settings};
use crate::manifests;
use crate::process::{Process, Workplace};
use crate::program;

/// All that ann may do; bob sees the upgrades of one namespace, dan those of two and the history of one. Of cyd nothing is said.
fn rights() -> Vec<Value> {
    let ocm = "cluster.open-cluster-management.io";
    let rbac = "rbac.authorization.k8s.io";
    let of = |kind: &str, name: &str, user: &str, namespace: Option<&str>, role: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": kind, "metadata": {"name": name, "namespace": namespace},
            "roleRef": {"apiGroup": rbac, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": user, "namespace": "people"}],
        })
    };
    let binding = |name: &str, namespace: &str, role: &str, user: &str| {
        let mut binding = of("RoleBinding", role, user, Some(namespace), "Role");
        binding["metadata"]["name"] = name.into();
        binding
    };
    let role = |name: &str, namespace: &str, resource: &str| {
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": {"name": name, "namespace": namespace},
            "rules": [{"apiGroups": [ocm], "resources": [resource], "verbs": ["get", "list"]}],
        })
    };
    let account = |name: &str| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "people"}});
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    vec![
        namespace("drydock"),
        namespace("people"),
        namespace("north"),
        namespace("south"),
        account("ann"),
        account("bob"),
        account("cyd"),
        account("dan"),
        json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "upgrader"},
            "rules": [
                {"apiGroups": [ocm, "addon.open-cluster-management.io", "work.open-cluster-management.io"], "resources": ["*"], "verbs": ["*"]},
                {"apiGroups": [""], "resources": ["events", "configmaps"], "verbs": ["list"]},
            ],
        }),
        of("ClusterRoleBinding", "upgrader", "ann", None, "ClusterRole"),
        role("looker", "north", "managedclustersupgrades"),
        role("looker", "south", "managedclustersupgrades"),
        role("historian", "north", "managedclustersupgraderecords"),
        of("RoleBinding", "looker", "bob", Some("north"), "Role"),
        binding("dan-looks", "north", "looker", "dan"),
        binding("dan-looks", "south", "looker", "dan"),
        binding("dan-reads", "north", "historian", "dan"),
    ]
}

/// Three clusters, one of which is upgraded in each of two namespaces.
fn fleet() -> Vec<Value> {
    let v1 = "cluster.open-cluster-management.io/v1";
    let beta = "cluster.open-cluster-management.io/v1beta1";
    let mut objects: Vec<Value> = ["c1", "c2", "c3"]
        .map(|name| json!({"apiVersion": v1, "kind": "ManagedCluster", "metadata": {"name": name}, "spec": {"hubAcceptsClient": true}}))
        .into();
    for (namespace, name) in [("north", "spring"), ("south", "autumn")] {
        objects.push(json!({
            "apiVersion": beta, "kind": "ManagedClustersUpgrade", "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "placement": [{"name": "some", "namespace": namespace}],
                "clusterVersion": {"channel": "stable-4.14", "version": "4.14.12"},
            },
        }));
        objects.push(json!({
            "apiVersion": beta, "kind": "Placement", "metadata": {"name": "some", "namespace": namespace}, "spec": {},
        }));
        objects.push(json!({
            "apiVersion": beta, "kind": "PlacementDecision",
            "metadata": {"name": "some-1", "namespace": namespace, "labels": {
                "cluster.open-cluster-management.io/placement": "some",
                "cluster.open-cluster-management.io/decision-group-index": "0",
            }},
        }));
    }
    objects
}

/// What OCM decides.
async fn decide(admin: &Client, namespace: &str, cluster: &str) -> anyhow::Result<()> {
    let placement = json!({
        "numberOfSelectedClusters": 1,
        "decisionGroups": [{"decisionGroupIndex": 0, "decisionGroupName": "", "decisions": ["some-1"], "clustersCount": 1}],
        "conditions": [{
            "type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled", "message": "",
            "lastTransitionTime": "2026-01-05T08:00:00Z",
        }],
    });
    let api = |kind: &str| {
        let kind = GroupVersionKind::gvk("cluster.open-cluster-management.io", "v1beta1", kind);
        Api::<DynamicObject>::namespaced_with(admin.clone(), namespace, &ApiResource::from_gvk(&kind))
    };
    let (placements, decisions) = (api("Placement"), api("PlacementDecision"));
    let parameters = PatchParams::default();
    let status = Patch::Merge(json!({"status": placement}));
    let placement = placements.patch_status("some", &parameters, &status).await?;
    let status = Patch::Merge(json!({"status": {"decisions": [{"clusterName": cluster, "reason": ""}]}}));
    decisions.patch_status("some-1", &parameters, &status).await?;
    let owner = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement", "name": "some",
        "uid": placement.metadata.uid,
    });
    let owned = Patch::Merge(json!({"metadata": {"ownerReferences": [owner]}}));
    decisions.patch("some-1", &parameters, &owned).await?;
    Ok(())
}

/// The server of the page, and the certificate that it shows.
pub struct Page {
    /// Where it listens.
    pub address: String,
    /// Its certificate (PEM).
    pub certificate: String,
    _process: Process,
}

impl Page {
    fn start(workplace: &Workplace, name: &str, kubeconfig: &Path, more: &[&str]) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]);
        let made = made.context("making a certificate")?;
        let file = |ending: &str, text: &str| -> anyhow::Result<String> {
            let path = workplace.folder().join(format!("{name}.{ending}"));
            std::fs::write(&path, text).context("writing a certificate")?;
            Ok(path.display().to_string())
        };
        let certificate = made.cert.pem();
        let (crt, key) = (
            file("crt", &certificate)?,
            file("key", &made.signing_key.serialize_pem())?,
        );
        let [address, admin] = [free_address()?, free_address()?];
        let arguments = [
            "--listen",
            &address,
            "--admin-address",
            &admin,
            "--tls-certificate",
            &crt,
            "--tls-key",
            &key,
        ];
        let arguments = [&arguments[..], more].concat();
        let process = program::start(workplace, name, "drydock-dashboard", kubeconfig, &arguments)?;
        Ok(Self {
            address,
            certificate,
            _process: process,
        })
    }
}

fn free_address() -> anyhow::Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("looking for a free port")?;
    Ok(listener.local_addr()?.to_string())
}

/// A hub with these users, and two upgrades in a namespace each.
pub struct PageHub {
    /// Its API server.
    pub server: ControlPlane,
    /// Where files are put.
    pub workplace: Workplace,
    /// Who may do everything.
    pub admin: Client,
}

impl PageHub {
    /// Starts it.
    ///
    /// # Errors
    /// If the control plane does not start, or refuses an object.
    pub async fn start() -> anyhow::Result<Self> {
        let settings = Settings::named("page");
        let server = ControlPlane::start_with(&settings, Etcd::start()?).await?;
        let admin = server.client(ADMIN).await?;
        manifests::install(&admin, &manifests::definitions()?).await?;
        let hub = Self {
            workplace: Workplace::new("page")?,
            server,
            admin,
        };
        hub.apply(rights()).await?;
        hub.apply(fleet()).await?;
        decide(&hub.admin, "north", "c1").await?;
        decide(&hub.admin, "south", "c2").await?;
        Ok(hub)
    }

    /// Applies objects as who may do everything.
    ///
    /// # Errors
    /// If one is refused.
    pub async fn apply(&self, objects: Vec<Value>) -> anyhow::Result<()> {
        for object in objects {
            let object: DynamicObject = serde_json::from_value(object).context("reading an object")?;
            manifests::apply(&self.admin, &object).await?;
        }
        Ok(())
    }

    /// Starts the page with the rights of a manifest. It is not served yet.
    ///
    /// # Errors
    /// If a file cannot be written, or the program does not start.
    pub async fn page(&self, manifest: &str, more: &[&str]) -> anyhow::Result<Page> {
        for object in manifests::kustomized(manifest)? {
            manifests::apply(&self.admin, &object).await?;
        }
        let own = self
            .server
            .service_account_kubeconfig("drydock", "drydock-dashboard");
        let name = manifest.rsplit('/').next().unwrap_or(manifest);
        Page::start(&self.workplace, name, &own.await?, more)
    }
}
