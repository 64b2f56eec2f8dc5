use super::*;
use crate::schema::{GroupVersionKind, Structural, builtin};

fn deployment() -> std::sync::Arc<Structural> {
    builtin::structural(&GroupVersionKind::new("apps", "v1", "Deployment")).unwrap()
}

fn pod_spec(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

#[test]
fn a_strategic_merge_patch_follows_the_keys_and_directives_of_the_kind() {
    let containers = json!([{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"}]);
    let original = pod_spec(&json!({"containers": containers, "nodeSelector": {"x": "1", "y": "1"}}));
    let table = [
        (
            json!({"containers": [{"name": "b", "image": "2"}]}),
            json!({"containers": [{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "2"}],
                   "nodeSelector": {"x": "1", "y": "1"}}),
        ),
        (
            json!({"containers": [{"name": "a", "$patch": "delete"}], "nodeSelector": {"x": null}}),
            json!({"containers": [{"name": "b", "image": "1"}], "nodeSelector": {"y": "1"}}),
        ),
        (
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}], "nodeSelector": {"$patch": "replace", "z": "1"}}),
            json!({"containers": [{"name": "c"}], "nodeSelector": {"z": "1"}}),
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "nodeSelector": null}),
            json!({"containers": [{"name": "b", "image": "1"}, {"name": "a", "image": "1", "args": ["x"]}]}),
        ),
        (
            // Arguments have no merge key: they are replaced.
            json!({"containers": [{"name": "a", "args": ["y"]}]}),
            json!({"containers": [{"name": "a", "image": "1", "args": ["y"]}, {"name": "b", "image": "1"}],
                   "nodeSelector": {"x": "1", "y": "1"}}),
        ),
    ];
    for (patch, expected) in table {
        let merged = strategic_merge(deployment().node(), &original, &pod_spec(&patch)).unwrap();
        assert_eq!(merged, pod_spec(&expected), "{patch}");
    }
}

#[test]
fn a_strategic_merge_patch_without_its_key_or_with_an_unknown_directive_is_refused() {
    let original = pod_spec(&json!({"containers": []}));
    let table = [
        (
            json!({"containers": [{"image": "1"}]}),
            "does not contain declared merge key: name",
        ),
        (json!({"$patch": "explode"}), "Unknown patch type: explode"),
    ];
    for (patch, message) in table {
        let refused = strategic_merge(deployment().node(), &original, &pod_spec(&patch)).unwrap_err();
        assert!(refused.to_string().contains(message), "{refused}");
    }
}

const NONE: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment"}"#;

/// `live` and what comes of the apply have their managed fields.
fn applied(manager: &str, live: &Value, spec: &Value, force: bool) -> Result<Value, ApplyError> {
    let mut live = live.clone();
    let managed = take_managed_fields(&mut live).unwrap_or_default();
    let managed = ManagedFields::decode(&managed).unwrap();
    let body =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec});
    let manager = Manager {
        name: manager,
        api_version: "apps/v1",
        subresource: None,
        time: "2026-01-05T08:00:00Z",
    };
    let live = Live {
        object: &live,
        managed: &managed,
    };
    let reset = ResetFields::main(true);
    let (mut object, managed) = apply(deployment().node(), live, &body, &manager, force, &reset)?;
    object["metadata"]["managedFields"] = managed.to_value();
    Ok(object)
}

#[test]
fn each_applier_owns_what_it_names_and_gives_up_what_it_no_longer_names() {
    let none: Value = serde_json::from_str(NONE).unwrap();
    let first = applied("one", &none, &json!({"replicas": 1, "paused": true}), false).unwrap();
    let second = applied("two", &first, &json!({"minReadySeconds": 5}), false).unwrap();
    let third = applied("one", &second, &json!({"replicas": 2}), false).unwrap();
    assert_eq!(third["spec"], json!({"replicas": 2, "minReadySeconds": 5}));
    let owners = third["metadata"]["managedFields"].as_array().unwrap();
    let owned: Vec<String> = owners
        .iter()
        .map(|entry| {
            format!(
                "{} {}",
                entry["manager"].as_str().unwrap(),
                entry["fieldsV1"]["f:spec"]
            )
        })
        .collect();
    assert_eq!(
        owned,
        [r#"one {"f:replicas":{}}"#, r#"two {"f:minReadySeconds":{}}"#]
    );
}

#[test]
fn a_conflict_names_the_other_owner_and_force_takes_the_field() {
    let none: Value = serde_json::from_str(NONE).unwrap();
    let first = applied("one", &none, &json!({"replicas": 1}), false).unwrap();
    let conflict = applied("two", &first, &json!({"replicas": 2}), false).unwrap_err();
    assert_eq!(
        conflict.to_string(),
        "Apply failed with 1 conflict: conflict with \"one\": .spec.replicas"
    );
    assert_eq!(
        conflict.status()["details"]["causes"][0]["field"],
        ".spec.replicas"
    );
    let agreed = applied("two", &first, &json!({"replicas": 1}), false).unwrap();
    assert_eq!(
        agreed["metadata"]["managedFields"].as_array().unwrap().len(),
        2,
        "both own what they agree on"
    );
    let forced = applied("two", &first, &json!({"replicas": 2}), true).unwrap();
    assert_eq!(forced["spec"]["replicas"], 2);
}

#[test]
fn items_of_a_list_with_keys_are_owned_one_by_one() {
    let none: Value = serde_json::from_str(NONE).unwrap();
    let containers = |list: Value| json!({"template": {"spec": {"containers": list}}});
    let first = applied(
        "one",
        &none,
        &containers(json!([{"name": "a", "image": "1"}])),
        false,
    )
    .unwrap();
    let second = applied(
        "two",
        &first,
        &containers(json!([{"name": "b", "image": "1"}])),
        false,
    )
    .unwrap();
    let third = applied("one", &second, &containers(json!([])), false).unwrap();
    assert_eq!(
        third["spec"]["template"]["spec"]["containers"],
        json!([{"name": "b", "image": "1"}])
    );
}
