//! A ManifestWorkReplicaSet that the stand-in of its controller rolls out: Placement, decisions and what spokes say of their
//! works are written here.

use std::collections::BTreeSet;

use anyhow::ensure;
use drydock_runtime::Clock;
use drydock_sandbox::access::{Access, Key, Kind, Removal, Selection};
use drydock_sandbox::ocm::kinds::{
    MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, NAMESPACE, PLACEMENT, PLACEMENT_DECISION,
};
use drydock_sandbox::ocm::replica_set::controller;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::still::until;

const CLUSTERS: [&str; 4] = ["c1", "c2", "c3", "c4"];

struct Rollout {
    hub: Access,
    _controller: JoinSet<()>,
}

/// Two clusters at a time; a success makes room, a failure stops it, a larger budget lets it go on, a deletion takes all away.
///
/// # Errors
/// If the server refuses something, or it goes in another way.
pub async fn a_rollout_goes_on_as_its_works_say(hub: Access, clock: Clock) -> anyhow::Result<()> {
    let rollout = Rollout::begin(hub, clock).await?;
    rollout.until_clusters(&CLUSTERS[..2]).await?;
    rollout
        .say("c1", &[("Applied", "True"), ("Progressing", "False")])
        .await?;
    rollout.until_clusters(&CLUSTERS[..3]).await?;
    let failed = [("Applied", "True"), ("Progressing", "True"), ("Degraded", "True")];
    rollout.say("c2", &failed).await?;
    rollout
        .say("c3", &[("Applied", "True"), ("Progressing", "False")])
        .await?;
    rollout
        .until_counted(json!({"total": 3, "applied": 3, "degraded": 1, "progressing": 1}))
        .await?;
    ensure!(
        rollout.clusters().await?.len() == 3,
        "a failure beyond the budget stops it"
    );
    let budget = json!({"spec": {"placementRefs": [{"name": "p", "rolloutStrategy": strategy("25%")}]}});
    let key = Key::namespaced("team", "s");
    rollout
        .hub
        .merge_patch(&MANIFEST_WORK_REPLICA_SET, &key, budget)
        .await?;
    rollout.until_clusters(&CLUSTERS).await?;
    rollout
        .hub
        .delete(&MANIFEST_WORK_REPLICA_SET, &key, &Removal::default())
        .await?;
    rollout.until_clusters(&[]).await?;
    until("the set is gone", async || {
        let set = rollout.hub.find(&MANIFEST_WORK_REPLICA_SET, &key).await?;
        Ok(set.is_none())
    })
    .await
}

fn strategy(failures: &str) -> Value {
    json!({"type": "Progressive", "progressive": {"maxConcurrency": 2, "maxFailures": failures}})
}

impl Rollout {
    async fn begin(hub: Access, clock: Clock) -> anyhow::Result<Self> {
        for name in CLUSTERS.into_iter().chain(["team"]) {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            hub.create(&NAMESPACE, namespace).await?;
        }
        let cluster_api = "cluster.open-cluster-management.io/v1beta1";
        let decisions = CLUSTERS.map(|name| json!({"clusterName": name, "reason": ""}));
        make(
            &hub,
            &PLACEMENT_DECISION,
            json!({
                "apiVersion": cluster_api, "kind": "PlacementDecision",
                "metadata": {"name": "p-decision-1", "namespace": "team", "labels": {
                    "cluster.open-cluster-management.io/placement": "p",
                    "cluster.open-cluster-management.io/decision-group-index": "0",
                    "cluster.open-cluster-management.io/decision-group-name": "",
                }},
            }),
            json!({"decisions": decisions}),
        )
        .await?;
        let group = json!({"decisionGroupIndex": 0, "decisions": ["p-decision-1"], "clusterCount": 4});
        make(
            &hub,
            &PLACEMENT,
            json!({
                "apiVersion": cluster_api, "kind": "Placement",
                "metadata": {"name": "p", "namespace": "team"}, "spec": {},
            }),
            json!({"numberOfSelectedClusters": 4, "decisionGroups": [group], "conditions": []}),
        )
        .await?;
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}});
        let set = json!({
            "apiVersion": "work.open-cluster-management.io/v1alpha1", "kind": "ManifestWorkReplicaSet",
            "metadata": {"name": "s", "namespace": "team"},
            "spec": {
                "manifestWorkTemplate": {"workload": {"manifests": [map]}},
                "placementRefs": [{"name": "p", "rolloutStrategy": strategy("0%")}],
            },
        });
        hub.create(&MANIFEST_WORK_REPLICA_SET, set).await?;
        let mut running = JoinSet::new();
        running.spawn(controller::run(hub.clone(), clock, CancellationToken::new()));
        Ok(Self {
            hub,
            _controller: running,
        })
    }

    /// The clusters that have their work.
    async fn clusters(&self) -> anyhow::Result<BTreeSet<String>> {
        let selection = Selection::everything()
            .with_labels("work.open-cluster-management.io/manifestworkreplicaset=team.s");
        let works = self.hub.list(&MANIFEST_WORK, &selection).await?;
        let namespaces = works.iter().filter_map(|work| work.namespace());
        Ok(namespaces.map(str::to_owned).collect())
    }

    async fn until_clusters(&self, clusters: &[&str]) -> anyhow::Result<()> {
        until(&format!("works on {clusters:?}"), async || {
            let has: BTreeSet<String> = self.clusters().await?;
            Ok(has.iter().eq(clusters))
        })
        .await
    }

    async fn until_counted(&self, counts: Value) -> anyhow::Result<()> {
        until(&format!("a summary with {counts}"), async || {
            let key = Key::namespaced("team", "s");
            let set = self.hub.get(&MANIFEST_WORK_REPLICA_SET, &key).await?;
            let summary = &set["status"]["summary"];
            let mut counts = counts.as_object().into_iter().flatten();
            Ok(counts.all(|(name, count)| summary[name] == *count))
        })
        .await
    }

    /// A spoke says these conditions of its work.
    async fn say(&self, cluster: &str, conditions: &[(&str, &str)]) -> anyhow::Result<()> {
        let works = self
            .hub
            .list(&MANIFEST_WORK, &Selection::in_namespace(cluster))
            .await?;
        ensure!(works.len() == 1, "{cluster} has one work, not {}", works.len());
        let conditions = conditions.iter().map(|(kind, status)| {
            json!({
                "type": kind, "status": status, "reason": "AsTheTestSays", "message": "",
                "observedGeneration": works[0]["metadata"]["generation"], "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        });
        let status = json!({"status": {"conditions": conditions.collect::<Vec<_>>()}});
        let key = Key::namespaced(cluster, works[0].name());
        self.hub.merge_patch_status(&MANIFEST_WORK, &key, status).await?;
        Ok(())
    }
}

async fn make(hub: &Access, kind: &Kind, object: Value, status: Value) -> anyhow::Result<()> {
    let made = hub.create(kind, object).await?;
    let key = Key::namespaced(made.namespace().unwrap_or_default(), made.name());
    hub.merge_patch_status(kind, &key, json!({"status": status}))
        .await?;
    Ok(())
}
