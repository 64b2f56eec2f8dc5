//! OpenAPI v3: an index, and a document a group and version.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::discovery::of_version;
use crate::schema::builtin;
use crate::server::{Origin, Registry, ServedKind};

const REFERENCE: &str = "#/components/schemas/";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The parameters by which a client tells what a server can do with a patch.
const PATCH_PARAMETERS: [(&str, &str); 5] = [
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
    ("force", "boolean"),
    ("pretty", "string"),
];

/// `/openapi/v3`
pub fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for kind in registry.kinds() {
        let path = root(kind).trim_start_matches('/').to_owned();
        // The hash tells clients when to forget a document; a definition that changes keeps its place otherwise.
        let of_version = of_version(registry, &kind.group, &kind.version);
        let text: String = of_version
            .iter()
            .map(|kind| {
                format!(
                    "{} {:?};",
                    kind.kind,
                    kind.definition.as_ref().map(std::string::ToString::to_string)
                )
            })
            .collect();
        let url = format!("/openapi/v3/{path}?hash={:016X}", hash(&text));
        paths.insert(path, json!({"serverRelativeURL": url}));
    }
    json!({"paths": paths})
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn root(kind: &ServedKind) -> String {
    if kind.group.is_empty() {
        format!("/api/{}", kind.version)
    } else {
        format!("/apis/{}/{}", kind.group, kind.version)
    }
}

/// `/openapi/v3/api/v1` and `/openapi/v3/apis/{group}/{version}`; `None` if there is no such version.
pub fn document(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let kinds = of_version(registry, group, version);
    if kinds.is_empty() {
        return None;
    }
    let mut paths = Map::new();
    let mut schemas = BTreeMap::new();
    for kind in &kinds {
        let Some((name, mut schema)) = schema_of(kind) else {
            continue;
        };
        schema["x-kubernetes-group-version-kind"] = json!([gvk(kind)]);
        add_paths(&mut paths, kind, &name);
        add_referenced(&mut schemas, &schema);
        schemas.insert(name, schema);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": super::KUBERNETES},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

fn gvk(kind: &ServedKind) -> Value {
    json!({"group": kind.group, "kind": kind.kind, "version": kind.version})
}

fn schema_of(kind: &ServedKind) -> Option<(String, Value)> {
    if kind.origin == Origin::BuiltIn {
        let name = builtin::definition_name(&kind.group_version_kind())?;
        return Some((name.to_owned(), builtin::definitions().get(name)?.clone()));
    }
    let mut schema = kind.definition.as_ref()?["schema"]["openAPIV3Schema"].clone();
    complete_embedded(&mut schema);
    add_object_fields(&mut schema);
    let reversed: Vec<&str> = kind.group.split('.').rev().collect();
    Some((
        format!("{}.{}.{}", reversed.join("."), kind.version, kind.kind),
        schema,
    ))
}

/// Gives a schema the fields that every object has.
fn add_object_fields(schema: &mut Value) {
    let text = |description: &str| json!({"type": "string", "description": description});
    let properties = &mut schema["properties"];
    properties["apiVersion"] =
        text("APIVersion defines the versioned schema of this representation of an object.");
    properties["kind"] =
        text("Kind is a string value representing the REST resource this object represents.");
    properties["metadata"] = json!({
        "description": "Standard object's metadata.",
        "allOf": [{"$ref": format!("{REFERENCE}{OBJECT_META}")}],
    });
}

/// Objects inside of objects are shown with the fields that every object has.
fn complete_embedded(schema: &mut Value) {
    if schema["x-kubernetes-embedded-resource"] == true {
        add_object_fields(schema);
        let mut required = schema["required"].as_array().cloned().unwrap_or_default();
        for field in ["apiVersion", "kind"] {
            if !required.iter().any(|known| known == field) {
                required.push(field.into());
            }
        }
        schema["required"] = required.into();
    }
    match schema {
        Value::Object(fields) => fields
            .values_mut()
            .filter(|field| !field.is_string())
            .for_each(complete_embedded),
        Value::Array(items) => items.iter_mut().for_each(complete_embedded),
        _ => {}
    }
}

/// Adds the definitions that a schema refers to, and those that they refer to.
fn add_referenced(schemas: &mut BTreeMap<String, Value>, schema: &Value) {
    let mut wanted = BTreeSet::new();
    references(schema, &mut wanted);
    while let Some(name) = wanted.pop_first() {
        if schemas.contains_key(&name) {
            continue;
        }
        if let Some(definition) = builtin::definitions().get(&name) {
            references(definition, &mut wanted);
            schemas.insert(name, definition.clone());
        }
    }
}

fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            found.extend(
                reference
                    .and_then(|path| path.strip_prefix(REFERENCE))
                    .map(str::to_owned),
            );
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn add_paths(paths: &mut Map<String, Value>, kind: &ServedKind, schema: &str) {
    let content = json!({"application/json": {"schema": {"$ref": format!("{REFERENCE}{schema}")}}});
    let operation = |action: &str| {
        json!({
            "x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk(kind),
            "responses": {"200": {"description": "OK", "content": content}},
        })
    };
    let query = |name: &str, kind: &str| json!({"name": name, "in": "query", "schema": {"type": kind}});
    let parameters: Vec<Value> = PATCH_PARAMETERS
        .iter()
        .map(|(name, kind)| query(name, kind))
        .collect();
    let place = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let collection = format!("{}{place}/{}", root(kind), kind.plural);
    let mut write = operation("post");
    write["parameters"] = parameters.clone().into();
    let mut patch = operation("patch");
    patch["parameters"] = parameters.clone().into();
    let media = [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ];
    let bodies: Map<String, Value> = media
        .into_iter()
        .map(|media| (media.to_owned(), json!({"schema": {"type": "object"}})))
        .collect();
    patch["requestBody"] = json!({"content": bodies});
    let mut replace = operation("put");
    replace["parameters"] = parameters.into();
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({
            "get": operation("get"), "put": replace, "patch": patch, "delete": operation("delete"),
        }),
    );
    paths.insert(collection, json!({"get": operation("list"), "post": write}));
}
