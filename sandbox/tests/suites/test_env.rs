//! A test environment without Drydock in it: clusters that are upgraded by hand, and OCM's part between hub and spokes.

use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key, Kind};
use openshift_sandbox::cluster::Fault;
use openshift_sandbox::cluster::kinds::{CLUSTER_VERSION, POOL};
use serde_json::{Value, json};

fn clock() -> Clock {
    Clock::simulated(Timestamp::constant(1_767_600_000, 0))
}

async fn env(clusters: usize, faults: &[(usize, Fault)]) -> TestEnv {
    let mut settings = TestEnvSettings::demo(clusters, 7);
    for (cluster, fault) in faults {
        settings.clusters[cluster - 1].faults.insert(*fault);
    }
    TestEnv::start(settings, clock()).await.unwrap()
}

fn user(env: &TestEnv, cluster: &str) -> Access {
    Access::memory(env.spoke(cluster).unwrap(), "user")
}

async fn ask_for(access: &Access, version: &str) {
    let patch = json!({"spec": {"desiredUpdate": {"version": version}}});
    access
        .merge_patch(&CLUSTER_VERSION, &Key::cluster("version"), patch)
        .await
        .unwrap();
}

async fn cluster_version(access: &Access) -> Value {
    let object = access
        .get(&CLUSTER_VERSION, &Key::cluster("version"))
        .await
        .unwrap();
    object.value().clone()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    object["status"]["conditions"]
        .as_array()
        .and_then(|conditions| conditions.iter().find(|condition| condition["type"] == kind))
        .unwrap_or(&Value::Null)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_walks_an_update_to_its_end_control_plane_and_workers() {
    let env = env(1, &[]).await;
    let access = user(&env, "dev1");
    let before = cluster_version(&access).await;
    ask_for(&access, "4.14.12").await;
    tokio::time::sleep(Duration::from_mins(20)).await;
    let during = cluster_version(&access).await;
    assert_eq!(during["status"]["desired"]["version"], "4.14.12");
    assert_eq!(condition(&during, "Progressing")["status"], "True", "{during}");
    let message = condition(&during, "Progressing")["message"].as_str().unwrap();
    assert!(message.starts_with("Working towards 4.14.12: "), "{message}");
    assert_eq!(during["status"]["history"][0]["state"], "Partial");
    tokio::time::sleep(Duration::from_hours(4)).await;
    let after = cluster_version(&access).await;
    assert_eq!(after["status"]["history"][0]["state"], "Completed", "{after}");
    assert_eq!(
        condition(&after, "Progressing")["message"],
        "Cluster version is 4.14.12"
    );
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    let workers = access.get(&POOL, &Key::cluster("worker")).await.unwrap();
    assert_eq!(workers["status"]["updatedMachineCount"], 3, "{}", workers.value());
    env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn the_failure_modes_of_an_update_show_as_on_real_clusters() {
    let table = [
        (
            Fault::OperatorUnavailable,
            "Failing",
            "True",
            "ClusterOperatorNotAvailable",
        ),
        (
            Fault::SignatureNotVerified,
            "ReleaseAccepted",
            "False",
            "RetrievePayload",
        ),
        (Fault::UnknownUpdate, "Invalid", "True", "InvalidClusterVersion"),
    ];
    let faults: Vec<_> = table
        .iter()
        .enumerate()
        .map(|(at, row)| (at + 1, row.0))
        .collect();
    let env = env(table.len(), &faults).await;
    for cluster in env.cluster_names() {
        ask_for(&user(&env, &cluster), "4.14.12").await;
    }
    tokio::time::sleep(Duration::from_hours(3)).await;
    for (cluster, (fault, kind, status, reason)) in env.cluster_names().iter().zip(table) {
        let version = cluster_version(&user(&env, cluster)).await;
        let condition = condition(&version, kind);
        assert_eq!(
            (condition["status"].as_str(), condition["reason"].as_str()),
            (Some(status), Some(reason)),
            "{fault}: {version}"
        );
    }
    env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_control_plane_answers_nobody_and_comes_back_with_its_update_done() {
    let env = env(1, &[(1, Fault::ControlPlaneUnreachable)]).await;
    let access = user(&env, "dev1");
    ask_for(&access, "4.14.12").await;
    tokio::time::sleep(Duration::from_mins(25)).await;
    let refused = access.get(&CLUSTER_VERSION, &Key::cluster("version")).await;
    assert!(refused.is_err_and(|error| error.is_unreachable()));
    tokio::time::sleep(Duration::from_hours(4)).await;
    assert_eq!(
        cluster_version(&access).await["status"]["history"][0]["state"],
        "Completed"
    );
    env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_work_that_is_deleted_at_any_moment_of_its_life_goes() {
    const WORK: Kind = Kind::new(
        "work.open-cluster-management.io",
        "v1",
        "ManifestWork",
        "manifestworks",
        true,
    );
    let env = env(1, &[]).await;
    let hub = env.hub_server().unwrap();
    // Each of the agent's status writes takes a while, so that the deletion falls into some of them.
    hub.set_fault_hook(Some(std::sync::Arc::new(|asked| {
        let is_agents =
            asked.identity.name() == "ocm-work-agent" && asked.verb == kube_sandbox::server::Verb::Patch;
        if is_agents {
            kube_sandbox::server::FaultAction::Delay(Duration::from_secs(2))
        } else {
            kube_sandbox::server::FaultAction::Pass
        }
    })));
    let user = Access::memory(hub, "user");
    for half_seconds in 0..40_u64 {
        let key = Key::namespaced("dev1", format!("work-{half_seconds}"));
        let work = json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
            "metadata": {"namespace": "dev1", "name": key.name},
            "spec": {"workload": {"manifests": [{
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": key.name},
            }]}},
        });
        user.create(&WORK, work).await.unwrap();
        tokio::time::sleep(Duration::from_millis(500 * half_seconds)).await;
        user.delete(&WORK, &key, &kube_sandbox::access::Removal::default())
            .await
            .unwrap();
        tokio::time::sleep(Duration::from_mins(20)).await;
        let left = user.find(&WORK, &key).await.unwrap();
        assert!(
            left.is_none(),
            "deleted after {half_seconds} half seconds: {left:?}"
        );
    }
    env.shut_down().await;
}
