//! From JSON to CEL's values, by the schema (`apiextensions-apiserver/pkg/apiserver/schema/cel`).
//! Lists of type `set` and `map` have no order in a rule: they are sorted here, so that equal ones compare equal.

use super::evaluate::with_functions;
use crate::schema::node::{Additional, ListType, Node, ValueType};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, Program, Value as Cel};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The value as a rule sees it.
pub(super) fn to_cel(node: Option<&Node>, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(truth) => Cel::Bool(*truth),
        Value::Number(number) => number_to_cel(node, number),
        Value::String(text) => text_to_cel(node, text),
        Value::Array(items) => {
            let schema = node.and_then(|node| node.items.as_deref());
            let mut items: Vec<&Value> = items.iter().collect();
            match node.map(|node| &node.list_type) {
                Some(ListType::Set) => items.sort_by_cached_key(ToString::to_string),
                Some(ListType::Map(keys)) => items.sort_by_cached_key(|item| identity(keys, item)),
                _ => {}
            }
            Cel::List(Arc::new(
                items.into_iter().map(|item| to_cel(schema, item)).collect(),
            ))
        }
        Value::Object(fields) => {
            let is_map =
                node.is_some_and(|node| matches!(node.additional, Additional::Values(_) | Additional::Any));
            let entry = |(name, field): (&String, &Value)| {
                let name = if is_map { name.clone() } else { escaped(name) };
                let schema = node.and_then(|node| node.field(&name)).map(Arc::as_ref);
                (Key::String(Arc::new(name)), to_cel(schema, field))
            };
            let map: HashMap<Key, Cel> = fields.iter().map(entry).collect();
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

fn identity(keys: &[String], item: &Value) -> Vec<String> {
    keys.iter()
        .map(|key| item.get(key).map(Value::to_string).unwrap_or_default())
        .collect()
}

fn number_to_cel(node: Option<&Node>, number: &serde_json::Number) -> Cel {
    let float = || Cel::Float(number.as_f64().unwrap_or(f64::NAN));
    if node.is_some_and(|node| node.value_type == Some(ValueType::Number)) {
        return float();
    }
    match number.as_f64() {
        Some(whole) if whole.fract() == 0.0 && whole.abs() < 9.2e18 => {
            Cel::Int(number.as_i64().unwrap_or(whole as i64))
        }
        _ => float(),
    }
}

fn text_to_cel(node: Option<&Node>, text: &str) -> Cel {
    let plain = || Cel::String(Arc::new(text.to_owned()));
    let Some(node) = node.filter(|node| !node.int_or_string) else {
        return plain();
    };
    match node.format.as_deref() {
        Some("date-time") => read("timestamp(text)", text).unwrap_or_else(plain),
        Some("date") => read("timestamp(text)", &format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        Some("duration") => read("duration(text)", text).unwrap_or_else(plain),
        Some("byte") => read("base64.decode(text)", text).unwrap_or_else(plain),
        Some(_) | None => plain(),
    }
}

/// Times are read by CEL's own functions, so that a rule compares like with like.
fn read(expression: &str, text: &str) -> Option<Cel> {
    let program = Program::compile(expression).ok()?;
    with_functions(|base: &Context<'static>| {
        let mut context = base.new_inner_scope();
        context.add_variable_from_value("text", Cel::String(Arc::new(text.to_owned())));
        program.execute(&context).ok()
    })
}

const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A property's name as rules write it.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
