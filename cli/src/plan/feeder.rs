//! Plays the clusters of a rehearsal: answers each work as the work agent would, after the time that such upgrades take.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_api::names::{
    CANARY_ANNOTATION, CLUSTER_VERSION_CLAIM, EndState, KIND_LABEL, REVISION_ANNOTATION, STATE_LABEL,
    STATE_SINCE_ANNOTATION, WorkKind,
};
use drydock_sandbox::access::{Access, AccessError, Key, Object, Selection, WatchEvent};
use drydock_sandbox::ocm::kinds::{MANAGED_CLUSTER, MANIFEST_WORK};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// How long it takes until a work is applied.
const APPLIES: Duration = Duration::from_secs(5);
/// How long the Jobs of actions and of operators take.
const JOBS: Duration = Duration::from_mins(2);

/// When a cluster started and ended.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Whether it is a canary.
    pub canary: bool,
    /// When its first work was made.
    pub started: Option<Timestamp>,
    /// How it ended, and when.
    pub ended: Option<(EndState, Timestamp)>,
}

/// What has been seen of the clusters. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Lives(Arc<Mutex<BTreeMap<String, Life>>>);

impl Lives {
    fn with<T>(&self, what: impl FnOnce(&mut BTreeMap<String, Life>) -> T) -> T {
        what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All clusters that have started.
    pub fn all(&self) -> BTreeMap<String, Life> {
        self.with(|lives| lives.clone())
    }

    /// Whether a cluster is on its way.
    pub fn any_in_flight(&self) -> bool {
        self.with(|lives| lives.values().any(|life| life.ended.is_none()))
    }
}

/// Answers the works of a hub until it is dropped.
pub async fn run(hub: Access, durations: Vec<SignedDuration>, seed: u64, lives: Lives) {
    let mut works = hub.watch(&MANIFEST_WORK, &Selection::everything());
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut played = JoinSet::new();
    loop {
        let seen: Vec<Arc<Object>> = tokio::select! {
            biased;
            Some(_) = played.join_next() => continue,
            event = works.next() => match event {
                None => return,
                Some(WatchEvent::Applied(work)) => vec![work],
                Some(WatchEvent::Resync(all)) => all,
                Some(WatchEvent::Deleted(_)) => continue,
            },
        };
        for work in seen {
            note(&lives, &work);
            if known.insert(work.uid().to_owned()) {
                let takes = sample(&durations, seed, work.namespace().unwrap_or_default());
                played.spawn(play(hub.clone(), work, takes));
            }
        }
    }
}

fn note(lives: &Lives, work: &Object) {
    let Some(cluster) = work.namespace() else {
        return;
    };
    let moment = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    let made = moment(work["metadata"]["creationTimestamp"].as_str());
    let ended = work
        .label(STATE_LABEL)
        .and_then(EndState::parse)
        .zip(moment(work.annotation(STATE_SINCE_ANNOTATION)));
    lives.with(|lives| {
        let life = lives.entry(cluster.to_owned()).or_default();
        life.canary |= work.annotation(CANARY_ANNOTATION).is_some();
        life.started = [life.started, made].into_iter().flatten().min();
        life.ended = life.ended.or(ended);
    });
}

/// One of the durations, the same for a cluster in each run with this seed.
fn sample(durations: &[SignedDuration], seed: u64, cluster: &str) -> Duration {
    let mut hasher = DefaultHasher::new();
    (seed, cluster).hash(&mut hasher);
    let index = usize::try_from(hasher.finish() % u64::MAX).unwrap_or_default();
    durations
        .get(index % durations.len().max(1))
        .map_or(JOBS, |duration| duration.unsigned_abs())
}

async fn play(hub: Access, work: Arc<Object>, takes: Duration) {
    let kind = work.label(KIND_LABEL).and_then(WorkKind::parse);
    let steps: Vec<(Duration, Vec<Value>)> = match kind {
        None => return,
        Some(WorkKind::Cluster) => vec![(APPLIES, upgrade(&work, false)), (takes, upgrade(&work, true))],
        Some(WorkKind::Pre | WorkKind::Post | WorkKind::Operators) => {
            vec![(APPLIES, Vec::new()), (JOBS, jobs(&work))]
        }
    };
    for (wait, manifests) in steps {
        tokio::time::sleep(wait).await;
        if let Err(error) = answer(&hub, &work, manifests).await {
            // A work that is gone needs no answer.
            tracing::debug!(%error, "a work of the rehearsal was not answered");
            return;
        }
    }
    if kind == Some(WorkKind::Cluster)
        && let Err(error) = claim(&hub, &work).await
    {
        tracing::debug!(%error, "a cluster of the rehearsal does not tell its version");
    }
}

async fn answer(hub: &Access, work: &Object, manifests: Vec<Value>) -> Result<(), AccessError> {
    let generation = &work["metadata"]["generation"];
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": generation,
            "lastTransitionTime": work["metadata"]["creationTimestamp"],
        })
    };
    let status = json!({"status": {
        "conditions": [condition("Applied"), condition("Available")],
        "resourceStatus": {"manifests": manifests},
    }});
    hub.merge_patch_status(&MANIFEST_WORK, &work.key(), status)
        .await
        .map(drop)
}

/// The cluster claims the version that it has come to.
async fn claim(hub: &Access, work: &Object) -> Result<(), AccessError> {
    let Some(version) = revision(work)["target"]["version"].as_str().map(str::to_owned) else {
        return Ok(());
    };
    let key = Key::cluster(work.namespace().unwrap_or_default());
    let cluster = hub.get(&MANAGED_CLUSTER, &key).await?;
    let mut claims: Vec<Value> = cluster["status"]["clusterClaims"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    claims.retain(|claim| claim["name"] != CLUSTER_VERSION_CLAIM);
    claims.push(json!({"name": CLUSTER_VERSION_CLAIM, "value": version}));
    let patch = json!({"status": {"clusterClaims": claims}});
    hub.merge_patch_status(&MANAGED_CLUSTER, &key, patch)
        .await
        .map(drop)
}

fn revision(work: &Object) -> Value {
    let text = work.annotation(REVISION_ANNOTATION).unwrap_or_default();
    serde_json::from_str(text).unwrap_or_default()
}

fn fed_back(meta: &Value, values: &[(&str, &str)]) -> Value {
    let values: Vec<Value> = values
        .iter()
        .map(|(name, text)| json!({"name": name, "fieldValue": {"type": "String", "string": text}}))
        .collect();
    json!({"resourceMeta": meta, "conditions": [], "statusFeedback": {"values": values}})
}

/// What the cluster feeds back about its upgrade.
fn upgrade(work: &Object, done: bool) -> Vec<Value> {
    let target = &revision(work)["target"];
    let text = |field: &str| target[field].as_str().unwrap_or_default().to_owned();
    let identifier = &work["spec"]["manifestConfigs"][0]["resourceIdentifier"];
    let meta = json!({
        "group": identifier["group"], "resource": identifier["resource"], "name": identifier["name"],
        "namespace": identifier["namespace"].as_str().unwrap_or_default(),
    });
    let values = if identifier["resource"] == "upgradeconfigs" {
        let phase = if done { "Upgraded" } else { "Upgrading" };
        [
            ("phase", phase.to_owned()),
            ("version", text("version")),
            ("image", String::new()),
        ]
    } else {
        let state = if done { "Completed" } else { "Partial" };
        [
            ("state", state.to_owned()),
            ("version", text("version")),
            ("image", text("image")),
        ]
    };
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    vec![fed_back(&meta, &values)]
}

/// Every Job and Pod of the work has succeeded.
fn jobs(work: &Object) -> Vec<Value> {
    let manifests = work["spec"]["workload"]["manifests"].as_array();
    manifests
        .into_iter()
        .flatten()
        .filter_map(|manifest| {
            let (group, resource, values): (_, _, &[(&str, &str)]) = match manifest["kind"].as_str()? {
                "Job" => (
                    "batch",
                    "jobs",
                    &[("drydockJobComplete", "True"), ("succeeded", "1")],
                ),
                "Pod" => ("", "pods", &[("drydockPodPhase", "Succeeded")]),
                _ => return None,
            };
            let meta = json!({
                "group": group, "resource": resource, "name": manifest["metadata"]["name"],
                "namespace": manifest["metadata"]["namespace"].as_str().unwrap_or_default(),
            });
            Some(fed_back(&meta, values))
        })
        .collect()
}
