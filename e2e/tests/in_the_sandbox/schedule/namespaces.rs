//! Which namespaces are looked into.

use std::collections::BTreeSet;

use drydock_agent::{ScheduleNamespace, ScheduleSettings};
use k8s_openapi::api::core::v1::Namespace;

use super::bare::Bare;
use super::*;

/// The namespaces, of the agent's own and two others, in which UpgradeConfigs are acted on.
async fn acted_on_in(namespace: ScheduleNamespace) -> BTreeSet<String> {
    let bare = Bare::start(ScheduleSettings {
        namespace,
        ..ScheduleSettings::default()
    })
    .await;
    bare.install().await;
    for name in ["one", "two"] {
        let namespace = json!({"metadata": {"name": name}});
        let namespace = serde_json::from_value(namespace).unwrap();
        let namespaces: Api<Namespace> = Api::all(bare.client.clone());
        namespaces
            .create(&PostParams::default(), &namespace)
            .await
            .unwrap();
        let config = json!({
            "apiVersion": "managedupgrade.appuio.io/v1beta1", "kind": "UpgradeConfig",
            "metadata": {"name": "nights"}, "spec": weekly(),
        });
        let configs: Api<UpgradeConfig> = Api::namespaced(bare.client.clone(), name);
        let config = serde_json::from_value(config).unwrap();
        configs.create(&PostParams::default(), &config).await.unwrap();
    }
    create(&bare.client, "nights", weekly()).await;
    until(&bare.clock, "2026-01-06T18:00:01Z").await;
    let jobs: Api<UpgradeJob> = Api::all(bare.client.clone());
    let jobs = jobs.list(&ListParams::default()).await.unwrap();
    let acted_on = jobs.items.iter().filter_map(ResourceExt::namespace).collect();
    bare.stop().await;
    acted_on
}

#[tokio::test(start_paused = true)]
async fn the_own_namespace_another_or_all_are_looked_into() {
    let one = ScheduleNamespace::Named("one".to_owned());
    for (namespace, expected) in [
        (ScheduleNamespace::Own, vec![AGENT_NAMESPACE]),
        (one, vec!["one"]),
        (ScheduleNamespace::All, vec!["one", AGENT_NAMESPACE, "two"]),
    ] {
        let expected: BTreeSet<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(acted_on_in(namespace.clone()).await, expected, "{namespace:?}");
    }
}
