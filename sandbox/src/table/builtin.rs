//! The columns of the kinds that Kubernetes has itself, those that people look at here.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cell, Column, age, name_column};

type Rule = fn(&Value, Timestamp) -> Value;
type Named = (&'static str, &'static str, i64, Rule);

/// The columns of a kind.
pub(super) fn columns(group: &str, kind: &str) -> Vec<Column> {
    let own: &[Named] = match (group, kind) {
        ("", "Pod") => POD,
        ("", "Node") => NODE,
        ("", "Namespace") => NAMESPACE,
        ("", "ConfigMap") => CONFIG_MAP,
        ("", "Secret") => SECRET,
        ("" | "events.k8s.io", "Event") => return event(),
        ("batch", "Job") => JOB,
        ("apps", "Deployment") => DEPLOYMENT,
        ("policy", "PodDisruptionBudget") => BUDGET,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            return vec![
                name_column(),
                column(&("Created At", "date", 0, |object, _| {
                    object["metadata"]["creationTimestamp"].clone()
                })),
            ];
        }
        _ => &[],
    };
    let (before, after): (Vec<&Named>, Vec<&Named>) =
        own.iter().partition(|(_, _, priority, _)| *priority == 0);
    std::iter::once(name_column())
        .chain(before.into_iter().map(column))
        .chain([column(&("Age", "string", 0, |object, now| {
            age::since(&object["metadata"]["creationTimestamp"], now)
        }))])
        .chain(after.into_iter().map(column))
        .collect()
}

fn column((name, kind, priority, rule): &Named) -> Column {
    Column {
        name: (*name).to_owned(),
        kind: (*kind).to_owned(),
        format: String::new(),
        description: String::new(),
        priority: *priority,
        cell: Cell::Rule(*rule),
    }
}

const POD: &[Named] = &[
    ("Ready", "string", 0, |pod, _| {
        let containers = items(&pod["spec"]["containers"]).count();
        let ready = items(&pod["status"]["containerStatuses"])
            .filter(|container| container["ready"] == true)
            .count();
        json!(format!("{ready}/{containers}"))
    }),
    ("Status", "string", 0, |pod, _| {
        let waits_or_ended = items(&pod["status"]["containerStatuses"]).find_map(|container| {
            ["waiting", "terminated"]
                .iter()
                .find_map(|state| container["state"][state]["reason"].as_str())
        });
        let phase = pod["status"]["phase"].as_str().unwrap_or("Unknown");
        let terminating = pod["metadata"]["deletionTimestamp"].is_string();
        json!(if terminating {
            "Terminating"
        } else {
            waits_or_ended.unwrap_or(phase)
        })
    }),
    ("Restarts", "string", 0, |pod, _| {
        let restarts: i64 = items(&pod["status"]["containerStatuses"])
            .filter_map(|container| container["restartCount"].as_i64())
            .sum();
        json!(restarts.to_string())
    }),
    ("IP", "string", 1, |pod, _| or_none(&pod["status"]["podIP"])),
    ("Node", "string", 1, |pod, _| or_none(&pod["spec"]["nodeName"])),
];

const NODE: &[Named] = &[
    ("Status", "string", 0, |node, _| {
        let ready = condition(node, "Ready");
        let word = if ready == Some("True") {
            "Ready"
        } else {
            "NotReady"
        };
        let cordoned = node["spec"]["unschedulable"] == true;
        json!(if cordoned {
            format!("{word},SchedulingDisabled")
        } else {
            word.to_owned()
        })
    }),
    ("Roles", "string", 0, |node, _| {
        let mut roles: Vec<&str> = node["metadata"]["labels"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(label, _)| label.strip_prefix("node-role.kubernetes.io/"))
            .collect();
        roles.sort_unstable();
        json!(if roles.is_empty() {
            "<none>".to_owned()
        } else {
            roles.join(",")
        })
    }),
    ("Version", "string", 0, |node, _| {
        node["status"]["nodeInfo"]["kubeletVersion"].clone()
    }),
    ("OS-Image", "string", 1, |node, _| {
        node["status"]["nodeInfo"]["osImage"].clone()
    }),
];

const NAMESPACE: &[Named] = &[("Status", "string", 0, |namespace, _| {
    namespace["status"]["phase"].clone()
})];

const CONFIG_MAP: &[Named] = &[("Data", "string", 0, |map, _| {
    let count = |field: &str| map[field].as_object().map_or(0, serde_json::Map::len);
    json!(count("data") + count("binaryData"))
})];

const SECRET: &[Named] = &[
    ("Type", "string", 0, |secret, _| secret["type"].clone()),
    ("Data", "string", 0, |secret, _| {
        json!(secret["data"].as_object().map_or(0, serde_json::Map::len))
    }),
];

const JOB: &[Named] = &[
    ("Status", "string", 0, |job, _| {
        json!(match () {
            () if condition(job, "Complete") == Some("True") => "Complete",
            () if condition(job, "Failed") == Some("True") => "Failed",
            () if job["spec"]["suspend"] == true => "Suspended",
            () => "Running",
        })
    }),
    ("Completions", "string", 0, |job, _| {
        let succeeded = job["status"]["succeeded"].as_i64().unwrap_or(0);
        json!(format!(
            "{succeeded}/{}",
            job["spec"]["completions"].as_i64().unwrap_or(1)
        ))
    }),
    ("Duration", "string", 0, |job, now| {
        let time = |field: &str| {
            job["status"][field]
                .as_str()
                .and_then(|text| text.parse::<Timestamp>().ok())
        };
        match time("startTime") {
            None => json!(""),
            Some(start) => {
                let end = time("completionTime").unwrap_or(now);
                json!(age::human(end.duration_since(start).as_secs()))
            }
        }
    }),
];

const DEPLOYMENT: &[Named] = &[
    ("Ready", "string", 0, |deployment, _| {
        let ready = number(&deployment["status"]["readyReplicas"]);
        json!(format!("{ready}/{}", number(&deployment["spec"]["replicas"])))
    }),
    ("Up-to-date", "string", 0, |deployment, _| {
        json!(number(&deployment["status"]["updatedReplicas"]))
    }),
    ("Available", "string", 0, |deployment, _| {
        json!(number(&deployment["status"]["availableReplicas"]))
    }),
];

const BUDGET: &[Named] = &[
    ("Min Available", "string", 0, |budget, _| {
        or_not_set(&budget["spec"]["minAvailable"])
    }),
    ("Max Unavailable", "string", 0, |budget, _| {
        or_not_set(&budget["spec"]["maxUnavailable"])
    }),
    ("Allowed Disruptions", "string", 0, |budget, _| {
        json!(number(&budget["status"]["disruptionsAllowed"]))
    }),
];

const LEASE: &[Named] = &[("Holder", "string", 0, |lease, _| {
    lease["spec"]["holderIdentity"].clone()
})];

/// Events are shown without their names, the time first.
fn event() -> Vec<Column> {
    let columns: [Named; 6] = [
        ("Last Seen", "string", 0, |event, now| {
            let either = |new: &str, old: &str| {
                [&event[new], &event[old]]
                    .into_iter()
                    .find(|time| time.is_string())
                    .cloned()
            };
            let last = either("deprecatedLastTimestamp", "lastTimestamp")
                .or_else(|| either("eventTime", "firstTimestamp"));
            age::since(&last.unwrap_or_default(), now)
        }),
        ("Type", "string", 0, |event, _| event["type"].clone()),
        ("Reason", "string", 0, |event, _| event["reason"].clone()),
        ("Object", "string", 0, |event, _| {
            let regarding = if event["regarding"].is_object() {
                &event["regarding"]
            } else {
                &event["involvedObject"]
            };
            let kind = regarding["kind"].as_str().unwrap_or_default().to_lowercase();
            json!(format!(
                "{kind}/{}",
                regarding["name"].as_str().unwrap_or_default()
            ))
        }),
        ("Message", "string", 0, |event, _| {
            let note = if event["note"].is_string() {
                &event["note"]
            } else {
                &event["message"]
            };
            json!(note.as_str().unwrap_or_default().trim())
        }),
        ("Name", "string", 1, |event, _| event["metadata"]["name"].clone()),
    ];
    columns.iter().map(column).collect()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    items(&object["status"]["conditions"])
        .find(|condition| condition["type"] == kind)
        .and_then(|condition| condition["status"].as_str())
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn or_none(value: &Value) -> Value {
    json!(value.as_str().filter(|text| !text.is_empty()).unwrap_or("<none>"))
}

fn or_not_set(value: &Value) -> Value {
    match value {
        Value::Null => json!("N/A"),
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    }
}
