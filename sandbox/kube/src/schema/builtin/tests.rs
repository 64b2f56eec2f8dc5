//! Against what a real kube-apiserver (1.36) answered.

use super::*;
use crate::schema::ListType;

#[derive(serde::Deserialize)]
struct Refused {
    object: Value,
    code: u16,
    message: String,
}

fn kind_of(object: &Value) -> GroupVersionKind {
    let (group, version) = object["apiVersion"]
        .as_str()
        .unwrap()
        .rsplit_once('/')
        .unwrap_or(("", "v1"));
    let version = if group.is_empty() { "v1" } else { version };
    GroupVersionKind::new(group, version, object["kind"].as_str().unwrap())
}

fn refused() -> Vec<Refused> {
    serde_json::from_str(include_str!("../testdata/builtin_refused.json")).unwrap()
}

#[derive(serde::Deserialize)]
struct Accepted {
    object: Value,
    uid: String,
    becomes: Value,
}

/// What only a real cluster has: addresses it hands out, ports, the time, and nulls and zeroes of Go structures.
fn without_what_is_not_modelled(kind: &str, object: &mut Value) {
    let mut remove = |parent: &str, name: &str| {
        object
            .pointer_mut(parent)
            .and_then(Value::as_object_mut)
            .map(|fields| fields.remove(name));
    };
    match kind {
        "Service" => {
            for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                remove("/spec", name);
            }
            remove("/spec/ports/0", "nodePort");
        }
        "Node" => {
            remove("/spec", "taints");
            remove("", "status");
        }
        "DaemonSet" => {
            remove("/metadata", "annotations");
            remove("", "status");
        }
        "Event" => {
            for name in ["firstTimestamp", "lastTimestamp", "eventTime"] {
                remove("", name);
            }
            for name in [
                "deprecatedSource",
                "deprecatedFirstTimestamp",
                "deprecatedLastTimestamp",
            ] {
                remove("", name);
            }
        }
        _ => {}
    }
}

#[test]
fn an_object_is_created_with_the_defaults_of_its_kind() {
    let accepted: Vec<Accepted> =
        serde_json::from_str(include_str!("../testdata/builtin_defaults.json")).unwrap();
    for case in accepted {
        let kind = kind_of(&case.object);
        let (mut object, mut expected) = (case.object.clone(), case.becomes);
        object["metadata"]["uid"] = case.uid.into();
        default(&kind, &mut object);
        prepare_for_create(&kind, &mut object);
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.remove("uid");
        if let Some(namespace) = expected["metadata"].get("namespace") {
            metadata.insert("namespace".to_owned(), namespace.clone());
        }
        without_what_is_not_modelled(&kind.kind, &mut object);
        without_what_is_not_modelled(&kind.kind, &mut expected);
        assert_eq!(object, expected, "{}", case.object);
    }
}

/// Go's own string types have names that no schema carries.
fn without_string_types(message: &str) -> String {
    message.replace("v1.RestartPolicy", "string")
}

#[test]
fn what_does_not_fit_its_type_is_refused_in_gos_words() {
    for case in refused() {
        let expected = if case.code == 400 {
            Err(without_string_types(&case.message))
        } else {
            Ok(())
        };
        assert_eq!(
            decode(&kind_of(&case.object), &case.object),
            expected,
            "{}",
            case.object
        );
    }
}

fn kind(group: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::new(group, "v1", kind)
}

#[test]
fn every_merge_rule_is_of_a_field_that_exists() {
    assert_eq!(merge::astray(definitions()), [""; 0]);
}

#[test]
fn a_pod_template_merges_as_the_api_servers_document_says() {
    let job = structural(&kind("batch", "Job")).unwrap();
    let pod = ["spec", "template", "spec"]
        .iter()
        .fold(Arc::clone(job.node()), |node, name| {
            Arc::clone(node.field(name).unwrap())
        });
    let containers = pod.field("containers").unwrap();
    assert_eq!(containers.list_type, ListType::Map(vec!["name".to_owned()]));
    assert_eq!(containers.patch.merge_key.as_deref(), Some("name"));
    let ports = containers.items.as_ref().unwrap().field("ports").unwrap();
    assert_eq!(
        ports.list_type,
        ListType::Map(vec!["containerPort".to_owned(), "protocol".to_owned()])
    );
    let finalizers = job.node().field("metadata").unwrap().field("finalizers").unwrap();
    assert_eq!(finalizers.list_type, ListType::Set);
    assert!(pod.field("nodeSelector").unwrap().atomic_map && pod.field("volumes").unwrap().patch.retain_keys);
}

#[test]
fn nothing_of_a_real_job_is_unknown_and_a_typo_is() {
    let job = structural(&kind("batch", "Job")).unwrap();
    let mut object = serde_json::json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "labels": {"a": "b"}},
        "spec": {"backoffLimit": 3, "template": {"metadata": {"annotations": {"x/y": "z"}}, "spec": {
            "restartPolicy": "Never", "nodeSelector": {"a": "b"},
            "containers": [{"name": "c", "image": "i", "comand": ["x"], "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "m", "items": []}}],
        }}},
    });
    assert_eq!(
        job.prune(&mut object),
        ["spec.template.spec.containers[0].comand"]
    );
    assert_eq!(job.validate(&object, None), []);
}
