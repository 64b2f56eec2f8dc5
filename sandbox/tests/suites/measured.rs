//! What was measured on the real OCM, each as the stand-ins show it. The limit of etcd is in `server`; ManifestWorkReplicaSets and the
//! flags of OCM's programs have no stand-in.

use std::collections::BTreeSet;
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use futures::StreamExt;
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key, Kind, Removal, Selection, WatchEvent};
use ocm_sandbox::kinds::{MANAGED_CLUSTER, MANIFEST_WORK, PLACEMENT, PLACEMENT_DECISION};
use openshift_sandbox::cluster::kinds::{CLUSTER_VERSION, JOB};
use serde_json::{Value, json};

const CONFIG_MAP: Kind = Kind::new("", "v1", "ConfigMap", "configmaps", true);
const SETTLED: Duration = Duration::from_mins(1);

/// One cluster, its hub, and a user of both.
struct Site {
    env: TestEnv,
    hub: Access,
    spoke: Access,
}

impl Site {
    async fn start(clusters: usize) -> Self {
        let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
        let env = TestEnv::start(TestEnvSettings::demo(clusters, 7), clock)
            .await
            .unwrap();
        let hub = Access::memory(env.hub_server().unwrap(), "user");
        let spoke = Access::memory(env.spoke("dev1").unwrap(), "oc");
        tokio::time::sleep(SETTLED).await;
        Self { env, hub, spoke }
    }

    async fn work(&self, spec: Value) {
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"name": "w", "namespace": "dev1"}, "spec": spec,
        });
        self.hub.create(&MANIFEST_WORK, work).await.unwrap();
        tokio::time::sleep(SETTLED).await;
    }

    async fn seen(&self) -> Value {
        let work = self
            .hub
            .get(&MANIFEST_WORK, &Key::namespaced("dev1", "w"))
            .await
            .unwrap();
        work.value().clone()
    }

    async fn delete_work(&self) {
        let key = Key::namespaced("dev1", "w");
        self.hub
            .delete(&MANIFEST_WORK, &key, &Removal::default())
            .await
            .unwrap();
        tokio::time::sleep(SETTLED).await;
    }

    async fn version(&self) -> Option<Value> {
        let found = self
            .spoke
            .find(&CLUSTER_VERSION, &Key::cluster("version"))
            .await
            .unwrap();
        found.map(|version| version.value().clone())
    }

    /// Sets fields of the ClusterVersion as `oc` does.
    async fn oc(&self, spec: Value) {
        let patch = json!({"spec": spec});
        let key = Key::cluster("version");
        self.spoke
            .merge_patch(&CLUSTER_VERSION, &key, patch)
            .await
            .unwrap();
    }
}

fn condition<'a>(conditions: &'a Value, kind: &str) -> &'a Value {
    let mut all = conditions.as_array().unwrap().iter();
    all.find(|condition| condition["type"] == kind)
        .unwrap_or(&Value::Null)
}

/// The document's ClusterVersion.
fn cluster_version(id: &Value) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {"clusterID": id, "channel": "stable-4.14", "desiredUpdate": {"version": "4.14.9"}},
    })
}

fn orphaning(group: &str, resource: &str) -> Value {
    json!({
        "propagationPolicy": "SelectivelyOrphan",
        "selectivelyOrphans": {"orphaningRules": [{"group": group, "resource": resource, "name": "version", "namespace": ""}]},
    })
}

fn enforced(strategy: &Value) -> Value {
    json!([{
        "resourceIdentifier": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version"},
        "updateStrategy": strategy,
    }])
}

#[tokio::test(start_paused = true)]
async fn rule_0_1_an_orphaning_rule_without_group_and_plural_deletes_cluster_version() {
    for (group, resource, stays) in [
        ("", "ClusterVersion.config.openshift.io", false),
        ("config.openshift.io", "clusterversions", true),
    ] {
        let site = Site::start(1).await;
        let id = site.version().await.unwrap()["spec"]["clusterID"].clone();
        site.work(json!({
            "workload": {"manifests": [cluster_version(&id)]},
            "manifestConfigs": enforced(&json!({"type": "ServerSideApply", "serverSideApply": {"force": true}})),
            "deleteOption": orphaning(group, resource),
        }))
        .await;
        site.delete_work().await;
        let left = site.version().await;
        assert_eq!(left.is_some(), stays, "{resource}");
        if let Some(left) = left {
            assert_eq!(left["metadata"]["ownerReferences"], Value::Null);
        }
        site.env.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rule_0_2_update_replaces_the_whole_spec_and_server_side_apply_keeps_it() {
    for (strategy, kept) in [
        (json!({"type": "Update"}), false),
        (
            json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
            true,
        ),
    ] {
        let site = Site::start(1).await;
        let overrides = json!([{
            "kind": "Deployment", "group": "apps", "namespace": "a", "name": "b", "unmanaged": true,
        }]);
        site.oc(json!({"upstream": "https://example.com/graph", "overrides": overrides}))
            .await;
        let id = site.version().await.unwrap()["spec"]["clusterID"].clone();
        site.work(json!({
            "workload": {"manifests": [cluster_version(&id)]}, "manifestConfigs": enforced(&strategy),
        }))
        .await;
        let spec = site.version().await.unwrap()["spec"].clone();
        assert_eq!(spec["desiredUpdate"]["version"], "4.14.9");
        assert_eq!(spec["upstream"].is_string(), kept, "{strategy}");
        assert_eq!(spec["overrides"].is_array(), kept, "{strategy}");
        site.env.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn rule_0_3_server_side_apply_without_force_fails_where_oc_set_the_channel() {
    let site = Site::start(1).await;
    site.oc(json!({"channel": "fast-4.14"})).await;
    let id = site.version().await.unwrap()["spec"]["clusterID"].clone();
    site.work(json!({
        "workload": {"manifests": [cluster_version(&id)]},
        "manifestConfigs": enforced(&json!({"type": "ServerSideApply"})),
    }))
    .await;
    let seen = site.seen().await;
    assert_eq!(
        condition(&seen["status"]["conditions"], "Applied")["status"],
        "False"
    );
    let manifest = &seen["status"]["resourceStatus"]["manifests"][0]["conditions"];
    let message = condition(manifest, "Applied")["message"].as_str().unwrap();
    assert!(message.contains("conflict with \"oc\""), "{message}");
    assert!(message.contains(".spec.channel"), "{message}");
    site.env.shut_down().await;
}

fn job(outcome: &str) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {
            "name": "j", "namespace": "default",
            "annotations": {"sandbox.drydock.dev/outcome": outcome},
        },
        "spec": {"backoffLimit": 0, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
        }}},
    })
}

#[tokio::test(start_paused = true)]
async fn rule_0_4_available_says_that_a_job_exists_and_not_that_it_ran() {
    let site = Site::start(1).await;
    site.work(json!({"workload": {"manifests": [job("hang")]}})).await;
    let seen = site.seen().await;
    assert_eq!(
        condition(&seen["status"]["conditions"], "Available")["status"],
        "True"
    );
    let job = site
        .spoke
        .get(&JOB, &Key::namespaced("default", "j"))
        .await
        .unwrap();
    assert_eq!(job["status"]["succeeded"], Value::Null);
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn rules_0_5_and_0_6_a_failed_job_is_complete_too_and_a_complete_work_is_frozen() {
    let site = Site::start(1).await;
    let map = |value: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"},
            "data": {"k": value},
        })
    };
    let complete = json!([{
        "resourceIdentifier": {"group": "batch", "resource": "jobs", "name": "j", "namespace": "default"},
        "conditionRules": [{"type": "WellKnownConditions", "condition": "Complete"}],
    }]);
    site.work(json!({
        "workload": {"manifests": [job("fail"), map("before")]}, "manifestConfigs": complete,
    }))
    .await;
    tokio::time::sleep(5 * SETTLED).await;
    let seen = site.seen().await;
    let ended = condition(
        &seen["status"]["resourceStatus"]["manifests"][0]["conditions"],
        "Complete",
    );
    assert_eq!(
        (ended["status"].as_str(), ended["message"].as_str()),
        (Some("True"), Some("Job is finished"))
    );
    let done = condition(&seen["status"]["conditions"], "Complete");
    assert_eq!(
        (done["status"].as_str(), done["reason"].as_str()),
        (Some("True"), Some("ConditionRulesAggregated"))
    );
    // An edit is not applied any more.
    let patch = json!({"spec": {"workload": {"manifests": [job("fail"), map("after")]}}});
    let key = Key::namespaced("dev1", "w");
    site.hub.merge_patch(&MANIFEST_WORK, &key, patch).await.unwrap();
    tokio::time::sleep(10 * SETTLED).await;
    let found = site
        .spoke
        .get(&CONFIG_MAP, &Key::namespaced("default", "m"))
        .await
        .unwrap();
    assert_eq!(found["data"]["k"], "before");
    let seen = site.seen().await;
    let generation =
        |kind: &str| condition(&seen["status"]["conditions"], kind)["observedGeneration"].clone();
    assert_eq!(
        (generation("Applied"), generation("Complete")),
        (json!(1), json!(2))
    );
    site.env.shut_down().await;
}

/// A Placement of the whole set in `dev`, with these decision groups.
async fn placement(hub: &Access, strategy: Value) {
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "p", "namespace": "dev"},
        "spec": {"clusterSets": ["dev"], "decisionStrategy": {"groupStrategy": strategy}},
    });
    hub.create(&PLACEMENT, placement).await.unwrap();
    tokio::time::sleep(SETTLED).await;
}

async fn pages(hub: &Access) -> Vec<(String, Value, usize)> {
    let selection =
        Selection::in_namespace("dev").with_labels("cluster.open-cluster-management.io/placement=p");
    let pages = hub.list(&PLACEMENT_DECISION, &selection).await.unwrap();
    pages
        .iter()
        .map(|page| {
            let group = page.label("cluster.open-cluster-management.io/decision-group-index");
            let decisions = page["status"]["decisions"].as_array().map_or(0, Vec::len);
            (page.name().to_owned(), json!(group), decisions)
        })
        .collect()
}

/// Labelled clusters without anything behind them.
async fn more_clusters(hub: &Access, count: usize) {
    for number in 0..count {
        let stage = match number {
            0..5 => "canary",
            5..30 => "stage",
            _ => "rest",
        };
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": format!("c{number:03}"), "labels": {
                "stage": stage, "cluster.open-cluster-management.io/clusterset": "dev",
            }},
            "spec": {"hubAcceptsClient": true},
        });
        hub.create(&MANAGED_CLUSTER, cluster).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn rule_0_7_a_regrouping_shows_less_than_is_selected_for_a_moment() {
    let site = Site::start(1).await;
    more_clusters(&site.hub, 249).await;
    placement(&site.hub, json!({"clustersPerDecisionGroup": 100})).await;
    let selection =
        Selection::in_namespace("dev").with_labels("cluster.open-cluster-management.io/placement=p");
    let mut watch = site.hub.watch(&PLACEMENT_DECISION, &selection);
    let patch = json!({"spec": {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 60}}}});
    site.hub
        .merge_patch(&PLACEMENT, &Key::namespaced("dev", "p"), patch)
        .await
        .unwrap();
    let mut contents = std::collections::BTreeMap::new();
    let mut fewest = usize::MAX;
    let names = |page: &Value| -> BTreeSet<String> {
        let decisions = page["status"]["decisions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        decisions
            .iter()
            .map(|entry| entry["clusterName"].as_str().unwrap().to_owned())
            .collect()
    };
    let quiet = tokio::time::sleep(SETTLED);
    tokio::pin!(quiet);
    loop {
        tokio::select! {
            biased;
            Some(event) = watch.next() => match event {
                WatchEvent::Resync(pages) => {
                    contents = pages.iter().map(|page| (page.name().to_owned(), names(page))).collect();
                }
                WatchEvent::Applied(page) => {
                    contents.insert(page.name().to_owned(), names(&page));
                }
                WatchEvent::Deleted(page) => {
                    contents.remove(page.name());
                }
            },
            () = &mut quiet => break,
        }
        let union: BTreeSet<&String> = contents.values().flatten().collect();
        fewest = fewest.min(union.len());
    }
    assert!(fewest < 250, "the pages are not written at once");
    let union: BTreeSet<&String> = contents.values().flatten().collect();
    assert_eq!(union.len(), 250, "and come together in the end");
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn rule_0_8_a_cluster_that_falls_silent_is_tainted_and_leaves_unless_tolerated() {
    let site = Site::start(2).await;
    placement(&site.hub, json!({})).await;
    assert_eq!(
        pages(&site.hub).await,
        [("p-decision-1".to_owned(), json!("0"), 2)]
    );
    assert!(site.env.set_connected("dev2", false));
    tokio::time::sleep(6 * SETTLED).await;
    let cluster = site
        .hub
        .get(&MANAGED_CLUSTER, &Key::cluster("dev2"))
        .await
        .unwrap();
    let available = condition(
        &cluster["status"]["conditions"],
        "ManagedClusterConditionAvailable",
    );
    assert_eq!(available["status"], "Unknown");
    assert_eq!(available["reason"], "ManagedClusterLeaseUpdateStopped");
    assert_eq!(
        cluster["spec"]["taints"][0]["key"],
        "cluster.open-cluster-management.io/unreachable"
    );
    assert_eq!(
        pages(&site.hub).await,
        [("p-decision-1".to_owned(), json!("0"), 1)]
    );
    let tolerations = json!([
        {"key": "cluster.open-cluster-management.io/unreachable", "operator": "Exists"},
        {"key": "cluster.open-cluster-management.io/unavailable", "operator": "Exists"},
    ]);
    let patch = json!({"spec": {"tolerations": tolerations}});
    site.hub
        .merge_patch(&PLACEMENT, &Key::namespaced("dev", "p"), patch)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        pages(&site.hub).await,
        [("p-decision-1".to_owned(), json!("0"), 2)]
    );
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn section_1_4_pages_hold_a_hundred_each_and_no_cluster_is_one_empty_page() {
    let site = Site::start(1).await;
    more_clusters(&site.hub, 250).await;
    let group = |stage: &str| json!({"groupName": stage, "groupClusterSelector": {"labelSelector": {"matchLabels": {"stage": stage}}}});
    let patch = json!({"metadata": {"labels": {"cluster.open-cluster-management.io/clusterset": "other"}}});
    site.hub
        .merge_patch(&MANAGED_CLUSTER, &Key::cluster("dev1"), patch)
        .await
        .unwrap();
    placement(
        &site.hub,
        json!({"decisionGroups": [group("canary"), group("stage")]}),
    )
    .await;
    let counts: Vec<(Value, usize)> = pages(&site.hub)
        .await
        .into_iter()
        .map(|(_, group, count)| (group, count))
        .collect();
    let expected = [("0", 5), ("1", 25), ("2", 100), ("2", 100), ("2", 20)];
    assert_eq!(counts, expected.map(|(group, count)| (json!(group), count)));
    let first = site
        .hub
        .get(&PLACEMENT_DECISION, &Key::namespaced("dev", "p-decision-1"))
        .await
        .unwrap();
    assert_eq!(first["status"]["decisions"][0]["reason"], "");
    let nobody = json!([{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"stage": "none"}}}}]);
    let patch = json!({"spec": {"predicates": nobody}});
    site.hub
        .merge_patch(&PLACEMENT, &Key::namespaced("dev", "p"), patch)
        .await
        .unwrap();
    tokio::time::sleep(SETTLED).await;
    assert_eq!(pages(&site.hub).await.len(), 1);
    assert_eq!(pages(&site.hub).await[0].2, 0);
    site.env.shut_down().await;
}

fn map_with(paths: &Value, more: &Value) -> Value {
    let mut config = json!({
        "resourceIdentifier": {"group": "", "resource": "configmaps", "name": "m", "namespace": "default"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": paths}],
    });
    for (field, value) in more.as_object().unwrap() {
        config[field] = value.clone();
    }
    json!({
        "workload": {"manifests": [{
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "m", "namespace": "default", "finalizers": ["example.com/a", "example.com/b"]},
            "data": {"k": "v"},
        }]},
        "manifestConfigs": [config],
    })
}

#[tokio::test(start_paused = true)]
async fn section_1_5_feedback_takes_the_first_of_a_list_refuses_a_map_and_leaves_out_what_is_not_there() {
    let site = Site::start(1).await;
    let paths = json!([
        {"name": "list", "path": ".metadata.finalizers"},
        {"name": "map", "path": ".data"},
        {"name": "maps", "path": ".metadata.ownerReferences"},
        {"name": "missing", "path": ".data.other"},
        {"name": "value", "path": ".data.k"},
    ]);
    site.work(map_with(&paths, &json!({}))).await;
    let seen = site.seen().await;
    let manifest = &seen["status"]["resourceStatus"]["manifests"][0];
    let synced = condition(&manifest["conditions"], "StatusFeedbackSynced");
    assert_eq!(synced["status"], "False");
    assert_eq!(synced["reason"], "StatusFeedbackSyncFailed");
    let message = synced["message"].as_str().unwrap();
    assert!(
        message.contains("the type map[string]interface {} of the value for map is not found")
            && message.contains("the type []interface {} of the value for maps is not found"),
        "{message}"
    );
    let values: Vec<(&str, &str)> = manifest["statusFeedback"]["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| {
            (
                value["name"].as_str().unwrap(),
                value["fieldValue"]["string"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(values, [("list", "example.com/a"), ("value", "v")]);
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn section_1_5_a_static_message_of_a_rule_is_shown_even_when_it_is_false() {
    let site = Site::start(1).await;
    let rules = json!({"conditionRules": [{
        "type": "CEL", "condition": "Ready", "celExpressions": ["object.data.k == 'other'"], "message": "all is well",
    }]});
    site.work(map_with(&json!([{"name": "value", "path": ".data.k"}]), &rules))
        .await;
    let seen = site.seen().await;
    let ready = condition(
        &seen["status"]["resourceStatus"]["manifests"][0]["conditions"],
        "Ready",
    );
    assert_eq!(
        (ready["status"].as_str(), ready["message"].as_str()),
        (Some("False"), Some("all is well"))
    );
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn section_1_5_watched_feedback_comes_at_once_and_polled_feedback_with_the_next_sync() {
    for (scrape, at_once) in [("Watch", true), ("Poll", false)] {
        let site = Site::start(1).await;
        let strategy = json!({"feedbackScrapeType": scrape, "updateStrategy": {"type": "CreateOnly"}});
        site.work(map_with(
            &json!([{"name": "value", "path": ".data.k"}]),
            &strategy,
        ))
        .await;
        let patch = json!({"data": {"k": "new"}});
        let key = Key::namespaced("default", "m");
        site.spoke.merge_patch(&CONFIG_MAP, &key, patch).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
        let value = |seen: &Value| {
            let values = &seen["status"]["resourceStatus"]["manifests"][0]["statusFeedback"]["values"];
            values[0]["fieldValue"]["string"] == "new"
        };
        assert_eq!(value(&site.seen().await), at_once, "{scrape}");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(value(&site.seen().await), "{scrape}");
        site.env.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn section_1_5_a_work_whose_agent_is_gone_terminates_for_ever() {
    let site = Site::start(1).await;
    site.work(map_with(
        &json!([{"name": "value", "path": ".data.k"}]),
        &json!({}),
    ))
    .await;
    assert!(site.env.set_connected("dev1", false));
    site.delete_work().await;
    tokio::time::sleep(Duration::from_hours(48)).await;
    let seen = site.seen().await;
    assert!(seen["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(
        seen["metadata"]["finalizers"],
        json!(["cluster.open-cluster-management.io/manifest-work-cleanup"])
    );
    site.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn beside_real_ocm_an_object_that_is_deleted_on_the_spoke_is_only_reported_until_works_are_applied_again()
 {
    let site = Site::start(1).await;
    let mut spec = map_with(&json!([{"name": "value", "path": ".data.k"}]), &json!({}));
    spec["workload"]["manifests"][0]["metadata"]["finalizers"] = Value::Null;
    site.work(spec).await;
    let key = Key::namespaced("default", "m");
    site.spoke
        .delete(&CONFIG_MAP, &key, &Removal::default())
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let available = |work: &Value| condition(&work["status"]["conditions"], "Available")["status"].clone();
    assert_eq!(available(&site.seen().await), "False");
    assert!(site.spoke.find(&CONFIG_MAP, &key).await.unwrap().is_none());
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(available(&site.seen().await), "True");
    assert!(site.spoke.find(&CONFIG_MAP, &key).await.unwrap().is_some());
    site.env.shut_down().await;
}
