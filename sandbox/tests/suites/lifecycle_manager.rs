//! Operators on a simulated cluster: Subscriptions, InstallPlans and versions as the lifecycle manager keeps them.

use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key, Kind, Selection};
use openshift_sandbox::olm::catalog_data as catalog;
use serde_json::{Value, json};

const GROUP: &str = "operators.coreos.com";
const CATALOG: Kind = Kind::new(GROUP, "v1alpha1", "CatalogSource", "catalogsources", true);
const SUBSCRIPTION: Kind = Kind::new(GROUP, "v1alpha1", "Subscription", "subscriptions", true);
const PLAN: Kind = Kind::new(GROUP, "v1alpha1", "InstallPlan", "installplans", true);
const VERSION: Kind = Kind::new(
    GROUP,
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
    true,
);
const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
const NAMESPACE: Kind = Kind::new("", "v1", "Namespace", "namespaces", false);

/// A cluster on which operators are installed.
struct Cluster {
    env: TestEnv,
    access: Access,
}

impl Cluster {
    async fn start() -> Self {
        let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
        let env = TestEnv::start(TestEnvSettings::demo(1, 7), clock).await.unwrap();
        let access = Access::memory(env.spoke("dev1").unwrap(), "user");
        for name in ["olm", "operators"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            access.create(&NAMESPACE, namespace).await.unwrap();
        }
        let source = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "ours", "namespace": "olm"},
            "spec": {"sourceType": "configmap", "configMap": "ours"},
        });
        access.create(&CATALOG, source).await.unwrap();
        Self { env, access }
    }

    async fn offer(&self, data: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "ours", "namespace": "olm"}, "data": data,
        });
        self.access.apply(&CONFIG_MAP, map, "user", true).await.unwrap();
    }

    async fn subscribe(&self, package: &str, approval: &str) {
        let subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": package, "namespace": "operators"},
            "spec": {
                "name": package, "channel": "stable", "source": "ours", "sourceNamespace": "olm",
                "installPlanApproval": approval,
            },
        });
        self.access.create(&SUBSCRIPTION, subscription).await.unwrap();
    }

    async fn approve(&self, plan: &str) {
        let patch = json!({"spec": {"approved": true}});
        let key = Key::namespaced("operators", plan);
        self.access.merge_patch(&PLAN, &key, patch).await.unwrap();
    }

    async fn settle(&self) {
        tokio::time::sleep(Duration::from_mins(10)).await;
    }

    async fn subscription(&self, name: &str) -> Value {
        let key = Key::namespaced("operators", name);
        self.access.get(&SUBSCRIPTION, &key).await.unwrap()["status"].clone()
    }

    /// `name phase` of the plans or versions.
    async fn phases(&self, kind: &Kind) -> Vec<String> {
        let objects = self.access.list(kind, &Selection::everything()).await.unwrap();
        objects
            .iter()
            .map(|object| {
                let subject = object["spec"]["clusterServiceVersionNames"]
                    .as_array()
                    .map_or_else(
                        || object.name().to_owned(),
                        |names| {
                            names
                                .iter()
                                .map(|name| name.as_str().unwrap())
                                .collect::<Vec<_>>()
                                .join("+")
                        },
                    );
                format!("{subject} {}", object["status"]["phase"].as_str().unwrap())
            })
            .collect()
    }

    /// The plan that a Subscription waits for.
    async fn waits_for(&self, name: &str) -> String {
        self.subscription(name).await["installPlanRef"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn an_automatic_subscription_follows_its_channel_version_by_version() {
    let cluster = Cluster::start().await;
    cluster.offer(catalog(&[("etcd", 1)], None)).await;
    cluster.subscribe("etcd", "Automatic").await;
    cluster.settle().await;
    let status = cluster.subscription("etcd").await;
    assert_eq!(status["state"], "AtLatestKnown");
    assert_eq!(status["installedCSV"], "etcd.v1");
    cluster.offer(catalog(&[("etcd", 3)], None)).await;
    cluster.settle().await;
    assert_eq!(cluster.subscription("etcd").await["installedCSV"], "etcd.v3");
    assert_eq!(cluster.phases(&VERSION).await, ["etcd.v3 Succeeded"]);
    let mut plans = cluster.phases(&PLAN).await;
    plans.sort();
    assert_eq!(
        plans,
        ["etcd.v1 Complete", "etcd.v2 Complete", "etcd.v3 Complete"]
    );
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn one_manual_subscription_makes_the_plans_of_its_whole_namespace_wait() {
    let cluster = Cluster::start().await;
    cluster.offer(catalog(&[("etcd", 1), ("vault", 1)], None)).await;
    cluster.subscribe("etcd", "Manual").await;
    cluster.subscribe("vault", "Automatic").await;
    cluster.settle().await;
    let status = cluster.subscription("vault").await;
    assert_eq!(status["state"], "UpgradePending");
    let pending = &status["conditions"][1];
    assert_eq!(
        (pending["type"].as_str(), pending["reason"].as_str()),
        (Some("InstallPlanPending"), Some("RequiresApproval"))
    );
    assert!(cluster.phases(&VERSION).await.is_empty());
    cluster.approve(&cluster.waits_for("etcd").await).await;
    cluster.settle().await;
    assert_eq!(
        cluster.phases(&VERSION).await,
        ["etcd.v1 Succeeded", "vault.v1 Succeeded"]
    );
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_waits_is_superseded_when_the_catalog_moves_on() {
    let cluster = Cluster::start().await;
    cluster.offer(catalog(&[("etcd", 1)], None)).await;
    cluster.subscribe("etcd", "Manual").await;
    cluster.settle().await;
    let first = cluster.waits_for("etcd").await;
    cluster.offer(catalog(&[("etcd", 2)], None)).await;
    cluster.settle().await;
    let second = cluster.waits_for("etcd").await;
    assert_ne!(first, second);
    cluster.approve(&second).await;
    cluster.settle().await;
    assert_eq!(cluster.subscription("etcd").await["installedCSV"], "etcd.v2");
    let mut plans = cluster.phases(&PLAN).await;
    plans.sort();
    assert_eq!(plans, ["etcd.v1 RequiresApproval", "etcd.v2 Complete"]);
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_bundle_fails_to_unpack_or_to_install() {
    for (how, plan, version) in [
        ("unpack", "etcd.v1 Failed", None),
        ("install", "etcd.v1 Complete", Some("etcd.v1 Failed")),
    ] {
        let cluster = Cluster::start().await;
        cluster
            .offer(catalog(&[("etcd", 1)], Some(("etcd.v1", how))))
            .await;
        cluster.subscribe("etcd", "Automatic").await;
        cluster.settle().await;
        assert_eq!(cluster.phases(&PLAN).await, [plan], "{how}");
        assert_eq!(
            cluster.phases(&VERSION).await,
            version.into_iter().collect::<Vec<_>>(),
            "{how}"
        );
        let status = cluster.subscription("etcd").await;
        assert_eq!(
            status["conditions"][1]["type"] == "InstallPlanFailed",
            how == "unpack",
            "{how}: {status}"
        );
        cluster.env.shut_down().await;
    }
}
