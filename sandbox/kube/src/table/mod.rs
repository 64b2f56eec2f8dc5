//! Objects as tables, which kubectl shows: the columns of definitions, and those of the kinds that Kubernetes has itself.

mod age;
mod builtin;
mod custom;
mod pod;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use serde_json::{Value, json};

/// What the rows of a table carry besides their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeObject {
    /// Nothing.
    None,
    /// The object's metadata.
    Metadata,
    /// The whole object.
    Object,
}

/// One column.
struct Column {
    name: String,
    kind: String,
    format: String,
    description: String,
    priority: i64,
    cell: Cell,
}

/// Where a cell comes from.
enum Cell {
    /// A path of a definition.
    Path(custom::Path),
    /// A rule of our own.
    Rule(fn(&Value, Timestamp) -> Value),
}

/// The columns of a kind.
pub struct Columns(Vec<Column>);

impl Columns {
    /// Those of a custom kind, by the version of its definition (`spec.versions[i]`).
    pub fn for_crd_version(version: &Value) -> Self {
        Self(custom::columns(version))
    }

    /// Those of a kind of Kubernetes; name and age for kinds without columns of their own.
    pub fn for_builtin(group: &str, _version: &str, kind: &str) -> Self {
        Self(builtin::columns(group, kind))
    }

    /// The `Table` of these objects.
    pub fn table(
        &self,
        objects: &[&Value],
        list_meta: &Value,
        include: IncludeObject,
        now: Timestamp,
    ) -> Value {
        let rows: Vec<Value> = objects
            .iter()
            .map(|object| self.row(object, include, now))
            .collect();
        let columns: Vec<Value> = self
            .0
            .iter()
            .map(|column| {
                json!({
                    "name": column.name, "type": column.kind, "format": column.format,
                    "description": column.description, "priority": column.priority,
                })
            })
            .collect();
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": list_meta,
            "columnDefinitions": columns, "rows": rows,
        })
    }

    fn row(&self, object: &Value, include: IncludeObject, now: Timestamp) -> Value {
        let cells: Vec<Value> = self
            .0
            .iter()
            .map(|column| match &column.cell {
                Cell::Path(path) => path.cell(object, now),
                Cell::Rule(rule) => rule(object, now),
            })
            .collect();
        let shown = match include {
            IncludeObject::None => Value::Null,
            IncludeObject::Object => object.clone(),
            IncludeObject::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": object["metadata"],
            }),
        };
        let mut row = json!({"cells": cells, "object": shown});
        if let Some(condition) = pod::completed(object) {
            row["conditions"] = json!([condition]);
        }
        row
    }
}

fn name_column() -> Column {
    Column {
        name: "Name".to_owned(),
        kind: "string".to_owned(),
        format: "name".to_owned(),
        description: described("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "name"),
        priority: 0,
        cell: Cell::Rule(|object, _| object["metadata"]["name"].clone()),
    }
}

/// What the definitions say of a field.
fn described(definition: &str, field: &str) -> String {
    crate::schema::builtin::definitions()
        .get(definition)
        .and_then(|schema| schema["properties"][field]["description"].as_str())
        .unwrap_or_default()
        .to_owned()
}
