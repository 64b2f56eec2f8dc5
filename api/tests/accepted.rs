//! What a server accepts is read: one object that cannot be read would keep all objects of its kind from being read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test ends by panicking"
)]

use drydock_api::insights::{UpdateInformer, UpdatePlan, UpdatePlanInsight, UpdateStatus};
use drydock_api::mcu::{ManagedClustersUpgrade, ManagedClustersUpgradeRecord, UpgradeRiskAcceptance};
use drydock_api::{crds, schedule, upgradeconfig};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Times as `date-time` of the API server's formats lets them through.
const TIMES: [&str; 6] = [
    "2026-01-31T22:00:00Z",
    "2026-01-31t22:00:00.25z",
    "2026-01-31T22:00:00+99:00",
    "2026-01-31T22:00:00-30:00",
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00+14:00",
];

/// What is drawn where the schema leaves a choice.
#[derive(Clone, Copy, Debug)]
struct Choice {
    time: &'static str,
    /// The largest number that is allowed, or the smallest.
    is_largest: bool,
    /// Levels of what may be anything.
    levels: usize,
    /// Fields that may be left out are.
    is_least: bool,
}

fn choices() -> impl Iterator<Item = Choice> {
    TIMES.into_iter().flat_map(|time| {
        [0, 90, 128, 2_000].into_iter().flat_map(move |levels| {
            [(true, true), (true, false), (false, true), (false, false)].map(|(is_largest, is_least)| {
                Choice {
                    time,
                    is_largest,
                    levels,
                    is_least,
                }
            })
        })
    })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, level| {
        if level % 2 == 0 {
            Value::Array(vec![inner])
        } else {
            Value::Object(Map::from_iter([("a".to_owned(), inner)]))
        }
    })
}

fn number(schema: &Value, is_largest: bool) -> Value {
    let of_format = match schema["format"].as_str() {
        Some("int32") => i64::from(i32::MAX),
        _ => i64::MAX,
    };
    let (word, otherwise) = if is_largest {
        ("maximum", of_format)
    } else {
        ("minimum", -of_format - 1)
    };
    schema[word]
        .as_f64()
        .map_or(json!(otherwise), |bound| json!(bound.round() as i64))
}

fn value(schema: &Value, choice: Choice) -> Value {
    if let Some(words) = schema["enum"].as_array() {
        return words[if choice.is_largest { words.len() - 1 } else { 0 }].clone();
    }
    if schema["x-kubernetes-int-or-string"] == true {
        return if choice.is_largest {
            json!(i64::from(i32::MAX))
        } else {
            json!("50%")
        };
    }
    match schema["type"].as_str() {
        Some("object") => object(schema, choice),
        Some("array") if choice.is_least && schema["minItems"].is_null() => json!([]),
        Some("array") => json!([value(&schema["items"], choice)]),
        Some("boolean") => json!(choice.is_largest),
        Some("integer") => number(schema, choice.is_largest),
        Some("number") => json!(1.5),
        Some("string") if schema["format"] == "date-time" => json!(choice.time),
        Some("string") if choice.is_largest => {
            let longest = schema["maxLength"].as_u64().map_or(64, |most| most.min(64));
            json!("é".repeat(usize::try_from(longest).unwrap()))
        }
        Some("string") => json!(""),
        _ => nested(choice.levels),
    }
}

fn object(schema: &Value, choice: Choice) -> Value {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut fields = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if !choice.is_least || required.contains(&json!(name)) {
            fields.insert(name.clone(), value(field, choice));
        }
    }
    if schema["additionalProperties"].is_object() && !choice.is_least {
        fields.insert(
            "example".to_owned(),
            value(&schema["additionalProperties"], choice),
        );
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true && choice.levels > 0 {
        fields.insert("unknownToAll".to_owned(), nested(choice.levels));
    }
    Value::Object(fields)
}

type Read = fn(&str) -> Result<(), serde_json::Error>;

fn read_as<K: DeserializeOwned>(text: &str) -> Result<(), serde_json::Error> {
    // As it is read, in a list.
    serde_json::from_str::<kube::core::ObjectList<Lenient<K>>>(text).map(|_| ())
}

/// Lists ask for what can be cloned.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Lenient<K>(K);

impl<K> Clone for Lenient<K> {
    fn clone(&self) -> Self {
        unreachable!("nobody clones it")
    }
}

fn reader(kind: &str, group: &str) -> Read {
    match kind {
        "ManagedClustersUpgrade" => read_as::<ManagedClustersUpgrade>,
        "ManagedClustersUpgradeRecord" => read_as::<ManagedClustersUpgradeRecord>,
        "UpgradeRiskAcceptance" => read_as::<UpgradeRiskAcceptance>,
        "UpdateInformer" => read_as::<UpdateInformer>,
        "UpdatePlan" => read_as::<UpdatePlan>,
        "UpdatePlanInsight" => read_as::<UpdatePlanInsight>,
        "UpdateStatus" => read_as::<UpdateStatus>,
        "UpgradeConfig" if group == "upgrade.managed.openshift.io" => read_as::<upgradeconfig::UpgradeConfig>,
        "UpgradeConfig" => read_as::<schedule::UpgradeConfig>,
        "ClusterVersion" => read_as::<schedule::ManagedClusterVersion>,
        "NodeForceDrain" => read_as::<schedule::NodeForceDrain>,
        "UpgradeJob" => read_as::<schedule::UpgradeJob>,
        "UpgradeJobHook" => read_as::<schedule::UpgradeJobHook>,
        "UpgradeSuspensionWindow" => read_as::<schedule::UpgradeSuspensionWindow>,
        other => panic!("{other} has no reader"),
    }
}

#[test]
fn everything_that_a_definition_accepts_is_read_in_a_list() {
    let mut unread = Vec::new();
    for definition in crds() {
        let kind = definition.spec.names.kind.clone();
        let version = serde_json::to_value(&definition.spec.versions[0]).unwrap();
        let schema = &version["schema"]["openAPIV3Schema"];
        let read = reader(&kind, &definition.spec.group);
        for choice in choices() {
            let mut drawn = object(schema, choice);
            drawn["metadata"] = json!({"name": "a"});
            let list = json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [drawn]});
            if let Err(error) = read(&list.to_string()) {
                unread.push(format!("a {kind} of {choice:?} is not read: {error}"));
            }
        }
    }
    assert!(unread.is_empty(), "{}", unread.join("\n"));
}
