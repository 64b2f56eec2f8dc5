//! Clusters that are nothing but their works' status: each work of Drydock is answered as the work agent would, after the
//! time that such upgrades take. For fleets too large, or runs too many, for simulated clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::access::{Access, AccessError, Key, Object, Selection, WatchEvent};
use crate::fingerprint::fingerprint;
use crate::ocm::kinds::{MANAGED_CLUSTER, MANIFEST_WORK};
use drydock_api::names::{
    CANARY_ANNOTATION, CLUSTER_VERSION_CLAIM, EndState, KIND_LABEL, REVISION_ANNOTATION, STATE_LABEL,
    STATE_SINCE_ANNOTATION, WorkKind,
};
use futures::StreamExt;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How long it takes until a work is applied.
const APPLIES: Duration = Duration::from_secs(5);
/// How many clusters write at once: a real server would rather not have ten thousand connections.
const AT_ONCE: usize = 64;
/// How often a cluster that is cut off tries again.
const RECONNECTS: Duration = Duration::from_secs(30);
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

/// How the clusters do.
#[derive(Clone, Debug)]
pub struct FeederSettings {
    /// What each cluster's upgrade takes is drawn from these.
    pub durations: Vec<SignedDuration>,
    /// By what is drawn.
    pub seed: u64,
    /// Of a hundred stages of clusters, so many fail: refuse the target, have a Job that fails, or hang.
    pub failures_percent: u64,
}

/// Answers the works of a hub until it is dropped.
pub async fn run(hub: Access, settings: FeederSettings, lives: Lives) {
    let mut works = hub.watch(&MANIFEST_WORK, &Selection::everything());
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut played = JoinSet::new();
    let turns = Arc::new(Semaphore::new(AT_ONCE));
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
                played.spawn(play(hub.clone(), work, settings.clone(), Arc::clone(&turns)));
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

/// How a stage of a cluster ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Succeeds,
    Fails,
    Hangs,
}

impl FeederSettings {
    /// A number for a purpose, the same in each run with this seed. A work that is made again draws anew.
    fn draw(&self, work: &Object, purpose: &str) -> u64 {
        let made = work["metadata"]["creationTimestamp"].as_str().unwrap_or_default();
        let parts = [work.namespace().unwrap_or_default(), work.name(), made, purpose];
        let text = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
        // The high bits are the better mixed ones.
        fingerprint(self.seed.to_le_bytes().into_iter().chain(text)) >> 16
    }

    fn takes(&self, work: &Object) -> Duration {
        let count = u64::try_from(self.durations.len().max(1)).unwrap_or(1);
        let index = usize::try_from(self.draw(work, "duration") % count).unwrap_or_default();
        self.durations
            .get(index)
            .map_or(JOBS, |duration| duration.unsigned_abs())
    }

    fn outcome(&self, work: &Object) -> Outcome {
        match self.draw(work, "outcome") % 100 {
            number if number >= self.failures_percent => Outcome::Succeeds,
            number if number % 3 == 0 => Outcome::Hangs,
            _ => Outcome::Fails,
        }
    }
}

async fn play(hub: Access, work: Arc<Object>, settings: FeederSettings, turns: Arc<Semaphore>) {
    let kind = work.label(KIND_LABEL).and_then(WorkKind::parse);
    let (outcome, takes) = (settings.outcome(&work), settings.takes(&work));
    let (first, last, wait) = match kind {
        None => return,
        Some(WorkKind::Cluster) => (
            upgrade(&work, Stage::UnderWay),
            upgrade(&work, Stage::of(outcome)),
            takes,
        ),
        Some(WorkKind::Pre | WorkKind::Post | WorkKind::Operators) => {
            (Vec::new(), jobs(&work, outcome == Outcome::Succeeds), JOBS)
        }
    };
    tokio::time::sleep(APPLIES).await;
    let mut answered = answer(&hub, &work, first, &turns).await;
    if outcome != Outcome::Hangs && answered.is_ok() {
        tokio::time::sleep(wait).await;
        answered = answer(&hub, &work, last, &turns).await;
    }
    if let Err(error) = answered {
        if !error.is_not_found() && !error.is_invalid() {
            tracing::warn!(%error, "a work was not answered");
        }
        return;
    }
    if kind == Some(WorkKind::Cluster)
        && outcome == Outcome::Succeeds
        && let Err(error) = claim(&hub, &work).await
    {
        tracing::debug!(%error, "a cluster does not tell its version");
    }
}

async fn answer(
    hub: &Access,
    work: &Object,
    manifests: Vec<Value>,
    turns: &Semaphore,
) -> Result<(), AccessError> {
    let generation = &work["metadata"]["generation"];
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": generation,
            "lastTransitionTime": work["metadata"]["creationTimestamp"],
        })
    };
    // Another work of that name is not the one that was played.
    let status = json!({"metadata": {"uid": work.uid()}, "status": {
        "conditions": [condition("Applied"), condition("Available")],
        "resourceStatus": {"manifests": manifests},
    }});
    loop {
        let turn = turns.acquire().await;
        let answered = hub
            .merge_patch_status(&MANIFEST_WORK, &work.key(), status.clone())
            .await;
        drop(turn);
        match answered {
            Err(error) if error.is_unreachable() => tokio::time::sleep(RECONNECTS).await,
            other => return other.map(drop),
        }
    }
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

/// Where an upgrade is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    UnderWay,
    Done,
    Refused,
}

impl Stage {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeds => Self::Done,
            Outcome::Fails => Self::Refused,
            Outcome::Hangs => Self::UnderWay,
        }
    }
}

/// What the cluster feeds back about its upgrade.
fn upgrade(work: &Object, stage: Stage) -> Vec<Value> {
    let target = &revision(work)["target"];
    let text = |field: &str| target[field].as_str().unwrap_or_default().to_owned();
    let identifier = &work["spec"]["manifestConfigs"][0]["resourceIdentifier"];
    let meta = json!({
        "ordinal": 0,
        "group": identifier["group"], "resource": identifier["resource"], "name": identifier["name"],
        "namespace": identifier["namespace"].as_str().unwrap_or_default(),
    });
    let mut values = if identifier["resource"] == "upgradeconfigs" {
        let phase = match stage {
            Stage::UnderWay => "Upgrading",
            Stage::Done => "Upgraded",
            Stage::Refused => "Failed",
        };
        vec![("phase", phase.to_owned()), ("version", text("version"))]
    } else {
        let state = if stage == Stage::Done {
            "Completed"
        } else {
            "Partial"
        };
        vec![
            ("state", state.to_owned()),
            ("version", text("version")),
            ("image", text("image")),
        ]
    };
    if stage == Stage::Refused {
        let message = format!("the cluster refuses {}", text("version"));
        values.extend([
            ("invalid", "True".to_owned()),
            ("invalidMessage", message.clone()),
            ("message", message),
        ]);
    }
    let values: Vec<(&str, &str)> = values
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .filter(|(_, value)| !value.is_empty())
        .collect();
    vec![fed_back(&meta, &values)]
}

type Values = &'static [(&'static str, &'static str)];

/// Every Job and Pod of the work has succeeded, or failed.
fn jobs(work: &Object, succeeded: bool) -> Vec<Value> {
    let (job, pod): (Values, Values) = if succeeded {
        (
            &[("drydockJobComplete", "True"), ("succeeded", "1")],
            &[("drydockPodPhase", "Succeeded")],
        )
    } else {
        (
            &[("drydockJobFailed", "True"), ("jobFailed", "True")],
            &[("drydockPodPhase", "Failed")],
        )
    };
    let manifests = work["spec"]["workload"]["manifests"].as_array();
    manifests
        .into_iter()
        .flatten()
        .zip(0..)
        .filter_map(|(manifest, ordinal): (&Value, usize)| {
            let (group, resource, values) = match manifest["kind"].as_str()? {
                "Job" => ("batch", "jobs", job),
                "Pod" => ("", "pods", pod),
                _ => return None,
            };
            let meta = json!({
                "ordinal": ordinal, "group": group, "resource": resource, "name": manifest["metadata"]["name"],
                "namespace": manifest["metadata"]["namespace"].as_str().unwrap_or_default(),
            });
            Some(fed_back(&meta, values))
        })
        .collect()
}
