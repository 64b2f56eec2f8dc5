//! Upgrades of operators: the hub's Job runs the agent's `approve-installplans` on clusters whose lifecycle
//! manager behaves.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_sandbox::test_env::TestEnvSettings;
use kube::ResourceExt;
use kube_sandbox::access::{Access, Key, Kind};
use openshift_sandbox::olm::catalog_data;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const GROUP: &str = "operators.coreos.com";
const CATALOG: Kind = Kind::new(GROUP, "v1alpha1", "CatalogSource", "catalogsources", true);
const SUBSCRIPTION: Kind = Kind::new(GROUP, "v1alpha1", "Subscription", "subscriptions", true);
const PLAN: Kind = Kind::new(GROUP, "v1alpha1", "InstallPlan", "installplans", true);
const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
const NAMESPACE: Kind = Kind::new("", "v1", "Namespace", "namespaces", false);

/// One cluster with operators `etcd` and `vault`, each in a namespace of its own, at version 1.
struct Site {
    fleet: LocalFleet,
    spoke: Access,
}

impl Site {
    async fn start() -> Self {
        let mut settings = TestEnvSettings::demo(1, 5);
        settings.clusters[0].agent = false;
        let fleet = local_fleet::start(settings).await.unwrap();
        let spoke = Access::memory(fleet.env.spoke("dev1").unwrap(), "user");
        let site = Self { fleet, spoke };
        for name in ["olm", "etcd", "vault"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            site.spoke.create(&NAMESPACE, namespace).await.unwrap();
        }
        site.offer(catalog_data(&[("etcd", 1), ("vault", 1)], None)).await;
        let source = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "ours", "namespace": "olm"},
            "spec": {"sourceType": "configmap", "configMap": "ours"},
        });
        site.spoke.create(&CATALOG, source).await.unwrap();
        for name in ["etcd", "vault"] {
            site.subscribe(name, name, "Automatic").await;
        }
        tokio::time::sleep(5 * MINUTE).await;
        for name in ["etcd", "vault"] {
            site.set_approval(name, "Manual").await;
        }
        tokio::time::sleep(MINUTE).await;
        site
    }

    async fn subscribe(&self, name: &str, namespace: &str, approval: &str) {
        let subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "name": name, "channel": "stable", "source": "ours", "sourceNamespace": "olm",
                "installPlanApproval": approval,
            },
        });
        self.spoke.create(&SUBSCRIPTION, subscription).await.unwrap();
    }

    async fn set_approval(&self, name: &str, approval: &str) {
        let patch = json!({"spec": {"installPlanApproval": approval}});
        let key = Key::namespaced(name, name);
        self.spoke.merge_patch(&SUBSCRIPTION, &key, patch).await.unwrap();
    }

    async fn offer(&self, data: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "ours", "namespace": "olm"}, "data": data,
        });
        self.spoke.apply(&CONFIG_MAP, map, "user", true).await.unwrap();
    }

    async fn installed(&self, name: &str) -> String {
        let subscription = self
            .spoke
            .get(&SUBSCRIPTION, &Key::namespaced(name, name))
            .await
            .unwrap();
        subscription["status"]["installedCSV"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Starts an upgrade of these operators, of the platform as well if asked for.
    async fn upgrade(&self, operators: Value, platform: bool) {
        let clusters = TestEnvSettings::demo(1, 5).clusters;
        let mut upgrade = json!(fleet::upgrade(&clusters).unwrap());
        upgrade["spec"]["ocpOperators"] = operators;
        if !platform {
            let spec = upgrade["spec"].as_object_mut().unwrap();
            for field in ["clusterVersion", "preUpgradeAction", "postUpgradeAction"] {
                spec.remove(field);
            }
        }
        let upgrade = serde_json::from_value(upgrade).unwrap();
        fleet::start(&self.fleet.user().unwrap(), &upgrade).await.unwrap();
    }

    async fn ends(&self, how: &str) -> ManagedClustersUpgrade {
        let hub = self.fleet.user().unwrap();
        fleet::until(&hub, how, 12 * HOUR, |upgrade| fleet::is_true(upgrade, how))
            .await
            .unwrap()
    }

    async fn kinds(&self) -> Vec<String> {
        let works = fleet::works(&self.fleet.user().unwrap()).await.unwrap();
        works
            .iter()
            .map(|work| work.labels()["drydock.dev/kind"].clone())
            .collect()
    }
}

fn message(upgrade: &ManagedClustersUpgrade) -> String {
    let conditions = upgrade.status.as_ref().unwrap().conditions.as_ref().unwrap();
    let failed = conditions.iter().find(|condition| condition.type_ == "Failed");
    failed.unwrap().message.clone()
}

#[tokio::test(start_paused = true)]
async fn operators_follow_the_platform_through_all_versions_of_their_channel() {
    let site = Site::start().await;
    site.offer(catalog_data(&[("etcd", 3), ("vault", 2)], None)).await;
    site.upgrade(json!({"approveAllUpgrades": true}), true).await;
    let hub = site.fleet.user().unwrap();
    let operators = fleet::until(&hub, "the operators' turn", 12 * HOUR, |upgrade| {
        let clusters = upgrade
            .status
            .iter()
            .flat_map(|status| status.clusters.iter().flatten());
        clusters.into_iter().any(|cluster| cluster.state == "Operators")
    });
    let operators = operators.await.unwrap();
    let version = &operators.status.as_ref().unwrap().clusters.as_ref().unwrap()[0].version;
    assert_eq!(version.as_deref(), Some("4.14.12"), "the platform is there first");
    site.ends("Complete").await;
    assert_eq!(site.installed("etcd").await, "etcd.v3");
    assert_eq!(site.installed("vault").await, "vault.v2");
    site.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn only_what_is_included_and_not_excluded_is_upgraded() {
    for (operators, etcd, vault) in [
        (
            json!({"include": [{"name": "etcd", "namespace": "etcd"}]}),
            "etcd.v2",
            "vault.v1",
        ),
        (
            json!({"approveAllUpgrades": true, "exclude": [{"name": "etcd", "namespace": "etcd"}]}),
            "etcd.v1",
            "vault.v2",
        ),
        (
            json!({
                "include": [{"name": "etcd", "namespace": "etcd"}, {"name": "vault", "namespace": "vault"}],
                "exclude": [{"name": "vault", "namespace": "vault"}],
            }),
            "etcd.v2",
            "vault.v1",
        ),
    ] {
        let site = Site::start().await;
        site.offer(catalog_data(&[("etcd", 2), ("vault", 2)], None)).await;
        site.upgrade(operators.clone(), false).await;
        site.ends("Complete").await;
        assert_eq!(site.installed("etcd").await, etcd, "{operators}");
        assert_eq!(site.installed("vault").await, vault, "{operators}");
        assert_eq!(site.kinds().await, ["operators"], "operators only: {operators}");
        site.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_to_approve_ends_promptly() {
    let site = Site::start().await;
    let before = site.fleet.clock.now();
    site.upgrade(json!({"approveAllUpgrades": true}), false).await;
    site.ends("Complete").await;
    let took = site.fleet.clock.now().duration_since(before);
    assert!(took < jiff::SignedDuration::from_mins(2), "{took}");
    site.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_fails_makes_the_cluster_failed() {
    for how in ["unpack", "install"] {
        let site = Site::start().await;
        site.offer(catalog_data(&[("etcd", 2), ("vault", 1)], Some(("etcd.v2", how))))
            .await;
        site.upgrade(json!({"approveAllUpgrades": true}), false).await;
        let failed = site.ends("Failed").await;
        assert!(
            message(&failed).contains("upgrade of the operators"),
            "{how}: {}",
            message(&failed)
        );
        site.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_also_upgrades_what_is_excluded_is_not_approved() {
    let site = Site::start().await;
    site.offer(catalog_data(&[("etcd", 2), ("vault", 1), ("queue", 1)], None))
        .await;
    // Its plan is for the whole namespace.
    site.subscribe("queue", "etcd", "Manual").await;
    tokio::time::sleep(MINUTE).await;
    let exclude = json!([{"name": "queue", "namespace": "etcd"}]);
    site.upgrade(json!({"approveAllUpgrades": true, "exclude": exclude}), false)
        .await;
    site.ends("Failed").await;
    assert_eq!(site.installed("etcd").await, "etcd.v1");
    site.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_replaced_while_it_is_waited_for_is_followed() {
    let site = Site::start().await;
    site.offer(catalog_data(&[("etcd", 2), ("vault", 1)], None)).await;
    tokio::time::sleep(MINUTE).await;
    let first = site
        .spoke
        .get(&SUBSCRIPTION, &Key::namespaced("etcd", "etcd"))
        .await
        .unwrap();
    let first = first["status"]["installPlanRef"]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    // Another of the namespace gets an upgrade: a new plan brings both.
    site.upgrade(json!({"approveAllUpgrades": true}), false).await;
    site.offer(catalog_data(&[("etcd", 2), ("vault", 1), ("queue", 1)], None))
        .await;
    site.subscribe("queue", "etcd", "Manual").await;
    site.ends("Complete").await;
    assert_eq!(site.installed("etcd").await, "etcd.v2");
    let superseded = site
        .spoke
        .get(&PLAN, &Key::namespaced("etcd", first.as_str()))
        .await
        .unwrap();
    assert_eq!(superseded["status"]["phase"], "RequiresApproval");
    site.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn operators_that_take_too_long_make_the_cluster_failed() {
    let site = Site::start().await;
    site.offer(catalog_data(&[("etcd", 2), ("vault", 1)], None)).await;
    let clusters = TestEnvSettings::demo(1, 5).clusters;
    let mut upgrade = json!(fleet::upgrade(&clusters).unwrap());
    upgrade["spec"]["ocpOperators"] = json!({"approveAllUpgrades": true});
    upgrade["spec"]["upgradeStrategy"]["operatorsUpgradeTimeout"] = "20s".into();
    fleet::start(
        &site.fleet.user().unwrap(),
        &serde_json::from_value(upgrade).unwrap(),
    )
    .await
    .unwrap();
    let failed = site.ends("Failed").await;
    assert!(message(&failed).contains("took too long"), "{}", message(&failed));
    site.fleet.shut_down().await.unwrap();
}
