//! Runs the rules of a schema over an object.

use super::rule::Rule;
use super::value::to_cel;
use crate::schema::correlate;
use crate::schema::field_error::{ErrorType, FieldError};
use crate::schema::node::Node;
use crate::schema::path::Path;
use kube_cel::KubeCelExt;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{Context, ExecutionError, Value as Cel};
use serde_json::Value;
use std::sync::Arc;

/// Lends the functions that Kubernetes gives its rules; registering them is slow.
pub(super) fn with_functions<R>(run: impl FnOnce(&Context<'static>) -> R) -> R {
    thread_local! {
        static FUNCTIONS: Context<'static> = with_types(Context::default().with_all());
    }
    FUNCTIONS.with(run)
}

/// The types of CEL as values, and `type()`, which the library lacks.
fn with_types(mut context: Context<'static>) -> Context<'static> {
    for name in [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "uint",
    ] {
        context.add_variable_from_value(name, type_value(name));
    }
    context.add_function("type", |value: Cel| -> Result<Cel, ExecutionError> {
        Ok(type_value(type_name(&value)))
    });
    context
}

fn type_value(name: &str) -> Cel {
    Cel::String(Arc::new(format!("type({name})")))
}

fn type_name(value: &Cel) -> &'static str {
    match value {
        Cel::Bool(_) => "bool",
        Cel::Bytes(_) => "bytes",
        Cel::Float(_) => "double",
        Cel::Int(_) => "int",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        Cel::String(_) => "string",
        Cel::UInt(_) => "uint",
        Cel::Duration(_) => "google.protobuf.Duration",
        Cel::Timestamp(_) => "google.protobuf.Timestamp",
        Cel::Function(..) | Cel::Opaque(_) => "dyn",
    }
}

/// The rules that `value` and what it holds break. Rules without `oldSelf` are not asked again about what did
/// not change; rules with it run only where there is a former value of the same thing.
pub(in crate::schema) fn check(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    if !node.rules_within || value.is_null() {
        return;
    }
    check_here(node, value, old, path, errors);
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = node.field(name) {
                    let former = correlate::field(node, old, name);
                    check(schema, field, former, &Path::Field(path, name), errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    let former = correlate::item(node, old, item);
                    check(schema, item, former, &Path::Item(path, index), errors);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_here(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let unchanged = old == Some(value);
    let asked = |rule: &&Arc<Rule>| {
        if rule.uses_old_self {
            old.is_some() || rule.optional_old_self
        } else {
            !unchanged
        }
    };
    let mut asked = node.rules.iter().filter(asked).peekable();
    if asked.peek().is_none() {
        return;
    }
    let itself = to_cel(Some(node), value);
    let former = old.map(|old| to_cel(Some(node), old));
    with_functions(|base| {
        for rule in asked {
            let mut context = base.new_inner_scope();
            context.add_variable_from_value("self", itself.clone());
            if rule.optional_old_self {
                let optional = former.clone().map_or_else(OptionalValue::none, OptionalValue::of);
                context.add_variable_from_value("oldSelf", Cel::Opaque(Arc::new(optional)));
            } else if let Some(former) = &former {
                context.add_variable_from_value("oldSelf", former.clone());
            }
            errors.extend(broken(rule, value, path, &context));
        }
    });
}

fn broken(rule: &Rule, value: &Value, path: &Path<'_>, context: &Context<'_>) -> Option<FieldError> {
    match rule.program.execute(context) {
        Ok(Cel::Bool(true)) => None,
        Ok(Cel::Bool(false)) => Some(refusal(rule, value, path, context)),
        Ok(_) => Some(failure(rule, value, path, "rule did not evaluate to a boolean")),
        Err(error) => Some(failure(rule, value, path, &words(&error))),
    }
}

fn refusal(rule: &Rule, value: &Value, path: &Path<'_>, context: &Context<'_>) -> FieldError {
    let spoken = match rule
        .message_program
        .as_ref()
        .map(|program| program.execute(context))
    {
        Some(Ok(Cel::String(words))) if !words.trim().is_empty() && !words.contains('\n') => {
            Some(words.trim().to_owned())
        }
        _ => None,
    };
    let field = match &rule.field_path {
        Some(below) if below.starts_with('[') => format!("{path}{below}"),
        Some(below) => format!("{path}.{below}").trim_start_matches('.').to_owned(),
        None => path.to_string(),
    };
    let shown = (rule.error_type == ErrorType::Invalid && !value.is_object() && !value.is_array())
        .then(|| value.clone());
    let detail = match rule.error_type {
        ErrorType::Duplicate => String::new(),
        _ => spoken.unwrap_or_else(|| rule.message_or_default()),
    };
    FieldError::new(field, rule.error_type, shown, detail)
}

/// A rule that could not be evaluated refuses the object, too.
fn failure(rule: &Rule, value: &Value, path: &Path<'_>, why: &str) -> FieldError {
    let kind = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::Null => "null",
    };
    let detail = format!("{why} evaluating rule: {}", rule.message_or_text());
    FieldError::new(path.to_string(), ErrorType::Invalid, Some(kind.into()), detail)
}

/// The library's error in the words of the API server's CEL library.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::UndeclaredReference(name) => {
            format!("undeclared reference to '{name}' (in container '')")
        }
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
