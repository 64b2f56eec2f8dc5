//! The columns of a definition (`additionalPrinterColumns`).

use jiff::Timestamp;
use serde_json::Value;

use super::{Cell, Column, age, name_column};
use crate::schema::jsonpath::JsonPath;

/// A path, and how what it finds is shown.
pub(super) struct Path {
    path: Option<JsonPath>,
    kind: String,
}

impl Path {
    pub(super) fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found = self.path.as_ref().and_then(|path| path.find(object).ok());
        let Some(values) = found.filter(|values| !values.is_empty()) else {
            return Value::Null;
        };
        let first = values[0];
        match self.kind.as_str() {
            "date" => age::since(first, now),
            "integer" if !first.is_i64() => Value::Null,
            "number" if !first.is_number() => Value::Null,
            "boolean" if !first.is_boolean() => Value::Null,
            "integer" | "number" | "boolean" => first.clone(),
            _ => Value::from(text(first)),
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The columns of a version: the name, those that it names, or the age if it names none.
pub(super) fn columns(version: &Value) -> Vec<Column> {
    let mut columns = vec![name_column()];
    let Some(own) = version["additionalPrinterColumns"]
        .as_array()
        .filter(|own| !own.is_empty())
    else {
        columns.push(column(
            "Age",
            "date",
            "",
            &super::described(
                "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                "creationTimestamp",
            ),
            0,
            ".metadata.creationTimestamp",
        ));
        return columns;
    };
    for one in own {
        let field = |name: &str| one[name].as_str().unwrap_or_default();
        columns.push(column(
            field("name"),
            field("type"),
            field("format"),
            field("description"),
            one["priority"].as_i64().unwrap_or(0),
            field("jsonPath"),
        ));
    }
    columns
}

fn column(name: &str, kind: &str, format: &str, description: &str, priority: i64, path: &str) -> Column {
    let description = if description.is_empty() {
        format!("Custom resource definition column (in JSONPath format): {path}")
    } else {
        description.to_owned()
    };
    Column {
        name: name.to_owned(),
        kind: kind.to_owned(),
        format: format.to_owned(),
        description,
        priority,
        cell: Cell::Path(Path {
            path: JsonPath::parse(path).ok(),
            kind: kind.to_owned(),
        }),
    }
}
