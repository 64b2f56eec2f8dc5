//! The columns of the kinds that Kubernetes has itself, those that people look at here.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Cell, Column, age, name_column, pod};

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
        ("apps", "DaemonSet") => DAEMON_SET,
        ("policy", "PodDisruptionBudget") => BUDGET,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => BINDING,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole")
        | ("apiextensions.k8s.io", "CustomResourceDefinition") => CREATED_AT,
        _ => &[("Age", "string", 0, AGE)],
    };
    std::iter::once(name_column())
        .chain(own.iter().map(column))
        .collect()
}

const AGE: Rule = |object, now| age::since(&object["metadata"]["creationTimestamp"], now);

const CREATED_AT: &[Named] = &[("Created At", "date", 0, |object, _| {
    object["metadata"]["creationTimestamp"].clone()
})];

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
    ("Ready", "string", 0, |pod, _| json!(pod::ready(pod))),
    ("Status", "string", 0, |pod, _| json!(pod::status(pod))),
    ("Restarts", "string", 0, |pod, now| json!(pod::restarts(pod, now))),
    ("Age", "string", 0, AGE),
    ("IP", "string", 1, |pod, _| {
        let ips = items(&pod["status"]["podIPs"])
            .next()
            .map_or(&Value::Null, |ip| &ip["ip"]);
        or_none(ips)
    }),
    ("Node", "string", 1, |pod, _| or_none(&pod["spec"]["nodeName"])),
    ("Nominated Node", "string", 1, |pod, _| {
        or_none(&pod["status"]["nominatedNodeName"])
    }),
    ("Readiness Gates", "string", 1, |pod, _| {
        let gates: Vec<&Value> = items(&pod["spec"]["readinessGates"]).collect();
        if gates.is_empty() {
            return json!("<none>");
        }
        let passed = gates
            .iter()
            .filter(|gate| condition(pod, gate["conditionType"].as_str().unwrap_or_default()) == Some("True"))
            .count();
        json!(format!("{passed}/{}", gates.len()))
    }),
];

const NODE: &[Named] = &[
    ("Status", "string", 0, |node, _| {
        let word = match condition(node, "Ready") {
            Some("True") => "Ready",
            Some(_) => "NotReady",
            None => "Unknown",
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
            .filter_map(|(label, value)| match label.as_str() {
                "kubernetes.io/role" => value.as_str(),
                other => other.strip_prefix("node-role.kubernetes.io/"),
            })
            .filter(|role| !role.is_empty())
            .collect();
        roles.sort_unstable();
        roles.dedup();
        json!(if roles.is_empty() {
            "<none>".to_owned()
        } else {
            roles.join(",")
        })
    }),
    ("Age", "string", 0, AGE),
    ("Version", "string", 0, |node, _| {
        node["status"]["nodeInfo"]["kubeletVersion"].clone()
    }),
    ("Internal-IP", "string", 1, |node, _| address(node, "InternalIP")),
    ("External-IP", "string", 1, |node, _| address(node, "ExternalIP")),
    ("OS-Image", "string", 1, |node, _| {
        or_unknown(&node["status"]["nodeInfo"]["osImage"])
    }),
    ("Kernel-Version", "string", 1, |node, _| {
        let info = &node["status"]["nodeInfo"];
        let text = |field: &str| info[field].as_str().unwrap_or_default();
        match (text("kernelVersion"), text("architecture")) {
            ("", _) => json!("<unknown>"),
            (kernel, "") => json!(kernel),
            (kernel, architecture) => json!(format!("{kernel} ({architecture})")),
        }
    }),
    ("Container-Runtime", "string", 1, |node, _| {
        or_unknown(&node["status"]["nodeInfo"]["containerRuntimeVersion"])
    }),
];

fn address(node: &Value, kind: &str) -> Value {
    let found = items(&node["status"]["addresses"]).find(|address| address["type"] == kind);
    found.map_or_else(|| json!("<none>"), |address| address["address"].clone())
}

fn or_unknown(value: &Value) -> Value {
    json!(
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .unwrap_or("<unknown>")
    )
}

const NAMESPACE: &[Named] = &[
    ("Status", "string", 0, |namespace, _| {
        namespace["status"]["phase"].clone()
    }),
    ("Age", "string", 0, AGE),
];

const CONFIG_MAP: &[Named] = &[
    ("Data", "string", 0, |map, _| {
        let count = |field: &str| map[field].as_object().map_or(0, serde_json::Map::len);
        json!(count("data") + count("binaryData"))
    }),
    ("Age", "string", 0, AGE),
];

const SECRET: &[Named] = &[
    ("Type", "string", 0, |secret, _| secret["type"].clone()),
    ("Data", "string", 0, |secret, _| {
        json!(secret["data"].as_object().map_or(0, serde_json::Map::len))
    }),
    ("Age", "string", 0, AGE),
];

const CONTAINERS: Named = ("Containers", "string", 1, |object, _| {
    json!(of_containers(object, "name"))
});
const IMAGES: Named = ("Images", "string", 1, |object, _| {
    json!(of_containers(object, "image"))
});
const SELECTOR: Named = ("Selector", "string", 1, |object, _| {
    json!(selector_text(&object["spec"]["selector"]))
});

fn of_containers(object: &Value, field: &str) -> String {
    let values: Vec<&str> = items(&object["spec"]["template"]["spec"]["containers"])
        .filter_map(|container| container[field].as_str())
        .collect();
    values.join(",")
}

fn selector_text(selector: &Value) -> String {
    if !selector.is_object() {
        return "<none>".to_owned();
    }
    let mut parts: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    for expression in items(&selector["matchExpressions"]) {
        let key = expression["key"].as_str().unwrap_or_default();
        let values: Vec<&str> = items(&expression["values"]).filter_map(Value::as_str).collect();
        parts.push(match expression["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "DoesNotExist" => format!("!{key}"),
            _ => key.to_owned(),
        });
    }
    if parts.is_empty() {
        "<none>".to_owned()
    } else {
        parts.join(",")
    }
}

const JOB: &[Named] = &[
    ("Status", "string", 0, |job, _| {
        let is = |kind: &str| condition(job, kind) == Some("True");
        json!(match () {
            () if is("Complete") => "Complete",
            () if is("Failed") => "Failed",
            () if job["metadata"]["deletionTimestamp"].is_string() => "Terminating",
            () if is("Suspended") => "Suspended",
            () if is("FailureTarget") => "FailureTarget",
            () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
            () => "Running",
        })
    }),
    ("Completions", "string", 0, |job, _| {
        let succeeded = number(&job["status"]["succeeded"]);
        let parallelism = number(&job["spec"]["parallelism"]);
        json!(match job["spec"]["completions"].as_i64() {
            Some(completions) => format!("{succeeded}/{completions}"),
            None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            None => format!("{succeeded}/1"),
        })
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
    ("Age", "string", 0, AGE),
    CONTAINERS,
    IMAGES,
    SELECTOR,
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
    ("Age", "string", 0, AGE),
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const DAEMON_SET: &[Named] = &[
    ("Desired", "integer", 0, |set, _| {
        json!(number(&set["status"]["desiredNumberScheduled"]))
    }),
    ("Current", "integer", 0, |set, _| {
        json!(number(&set["status"]["currentNumberScheduled"]))
    }),
    ("Ready", "integer", 0, |set, _| {
        json!(number(&set["status"]["numberReady"]))
    }),
    ("Up-to-date", "integer", 0, |set, _| {
        json!(number(&set["status"]["updatedNumberScheduled"]))
    }),
    ("Available", "integer", 0, |set, _| {
        json!(number(&set["status"]["numberAvailable"]))
    }),
    ("Node Selector", "string", 0, |set, _| {
        let labels = json!({"matchLabels": set["spec"]["template"]["spec"]["nodeSelector"]});
        json!(selector_text(&labels))
    }),
    ("Age", "string", 0, AGE),
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const BUDGET: &[Named] = &[
    ("Min Available", "string", 0, |budget, _| {
        or_not_set(&budget["spec"]["minAvailable"])
    }),
    ("Max Unavailable", "string", 0, |budget, _| {
        or_not_set(&budget["spec"]["maxUnavailable"])
    }),
    ("Allowed Disruptions", "integer", 0, |budget, _| {
        json!(number(&budget["status"]["disruptionsAllowed"]))
    }),
    ("Age", "string", 0, AGE),
];

const LEASE: &[Named] = &[
    ("Holder", "string", 0, |lease, _| {
        json!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default())
    }),
    ("Age", "string", 0, AGE),
];

const BINDING: &[Named] = &[
    ("Role", "string", 0, |binding, _| {
        let text = |field: &str| binding["roleRef"][field].as_str().unwrap_or_default();
        json!(format!("{}/{}", text("kind"), text("name")))
    }),
    ("Age", "string", 0, AGE),
    ("Users", "string", 1, |binding, _| {
        json!(subjects(binding, "User"))
    }),
    ("Groups", "string", 1, |binding, _| {
        json!(subjects(binding, "Group"))
    }),
    ("ServiceAccounts", "string", 1, |binding, _| {
        json!(subjects(binding, "ServiceAccount"))
    }),
];

fn subjects(binding: &Value, kind: &str) -> String {
    let names: Vec<String> = items(&binding["subjects"])
        .filter(|subject| subject["kind"] == kind)
        .map(|subject| {
            let name = subject["name"].as_str().unwrap_or_default();
            match subject["namespace"].as_str() {
                Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
                _ => name.to_owned(),
            }
        })
        .collect();
    names.join(", ")
}

/// A field of an Event, by its name in the core group or in the newer one.
fn either<'v>(event: &'v Value, core: &str, new: &str) -> &'v Value {
    match event.get(core) {
        Some(value) if !value.is_null() => value,
        _ => event.get(new).unwrap_or(&Value::Null),
    }
}

fn event_time(event: &Value, core: &str, new: &str, now: Timestamp) -> Value {
    let seen = either(event, core, new);
    let time = if seen.is_string() {
        seen
    } else {
        &event["eventTime"]
    };
    age::since(time, now)
}

/// Events are shown without their names, the time first.
fn event() -> Vec<Column> {
    let columns: [Named; 10] = [
        ("Last Seen", "string", 0, |event, now| {
            if event["series"]["lastObservedTime"].is_string() {
                return age::since(&event["series"]["lastObservedTime"], now);
            }
            event_time(event, "lastTimestamp", "deprecatedLastTimestamp", now)
        }),
        ("Type", "string", 0, |event, _| event["type"].clone()),
        ("Reason", "string", 0, |event, _| event["reason"].clone()),
        ("Object", "string", 0, |event, _| {
            let regarding = either(event, "involvedObject", "regarding");
            let kind = regarding["kind"].as_str().unwrap_or_default().to_lowercase();
            json!(format!(
                "{kind}/{}",
                regarding["name"].as_str().unwrap_or_default()
            ))
        }),
        ("Subobject", "string", 1, |event, _| {
            let regarding = either(event, "involvedObject", "regarding");
            json!(regarding["fieldPath"].as_str().unwrap_or_default())
        }),
        ("Source", "string", 1, |event, _| {
            let source = either(event, "source", "deprecatedSource");
            let component = source["component"].as_str().unwrap_or_default();
            let component = if component.is_empty() {
                either(event, "reportingComponent", "reportingController")
                    .as_str()
                    .unwrap_or_default()
            } else {
                component
            };
            json!(match source["host"].as_str() {
                Some(host) if !host.is_empty() => format!("{component}, {host}"),
                _ => component.to_owned(),
            })
        }),
        ("Message", "string", 0, |event, _| {
            json!(
                either(event, "message", "note")
                    .as_str()
                    .unwrap_or_default()
                    .trim()
            )
        }),
        ("First Seen", "string", 1, |event, now| {
            event_time(event, "firstTimestamp", "deprecatedFirstTimestamp", now)
        }),
        ("Count", "string", 1, |event, _| {
            let series = event["series"]["count"].as_i64();
            let count = series.or_else(|| either(event, "count", "deprecatedCount").as_i64());
            json!(count.unwrap_or(1))
        }),
        ("Name", "string", 1, |event, _| event["metadata"]["name"].clone()),
    ];
    let mut columns: Vec<Column> = columns.iter().map(column).collect();
    if let Some(name) = columns.last_mut() {
        "name".clone_into(&mut name.format);
    }
    columns
}

pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

pub(super) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
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
