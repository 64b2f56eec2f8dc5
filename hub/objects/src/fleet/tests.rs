//! A fleet is fed by hand, object by object, as watches and lists feed it.

mod acceptances;
mod asked;
mod calendars;
mod expected;
mod feeding;
mod gone;
mod others;
mod refusals;
mod retries;
mod unanswered;

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord};
use drydock_api::names::{
    AGENT_ADDON, CLUSTER_SET_LABEL, PLACEMENT_LABEL, UPGRADE_FINALIZER, UPGRADE_UID_LABEL,
};
use drydock_api::ocm::{
    ManagedCluster, ManagedClusterAddOn, ManagedClusterSet, ManagedClusterSetBinding, Placement,
    PlacementDecision,
};
use drydock_rollout::{Action, ClusterName, RefusalCause, Uid, UpgradeKey, Work, WorkKind, Works};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::followed::Followed;
use super::{Fleet, FleetKind, KnownCluster, Planned, RefusedAction};

const UID: &str = "spring-uid";

/// A fleet, the time and the newest version of an object.
struct TestFleet {
    fleet: Fleet,
    now: Timestamp,
    version: u64,
}

impl TestFleet {
    /// An upgrade `spring` to 4.14.12, the clusters that its Placement `all` selects, and all that makes them ready to start.
    fn new(clusters: &[&str]) -> Self {
        let mut fleet = Self {
            fleet: Fleet::new(false),
            now: "2026-03-01T12:00:00Z".parse().unwrap(),
            version: 0,
        };
        for name in clusters {
            fleet.see::<ManagedCluster>("", name, Some(cluster()));
        }
        fleet.see::<ManagedClusterSet>("", "fleet", Some(json!({"spec": {}})));
        fleet.see::<ManagedClusterSetBinding>(
            "default",
            "fleet",
            Some(json!({"spec": {"clusterSet": "fleet"}})),
        );
        fleet.select("all", clusters);
        fleet.set_upgrade(UID, 1, "all");
        fleet
    }

    /// An object is so, or is gone.
    fn see<K: FleetKind + DeserializeOwned>(&mut self, namespace: &str, name: &str, object: Option<Value>) {
        self.version += 1;
        let object = object.map(|mut object| {
            let metadata = json!({
                "namespace": Some(namespace).filter(|namespace| !namespace.is_empty()),
                "name": name,
                "resourceVersion": self.version.to_string(),
            });
            merge(
                &mut object,
                json!({"apiVersion": K::api_version(&()), "kind": K::kind(&()), "metadata": metadata}),
            );
            serde_json::from_value::<K>(object).unwrap()
        });
        let _change = K::see(&mut self.fleet, namespace, name, object.as_ref());
    }

    /// A Placement selects these clusters, on one page.
    fn select(&mut self, placement: &str, clusters: &[&str]) {
        let uid = format!("{placement}-uid");
        self.see::<Placement>("default", placement, Some(selected(&uid, clusters.len())));
        self.decide(placement, clusters);
    }

    /// The page of a Placement has these clusters.
    fn decide(&mut self, placement: &str, clusters: &[&str]) {
        let owner = json!({"apiVersion": "v1", "kind": "Placement", "name": placement, "uid": format!("{placement}-uid")});
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|name| json!({"clusterName": name, "reason": ""}))
            .collect();
        let page = json!({
            "metadata": {"labels": {PLACEMENT_LABEL: placement}, "ownerReferences": [owner]},
            "status": {"decisions": decisions},
        });
        self.see::<PlacementDecision>("default", &format!("{placement}-decision-1"), Some(page));
    }

    /// The upgrade is so.
    fn set_upgrade(&mut self, uid: &str, generation: i64, placement: &str) {
        self.set_named_upgrade("spring", uid, generation, placement);
    }

    fn set_named_upgrade(&mut self, name: &str, uid: &str, generation: i64, placement: &str) {
        let object = self.upgrade(name, uid, generation, placement);
        let _change = self.fleet.set_upgrade(&Arc::new(object));
    }

    /// The upgrade is so when it is seen first.
    fn set_upgrade_with_status(&mut self, uid: &str, placement: &str, status: Value) {
        let mut object = self.upgrade("spring", uid, 1, placement);
        object.status = Some(serde_json::from_value(status).unwrap());
        let _change = self.fleet.set_upgrade(&Arc::new(object));
    }

    fn upgrade(&mut self, name: &str, uid: &str, generation: i64, placement: &str) -> ManagedClustersUpgrade {
        self.version += 1;
        serde_json::from_value(json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1",
            "kind": "ManagedClustersUpgrade",
            "metadata": {
                "name": name, "namespace": "default", "uid": uid, "generation": generation,
                "resourceVersion": self.version.to_string(), "finalizers": [UPGRADE_FINALIZER],
            },
            "spec": {
                "placement": [{"name": placement, "namespace": "default"}],
                "clusterVersion": {"version": "4.14.12", "channel": "stable-4.14"},
                "upgradeStrategy": {"maxConcurrency": 10},
            },
        }))
        .unwrap()
    }

    fn plan(&mut self) -> Planned {
        let planned = self.fleet.plan(&key(), self.now).unwrap();
        assert!(planned.violations.is_empty(), "{:?}", planned.violations);
        planned
    }

    /// Looks at the upgrade, if it exists, and carries nothing out.
    fn look(&mut self) {
        if let Some(planned) = self.fleet.plan(&key(), self.now) {
            for action in &planned.plan.actions {
                let _change = self.fleet.abandoned(action);
            }
        }
    }

    /// Plans the start of clusters; gives the work of each with the action that creates it.
    fn starts(&mut self) -> BTreeMap<ClusterName, (Action, Arc<Work>)> {
        let planned = self.plan();
        let upgrade = &planned.rollout.upgrade;
        let starts = planned.plan.actions.iter().filter_map(|action| {
            let name = action.starts()?.clone();
            let uid = Uid::new(format!("{name}-work"));
            let (_, work) = action.work_after(&Works::default(), upgrade, &uid, self.now)?;
            Some((name, (action.clone(), work?)))
        });
        starts.collect()
    }

    /// The server has accepted a write.
    fn written(&mut self, (action, work): &(Action, Arc<Work>)) {
        self.version += 1;
        let _change = self
            .fleet
            .written(action, Some(work.uid.clone()), Some(self.version), self.now);
    }

    /// The watch brings a work in a new version.
    fn see_work(&mut self, name: &str, work: &Arc<Work>) {
        self.version += 1;
        let (name, work) = (ClusterName::from(name), Arc::clone(work));
        let _change = self.fleet.set_work(&name, WorkKind::Cluster, work, self.version);
    }

    /// The watch brings the deletion of a work.
    fn remove_work(&mut self, name: &str) {
        self.version += 1;
        let name = ClusterName::from(name);
        let _change = self
            .fleet
            .remove_work(&name, WorkKind::Cluster, Some(self.version), self.now);
    }

    fn refuse(&mut self, action: &Action, words: &str) -> bool {
        let refused = RefusedAction {
            upgrade: &key(),
            action,
            cause: RefusalCause::Other,
            words,
        };
        self.fleet.refused(&refused, self.now).1
    }

    fn pass(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// How many there are of each thing that a fleet holds; things of which there are none are left out.
    fn entry_counts(&self) -> BTreeMap<&'static str, usize> {
        // Taken apart whole, so that a new field is counted, too.
        let Fleet {
            clusters,
            placements,
            decisions,
            snapshots,
            sets,
            bindings,
            records,
            upgrades,
            calendars,
            acceptances,
            refused,
            live,
            has_looked_for_leads: _,
            same_namespace_placements: _,
            presumes_selections: _,
            cluster_changes: _,
            // One, whatever there is.
            latest_work: _,
        } = &self.fleet;
        let mut entry_counts = BTreeMap::from([
            ("clusters", clusters.len()),
            ("placements", placements.len()),
            ("decisions", decisions.len()),
            ("snapshots", snapshots.len()),
            ("sets", sets.len()),
            ("bindings", bindings.len()),
            ("records", records.len()),
            ("calendars", calendars.len()),
            ("acceptances", acceptances.len()),
            ("upgrades", upgrades.len()),
            ("refused", refused.len()),
            ("live", live.uids.len() + live.keys.len()),
        ]);
        let parts = clusters.values().flat_map(|known| entries_of_cluster(known));
        for (part, count) in parts.chain(upgrades.values().flat_map(entries_of_upgrade)) {
            *entry_counts.entry(part).or_default() += count;
        }
        entry_counts.retain(|_, count| *count > 0);
        entry_counts
    }
}

fn entries_of_cluster(known: &KnownCluster) -> [(&'static str, usize); 10] {
    let KnownCluster {
        facts,
        agent,
        agent_installed,
        works,
        versions,
        pending,
        gone,
        recorded,
        entries,
        refusals,
        pre_checks,
        lost,
    } = known;
    assert_eq!(recorded.len(), entries.len());
    [
        ("facts", facts.iter().count()),
        ("agents", usize::from(*agent || *agent_installed)),
        ("works", works.iter().count()),
        ("versions", versions.iter().count()),
        ("pending", pending.iter().count()),
        ("gone", gone.iter().count()),
        ("entries", entries.len()),
        ("refusals", refusals.len()),
        ("pre-checks", pre_checks.len()),
        ("lost", lost.iter().count()),
    ]
}

fn entries_of_upgrade(followed: &Followed) -> [(&'static str, usize); 6] {
    let Followed {
        object: _,
        digest: _,
        decider,
        selected,
        changed,
        expectations,
        is_stale: _,
        page_refusal,
        page_refusal_reported: _,
        own_refusal,
        has_read_status: _,
    } = followed;
    [
        ("rows", decider.rows().len()),
        ("selected", selected.len()),
        ("changed", changed.len()),
        ("expectations", expectations.len()),
        ("page refusals", page_refusal.iter().count()),
        ("own refusals", own_refusal.iter().count()),
    ]
}

fn key() -> UpgradeKey {
    UpgradeKey::new("default", "spring")
}

fn cluster() -> Value {
    let conditions = [
        "HubAcceptedManagedCluster",
        "ManagedClusterJoined",
        "ManagedClusterConditionAvailable",
    ];
    let conditions =
        conditions.map(|name| json!({"type": name, "status": "True", "reason": "", "message": ""}));
    json!({
        "metadata": {"labels": {CLUSTER_SET_LABEL: "fleet"}},
        "spec": {"hubAcceptsClient": true},
        "status": {
            "conditions": conditions,
            "clusterClaims": [{"name": "version.openshift.io", "value": "4.14.10"}],
        },
    })
}

/// A Placement that has selected this many clusters.
fn selected(uid: &str, clusters: usize) -> Value {
    json!({"metadata": {"uid": uid}, "spec": {}, "status": {"numberOfSelectedClusters": clusters}})
}

fn agent() -> Value {
    json!({"spec": {}, "status": {"conditions": [{"type": "Available", "status": "True"}]}})
}

/// A page of records of `spring`: one cluster has failed at a moment.
fn record(cluster: &str, completed: Timestamp) -> Value {
    json!({
        "metadata": {"labels": {UPGRADE_UID_LABEL: UID}},
        "spec": {
            "upgrade": {
                "name": "spring", "uid": UID, "target": "4.14.12", "goal": "g",
                "rolloutSince": "2026-03-01T11:00:00Z",
            },
            "entries": [{
                "cluster": cluster, "outcome": "Failed", "reason": "UpgradeTimeout", "message": "", "to": "4.14.12",
                "started": "2026-03-01T11:00:00Z", "completed": completed.to_string(),
            }],
        },
    })
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}
