//! The transcripts of the real OCM, replayed against the stand-ins: the same requests at the same times, and the same
//! objects, conditions and messages in the order in which a watcher of each object sees them. The transcripts are kept
//! beside the project; where they are absent there is nothing to replay.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use drydock_runtime::Clock;
use kube_sandbox::access::Access;
use kube_sandbox::server::{
    ApiServer, Call, Identity, ServerSettings, Types, WatchFrame, WatchOptions, read_definitions,
};
use kube_sandbox::store::ChangeKind;
use ocm_sandbox::connection::Connection;
use ocm_sandbox::placement::controller::{self, PlacementSettings};
use ocm_sandbox::work::agent::{self, WorkAgentSettings};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const WATCHED: &[(&str, &str, &str)] = &[
    ("work.open-cluster-management.io", "v1", "manifestworks"),
    ("work.open-cluster-management.io", "v1", "appliedmanifestworks"),
    ("", "v1", "configmaps"),
    ("batch", "v1", "jobs"),
    ("config.openshift.io", "v1", "clusterversions"),
    ("cluster.open-cluster-management.io", "v1beta1", "placements"),
    (
        "cluster.open-cluster-management.io",
        "v1beta1",
        "placementdecisions",
    ),
];

/// Where what follows is a matter of chance: a poll, whose moment is drawn, falls into a deletion or just before it. Before
/// these events all is the same.
const DRAWN: &[(&str, &str, usize)] = &[
    ("work-clusterversion-ssa-conflict", "ManifestWork dev1/w4", 8),
    ("work-configmap-lifecycle", "ManifestWork dev1/w1", 12),
    ("work-job-available-before-it-ran", "ManifestWork dev1/w6", 6),
];

type ObservedStates = BTreeMap<String, Vec<Value>>;

fn transcripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/fixtures/ocm");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is not there", folder.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn env() -> ApiServer {
    let texts = [
        ocm_sandbox::crds::HUB,
        ocm_sandbox::crds::SPOKE,
        openshift_sandbox::crds::CLUSTER,
    ]
    .concat();
    let definitions = drydock_api::crds()
        .into_iter()
        .map(|definition| json!(definition))
        .chain(read_definitions(&texts).unwrap())
        .collect();
    let types = Types::with_definition_values(definitions).unwrap();
    let clock = Clock::simulated("2026-08-01T12:00:00Z".parse().unwrap());
    ApiServer::new(ServerSettings::new("hub", clock, 1, types))
}

async fn send(client: &kube::Client, request: &Value) -> Option<Value> {
    let text = |field: &str| request[field].as_str().unwrap_or_default().to_owned();
    let body = match &request["body"] {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let content = match text("contentType").as_str() {
        "" => "application/json".to_owned(),
        other => other.to_owned(),
    };
    let query = text("query");
    let path = if query.is_empty() {
        text("path")
    } else {
        format!("{}?{query}", text("path"))
    };
    let request = http::Request::builder()
        .method(text("method").as_str())
        .uri(path)
        .header("content-type", content)
        .body(body)
        .unwrap();
    client.request::<Value>(request).await.ok()
}

async fn create(client: &kube::Client, path: &str, object: Value) {
    let made = send(client, &json!({"method": "POST", "path": path, "body": object})).await;
    assert!(made.is_some(), "{path}: {object}");
}

/// What the recording found when it began.
async fn furnish(client: &kube::Client, name: &str) {
    for namespace in ["dev", "dev1", "spoke"] {
        create(
            client,
            "/api/v1/namespaces",
            json!({"metadata": {"name": namespace}}),
        )
        .await;
    }
    let cluster = "/apis/cluster.open-cluster-management.io";
    for set in ["dev", "other"] {
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSet",
            "metadata": {"name": set}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}},
        });
        create(client, &format!("{cluster}/v1beta2/managedclustersets"), object).await;
    }
    let mut clusters: Vec<(String, Value)> = (1..=6)
        .map(|number| (format!("dev{number}"), json!({"name": format!("dev{number}")})))
        .collect();
    clusters[0].1["tier"] = json!("canary");
    clusters.push(("oth1".to_owned(), json!({"name": "oth1"})));
    if name.contains("pages") {
        clusters.extend((10..260).map(|number| (format!("big{number:03}"), json!({"big": "yes"}))));
    }
    for (name, mut labels) in clusters {
        let set = if name.starts_with("oth") { "other" } else { "dev" };
        labels["cluster.open-cluster-management.io/clusterset"] = json!(set);
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": labels}, "spec": {"hubAcceptsClient": true},
        });
        create(client, &format!("{cluster}/v1/managedclusters"), object).await;
        let version = if matches!(name.as_str(), "dev5" | "dev6") {
            "4.14.12"
        } else {
            "4.14.1"
        };
        let status = json!({"status": {
            "clusterClaims": [{"name": "version.openshift.io", "value": version}],
            "conditions": [
                {"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "ManagedClusterAvailable",
                 "message": "", "lastTransitionTime": "2026-08-01T12:00:00Z"},
            ],
        }});
        let path = format!("{cluster}/v1/managedclusters/{name}/status");
        let patch = json!({"method": "PATCH", "path": path, "body": status,
            "contentType": "application/merge-patch+json"});
        assert!(send(client, &patch).await.is_some(), "{name}");
    }
    if !name.contains("no-binding") {
        let binding = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "dev", "namespace": "dev"}, "spec": {"clusterSet": "dev"},
        });
        create(
            client,
            &format!("{cluster}/v1beta2/namespaces/dev/managedclustersetbindings"),
            binding,
        )
        .await;
    }
    if name.contains("number-of-clusters") {
        leave_decisions(client).await;
    }
}

/// Nothing collected garbage where the recordings were made: earlier placements' decisions count for the balance.
async fn leave_decisions(client: &kube::Client) {
    let path = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/dev/placementdecisions";
    for (placement, clusters) in [
        ("p1", &["dev1", "dev2", "dev3", "dev4", "dev5", "dev6"][..]),
        ("p2", &["dev1", "dev2", "dev5"]),
        ("p3", &["dev5", "dev6"]),
        ("p3c", &["dev1"]),
    ] {
        let name = format!("{placement}-decision-1");
        let object = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "PlacementDecision",
            "metadata": {"name": name, "labels": {"cluster.open-cluster-management.io/placement": placement}},
        });
        create(client, path, object).await;
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|cluster| json!({"clusterName": cluster, "reason": ""}))
            .collect();
        let patch = json!({"method": "PATCH", "path": format!("{path}/{name}/status"),
            "contentType": "application/merge-patch+json", "body": {"status": {"decisions": decisions}}});
        assert!(send(client, &patch).await.is_some());
    }
}

/// An object as transcripts have it: without what no two recordings share.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| {
                !matches!(
                    name.as_str(),
                    "uid" | "resourceVersion" | "managedFields" | "creationTimestamp" | "hubHash" | "agentID"
                )
            })
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| {
                let is_time = name.ends_with("Time") || name.ends_with("Timestamp");
                (name.clone(), if is_time { json!("<time>") } else { plain(value) })
            })
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::String(text) if is_uid(text) => json!("<uid>"),
        Value::String(text) => json!(without_hash(text)),
        other => other.clone(),
    }
}

fn is_uid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// `<hub-hash>-w1` for the name of an AppliedManifestWork.
fn without_hash(text: &str) -> String {
    match text.split_once('-') {
        Some((hash, rest)) if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("<hub-hash>-{rest}")
        }
        _ => text.to_owned(),
    }
}

fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    format!(
        "{} {}/{}",
        object["kind"].as_str().unwrap_or_default(),
        text("namespace"),
        text("name")
    )
}

fn observe(server: &ApiServer, seen: &Arc<Mutex<ObservedStates>>) {
    for (group, version, plural) in WATCHED {
        let kind = server.kind(group, version, plural).unwrap();
        let call = Call::on_collection(Identity::new("observer"), kind, None);
        let options = WatchOptions {
            resource_version: Some(server.revision().to_string()),
            ..WatchOptions::default()
        };
        let mut watch = server.watch(&call, &options).unwrap();
        let seen = Arc::clone(seen);
        tokio::spawn(async move {
            while let Some(frame) = watch.next().await {
                if let WatchFrame::Change { kind, object } = frame {
                    let word = match kind {
                        ChangeKind::Added => "ADDED",
                        ChangeKind::Modified => "MODIFIED",
                        ChangeKind::Deleted => "DELETED",
                    };
                    let object = plain(object.value());
                    let event = json!({"type": word, "object": object});
                    seen.lock()
                        .unwrap()
                        .entry(key(&event["object"]))
                        .or_default()
                        .push(event);
                }
            }
        });
    }
}

async fn replay(name: &str, documents: &[Value]) -> ObservedStates {
    let server = env();
    let client = server.client("recorder");
    furnish(&client, name).await;
    if name.contains("clusterversion") || name.contains("orphan") {
        furnish_version(&client, documents).await;
    }
    let (stop, clock) = (CancellationToken::new(), server.clock().clone());
    let settings = WorkAgentSettings {
        cluster: "dev1".to_owned(),
        hub_url: "https://hub".to_owned(),
        agent_id: "agent".to_owned(),
        seed: 1,
        status_sync: Duration::from_secs(3),
    };
    let access = |name: &str| Access::memory(&server, name);
    let spoke = access("ocm-work-agent");
    let work = tokio::spawn(agent::run(
        settings,
        access("ocm-work-agent"),
        spoke,
        clock.clone(),
        Connection::default(),
        stop.clone(),
    ));
    let placement = tokio::spawn(controller::run(
        PlacementSettings::default(),
        access("ocm-placement"),
        clock,
        stop.clone(),
    ));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = Arc::new(Mutex::new(ObservedStates::new()));
    observe(&server, &seen);
    let start = Instant::now();
    for (number, document) in documents.iter().enumerate() {
        // What the real definitions refuse is not sent to the lenient ones.
        let answer = documents[number..]
            .iter()
            .find(|document| document["type"] == "RESPONSE");
        let was_refused = answer.is_some_and(|answer| answer["code"].as_u64() >= Some(400));
        if document["type"] != "REQUEST" || was_refused {
            continue;
        }
        let at = document["at"].as_f64().unwrap_or_default();
        tokio::time::sleep_until(start + Duration::from_secs_f64(at)).await;
        send(&client, &document["request"]).await;
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    stop.cancel();
    work.await.unwrap();
    placement.await.unwrap();
    let seen = seen.lock().unwrap();
    seen.clone()
}

/// The ClusterVersion that was there before: `oc` had set its channel, and it had a status.
async fn furnish_version(client: &kube::Client, documents: &[Value]) {
    let path = "/apis/config.openshift.io/v1/clusterversions";
    let object = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"},
        "spec": {
            "clusterID": "94e170c1-7a3c-4ae1-a85d-8bd904ad783f", "channel": "stable-4.14",
            "capabilities": {"baselineCapabilitySet": "v4.14"}, "upstream": "https://graph.example/v1",
        },
    });
    let apply = json!({"method": "PATCH", "path": format!("{path}/version"), "query": "fieldManager=oc",
        "contentType": "application/apply-patch+yaml", "body": object});
    assert!(send(client, &apply).await.is_some());
    let changed = documents
        .iter()
        .find(|document| document["object"]["kind"] == "ClusterVersion" && document["type"] == "MODIFIED");
    let status = changed
        .map(|document| document["object"]["status"].clone())
        .unwrap_or_default();
    let text = status.to_string().replace("<time>", "2026-01-01T00:00:00Z");
    let body: Value = serde_json::from_str(&text).unwrap();
    let patch = json!({"method": "PATCH", "path": format!("{path}/version/status"),
        "contentType": "application/merge-patch+json", "body": {"status": body}});
    assert!(send(client, &patch).await.is_some());
}

fn recorded(documents: &[Value]) -> ObservedStates {
    let mut seen = ObservedStates::new();
    for document in documents {
        if matches!(document["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")) {
            let object = plain(&document["object"]);
            let event = json!({"type": document["type"], "object": object});
            seen.entry(key(&event["object"])).or_default().push(event);
        }
    }
    seen
}

#[tokio::test(start_paused = true)]
async fn the_stand_ins_do_what_the_real_ocm_was_seen_to_do() {
    let only = std::env::var("TRANSCRIPT").unwrap_or_default();
    let mut differences = Vec::new();
    for file in transcripts() {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let (expected, found) = (recorded(&documents), replay(&name, &documents).await);
        for (object, events) in &expected {
            let mut ours = found.get(object).cloned().unwrap_or_default();
            // No controller collected garbage where the recordings were made.
            let is_collected = |event: &Value| {
                event["type"] == "DELETED" && !event["object"]["metadata"]["ownerReferences"].is_null()
            };
            if ours.last().is_some_and(is_collected) && !events.iter().any(is_collected) {
                ours.pop();
            }
            let drawn = DRAWN.iter().find(|(case, of, _)| *case == name && of == object);
            let longest = drawn.map_or(events.len().max(ours.len()), |(_, _, at)| *at);
            for at in 0..longest {
                let (real, sandbox) = (events.get(at), ours.get(at));
                if real != sandbox {
                    let text = |event: Option<&Value>| event.map_or("nothing".to_owned(), Value::to_string);
                    differences.push(format!(
                        "{name}: {object}, event {at}\n  sandbox: {}\n  real:    {}",
                        text(sandbox),
                        text(real)
                    ));
                    break;
                }
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} differ:\n{}",
        differences.len(),
        differences.join("\n")
    );
}
