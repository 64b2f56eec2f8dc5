//! Machines and MachineSets of a simulated cluster: sets keep their replicas, machines become nodes, nodes go with their
//! machines.

use std::sync::Arc;
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key, Kind, Removal, Selection};
use kube_sandbox::store::Object;
use openshift_sandbox::cluster::kinds::{MACHINE, MACHINE_SET, NODE, POOL};
use serde_json::{Value, json};

const NAMESPACE: &str = "openshift-machine-api";

struct Cluster {
    env: TestEnv,
    access: Access,
}

impl Cluster {
    async fn start() -> Self {
        let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
        let env = TestEnv::start(TestEnvSettings::demo(1, 7), clock).await.unwrap();
        let access = Access::memory(env.spoke("dev1").unwrap(), "user");
        let cluster = Self { env, access };
        pass(1).await;
        cluster
    }

    async fn all(&self, kind: &Kind) -> Vec<Arc<Object>> {
        self.access.list(kind, &Selection::everything()).await.unwrap()
    }

    async fn set(&self) -> Arc<Object> {
        self.all(&MACHINE_SET).await.remove(0)
    }

    async fn machines_of(&self, set: &str) -> Vec<Arc<Object>> {
        let mut machines = self.all(&MACHINE).await;
        machines.retain(|machine| {
            machine["metadata"]["labels"]["machine.openshift.io/cluster-api-machineset"] == set
        });
        machines
    }

    async fn scale(&self, set: &str, replicas: usize) {
        let patch = json!({"spec": {"replicas": replicas}});
        let key = Key::namespaced(NAMESPACE, set);
        self.access.merge_patch(&MACHINE_SET, &key, patch).await.unwrap();
    }

    async fn pool_size(&self) -> i64 {
        let pool = self.access.get(&POOL, &Key::cluster("worker")).await.unwrap();
        pool["status"]["machineCount"].as_i64().unwrap()
    }
}

async fn pass(minutes: u64) {
    tokio::time::sleep(Duration::from_mins(minutes)).await;
}

fn phases(machines: &[Arc<Object>]) -> Vec<&str> {
    let phases = machines.iter();
    phases
        .map(|machine| machine["status"]["phase"].as_str().unwrap_or_default())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn every_node_has_its_machine_from_the_start() {
    let cluster = Cluster::start().await;
    let (nodes, machines, sets) = (
        cluster.all(&NODE).await,
        cluster.all(&MACHINE).await,
        cluster.all(&MACHINE_SET).await,
    );
    assert_eq!((nodes.len(), machines.len(), sets.len()), (6, 6, 3));
    for node in &nodes {
        let machine = machines
            .iter()
            .find(|machine| machine["status"]["nodeRef"]["name"] == node.name())
            .unwrap();
        assert_eq!(machine["status"]["phase"], "Running");
        let annotation = node["metadata"]["annotations"]["machine.openshift.io/machine"].as_str();
        assert_eq!(
            annotation,
            Some(format!("{NAMESPACE}/{}", machine.name()).as_str())
        );
    }
    for set in &sets {
        assert_eq!(
            set["metadata"]["labels"]["hive.openshift.io/machine-pool"],
            "worker"
        );
        assert_eq!(set["status"]["replicas"], 1);
        assert_eq!(set["status"]["readyReplicas"], 1);
        let machine = cluster.machines_of(set.name()).await.remove(0);
        assert_eq!(
            machine["metadata"]["ownerReferences"][0]["uid"],
            set["metadata"]["uid"]
        );
    }
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_that_grows_brings_nodes_and_one_that_shrinks_drains_them() {
    let cluster = Cluster::start().await;
    let set = cluster.set().await;
    cluster.scale(set.name(), 3).await;
    let mut seen = Vec::new();
    for _ in 0..120 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let machines = cluster.machines_of(set.name()).await;
        for phase in phases(&machines) {
            if !seen.contains(&phase.to_owned()) {
                seen.push(phase.to_owned());
            }
        }
    }
    assert_eq!(
        seen,
        ["Running", "Provisioning", "Provisioned"].map(str::to_owned)
    );
    assert_eq!(cluster.all(&NODE).await.len(), 8);
    assert_eq!(cluster.pool_size().await, 5);
    assert_eq!(cluster.set().await["status"]["readyReplicas"], 3);

    cluster.scale(set.name(), 1).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let leaving = cluster.machines_of(set.name()).await;
    assert_eq!(
        phases(&leaving)
            .iter()
            .filter(|phase| **phase == "Deleting")
            .count(),
        2
    );
    let cordoned = cluster.all(&NODE).await;
    let cordoned = cordoned
        .iter()
        .filter(|node| node["spec"]["unschedulable"] == true);
    assert_eq!(cordoned.count(), 2);
    pass(60).await;
    assert_eq!(cluster.machines_of(set.name()).await.len(), 1);
    assert_eq!(cluster.all(&NODE).await.len(), 6);
    assert_eq!(cluster.pool_size().await, 3);
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_copied_set_brings_its_own_node_and_takes_it_with_it() {
    let cluster = Cluster::start().await;
    let set = cluster.set().await;
    let name = format!("{}-upgrade", set.name());
    let mut copy = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"upgrade.managed.openshift.io": "true"}},
        "spec": set["spec"],
    });
    let own = "machine.openshift.io/cluster-api-machineset";
    copy["spec"]["selector"]["matchLabels"][own] = Value::from(name.as_str());
    copy["spec"]["template"]["metadata"]["labels"][own] = Value::from(name.as_str());
    cluster.access.create(&MACHINE_SET, copy).await.unwrap();
    pass(15).await;
    let machines = cluster.machines_of(&name).await;
    assert_eq!(phases(&machines), ["Running"]);
    assert_eq!(cluster.all(&NODE).await.len(), 7);
    let key = Key::namespaced(NAMESPACE, name.as_str());
    cluster
        .access
        .delete(&MACHINE_SET, &key, &Removal::default())
        .await
        .unwrap();
    pass(60).await;
    assert!(cluster.machines_of(&name).await.is_empty());
    assert_eq!(cluster.all(&NODE).await.len(), 6);
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_set_whose_machines_fail_says_so_and_has_no_node() {
    let cluster = Cluster::start().await;
    let set = cluster.set().await;
    let patch = json!({"metadata": {"annotations": {"sandbox.drydock.dev/fails": "provisioning"}}, "spec": {"replicas": 2}});
    let key = Key::namespaced(NAMESPACE, set.name());
    cluster
        .access
        .merge_patch(&MACHINE_SET, &key, patch)
        .await
        .unwrap();
    pass(30).await;
    let machines = cluster.machines_of(set.name()).await;
    let failed = machines
        .iter()
        .find(|machine| machine["status"]["phase"] == "Failed")
        .unwrap();
    assert_eq!(failed["status"]["errorReason"], "InsufficientResources");
    assert!(failed["status"]["nodeRef"].is_null());
    assert_eq!(cluster.all(&NODE).await.len(), 6);
    let status = cluster.set().await["status"].clone();
    assert_eq!(
        (&status["replicas"], &status["readyReplicas"]),
        (&json!(2), &json!(1))
    );
    cluster.env.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_somebody_deletes_is_replaced() {
    let cluster = Cluster::start().await;
    let set = cluster.set().await;
    let before = cluster.machines_of(set.name()).await.remove(0);
    let key = Key::namespaced(NAMESPACE, before.name());
    cluster
        .access
        .delete(&MACHINE, &key, &Removal::default())
        .await
        .unwrap();
    pass(60).await;
    let machines = cluster.machines_of(set.name()).await;
    assert_eq!(phases(&machines), ["Running"]);
    assert_ne!(machines[0].name(), before.name());
    assert_eq!(cluster.all(&NODE).await.len(), 6);
    cluster.env.shut_down().await;
}
