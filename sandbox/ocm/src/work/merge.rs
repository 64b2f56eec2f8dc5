//! What an `Update` writes: the manifest with the labels, annotations and owners that the resource has.

use serde_json::{Map, Value, json};

use kube_sandbox::object;

/// The owner reference to an AppliedManifestWork; not a controller reference, as several works may own a resource.
pub fn owner_reference(applied_work: &Value) -> Value {
    json!({
        "apiVersion": "work.open-cluster-management.io/v1",
        "kind": "AppliedManifestWork",
        "name": object::name(applied_work),
        "uid": object::uid(applied_work),
    })
}

/// The owner references of `existing` with ours added or taken away; none if they are right already.
pub fn owners(existing: &Value, owner: &Value, owned: bool) -> Option<Vec<Value>> {
    let mut owners = object::list(&existing["metadata"]["ownerReferences"]).to_vec();
    let present = owners.iter().position(|present| present["uid"] == owner["uid"]);
    match (present, owned) {
        (None, true) => owners.push(owner.clone()),
        (Some(index), false) => {
            owners.remove(index);
        }
        _ => return None,
    }
    Some(owners)
}

/// The manifest as it is created.
pub fn created(manifest: &Value, owner: &Value, owned: bool) -> Value {
    let mut body = manifest.clone();
    if let Some(metadata) = body["metadata"].as_object_mut() {
        for map in ["labels", "annotations"] {
            drop_removals(metadata.get_mut(map));
        }
        if owned {
            metadata.insert("ownerReferences".into(), json!([owner]));
        } else {
            metadata.remove("ownerReferences");
        }
    }
    body
}

/// A key that ends in `-` takes a label or annotation away; it is never written.
fn drop_removals(map: Option<&mut Value>) {
    if let Some(map) = map.and_then(Value::as_object_mut) {
        map.retain(|key, _| !key.ends_with('-'));
    }
}

/// The manifest as it replaces `existing`; none if nothing would change.
pub fn updated(manifest: &Value, existing: &Value, owner: &Value, owned: bool) -> Option<Value> {
    let mut changed = false;
    let mut body = manifest.clone();
    let labels = merged(existing, manifest, "labels", &mut changed);
    let annotations = merged(existing, manifest, "annotations", &mut changed);
    let owners = owners(existing, owner, owned).map_or_else(
        || existing["metadata"]["ownerReferences"].clone(),
        |owners| {
            changed = true;
            Value::Array(owners)
        },
    );
    if !changed && (only_metadata(manifest) || is_same(manifest, existing)) {
        return None;
    }
    if only_metadata(manifest) {
        body = existing.clone();
    }
    for (field, value) in [
        ("labels", labels),
        ("annotations", annotations),
        ("ownerReferences", owners),
        ("finalizers", existing["metadata"]["finalizers"].clone()),
        ("resourceVersion", existing["metadata"]["resourceVersion"].clone()),
    ] {
        match (value, body["metadata"].as_object_mut()) {
            (Value::Null, Some(metadata)) => {
                metadata.remove(field);
            }
            (value, Some(metadata)) => {
                metadata.insert(field.into(), value);
            }
            (_, None) => {}
        }
    }
    Some(body)
}

/// Kinds of which the agent only merges the metadata, as the server owns their spec.
fn only_metadata(manifest: &Value) -> bool {
    manifest["apiVersion"] == "v1"
        && matches!(manifest["kind"].as_str(), Some("Namespace" | "ServiceAccount"))
}

fn merged(existing: &Value, manifest: &Value, map: &str, changed: &mut bool) -> Value {
    let mut result: Map<String, Value> = existing["metadata"][map].as_object().cloned().unwrap_or_default();
    for (key, value) in manifest["metadata"][map].as_object().into_iter().flatten() {
        if let Some(removed) = key.strip_suffix('-') {
            *changed |= result.remove(removed).is_some();
        } else if result.get(key) != Some(value) {
            result.insert(key.clone(), value.clone());
            *changed = true;
        }
    }
    if result.is_empty() {
        Value::Null
    } else {
        Value::Object(result)
    }
}

/// True if both are equal but for metadata and status.
pub fn is_same(one: &Value, other: &Value) -> bool {
    let fields = |value: &Value| -> Map<String, Value> {
        value
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status"))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    fields(one) == fields(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "1"}, "status": {"x": 1},
            "metadata": {"name": "a", "resourceVersion": "7", "labels": {"kept": "yes"}, "ownerReferences": [{"uid": "other"}]}})
    }

    #[test]
    fn an_update_replaces_the_spec_and_merges_the_metadata() {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "2"},
            "metadata": {"name": "a", "labels": {"new": "yes"}}});
        let body = updated(&manifest, &existing(), &json!({"uid": "mine"}), true).unwrap();
        assert_eq!(body["data"], json!({"k": "2"}));
        assert_eq!(body["metadata"]["labels"], json!({"kept": "yes", "new": "yes"}));
        assert_eq!(
            body["metadata"]["ownerReferences"],
            json!([{"uid": "other"}, {"uid": "mine"}])
        );
        assert_eq!(body["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn nothing_is_written_when_nothing_would_change() {
        let manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "1"}, "metadata": {"name": "a"}});
        assert_eq!(
            updated(&manifest, &existing(), &json!({"uid": "other"}), true),
            None
        );
        assert_eq!(
            updated(&manifest, &existing(), &json!({"uid": "mine"}), false),
            None
        );
        assert!(updated(&manifest, &existing(), &json!({"uid": "other"}), false).is_some());
    }
}
