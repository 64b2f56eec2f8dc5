//! Our definitions beside those of the originals.

use proptest::{
    prelude::*,
    strategy::{BoxedStrategy, Just},
};
use serde_json::{Map, Value, json};

/// The schema of a definition.
pub fn schema(definition: &Value) -> Value {
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Every value that `original` describes, `ours` describes too. What ours says beyond these words may refuse something: it is among the
/// `refusals`, each a path and a word.
pub fn admits(ours: &Value, original: &Value, path: &str, refusals: &[(&str, &str)]) {
    let known = [
        "additionalProperties",
        "default",
        "description",
        "enum",
        "format",
        "items",
        "minimum",
        "properties",
        "required",
        "type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
    ];
    for word in ours.as_object().unwrap().keys() {
        let is_same = ours[word] == original[word];
        assert!(
            is_same || known.contains(&word.as_str()) || refusals.contains(&(path, word)),
            "{path}: ours says {word}, which may refuse something"
        );
    }
    for word in ["type", "format", "default"] {
        // All integers of a server have 64 bits.
        let is_same = ours[word] == original[word] || (ours[word] == "int64" && original[word].is_null());
        assert!(
            is_same,
            "{path}: {word} is {}, not {}",
            ours[word], original[word]
        );
    }
    if ours["x-kubernetes-list-type"] == "map" {
        assert_eq!(original["x-kubernetes-list-type"], "map", "{path}");
    }
    admits_values(ours, original, path);
    for (name, field) in original["properties"].as_object().into_iter().flatten() {
        match ours["properties"].get(name) {
            Some(ours) => admits(ours, field, &format!("{path}.{name}"), refusals),
            None => assert_eq!(
                ours["x-kubernetes-preserve-unknown-fields"], true,
                "{path}.{name} is not ours"
            ),
        }
    }
    for (word, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if original[word].is_object() && ours["x-kubernetes-preserve-unknown-fields"] != true {
            admits(&ours[word], &original[word], &format!("{path}{suffix}"), refusals);
        }
    }
}

fn admits_values(ours: &Value, original: &Value, path: &str) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for required in list(&ours["required"]) {
        assert!(
            list(&original["required"]).contains(&required),
            "{path} requires {required}"
        );
    }
    if ours["enum"].is_array() {
        assert!(
            original["enum"].is_array(),
            "{path}: only ours is limited to some values"
        );
        for value in list(&original["enum"]) {
            assert!(list(&ours["enum"]).contains(&value), "{path} refuses {value}");
        }
    }
    if let Some(minimum) = ours["minimum"].as_f64() {
        assert!(
            original["minimum"]
                .as_f64()
                .is_some_and(|theirs| theirs >= minimum),
            "{path}"
        );
    }
}

/// The first field of a value that the schema does not know, and that a server would drop.
pub fn unknown_field(schema: &Value, value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let path = format!("{path}.{name}");
            let known = schema["properties"].get(name);
            match known.or_else(|| schema.get("additionalProperties")) {
                Some(schema) => unknown_field(schema, field, &path),
                None => (schema["x-kubernetes-preserve-unknown-fields"] != true).then_some(path),
            }
        }),
        Value::Array(items) => items
            .iter()
            .find_map(|item| unknown_field(&schema["items"], item, &format!("{path}[]"))),
        _ => None,
    }
}

/// Any value that a schema describes.
pub fn any_of(schema: &Value) -> BoxedStrategy<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return proptest::sample::select(values.clone()).boxed();
    }
    match schema["type"].as_str().unwrap() {
        "object" if schema["additionalProperties"].is_object() => {
            let fields = ("[a-z]{1,8}", any_of(&schema["additionalProperties"]));
            proptest::collection::btree_map(fields.0, fields.1, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect()))
                .boxed()
        }
        "object" => any_object(schema),
        "array" => proptest::collection::vec(any_of(&schema["items"]), 0..3)
            .prop_map(Value::from)
            .boxed(),
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            let minimum = schema["minimum"].as_i64().unwrap_or(i64::from(i32::MIN));
            (minimum..=i64::from(i32::MAX)).prop_map(Value::from).boxed()
        }
        "string" if schema["format"] == "date-time" => (0_i64..4_000_000_000)
            .prop_map(|second| json!(jiff::Timestamp::from_second(second).unwrap().to_string()))
            .boxed(),
        "string" => ".{0,12}".prop_map(Value::from).boxed(),
        other => panic!("no values of type {other}"),
    }
}

fn any_object(schema: &Value) -> BoxedStrategy<Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let fields = schema["properties"].as_object().cloned().unwrap_or_default();
    fields
        .into_iter()
        .fold(Just(Map::new()).boxed(), |object, (name, field)| {
            let value = if required.contains(&json!(name)) {
                any_of(&field).prop_map(Some).boxed()
            } else {
                proptest::option::of(any_of(&field)).boxed()
            };
            (object, value)
                .prop_map(move |(mut object, value)| {
                    value.and_then(|value| object.insert(name.clone(), value));
                    object
                })
                .boxed()
        })
        .prop_map(Value::from)
        .boxed()
}
