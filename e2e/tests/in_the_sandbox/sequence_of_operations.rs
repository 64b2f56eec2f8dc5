//! The eleven rules of "Sequence of operations", one test each, with the real hub in the sandbox under paused time.

use std::time::Duration;

use drydock_api::mcu::ManagedClustersUpgrade;
use drydock_api::names::{KIND_LABEL, STATE_LABEL};
use drydock_api::ocm::{ManagedCluster, ManifestWork};
use drydock_e2e::fleet;
use drydock_e2e::local_fleet;
use drydock_e2e::local_fleet::LocalFleet;
use drydock_sandbox::test_env::TestEnvSettings;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use openshift_sandbox::cluster::Fault;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Clusters without the agent.
fn clusters(count: usize) -> TestEnvSettings {
    let mut settings = TestEnvSettings::demo(count, 11);
    for cluster in &mut settings.clusters {
        cluster.agent = false;
    }
    settings
}

/// The sample for a test environment, changed by a merge patch of its spec.
fn upgrade(settings: &TestEnvSettings, change: &Value) -> ManagedClustersUpgrade {
    let mut object = json!(fleet::upgrade(&settings.clusters).unwrap());
    merge(&mut object["spec"], change);
    serde_json::from_value(object).unwrap()
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(changes) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    for (field, change) in changes {
        if change.is_null() {
            target.as_object_mut().unwrap().remove(field);
        } else {
            merge(&mut target[field], change);
        }
    }
}

/// An action whose one Job ends as `outcome` says on every cluster.
fn action(name: &str, outcome: &str) -> Value {
    json!({"timeout": "2h", "manifestWork": {"workload": {"manifests": [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "actions"}},
        {"apiVersion": "batch/v1", "kind": "Job",
         "metadata": {"name": name, "namespace": "actions", "annotations": {"sandbox.drydock.dev/outcome": outcome}},
         "spec": {"backoffLimit": 0, "template": {"spec": {
             "restartPolicy": "Never", "containers": [{"name": "a", "image": "example.com/a"}],
         }}}},
    ]}}})
}

/// No canaries.
fn all_at_once(concurrency: i32) -> Value {
    json!({"canaryClusters": null, "maxConcurrency": concurrency})
}

struct Run {
    fleet: LocalFleet,
    hub: Client,
}

impl Run {
    async fn start(settings: TestEnvSettings, upgrade: &ManagedClustersUpgrade) -> Self {
        let fleet = local_fleet::start(settings).await.unwrap();
        let hub = fleet.user().unwrap();
        fleet::start(&hub, upgrade).await.unwrap();
        Self { fleet, hub }
    }

    /// The kinds of a cluster's works, with their recorded ends.
    async fn works(&self, cluster: &str) -> Vec<(String, Option<String>)> {
        let works = fleet::works(&self.hub).await.unwrap();
        works
            .iter()
            .filter(|work| work.namespace().as_deref() == Some(cluster))
            .map(|work| {
                (
                    work.labels()[KIND_LABEL].clone(),
                    work.labels().get(STATE_LABEL).cloned(),
                )
            })
            .collect()
    }

    async fn has(&self, cluster: &str, kind: &str) -> bool {
        self.works(cluster).await.iter().any(|(known, _)| known == kind)
    }

    async fn ended(&self, cluster: &str) -> Option<String> {
        self.works(cluster).await.into_iter().find_map(|(_, end)| end)
    }

    /// Clusters with works and without an end.
    async fn in_flight(&self) -> usize {
        let mut count = 0;
        for cluster in self.fleet.env.cluster_names() {
            let works = self.works(&cluster).await;
            if !works.is_empty() && works.iter().all(|(_, end)| end.is_none()) {
                count += 1;
            }
        }
        count
    }

    async fn upgrade(&self) -> ManagedClustersUpgrade {
        fleet::upgrades(&self.hub).get(fleet::UPGRADE).await.unwrap()
    }

    async fn until_complete(&self) {
        fleet::until(&self.hub, "complete", 24 * HOUR, |upgrade| {
            fleet::is_true(upgrade, "Complete")
        })
        .await
        .unwrap();
    }

    /// Waits until a cluster has an end.
    async fn until_ended(&self, cluster: &str) -> String {
        for _ in 0..2_000 {
            if let Some(end) = self.ended(cluster).await {
                return end;
            }
            tokio::time::sleep(MINUTE).await;
        }
        let status = self.upgrade().await.status;
        panic!("{cluster} has no end: {status:#?}");
    }

    async fn label(&self, cluster: &str, labels: Value) {
        let api: Api<ManagedCluster> = Api::all(self.hub.clone());
        let patch = json!({"metadata": {"labels": labels}});
        api.patch(cluster, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    async fn end(self) {
        self.fleet.shut_down().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn rule_1_a_cluster_is_upgraded_only_after_its_pre_action_has_succeeded() {
    let settings = clusters(1);
    let change = json!({"upgradeStrategy": all_at_once(1), "preUpgradeAction": action("slow", "hang")});
    let run = Run::start(settings.clone(), &upgrade(&settings, &change)).await;
    tokio::time::sleep(HOUR).await;
    // The objects of the action exist, and OCM calls that Available; the Job has not succeeded.
    let api: Api<ManifestWork> = Api::namespaced(run.hub.clone(), "dev1");
    let work = api.get("dev1-pre-upgrade").await.unwrap();
    let conditions = work.status.unwrap().conditions;
    assert!(
        conditions
            .iter()
            .any(|condition| condition.type_ == "Available" && condition.status == "True")
    );
    assert_eq!(run.works("dev1").await, [("pre".to_owned(), None)]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_2_a_failed_pre_action_of_one_cluster_does_not_keep_the_others() {
    let settings = clusters(3);
    let change = json!({"upgradeStrategy": all_at_once(3), "preUpgradeAction": action("backup", "succeed")});
    let fleet = local_fleet::start(settings.clone()).await.unwrap();
    let hub = fleet.user().unwrap();
    // On dev2 the Job cannot run: its namespace is not allowed to be made.
    fleet
        .env
        .spoke("dev2")
        .unwrap()
        .set_fault_hook(Some(std::sync::Arc::new(|asked| {
            use kube_sandbox::server::{FaultAction, Status, Verb};
            let is_job = asked.kind.is_some_and(|kind| kind.kind == "Job") && asked.verb == Verb::Create;
            if is_job {
                FaultAction::Refuse(Status::new(403, "Forbidden", "no jobs here"))
            } else {
                FaultAction::Pass
            }
        })));
    fleet::start(&hub, &upgrade(&settings, &change)).await.unwrap();
    let run = Run { fleet, hub };
    assert_eq!(run.until_ended("dev1").await, "Complete");
    assert_eq!(run.until_ended("dev3").await, "Complete");
    assert_eq!(run.until_ended("dev2").await, "Failed");
    assert!(!run.has("dev2", "cluster").await, "its upgrade never began");
    let status = run.upgrade().await.status.unwrap();
    assert_eq!(status.pre_upgrade_action_summary.unwrap().degraded, 1);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_3_works_of_pre_actions_are_deleted_after_all_clusters_are_done() {
    let settings = clusters(2);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": {"maxConcurrency": 1}})),
    )
    .await;
    assert_eq!(run.until_ended("dev1").await, "Complete");
    assert!(run.has("dev1", "pre").await, "dev2 is not done yet");
    run.until_complete().await;
    fleet::until_tidy(&run.hub, 2, HOUR).await.unwrap();
    assert!(!run.has("dev1", "pre").await && !run.has("dev2", "pre").await);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_4_canaries_are_complete_before_any_other_cluster_starts() {
    let settings = clusters(4);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": {"maxConcurrency": 4}})),
    )
    .await;
    for _ in 0..2_000 {
        if run.ended("dev1").await.is_some() {
            break;
        }
        for other in ["dev2", "dev3", "dev4"] {
            assert!(
                run.works(other).await.is_empty(),
                "{other} starts before the canary is complete"
            );
        }
        tokio::time::sleep(MINUTE / 2).await;
    }
    assert_eq!(run.ended("dev1").await.as_deref(), Some("Complete"));
    run.until_complete().await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_5_after_a_failed_canary_nothing_else_starts() {
    let mut settings = clusters(3);
    settings.clusters[0].faults.insert(Fault::UnknownUpdate);
    let run = Run::start(settings.clone(), &upgrade(&settings, &json!({}))).await;
    assert_eq!(run.until_ended("dev1").await, "Failed");
    tokio::time::sleep(12 * HOUR).await;
    assert!(run.works("dev2").await.is_empty() && run.works("dev3").await.is_empty());
    let upgrade = run.upgrade().await;
    let conditions = upgrade.status.unwrap().conditions.unwrap();
    let progress = conditions
        .iter()
        .find(|condition| condition.type_ == "InProgress")
        .unwrap();
    assert_eq!(
        (progress.status.as_str(), progress.reason.as_str()),
        ("False", "CanaryFailed")
    );
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_6_operators_of_the_platform_are_at_the_target_before_what_comes_after_the_platform() {
    let settings = clusters(1);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": all_at_once(1)})),
    )
    .await;
    for _ in 0..2_000 {
        if run.has("dev1", "post").await {
            break;
        }
        tokio::time::sleep(MINUTE / 4).await;
    }
    let cluster = run.fleet.user_of("dev1").unwrap();
    let operators: Api<drydock_api::openshift::ClusterOperator> = Api::all(cluster);
    for operator in operators.list(&kube::api::ListParams::default()).await.unwrap() {
        let versions = operator.status.unwrap_or_default().versions;
        let own = versions
            .iter()
            .find(|version| version.name == "operator")
            .unwrap();
        assert_eq!(own.version, "4.14.12", "when the post action begins");
    }
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_7a_a_cluster_in_flight_that_leaves_the_selection_is_upgraded_to_the_end() {
    let settings = clusters(2);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": all_at_once(2)})),
    )
    .await;
    for _ in 0..2_000 {
        if run.has("dev2", "cluster").await {
            break;
        }
        tokio::time::sleep(MINUTE / 4).await;
    }
    run.label(
        "dev2",
        json!({"name": "elsewhere", "cluster.open-cluster-management.io/clusterset": "other"}),
    )
    .await;
    assert_eq!(run.until_ended("dev2").await, "Complete");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_7b_a_cluster_that_has_not_started_and_leaves_the_selection_is_left_alone() {
    let settings = clusters(3);
    let run = Run::start(settings.clone(), &upgrade(&settings, &json!({}))).await;
    tokio::time::sleep(10 * MINUTE).await;
    run.label(
        "dev3",
        json!({"name": "elsewhere", "cluster.open-cluster-management.io/clusterset": "other"}),
    )
    .await;
    run.until_complete().await;
    assert!(run.works("dev3").await.is_empty());
    assert_eq!(run.ended("dev2").await.as_deref(), Some("Complete"));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_8_never_more_clusters_are_in_flight_than_max_concurrency() {
    let settings = clusters(7);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": all_at_once(3)})),
    )
    .await;
    let mut most = 0;
    for _ in 0..3_000 {
        let now = run.in_flight().await;
        assert!(now <= 3, "{now} in flight");
        most = most.max(now);
        if fleet::is_true(&run.upgrade().await, "Complete") {
            break;
        }
        tokio::time::sleep(MINUTE).await;
    }
    assert!(fleet::is_true(&run.upgrade().await, "Complete"));
    assert_eq!(most, 3, "and as many as may be");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_9_the_post_action_is_applied_when_the_cluster_has_reached_the_target() {
    let settings = clusters(1);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": all_at_once(1)})),
    )
    .await;
    let cluster = run.fleet.user_of("dev1").unwrap();
    let versions: Api<drydock_api::openshift::ClusterVersion> = Api::all(cluster);
    for _ in 0..2_000 {
        let status = versions.get("version").await.unwrap().status.unwrap();
        let newest = status.history.iter().next().unwrap();
        let done = newest.is_completed() && newest.version.as_deref() == Some("4.14.12");
        if run.has("dev1", "post").await {
            assert!(done, "the post action begins before the upgrade is done");
            break;
        }
        tokio::time::sleep(MINUTE / 4).await;
    }
    run.until_complete().await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_10_a_failed_post_action_makes_the_cluster_failed() {
    let settings = clusters(2);
    let change = json!({"upgradeStrategy": all_at_once(2), "postUpgradeAction": action("check", "fail")});
    let run = Run::start(settings.clone(), &upgrade(&settings, &change)).await;
    assert_eq!(run.until_ended("dev1").await, "Failed");
    assert_eq!(run.until_ended("dev2").await, "Failed");
    tokio::time::sleep(MINUTE).await;
    let upgrade = run.upgrade().await;
    assert!(fleet::is_true(&upgrade, "Failed"));
    assert_eq!(
        upgrade
            .status
            .unwrap()
            .clusters_summery
            .unwrap_or_default()
            .failed,
        2
    );
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn rule_11_works_of_post_actions_are_deleted_after_all_clusters_are_done() {
    let settings = clusters(2);
    let run = Run::start(
        settings.clone(),
        &upgrade(&settings, &json!({"upgradeStrategy": {"maxConcurrency": 1}})),
    )
    .await;
    assert_eq!(run.until_ended("dev1").await, "Complete");
    assert!(run.has("dev1", "post").await, "dev2 is not done yet");
    run.until_complete().await;
    fleet::until_tidy(&run.hub, 2, HOUR).await.unwrap();
    assert!(!run.has("dev1", "post").await && !run.has("dev2", "post").await);
    run.end().await;
}
