//! What becomes otherwise while the hub carries out what it has decided: where writes are slow, much of a plan is still to be done.

use std::time::Duration;

use drydock_e2e::hub_fleet::{HubFleet, PLACE, is_work, spec_of, with};
use kube_sandbox::access::Key;
use kube_sandbox::server::Verb;
use ocm_sandbox::kinds::MANAGED_CLUSTER;
use ocm_sandbox::spokes::StubWorkAgentSettings;
use serde_json::{Value, json};

const CLUSTERS: usize = 60;

/// Of sixty clusters ten start, once the others are asked, which takes four seconds. It has just begun.
async fn asking() -> HubFleet {
    let light = HubFleet::start(CLUSTERS, StubWorkAgentSettings::default())
        .await
        .unwrap();
    light.delay(Duration::from_secs(1), |asked| {
        is_work(asked, Verb::Patch) || is_work(asked, Verb::Create)
    });
    let names: Vec<String> = (1..=CLUSTERS).map(|number| format!("c{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ten = json!({"upgradeStrategy": {"maxConcurrency": 10}});
    light
        .upgrade("spring", with(spec_of(&names), &ten))
        .await
        .unwrap();
    let begins = async {
        while light.questions().await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(10), begins)
        .await
        .unwrap();
    assert!(light.questions().await.unwrap().len() < CLUSTERS - 10);
    assert!(light.works().await.unwrap().is_empty());
    light
}

/// The targets of all works by which clusters are upgraded, a minute later.
async fn started(light: &HubFleet) -> Vec<Value> {
    tokio::time::sleep(Duration::from_mins(1)).await;
    let works = light.works().await.unwrap();
    let target =
        |work: &Value| work["spec"]["workload"]["manifests"][0]["spec"]["desiredUpdate"]["version"].clone();
    works.iter().map(|work| target(work.value())).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_once_it_is_paused() {
    let light = asking().await;
    light
        .edit("spring", json!({"spec": {"paused": true}}))
        .await
        .unwrap();
    assert_eq!(started(&light).await, Vec::<Value>::new());
    light
        .edit("spring", json!({"spec": {"paused": false}}))
        .await
        .unwrap();
    assert_eq!(started(&light).await.len(), 10);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn everything_starts_to_the_target_that_was_edited_meanwhile() {
    let light = asking().await;
    let next = json!({"spec": {"clusterVersion": {"version": "4.14.13"}}});
    light.edit("spring", next).await.unwrap();
    assert_eq!(started(&light).await, vec![json!("4.14.13"); 10]);
    light.shut_down().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_once_it_is_deleted() {
    let light = asking().await;
    light.delete("spring").await.unwrap();
    assert_eq!(started(&light).await, Vec::<Value>::new());
    let asked = light.asked();
    assert!(asked.is_empty(), "{asked:?}");
    light.shut_down().await;
}

/// Nobody has edited the upgrade: it is decided again because time has passed.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_selected_no_more_does_not_start() {
    let light = asking().await;
    for name in ["c01", "c02"] {
        let key = Key::cluster(name);
        let mut cluster = light
            .user
            .get(&MANAGED_CLUSTER, &key)
            .await
            .unwrap()
            .value()
            .clone();
        cluster["metadata"]["labels"]["name"] = "other".into();
        light.user.replace(&MANAGED_CLUSTER, cluster).await.unwrap();
    }
    assert_eq!(started(&light).await.len(), 10, "{PLACE}");
    for name in ["c01", "c02"] {
        assert!(light.works_of(name).await.unwrap().is_empty(), "{name}");
    }
    light.shut_down().await;
}
