//! ManifestWorkReplicaSets, as the real controller rolls them out (fleet reference 0.9, 1.7); the rules of the rollout itself
//! are tested beside them.

use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::access::{Access, Key, Removal, Selection};
use drydock_sandbox::bed::{Bed, BedSettings};
use drydock_sandbox::ocm::kinds::{MANAGED_CLUSTER, MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, PLACEMENT};
use jiff::Timestamp;
use serde_json::{Value, json};

const SETTLED: Duration = Duration::from_mins(1);
const HOURS: Duration = Duration::from_hours(12);

/// A fleet, and a user of its hub.
struct Site {
    bed: Bed,
    hub: Access,
}

impl Site {
    async fn start(clusters: usize) -> Self {
        let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
        let bed = Bed::start(BedSettings::demo(clusters, 7), clock).await.unwrap();
        let hub = Access::memory(bed.hub_server().unwrap(), "user");
        tokio::time::sleep(SETTLED).await;
        let placement = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "p", "namespace": "dev"}, "spec": {"clusterSets": ["dev"]},
        });
        hub.create(&PLACEMENT, placement).await.unwrap();
        Self { bed, hub }
    }

    /// Makes a set that rolls out to Placement `p`.
    async fn set(&self, name: &str, strategy: Value, configs: Value) {
        let set = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": name, "namespace": "dev", "labels": {"team": "a"}},
            "spec": {
                "manifestWorkTemplate": template(&configs),
                "placementRefs": [{"name": "p", "rolloutStrategy": strategy}],
            },
        });
        self.hub.create(&MANIFEST_WORK_REPLICA_SET, set).await.unwrap();
        tokio::time::sleep(SETTLED).await;
    }

    async fn edit(&self, name: &str, spec: Value) {
        let (key, patch) = (Key::namespaced("dev", name), json!({"spec": spec}));
        self.hub
            .merge_patch(&MANIFEST_WORK_REPLICA_SET, &key, patch)
            .await
            .unwrap();
    }

    /// The status of a set: its counts, and its conditions as `type reason`.
    async fn seen(&self, name: &str) -> (Value, Vec<String>) {
        let key = Key::namespaced("dev", name);
        let set = self.hub.get(&MANIFEST_WORK_REPLICA_SET, &key).await.unwrap();
        let conditions = set["status"]["conditions"].as_array().unwrap();
        let said = conditions.iter().map(|condition| {
            let text = |field: &str| condition[field].as_str().unwrap();
            format!("{} {} {}", text("type"), text("status"), text("reason"))
        });
        (set["status"]["summary"].clone(), said.collect())
    }

    /// The clusters that have a work of a set.
    async fn clusters(&self, name: &str) -> Vec<String> {
        let label = format!("work.open-cluster-management.io/manifestworkreplicaset=dev.{name}");
        let selection = Selection::everything().with_labels(label);
        let works = self.hub.list(&MANIFEST_WORK, &selection).await.unwrap();
        works
            .iter()
            .map(|work| work.namespace().unwrap().to_owned())
            .collect()
    }

    async fn delete(&self, name: &str) {
        let key = Key::namespaced("dev", name);
        self.hub
            .delete(&MANIFEST_WORK_REPLICA_SET, &key, &Removal::default())
            .await
            .unwrap();
        tokio::time::sleep(SETTLED).await;
    }

    async fn is_there(&self, name: &str) -> bool {
        let key = Key::namespaced("dev", name);
        let found = self.hub.find(&MANIFEST_WORK_REPLICA_SET, &key).await.unwrap();
        found.is_some()
    }
}

fn template(configs: &Value) -> Value {
    json!({
        "workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"},
        }]},
        "manifestConfigs": configs,
    })
}

/// Says of the manifest that it does not progress, as a user has to.
fn says_that_it_does_not_progress() -> Value {
    json!([{
        "resourceIdentifier": {"resource": "configmaps", "name": "m", "namespace": "default"},
        "conditionRules": [{
            "type": "CEL", "condition": "Progressing", "celExpressions": ["!has(object.metadata.name)"],
        }],
    }])
}

fn three_at_a_time() -> Value {
    json!({"type": "Progressive", "progressive": {"maxConcurrency": 3}})
}

#[tokio::test(start_paused = true)]
async fn rule_0_9_a_progressive_rollout_needs_a_condition_that_nothing_sets_by_default() {
    let site = Site::start(8).await;
    site.set("s", three_at_a_time(), json!([])).await;
    tokio::time::sleep(HOURS).await;
    assert_eq!(site.clusters("s").await, ["dev1", "dev2", "dev3"]);
    let (summary, conditions) = site.seen("s").await;
    assert_eq!(
        summary,
        json!({
            "total": 3, "applied": 3, "available": 3, "degraded": 0, "progressing": 0, "desiredTotal": 0, "updated": 0,
        })
    );
    assert_eq!(
        conditions,
        [
            "PlacementVerified True AsExpected",
            "PlacementRolledOut False Progressing",
            "ManifestworkApplied True AsExpected",
        ]
    );
    let rules = says_that_it_does_not_progress();
    site.edit("s", json!({"manifestWorkTemplate": {"manifestConfigs": rules}}))
        .await;
    tokio::time::sleep(HOURS).await;
    assert_eq!(site.clusters("s").await.len(), 8);
    let (summary, conditions) = site.seen("s").await;
    assert_eq!((&summary["total"], &summary["applied"]), (&json!(8), &json!(8)));
    assert_eq!(conditions[1], "PlacementRolledOut True Complete");
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn works_carry_the_labels_of_their_set_and_say_whose_they_are() {
    let site = Site::start(1).await;
    site.set("s", json!({}), json!([])).await;
    let works = Selection::in_namespace("dev1");
    let works = site.hub.list(&MANIFEST_WORK, &works).await.unwrap();
    let work = &works[0];
    assert!(
        work.name().starts_with('s') && work.name().len() == "s".len() + 5,
        "{}",
        work.name()
    );
    assert_eq!(
        work["metadata"]["labels"],
        json!({
            "team": "a",
            "work.open-cluster-management.io/manifestworkreplicaset": "dev.s",
            "work.open-cluster-management.io/placementname": "p",
        })
    );
    let key = Key::namespaced("dev", "s");
    let set = site.hub.get(&MANIFEST_WORK_REPLICA_SET, &key).await.unwrap();
    assert_eq!(
        set["status"]["placementSummary"][0]["availableDecisionGroups"],
        "1 (1 / 1 clusters applied)"
    );
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_whose_name_has_a_dot_hears_nothing_of_its_works() {
    let site = Site::start(8).await;
    site.set("s.t", three_at_a_time(), says_that_it_does_not_progress())
        .await;
    tokio::time::sleep(HOURS).await;
    let with_work = site.clusters("s.t").await.len();
    assert!(with_work < 8, "it goes on with its own writes only: {with_work}");
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_none_of_whose_works_can_be_made_says_that_nothing_is_selected() {
    let site = Site::start(1).await;
    let too_long = "s".repeat(60);
    site.set(&too_long, json!({}), json!([])).await;
    let (summary, conditions) = site.seen(&too_long).await;
    assert_eq!(summary["total"], 0);
    assert_eq!(conditions[0], "PlacementVerified False PlacementDecisionEmpty");
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_is_not_there_or_no_longer_referred_to() {
    let site = Site::start(2).await;
    site.set("s", json!({}), json!([])).await;
    assert_eq!(site.clusters("s").await.len(), 2);
    site.edit("s", json!({"placementRefs": [{"name": "none"}]})).await;
    tokio::time::sleep(SETTLED).await;
    let (_, conditions) = site.seen("s").await;
    assert_eq!(conditions[0], "PlacementVerified False PlacementDecisionNotFound");
    let other = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "none", "namespace": "dev"}, "spec": {"numberOfClusters": 0},
    });
    site.hub.create(&PLACEMENT, other).await.unwrap();
    tokio::time::sleep(SETTLED).await;
    assert!(
        site.clusters("s").await.is_empty(),
        "those of the other placement go"
    );
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_selected_no_more_loses_its_work() {
    let site = Site::start(2).await;
    site.set("s", json!({}), json!([])).await;
    let label = json!({"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": null}}});
    let key = Key::cluster("dev2");
    site.hub.merge_patch(&MANAGED_CLUSTER, &key, label).await.unwrap();
    tokio::time::sleep(SETTLED).await;
    assert_eq!(site.clusters("s").await, ["dev1"]);
    site.bed.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_deleted_takes_its_works_along_and_waits_for_them_if_told_to() {
    for (policy, waits) in [("Background", false), ("Foreground", true)] {
        let site = Site::start(1).await;
        site.set("s", json!({}), json!([])).await;
        site.edit("s", json!({"cascadeDeletionPolicy": policy})).await;
        assert!(site.bed.set_connected("dev1", false), "its work cannot end");
        site.delete("s").await;
        assert_eq!(site.is_there("s").await, waits, "{policy}");
        assert!(site.bed.set_connected("dev1", true));
        tokio::time::sleep(SETTLED).await;
        assert!(!site.is_there("s").await, "{policy}");
        assert!(site.clusters("s").await.is_empty(), "{policy}");
        site.bed.shut_down().await;
    }
}
