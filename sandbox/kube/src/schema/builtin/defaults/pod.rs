//! Defaults of pods and pod templates.

use super::{fields, fill, items};
use serde_json::{Map, Value, json};

/// A pod that stands for itself has more defaults than a template.
pub(super) fn pod(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    for container in containers(spec) {
        let Some(resources) = container.get_mut("resources") else {
            continue;
        };
        let limits = resources
            .get("limits")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        for (name, limit) in limits {
            if let Some(requests) = resources["requests"].as_object_mut() {
                fill(requests, &name, limit.clone());
            }
            if resources.get("requests").is_none_or(Value::is_null) {
                resources["requests"] = json!({name: limit});
            }
        }
    }
    pod_spec(spec);
    if let Some(fields) = spec.as_object_mut() {
        fill(fields, "enableServiceLinks", true);
    }
}

/// A workload without a template has an empty one, whose pod specification is defaulted all the same.
pub(super) fn template_of(spec: &mut Value) {
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    fill(fields, "template", json!({}));
    let Some(template) = fields.get_mut("template").and_then(Value::as_object_mut) else {
        return;
    };
    fill(template, "metadata", json!({}));
    fill(template, "spec", json!({}));
    if let Some(spec) = template.get_mut("spec").filter(|spec| spec.is_object()) {
        pod_spec(spec);
    }
}

fn containers(spec: &mut Value) -> Vec<&mut Value> {
    let fields = spec.as_object_mut().into_iter().flatten();
    let lists = fields
        .filter(|(name, _)| ["containers", "initContainers", "ephemeralContainers"].contains(&name.as_str()));
    lists
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
        .collect()
}

fn pod_spec(spec: &mut Value) {
    let host_network = spec["hostNetwork"] == true;
    for container in containers(spec) {
        default_container(container, host_network);
    }
    items(spec, "volumes").for_each(default_volume);
    let Some(fields) = spec.as_object_mut() else {
        return;
    };
    fill(fields, "dnsPolicy", "ClusterFirst");
    fill(fields, "restartPolicy", "Always");
    fill(fields, "schedulerName", "default-scheduler");
    fill(fields, "securityContext", json!({}));
    fill(fields, "terminationGracePeriodSeconds", 30);
    mirror(fields, "serviceAccountName", "serviceAccount");
    mirror(fields, "serviceAccount", "serviceAccountName");
}

/// The old name of a field always says the same as the new one.
fn mirror(fields: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = fields.get(from).filter(|value| *value != "").cloned() {
        fill(fields, to, value);
    }
}

fn default_container(container: &mut Value, host_network: bool) {
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            default_probe(probe);
        }
    }
    for handler in ["/lifecycle/postStart", "/lifecycle/preStop"] {
        container
            .pointer_mut(handler)
            .into_iter()
            .for_each(default_handler);
    }
    for variable in items(container, "env") {
        fields(variable, "/valueFrom/fieldRef")
            .into_iter()
            .for_each(|reference| fill(reference, "apiVersion", "v1"));
    }
    for port in items(container, "ports").filter_map(Value::as_object_mut) {
        fill(port, "protocol", "TCP");
        if let (true, Some(number)) = (host_network, port.get("containerPort").cloned()) {
            fill(port, "hostPort", number);
        }
    }
    let policy = pull_policy(container["image"].as_str().unwrap_or_default());
    let Some(fields) = container.as_object_mut() else {
        return;
    };
    fill(fields, "imagePullPolicy", policy);
    fill(fields, "resources", json!({}));
    fill(fields, "terminationMessagePath", "/dev/termination-log");
    fill(fields, "terminationMessagePolicy", "File");
}

/// An image that may change under its tag is pulled always.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let pinned = name.contains('@') || name.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    if pinned { "IfNotPresent" } else { "Always" }
}

fn default_probe(probe: &mut Value) {
    default_handler(probe);
    let Some(fields) = probe.as_object_mut() else {
        return;
    };
    for (name, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        fill(fields, name, default);
    }
}

fn default_handler(handler: &mut Value) {
    if let Some(get) = fields(handler, "/httpGet") {
        fill(get, "path", "/");
        fill(get, "scheme", "HTTP");
    }
    fields(handler, "/grpc")
        .into_iter()
        .for_each(|grpc| fill(grpc, "service", ""));
}

fn default_volume(volume: &mut Value) {
    for source in ["/configMap", "/secret", "/downwardAPI", "/projected"] {
        fields(volume, source)
            .into_iter()
            .for_each(|source| fill(source, "defaultMode", 420));
    }
    fields(volume, "/hostPath")
        .into_iter()
        .for_each(|path| fill(path, "type", ""));
    if let Some(downward) = volume.get_mut("downwardAPI") {
        default_downward(downward);
    }
    if let Some(projected) = volume.get_mut("projected") {
        for source in items(projected, "sources") {
            fields(source, "/serviceAccountToken")
                .into_iter()
                .for_each(|token| fill(token, "expirationSeconds", 3600));
            source
                .get_mut("downwardAPI")
                .into_iter()
                .for_each(default_downward);
        }
    }
    if let Some(fields) = volume
        .as_object_mut()
        .filter(|fields| fields.keys().all(|name| name == "name"))
    {
        fill(fields, "emptyDir", json!({}));
    }
}

fn default_downward(volume: &mut Value) {
    for item in items(volume, "items") {
        fields(item, "/fieldRef")
            .into_iter()
            .for_each(|reference| fill(reference, "apiVersion", "v1"));
    }
}
