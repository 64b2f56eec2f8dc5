//! The objects of real clusters beside those of a simulated one at the like moment: ours have their fields and their condition
//! types, and what their conditions say has the same status, reason and form. The real objects are kept beside the project;
//! where they are absent there is nothing to compare.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use drydock_runtime::Clock;
use drydock_sandbox::test_env::{TestEnv, TestEnvSettings};
use jiff::Timestamp;
use kube_sandbox::access::{Access, Key, Selection};
use kube_sandbox::server::{Call, Identity, ListOptions};
use openshift_sandbox::cluster::Fault;
use openshift_sandbox::cluster::kinds::{CLUSTER_VERSION, NODE};
use regex::Regex;
use serde_json::{Value, json};

/// File, and where the kind is served.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("cv", "config.openshift.io", "v1", "clusterversions"),
    ("co", "config.openshift.io", "v1", "clusteroperators"),
    (
        "mcp",
        "machineconfiguration.openshift.io",
        "v1",
        "machineconfigpools",
    ),
    ("node", "", "v1", "nodes"),
];

/// What a simulated cluster has not, and why.
const ABSENT: &[(&str, &str)] = &[
    (
        ".status.extension",
        "some operators put figures of their own there",
    ),
    (".status.volumesInUse", "a simulated node mounts nothing"),
    (
        ".status.capabilities",
        "every capability is there, and nothing asks",
    ),
    (
        ".spec.configuration.source",
        "no MachineConfigs: the rendered one has only a name",
    ),
    (".spec.machineConfigSelector", "no MachineConfigs"),
    (
        ".status.desired.url",
        "errata are given by the update graph of a real vendor",
    ),
    (".spec.upstream", "the update service is inside the model"),
    (".spec.desiredUpdate", "somebody asked in other words"),
    (".status.history.acceptedRisks", "the update was forced"),
    (".status.conditionalUpdates", "no update was risky at that moment"),
    (".status.certExpirys", "newer than the simulated operator"),
    (".status.images", "a simulated node pulls nothing"),
    (".status.runtimeHandlers", "newer than the simulated kubelet"),
    (".status.volumesAttached", "a simulated node mounts nothing"),
    (".status.allocatable.", "only the sizes that are asked for"),
    (".status.capacity.", "only the sizes that are asked for"),
    (
        ".metadata.annotations.machineconfiguration.openshift.io/lastObservedServerCAAnnotation",
        "newer than the simulated operator",
    ),
    (
        ".metadata.annotations.machineconfiguration.openshift.io/post-config-action",
        "newer than the simulated operator",
    ),
    (
        ".status.relatedObjects",
        "there is nothing that an operator could relate to",
    ),
];

/// Condition types that every operator has; others are its own.
const OF_OPERATORS: &[&str] = &["Available", "Progressing", "Degraded", "Upgradeable"];

/// A moment of a real cluster, and how a simulated one comes to the like one.
struct Moment {
    /// The folder of the recording.
    folder: &'static str,
    fault: Option<Fault>,
    workers: usize,
    seed: u64,
    /// What the simulated cluster's `Progressing` says then.
    progressing: &'static str,
    /// Whether that is while a worker is being drained.
    draining: bool,
    /// Operators whose conditions are compared by what they say.
    operators: &'static [&'static str],
    /// What differs, and why: kind, condition type.
    differs: &'static [(&'static str, &'static str, &'static str)],
}

const MOMENTS: &[Moment] = &[
    Moment {
        folder: "not-upgrading",
        fault: None,
        workers: 3,
        seed: 7,
        progressing: "^Cluster version is",
        draining: false,
        operators: &["etcd", "kube-apiserver", "machine-config", "network"],
        differs: &[],
    },
    Moment {
        folder: "4.15.0-ec2-early",
        fault: None,
        workers: 3,
        seed: 7,
        progressing: "waiting on etcd, kube-apiserver$",
        draining: false,
        operators: &["etcd"],
        differs: &[
            ("co etcd", "Available", "the revisions are in Progressing only"),
            ("co etcd", "RecentBackup", "a simulated etcd is not backed up"),
        ],
    },
    Moment {
        folder: "4.15.0-ec2-unavailable-mco-20m",
        fault: Some(Fault::OperatorDegraded),
        workers: 3,
        seed: 7,
        progressing: "waiting up to 40 minutes on",
        draining: false,
        operators: &[],
        differs: &[(
            "cv",
            "RetrievedUpdates",
            "its channel was none of the update service's",
        )],
    },
    Moment {
        folder: "4.14.1-degraded",
        fault: Some(Fault::OperatorDegraded),
        workers: 3,
        seed: 7,
        progressing: "^Unable to apply",
        draining: false,
        operators: &[],
        differs: &[
            ("cv", "Failing", "two operators were degraded, ours is one"),
            ("cv", "Progressing", "two operators were degraded, ours is one"),
        ],
    },
    Moment {
        folder: "4.14.1-workers-started-updating-multiple-pools",
        fault: None,
        workers: 3,
        seed: 7,
        progressing: "waiting on machine-config$",
        draining: true,
        operators: &["machine-config"],
        differs: &[],
    },
    Moment {
        folder: "to-multi-arch",
        fault: None,
        workers: 3,
        seed: 7,
        progressing: "waiting on machine-config$",
        draining: true,
        operators: &["machine-config"],
        differs: &[(
            "co machine-config",
            "Available",
            "newer operators report their image, too",
        )],
    },
    Moment {
        folder: "4.16.0-compact",
        fault: None,
        workers: 0,
        seed: 1,
        progressing: "waiting on openshift-apiserver$",
        draining: false,
        operators: &[],
        differs: &[("cv", "RetrievedUpdates", "it had no channel")],
    },
];

fn recorded(folder: &str, file: &str) -> Option<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/fixtures/openshift")
        .join(folder)
        .join(format!("{file}.yaml"));
    let text = std::fs::read_to_string(&path).ok()?;
    let mut document: Value = serde_saphyr::from_str(&text).unwrap();
    match document["items"].take() {
        Value::Array(items) => Some(items),
        _ => Some(vec![serde_saphyr::from_str(&text).unwrap()]),
    }
}

fn paths(value: &Value, at: &str, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, below) in fields {
                paths(below, &format!("{at}.{name}"), into);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                paths(item, at, into);
            }
        }
        _ => {
            into.insert(at.to_owned());
        }
    }
}

fn all_paths(objects: &[Value]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for object in objects {
        for part in ["spec", "status"] {
            paths(&object[part], &format!(".{part}"), &mut found);
        }
        for name in object["metadata"]["annotations"]
            .as_object()
            .into_iter()
            .flatten()
        {
            if name.0.starts_with("machineconfiguration.openshift.io/") {
                found.insert(format!(".metadata.annotations.{}", name.0));
            }
        }
    }
    // Labels are names of their own.
    found.retain(|path| !path.contains("matchLabels") && path != ".spec" && path != ".status");
    found
}

fn conditions(objects: &[Value]) -> Vec<&Value> {
    let lists = objects
        .iter()
        .filter_map(|object| object["status"]["conditions"].as_array());
    lists.flatten().collect()
}

fn types(objects: &[Value]) -> BTreeSet<String> {
    let types = conditions(objects)
        .into_iter()
        .filter_map(|condition| condition["type"].as_str());
    types.map(str::to_owned).collect()
}

/// A message with its versions, names and numbers taken out.
fn form(message: &str) -> String {
    let version = Regex::new(r"\d+\.\d+\.\d+[-.\w]*").unwrap();
    let quoted = Regex::new(r#""[^"]+""#).unwrap();
    let rendered = Regex::new(r"rendered-(\w+)-[0-9a-f]+").unwrap();
    let architecture = Regex::new(" architecture=Q").unwrap();
    let number = Regex::new(r"\d+").unwrap();
    let waited = Regex::new(r"waiting up to N minutes on .*").unwrap();
    let text = version.replace_all(message, "V");
    let text = quoted.replace_all(&text, "Q");
    let text = rendered.replace_all(&text, "rendered-$1-N");
    let text = architecture.replace_all(&text, "");
    let text = number.replace_all(&text, "N").replace("N node is", "N nodes are");
    waited
        .replace_all(&text, "waiting up to N minutes on X")
        .into_owned()
}

/// Where ours says something else than the real one in a condition that both have.
fn said_differently(what: &str, ours: &[Value], real: &[Value], moment: &Moment, wrong: &mut Vec<String>) {
    for condition in conditions(real) {
        let name = condition["type"].as_str().unwrap_or_default();
        if moment
            .differs
            .iter()
            .any(|(kind, differing, _)| what.starts_with(kind) && name == *differing)
        {
            continue;
        }
        let same = |other: &&Value| other["type"] == condition["type"];
        let Some(other) = conditions(ours).into_iter().find(same) else {
            continue;
        };
        let fields = |condition: &Value| {
            let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {:?}",
                text("status"),
                text("reason"),
                form(&text("message"))
            )
        };
        if fields(other) != fields(condition) {
            wrong.push(format!(
                "{what} {name}: {} instead of {}",
                fields(other),
                fields(condition)
            ));
        }
    }
}

fn named<'a>(objects: &'a [Value], name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["metadata"]["name"] == name)
}

/// Lets the simulated cluster come to the moment; `None` if it does not within six hours.
async fn reach(moment: &Moment) -> Option<TestEnv> {
    let clock = Clock::simulated(Timestamp::constant(1_767_600_000, 0));
    let mut settings = TestEnvSettings::demo(1, moment.seed);
    settings.clusters[0].workers = moment.workers;
    settings.clusters[0].faults.extend(moment.fault);
    let env = TestEnv::start(settings, clock).await.unwrap();
    let access = Access::memory(env.spoke("dev1").unwrap(), "user");
    tokio::time::sleep(Duration::from_mins(10)).await;
    let key = Key::cluster("version");
    if moment.folder != "not-upgrading" {
        let update = json!({"spec": {"desiredUpdate": {"version": "4.14.12"}}});
        access.merge_patch(&CLUSTER_VERSION, &key, update).await.unwrap();
    }
    let progressing = Regex::new(moment.progressing).unwrap();
    for _ in 0..6 * 60 * 12 {
        let version = access.get(&CLUSTER_VERSION, &key).await.unwrap();
        let said = conditions(std::slice::from_ref(version.value()))
            .into_iter()
            .find(|condition| condition["type"] == "Progressing")
            .unwrap()["message"]
            .as_str()
            .unwrap()
            .to_owned();
        let is_draining = async {
            let nodes = access.list(&NODE, &Selection::everything()).await.unwrap();
            nodes.iter().any(|node| {
                node["spec"]["unschedulable"] == true
                    && node["metadata"]["labels"]["node-role.kubernetes.io/master"].is_null()
            })
        };
        if progressing.is_match(&said) && (!moment.draining || is_draining.await) {
            return Some(env);
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    None
}

fn objects_of(env: &TestEnv, group: &str, version: &str, plural: &str) -> Vec<Value> {
    let server = env.spoke("dev1").unwrap();
    let kind = server.kind(group, version, plural).unwrap();
    let call = Call::on_collection(Identity::new("observer"), kind, None);
    let list = server.list(&call, &ListOptions::default()).unwrap();
    list.items.iter().map(|object| object.value().clone()).collect()
}

/// What of the recorded objects ours lack, or say differently.
fn compare(moment: &Moment, env: &TestEnv) -> Vec<String> {
    let mut wrong = Vec::new();
    for (file, group, version, plural) in KINDS {
        let Some(real) = recorded(moment.folder, file) else {
            continue;
        };
        let ours = objects_of(env, group, version, plural);
        let present = all_paths(&ours);
        let is_absent = |path: &str| ABSENT.iter().any(|(absent, _)| path.starts_with(absent));
        let missing = all_paths(&real).into_iter().filter(|path| !is_absent(path));
        wrong.extend(
            missing
                .filter(|path| !present.iter().any(|ours| ours.starts_with(path.as_str())))
                .map(|path| format!("{plural}: no {path}")),
        );
        let known = types(&ours);
        let expected = types(&real).into_iter().filter(|kind| {
            let is_common = *file != "co" || OF_OPERATORS.contains(&kind.as_str());
            is_common && kind != "Upgradeable"
        });
        wrong.extend(
            expected
                .filter(|kind| !known.contains(kind))
                .map(|kind| format!("{plural}: no condition {kind}")),
        );
        let compared: &[&str] = match *file {
            "cv" => &["version"],
            "co" => moment.operators,
            "mcp" => &["master", "worker"],
            _ => &[],
        };
        for name in compared {
            if let (Some(own), Some(theirs)) = (named(&ours, name), named(&real, name)) {
                let (own, theirs) = (std::slice::from_ref(own), std::slice::from_ref(theirs));
                said_differently(&format!("{file} {name}"), own, theirs, moment, &mut wrong);
            }
        }
    }
    wrong
}

#[tokio::test(start_paused = true)]
async fn a_simulated_cluster_looks_as_a_real_one_at_the_like_moment() {
    let mut wrong = Vec::new();
    for moment in MOMENTS {
        if recorded(moment.folder, "cv").is_none() {
            eprintln!("skipped: {} is not there", moment.folder);
            continue;
        }
        let Some(env) = reach(moment).await else {
            wrong.push(format!("{}: the like moment never comes", moment.folder));
            continue;
        };
        wrong.extend(
            compare(moment, &env)
                .into_iter()
                .map(|line| format!("{}: {line}", moment.folder)),
        );
        env.shut_down().await;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
