use proptest::prelude::{Just, Strategy, any, prop, proptest};

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
    object["metadata"]["managedFields"] = json!(managed);
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
        crate::server::Status::from(conflict).causes()[0].field,
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

/// Parts of a Deployment's spec, among them items and keys that others may have, too.
fn some_spec() -> impl Strategy<Value = Value> {
    let container = (prop::sample::select(vec!["a", "b"]), any::<bool>(), any::<bool>()).prop_map(
        |(name, has_image, has_port)| {
            let mut container = json!({"name": name});
            if has_image {
                container["image"] = json!("1");
            }
            if has_port {
                container["ports"] = json!([{"containerPort": 80}]);
            }
            container
        },
    );
    let containers = prop::collection::vec(container, 0..3).prop_map(|mut containers| {
        containers.sort_by_key(|container| container["name"].to_string());
        containers.dedup_by_key(|container| container["name"].to_string());
        containers
    });
    (any::<bool>(), any::<bool>(), containers, Just(json!({}))).prop_map(
        |(has_replicas, has_selector, containers, mut spec)| {
            if has_replicas {
                spec["replicas"] = json!(1);
            }
            if has_selector {
                spec["template"]["spec"]["nodeSelector"] = json!({"x": "1"});
            }
            if !containers.is_empty() {
                spec["template"]["spec"]["containers"] = containers.into();
            }
            spec
        },
    )
}

proptest! {
    #[test]
    fn an_apply_of_all_that_was_applied_takes_nothing_away(
        first in some_spec(), theirs in some_spec(), second in some_spec(), has_defaults in any::<bool>()
    ) {
        let none: Value = serde_json::from_str(NONE).unwrap();
        let mut live = applied("one", &none, &first, true).unwrap();
        live = applied("two", &live, &theirs, true).unwrap();
        let managed = ManagedFields::decode(&take_managed_fields(&mut live).unwrap()).unwrap();
        if has_defaults {
            // What the server fills in is nobody's.
            for container in live["spec"]["template"]["spec"]["containers"].as_array_mut().into_iter().flatten() {
                container["imagePullPolicy"] = json!("Always");
            }
        }
        let (node, reset) = (deployment(), ResetFields::main(true));
        let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": second});
        let manager = Manager { name: "one", api_version: "apps/v1", subresource: None, time: "2026-01-05T08:00:00Z" };
        let request = Request { node: node.node(), live: &live, applied: &body, manager: &manager, reset: &reset };
        let owner = manager.owner(Operation::Apply);
        let last = managed.entries().get(&owner).map(|owned| owned.fields.clone()).unwrap_or_default();
        let mut after = managed;
        let fields = Arc::new(typed::paths(node.node(), &body));
        let owned = Owned { fields, version: "apps/v1".to_owned(), time: None };
        after.entries_mut().insert(owner.clone(), owned);
        let merged = merge::merged(node.node(), &live, &body);
        if request.still_named(&after, &owner, &last) {
            assert_eq!(request.pruned(&merged, &after, &last), merged);
        }
    }
}
