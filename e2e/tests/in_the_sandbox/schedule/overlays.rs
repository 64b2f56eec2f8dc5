//! The managed ClusterVersion determines the spec of OpenShift's.

use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::ManagedClusterVersion;
use kube::api::DeleteParams;

use super::*;

fn managed(client: &Client) -> Api<ManagedClusterVersion> {
    Api::namespaced(client.clone(), AGENT_NAMESPACE)
}

pub(super) async fn manage(spoke: &Spoke, name: &str, template: Value) {
    manage_of(&spoke.client, name, template).await;
}

pub(super) async fn manage_of(client: &Client, name: &str, template: Value) {
    let object = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "ClusterVersion",
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": template},
            "overlays": [{"from": "2026-01-10T00:00:00Z", "overlay": {"spec": {"channel": "stable-4.15"}}}],
        },
    });
    let object = serde_json::from_value(object).unwrap();
    let created = managed(client).create(&PostParams::default(), &object).await;
    created.unwrap();
}

async fn channel(spoke: &Spoke) -> String {
    spoke.version().await.unwrap().spec.channel.unwrap()
}

/// Edits the template, and waits a second.
async fn edit_template(spoke: &Spoke, spec: Value) {
    let edit = Patch::Merge(json!({"spec": {"template": {"spec": spec}}}));
    managed(&spoke.client)
        .patch("version", &PatchParams::default(), &edit)
        .await
        .unwrap();
    tokio::time::sleep(SECOND).await;
}

async fn ready(spoke: &Spoke) -> Condition {
    let status = managed(&spoke.client)
        .get("version")
        .await
        .unwrap()
        .status
        .unwrap();
    status.conditions.unwrap().remove(0)
}

#[tokio::test(start_paused = true)]
async fn overlays_come_into_force_at_their_time_and_what_others_change_is_set_back() {
    let spoke = spoke().await;
    let clock = &spoke.fleet.clock;
    let id = spoke.version().await.unwrap().spec.cluster_id.unwrap();
    let overrides = json!([{
        "kind": "Deployment", "group": "apps", "namespace": "default", "name": "x", "unmanaged": true,
    }]);
    let desired = json!({"spec": {
        "desiredUpdate": {"version": "4.14.9"}, "overrides": overrides,
    }});
    spoke.change::<ClusterVersion>("version", &desired).await.unwrap();
    let template = json!({
        "clusterID": id, "channel": "fast-4.14", "capabilities": {"baselineCapabilitySet": "v4.14"},
        "desiredUpdate": {"version": "4.99.0"},
    });
    manage(
        &spoke,
        "other",
        json!({"clusterID": id, "channel": "candidate-4.14"}),
    )
    .await;
    tokio::time::sleep(MINUTE).await;
    assert_eq!(channel(&spoke).await, "stable-4.14", "only one name is acted on");

    manage(&spoke, "version", template).await;
    tokio::time::sleep(SECOND).await;
    let version = spoke.version().await.unwrap();
    assert_eq!(version.spec.channel.as_deref(), Some("fast-4.14"));
    assert_eq!(
        version.spec.other["capabilities"],
        json!({"baselineCapabilitySet": "v4.14"})
    );
    assert!(!version.spec.other.contains_key("overrides"));
    let desired = version.spec.desired_update.unwrap().version;
    assert_eq!(
        desired.as_deref(),
        Some("4.14.9"),
        "the desired update is the cluster's own"
    );
    let condition = ready(&spoke).await;
    assert_eq!(
        (condition.status.as_str(), condition.reason.as_str()),
        ("True", "Applied")
    );

    // Our own last write is no other program's.
    for wanted in ["candidate-4.14", "fast-4.14"] {
        edit_template(&spoke, json!({"channel": wanted})).await;
        assert_eq!(channel(&spoke).await, wanted);
    }

    let edit = json!({"spec": {"channel": "stable-4.13", "overrides": overrides}});
    tokio::time::sleep(MINUTE).await;
    spoke.change::<ClusterVersion>("version", &edit).await.unwrap();
    tokio::time::sleep(SECOND).await;
    let version = spoke.version().await.unwrap();
    assert_eq!(version.spec.channel.as_deref(), Some("fast-4.14"));
    assert!(!version.spec.other.contains_key("overrides"));

    until(clock, "2026-01-09T23:59:59Z").await;
    assert_eq!(channel(&spoke).await, "fast-4.14");
    until(clock, "2026-01-10T00:00:01Z").await;
    assert_eq!(channel(&spoke).await, "stable-4.15");
    let status = managed(&spoke.client)
        .get("version")
        .await
        .unwrap()
        .status
        .unwrap();
    assert_eq!(status.overlay_applied.unwrap().0, at("2026-01-10T00:00:00Z"));
    assert_eq!(status.current.unwrap().channel.as_deref(), Some("stable-4.15"));
    assert_eq!(events(&spoke, "ClusterVersionChanged").await, 5);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_in_force_stays_once_the_object_is_gone() {
    let spoke = spoke().await;
    let id = spoke.version().await.unwrap().spec.cluster_id.unwrap();
    manage(
        &spoke,
        "version",
        json!({"clusterID": id, "channel": "fast-4.14"}),
    )
    .await;
    tokio::time::sleep(MINUTE).await;
    managed(&spoke.client)
        .delete("version", &DeleteParams::default())
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(channel(&spoke).await, "fast-4.14", "it stays as it is");
    let edit = json!({"spec": {"channel": "stable-4.13"}});
    spoke.change::<ClusterVersion>("version", &edit).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(channel(&spoke).await, "stable-4.13");
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_spec_without_a_cluster_is_not_applied() {
    let spoke = spoke().await;
    let before = spoke.version().await.unwrap().spec;
    let object = json!({
        "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "ClusterVersion",
        "metadata": {"name": "version"}, "spec": {},
    });
    let object = serde_json::from_value(object).unwrap();
    managed(&spoke.client)
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    tokio::time::sleep(HOUR).await;
    let condition = ready(&spoke).await;
    assert_eq!(
        (condition.status.as_str(), condition.reason.as_str()),
        ("False", "NoClusterID")
    );
    assert_eq!(spoke.version().await.unwrap().spec, before);
    spoke.fleet.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_program_that_insists_on_its_channel_is_not_fought_all_the_time() {
    let spoke = spoke().await;
    let id = spoke.version().await.unwrap().spec.cluster_id.unwrap();
    manage(
        &spoke,
        "version",
        json!({"clusterID": id, "channel": "fast-4.14"}),
    )
    .await;
    for _ in 0..120 {
        tokio::time::sleep(SECOND / 2).await;
        let edit = json!({"spec": {"channel": "stable-4.14"}});
        spoke.change::<ClusterVersion>("version", &edit).await.unwrap();
    }
    let changes = events(&spoke, "ClusterVersionChanged").await;
    assert!((4..=8).contains(&changes), "{changes} changes in a minute");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(channel(&spoke).await, "fast-4.14");
    spoke.fleet.shut_down().await.unwrap();
}
