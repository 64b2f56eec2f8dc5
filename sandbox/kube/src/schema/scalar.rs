//! Checks of single values: numbers, strings, formats, enumerations.

use super::field_error::ErrorType;
use super::format;
use super::node::{Checks, Node, ValueType};
use super::path::Path;
use super::validate::{ValidationOutcome, nowhere};
use serde_json::{Number, Value};

/// Checks a number or a string.
pub(super) fn check(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    match value {
        Value::Number(number) => check_number(node, number, path, outcome),
        Value::String(text) => check_text(&node.checks, text, path, outcome),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {}
    }
}

/// Checks the format of a string; it counts as its type.
pub(super) fn check_format(format: &str, text: &str, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    if format::is_checked(format) && !format::matches(format, text) {
        let detail = format!("{path} in body must be of type {format}: \"{text}\"");
        outcome.tell(path, ErrorType::TypeInvalid, Some(text.into()), detail);
    }
}

/// Only the first broken rule of a string is reported.
fn check_text(checks: &Checks, text: &str, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let length = text.chars().count() as u64;
    if let Some(most) = checks.max_length.filter(|most| length > *most) {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        return outcome.tell(path, ErrorType::TooLong, None, detail);
    }
    let detail = match (&checks.min_length, &checks.pattern) {
        (Some(least), _) if length < *least => format!("should be at least {least} chars long"),
        (_, Some((pattern, compiled))) if !compiled.is_match(text) => format!("should match '{pattern}'"),
        _ => return,
    };
    let detail = format!("{path} in body {detail}");
    outcome.tell(path, ErrorType::Invalid, Some(text.into()), detail);
}

fn check_number(node: &Node, number: &Number, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let checks = &node.checks;
    let float = number.as_f64().unwrap_or(f64::NAN);
    if node.value_type == Some(ValueType::Integer) && !fits(node.format.as_deref(), number, float) {
        let format = match node.format.as_deref() {
            Some(format) => format!("with format {format}"),
            None => "(default format)".to_owned(),
        };
        outcome.add(nowhere(format!(
            "Checked value must be of type integer {format} in {path}"
        )));
    }
    let mut say = |detail: String| {
        let detail = format!("{path} in body {detail}");
        outcome.tell(path, ErrorType::Invalid, Some(number.clone().into()), detail);
    };
    if let Some(step) = checks.multiple_of.filter(|step| (float / step).fract() != 0.0) {
        say(format!("should be a multiple of {step}"));
    }
    match checks.maximum {
        Some((limit, true)) if float >= limit => say(format!("should be less than {limit}")),
        Some((limit, false)) if float > limit => say(format!("should be less than or equal to {limit}")),
        _ => {}
    }
    match checks.minimum {
        Some((limit, true)) if float <= limit => say(format!("should be greater than {limit}")),
        Some((limit, false)) if float < limit => say(format!("should be greater than or equal to {limit}")),
        _ => {}
    }
}

fn fits(format: Option<&str>, number: &Number, float: f64) -> bool {
    if float.fract() != 0.0 {
        return false;
    }
    let Some(whole) = number.as_i64() else {
        return number.as_u64().is_none() && float.abs() < 9.2e18;
    };
    match format {
        Some("int32") => i32::try_from(whole).is_ok(),
        Some("uint32") => u32::try_from(whole).is_ok(),
        Some("uint64") => whole >= 0,
        Some(_) | None => true,
    }
}

/// Checks that a value is one of those allowed.
pub(super) fn check_enum(checks: &Checks, value: &Value, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    if checks.allowed.is_empty() || checks.allowed.iter().any(|allowed| same(allowed, value)) {
        return;
    }
    let supported: Vec<String> = checks.allowed.iter().map(supported).collect();
    let detail = format!("supported values: {}", supported.join(", "));
    outcome.tell(path, ErrorType::NotSupported, Some(value.clone()), detail);
}

fn same(allowed: &Value, value: &Value) -> bool {
    match (allowed.as_f64(), value.as_f64()) {
        (Some(allowed), Some(value)) => allowed.to_bits() == value.to_bits(),
        _ => allowed == value,
    }
}

fn supported(value: &Value) -> String {
    match value {
        Value::String(text) => super::go_quote(text),
        other => super::go_quote(&other.to_string()),
    }
}
