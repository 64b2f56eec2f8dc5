//! CustomResourceDefinitions: what makes one valid, which kinds it serves, and what its status says.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::kinds::{Origin, Registry, ScalePaths, ServedKind};
use super::{Cause, Status, structure};
use crate::schema::{FieldError, GroupVersionKind, Structural, builtin};
use crate::store::CollectionId;

/// Keeps a definition until its objects are gone.
pub(super) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The collection of the definitions.
pub(super) fn collection() -> CollectionId {
    CollectionId::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Fills in a definition's defaults and checks it.
///
/// # Errors
/// 422 with what is wrong.
pub(super) fn complete(definition: &mut Value, live: Option<&Value>) -> Result<(), Status> {
    let kind = GroupVersionKind::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    builtin::default(&kind, definition);
    let singular = text(&definition["spec"]["names"]["kind"]).to_lowercase();
    let list_kind = format!("{}List", text(&definition["spec"]["names"]["kind"]));
    if let Some(names) = definition["spec"]["names"].as_object_mut() {
        names.entry("singular").or_insert_with(|| singular.into());
        names.entry("listKind").or_insert_with(|| list_kind.into());
    }
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.entry("conversion")
            .or_insert_with(|| json!({"strategy": "None"}));
    }
    let causes = check(definition, live);
    if causes.is_empty() {
        return Ok(());
    }
    let name = text(&definition["metadata"]["name"]);
    Err(Status::invalid_of(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        name,
        causes,
    ))
}

fn check(definition: &Value, live: Option<&Value>) -> Vec<Cause> {
    let spec = &definition["spec"];
    let mut causes = Vec::new();
    for (path, field) in [
        ("spec.group", &spec["group"]),
        ("spec.names.plural", &spec["names"]["plural"]),
        ("spec.names.kind", &spec["names"]["kind"]),
        ("spec.scope", &spec["scope"]),
    ] {
        if text(field).is_empty() {
            causes.push(Cause::required(path, ""));
        }
    }
    let name = format!("{}.{}", text(&spec["names"]["plural"]), text(&spec["group"]));
    if text(&definition["metadata"]["name"]) != name {
        causes.push(Cause::invalid(
            "metadata.name",
            &definition["metadata"]["name"],
            "must be spec.names.plural+\".\"+spec.group",
        ));
    }
    if !matches!(text(&spec["scope"]), "" | "Cluster" | "Namespaced") {
        causes.push(Cause::new(
            "FieldValueNotSupported",
            "spec.scope",
            format!(
                "Unsupported value: {}: supported values: \"Cluster\", \"Namespaced\"",
                spec["scope"]
            ),
        ));
    }
    if let Some(live) = live {
        for field in ["group", "scope"] {
            if live["spec"][field] != spec[field] {
                causes.push(Cause::invalid(
                    format!("spec.{field}"),
                    &spec[field],
                    "field is immutable",
                ));
            }
        }
    }
    causes.extend(check_versions(spec));
    causes
}

fn check_versions(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let versions = versions(spec);
    let stored = versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count();
    if stored != 1 {
        causes.push(Cause::invalid(
            "spec.versions",
            &spec["versions"],
            "must have exactly one version marked as storage version",
        ));
    }
    // A schema that all versions share is reported where older clients write it.
    let schema_of = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    let shared = versions
        .iter()
        .all(|version| schema_of(version) == schema_of(&versions[0]));
    for (at, version) in versions.iter().enumerate() {
        let schema = &version["schema"]["openAPIV3Schema"];
        if !schema.is_object() {
            causes.push(Cause::required(
                format!("spec.versions[{at}].schema.openAPIV3Schema"),
                "",
            ));
            continue;
        }
        let path = if shared {
            "spec.validation.openAPIV3Schema".to_owned()
        } else {
            format!("spec.versions[{at}].schema.openAPIV3Schema")
        };
        let mut found = structure::check(schema, &path);
        match Structural::compile(schema, &kind_of(spec, version)) {
            Err(errors) => found.extend(errors.into_iter().map(|error| FieldError {
                field: format!("{path}.{}", error.field.trim_start_matches('.')),
                ..error
            })),
            Ok(compiled) => found.extend(structure::check_defaults(compiled.node(), &path)),
        }
        causes.extend(
            found
                .iter()
                .map(|error| Cause::new(error.error_type.reason(), error.field.as_str(), error.message())),
        );
        if shared {
            break;
        }
    }
    causes
}

/// Makes a registry serve the kinds of a complete definition, and no longer those it had before.
///
/// # Errors
/// 422 if its schemas cannot be compiled.
pub(super) fn register(registry: &mut Registry, definition: &Value) -> Result<(), Status> {
    let spec = &definition["spec"];
    let resource = CollectionId::new(text(&spec["group"]), text(&spec["names"]["plural"]));
    registry.remove_resource(&resource);
    for version in versions(spec).iter().filter(|version| version["served"] == true) {
        registry.insert(Arc::new(kind_type(spec, version, &resource)?));
    }
    Ok(())
}

fn kind_type(spec: &Value, version: &Value, resource: &CollectionId) -> Result<ServedKind, Status> {
    let names = &spec["names"];
    let kind = kind_of(spec, version);
    let schema = &version["schema"]["openAPIV3Schema"];
    let compiled = Structural::compile(schema, &kind)
        .map_err(|_| Status::internal(format!("the schema of {} is not structural", kind.kind)))?;
    let storage = versions(spec)
        .iter()
        .find(|version| version["storage"] == true)
        .map(|version| kind_of(spec, version).api_version());
    let subresources = &version["subresources"];
    Ok(ServedKind {
        storage_api_version: storage.unwrap_or_else(|| kind.api_version()),
        group: kind.group,
        version: kind.version,
        kind: kind.kind,
        list_kind: text(&names["listKind"]).to_owned(),
        plural: text(&names["plural"]).to_owned(),
        singular: text(&names["singular"]).to_owned(),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        collection: resource.clone(),
        resource: resource.clone(),
        origin: Origin::Custom,
        status: subresources["status"].is_object(),
        scale: scale_of(&subresources["scale"]),
        generation: true,
        definition: Some(Arc::new(version.clone())),
        schema: Some(Arc::new(compiled)),
        selectable_fields: version["selectableFields"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
            .collect(),
    })
}

fn scale_of(scale: &Value) -> Option<ScalePaths> {
    scale.is_object().then(|| ScalePaths {
        spec: text(&scale["specReplicasPath"]).to_owned(),
        status: text(&scale["statusReplicasPath"]).to_owned(),
        selector: scale["labelSelectorPath"].as_str().map(str::to_owned),
    })
}

/// The names that one definition has taken from the others of its group.
#[derive(Debug, Default)]
pub(super) struct TakenNames {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl TakenNames {
    /// Adds what another definition has been given.
    pub(super) fn add(&mut self, other: &Value) {
        let names = &other["status"]["acceptedNames"];
        for field in ["plural", "singular"] {
            self.resources.insert(text(&names[field]).to_owned());
        }
        self.resources.extend(texts(&names["shortNames"]));
        for field in ["kind", "listKind"] {
            self.kinds.insert(text(&names[field]).to_owned());
        }
    }

    /// The names that a definition may have, and why it may not have all that it asks for.
    fn accept(&self, names: &Value) -> (Value, Option<(&'static str, String)>) {
        let mut accepted = names.clone();
        let mut conflict = None;
        for (field, reason, taken) in [
            ("plural", "PluralConflict", &self.resources),
            ("singular", "SingularConflict", &self.resources),
            ("shortNames", "ShortNamesConflict", &self.resources),
            ("kind", "KindConflict", &self.kinds),
            ("listKind", "ListKindConflict", &self.kinds),
        ] {
            let wanted = match &names[field] {
                Value::String(name) => vec![name.clone()],
                list => texts(list),
            };
            let clashes: Vec<String> = wanted
                .iter()
                .filter(|name| taken.contains(*name))
                .map(|name| format!("{name:?} is already in use"))
                .collect();
            if clashes.is_empty() {
                continue;
            }
            conflict = Some((reason, clashes.join(", ")));
            match field {
                "plural" | "kind" => accepted[field] = "".into(),
                _ => {
                    accepted.as_object_mut().map(|accepted| accepted.remove(field));
                }
            }
        }
        (accepted, conflict)
    }
}

/// Says in the status which names a definition has been given and whether it is served, as the real server's controllers
/// do a moment after it was made. Returns whether it is served.
pub(super) fn establish(definition: &mut Value, taken: &TakenNames, now: &str) -> bool {
    let (accepted, conflict) = taken.accept(&definition["spec"]["names"]);
    let storage: Vec<Value> = versions(&definition["spec"])
        .iter()
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let status = &mut definition["status"];
    status["acceptedNames"] = accepted;
    match &conflict {
        None => set_condition(
            status,
            "NamesAccepted",
            true,
            "NoConflicts",
            "no conflicts found",
            now,
        ),
        Some((reason, why)) => set_condition(status, "NamesAccepted", false, reason, why, now),
    }
    let was_established = is_true(status, "Established");
    let is_served = was_established || conflict.is_none();
    if !was_established && is_served {
        let why = "the initial names have been accepted";
        set_condition(status, "Established", true, "InitialNamesAccepted", why, now);
    } else if !is_served {
        let why = "not all names are accepted";
        set_condition(status, "Established", false, "NotAccepted", why, now);
    }
    let mut stored: Vec<Value> = status["storedVersions"].as_array().cloned().unwrap_or_default();
    for version in storage {
        if !stored.contains(&version) {
            stored.push(version);
        }
    }
    status["storedVersions"] = stored.into();
    is_served
}

fn is_true(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn set_condition(status: &mut Value, kind: &str, holds: bool, reason: &str, why: &str, now: &str) {
    let word = if holds { "True" } else { "False" };
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return;
    };
    let known = conditions.iter().position(|condition| condition["type"] == kind);
    let since = match known {
        Some(at) if conditions[at]["status"] == word => conditions[at]["lastTransitionTime"].clone(),
        _ => now.into(),
    };
    let condition = json!({
        "type": kind, "status": word, "reason": reason, "message": why, "lastTransitionTime": since,
    });
    match known {
        Some(at) => conditions[at] = condition,
        None => conditions.push(condition),
    }
}

fn kind_of(spec: &Value, version: &Value) -> GroupVersionKind {
    GroupVersionKind::new(
        text(&spec["group"]),
        text(&version["name"]),
        text(&spec["names"]["kind"]),
    )
}

fn versions(spec: &Value) -> &[Value] {
    spec["versions"].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
