//! What the columns of a pod say (`printPod` of Kubernetes' printers).

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age;
use super::builtin::{condition, items};

/// `ready/all`, sidecars included.
pub(super) fn ready(pod: &Value) -> String {
    let all = items(&pod["spec"]["containers"]).count() + sidecars(pod).len();
    let ready = items(&pod["status"]["containerStatuses"])
        .filter(|status| status["ready"] == true && status["state"].get("running").is_some())
        .count();
    let ready_sidecars = items(&pod["status"]["initContainerStatuses"])
        .filter(|status| is_sidecar(pod, status) && status["started"] == true && status["ready"] == true)
        .count();
    format!("{}/{all}", ready + ready_sidecars)
}

fn sidecars(pod: &Value) -> Vec<&str> {
    items(&pod["spec"]["initContainers"])
        .filter(|container| container["restartPolicy"] == "Always")
        .filter_map(|container| container["name"].as_str())
        .collect()
}

fn is_sidecar(pod: &Value, status: &Value) -> bool {
    status["name"]
        .as_str()
        .is_some_and(|name| sidecars(pod).contains(&name))
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The word that tells most about where a pod stands.
pub(super) fn status(pod: &Value) -> String {
    let status = &pod["status"];
    let mut word = match text(status, "reason") {
        "" => text(status, "phase").to_owned(),
        reason => reason.to_owned(),
    };
    if items(&status["conditions"])
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated")
    {
        "SchedulingGated".clone_into(&mut word);
    }
    let initializing = initializing(pod);
    if let Some(said) = initializing {
        word = said;
    } else {
        word = of_containers(pod, word);
    }
    if pod["metadata"]["deletionTimestamp"].is_string() {
        return match text(status, "reason") {
            "NodeLost" => "Unknown".to_owned(),
            _ if matches!(text(status, "phase"), "Succeeded" | "Failed") => word,
            _ => "Terminating".to_owned(),
        };
    }
    word
}

fn initializing(pod: &Value) -> Option<String> {
    let count = items(&pod["spec"]["initContainers"]).count();
    for (at, container) in items(&pod["status"]["initContainerStatuses"]).enumerate() {
        let state = &container["state"];
        let ended = state.get("terminated");
        if ended.is_some_and(|ended| ended["exitCode"] == 0)
            || (is_sidecar(pod, container) && container["started"] == true)
        {
            continue;
        }
        if let Some(ended) = ended {
            return Some(format!("Init:{}", ended_word(ended)));
        }
        let reason = state.get("waiting").map_or("", |waiting| text(waiting, "reason"));
        if !reason.is_empty() && reason != "PodInitializing" {
            return Some(format!("Init:{reason}"));
        }
        return Some(format!("Init:{at}/{count}"));
    }
    None
}

fn ended_word(ended: &Value) -> String {
    let number = |field: &str| ended[field].as_i64().unwrap_or(0);
    match (text(ended, "reason"), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn of_containers(pod: &Value, mut word: String) -> String {
    let statuses: Vec<&Value> = items(&pod["status"]["containerStatuses"]).collect();
    let mut running = false;
    for container in statuses.iter().rev() {
        let state = &container["state"];
        let waiting = state.get("waiting").map_or("", |waiting| text(waiting, "reason"));
        if !waiting.is_empty() {
            waiting.clone_into(&mut word);
        } else if let Some(ended) = state.get("terminated") {
            word = ended_word(ended);
        } else if container["ready"] == true && state.get("running").is_some() {
            running = true;
        }
    }
    if word == "Completed" && running {
        let is_ready = condition(pod, "Ready") == Some("True");
        return if is_ready { "Running" } else { "NotReady" }.to_owned();
    }
    word
}

/// How often containers were restarted, and when last.
pub(super) fn restarts(pod: &Value, now: Timestamp) -> String {
    let statuses = if initializing(pod).is_some() {
        &pod["status"]["initContainerStatuses"]
    } else {
        &pod["status"]["containerStatuses"]
    };
    let count: i64 = items(statuses)
        .filter_map(|status| status["restartCount"].as_i64())
        .sum();
    let last = items(statuses)
        .filter_map(|status| status["lastState"]["terminated"]["finishedAt"].as_str())
        .max();
    match last.map(|last| age::since(&Value::from(last), now)) {
        Some(Value::String(since)) if count > 0 => format!("{count} ({since} ago)"),
        _ => count.to_string(),
    }
}

/// The condition of a row whose pod has ended.
pub(super) fn completed(pod: &Value) -> Option<Value> {
    let message = match pod["status"]["phase"].as_str() {
        Some("Succeeded") if pod["kind"] == "Pod" => "The pod has completed successfully.",
        Some("Failed") if pod["kind"] == "Pod" => "The pod failed.",
        _ => return None,
    };
    Some(json!({
        "type": "Completed", "status": "True", "reason": pod["status"]["phase"], "message": message,
    }))
}
