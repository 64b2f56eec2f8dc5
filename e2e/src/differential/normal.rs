//! What no two servers share, taken out: UIDs, versions, times, generated names, tokens of pages.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"));
static VERSIONS: LazyLock<Regex> = LazyLock::new(|| pattern(r"resource version: \d+( \(\d+\))?"));
static VERSION_LINE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"resourceVersion: "\d+""#));
static CURRENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"current: \d+"));
static AGE: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\d+s$"));
static RECEIVED: LazyLock<Regex> = LazyLock::new(|| pattern(r"the ResourceVersion in record \(\d+\)"));

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, and each is used by every test"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a valid pattern")
}

/// The value without what differs between any two servers.
pub(super) fn normal(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(object(map)),
        Value::Array(items) => items.iter().map(normal).collect(),
        Value::String(text) => Value::String(string(text)),
        other => other.clone(),
    }
}

fn object(map: &Map<String, Value>) -> Map<String, Value> {
    let generated = map.get("generateName").and_then(Value::as_str);
    map.iter()
        .map(|(key, value)| {
            let value = match (key.as_str(), value) {
                ("resourceVersion", Value::String(version)) if !version.is_empty() && version != "0" => {
                    "(version)".into()
                }
                // The real server checks some fields several times, and says so as often.
                ("causes", Value::Array(causes)) => once(causes),
                // Sorted by time, which two servers do not share.
                ("managedFields", Value::Array(entries)) => by_manager(entries),
                ("continue", Value::String(token)) if !token.is_empty() => "(token)".into(),
                ("name", Value::String(name)) => match generated {
                    Some(prefix) if is_generated(prefix, name) => "(generated)".into(),
                    _ => normal(value),
                },
                _ => normal(value),
            };
            (string(key), value)
        })
        .collect()
}

fn is_generated(prefix: &str, name: &str) -> bool {
    let kept = name.len().saturating_sub(5);
    prefix.get(..kept).is_some_and(|kept| name.starts_with(kept))
}

fn by_manager(entries: &[Value]) -> Value {
    let mut entries: Vec<Value> = entries.iter().map(normal).collect();
    entries.sort_by_key(|entry| {
        ["manager", "operation", "subresource", "apiVersion"].map(|field| entry[field].to_string())
    });
    Value::Array(entries)
}

fn once(causes: &[Value]) -> Value {
    let mut distinct: Vec<Value> = Vec::new();
    for cause in causes.iter().map(normal) {
        if !distinct.contains(&cause) {
            distinct.push(cause);
        }
    }
    // The real server goes through the managers in no order.
    if distinct
        .iter()
        .all(|cause| cause["reason"] == "FieldManagerConflict")
    {
        distinct.sort_by_key(|cause| cause["message"].to_string());
    }
    Value::Array(distinct)
}

fn string(text: &str) -> String {
    let text = UID.replace_all(text, "(uid)");
    let text = VERSION_LINE.replace_all(&text, "resourceVersion: (version)");
    let text = CURRENT.replace_all(&text, "current: (version)");
    let text = AGE.replace_all(&text, "(age)");
    let text = TIME.replace_all(&text, "(time)");
    let text = VERSIONS.replace_all(&text, "resource version: (version)");
    RECEIVED
        .replace_all(&text, "the ResourceVersion in record ((version))")
        .into_owned()
}
