//! Whether a value keeps to its schema (`kube-openapi/pkg/validation/validate`, with its words and its order).

use super::correlate;
use super::field_error::{ErrorType, FieldError};
use super::node::{Additional, Checks, Node, ValueType};
use super::path::Path;
use super::scalar;
use serde_json::Value;

/// What a walk found: errors, and how many checks it made (which picks the branch that came closest).
#[derive(Default)]
pub(super) struct ValidationOutcome {
    pub errors: Vec<FieldError>,
    checks: usize,
}

impl ValidationOutcome {
    pub fn add(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Adds an error about the value at `path`.
    pub fn tell(
        &mut self,
        path: &Path<'_>,
        error_type: ErrorType,
        value: Option<Value>,
        detail: impl Into<String>,
    ) {
        self.add(FieldError::new(path.to_string(), error_type, value, detail));
    }

    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.checks += other.checks;
    }
}

/// Validates `value` and what it holds. Errors in what did not change since `old` are not reported: an object
/// that became invalid when its schema changed can still be changed elsewhere.
pub(super) fn validate(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
) -> ValidationOutcome {
    let mut outcome = ValidationOutcome::default();
    if old == Some(value) || (value.is_null() && node.nullable && node.checks.allowed.is_empty()) {
        return outcome;
    }
    check_type(node, value, path, &mut outcome);
    check_branches(&node.checks, value, old, path, &mut outcome);
    scalar::check(node, value, path, &mut outcome);
    if let Value::Array(items) = value {
        check_list(node, items, old, path, &mut outcome);
    }
    scalar::check_enum(&node.checks, value, path, &mut outcome);
    if let Value::Object(_) = value {
        check_object(node, value, old, path, &mut outcome);
    }
    outcome.checks += 5;
    outcome
}

fn check_type(node: &Node, value: &Value, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    if value.is_null() && node.nullable {
        return;
    }
    let found = type_of(value);
    let wanted = if node.int_or_string {
        if matches!(found, "integer" | "string") {
            return;
        }
        "integer,string"
    } else {
        let Some(wanted) = node.value_type else { return };
        let fits = wanted.as_str() == found || (wanted == ValueType::Number && found == "integer");
        if fits {
            if let (Value::String(text), Some(format)) = (value, &node.format) {
                scalar::check_format(format, text, path, outcome);
            }
            return;
        }
        wanted.as_str()
    };
    let detail = format!("{path} in body must be of type {wanted}: \"{found}\"");
    outcome.tell(path, ErrorType::TypeInvalid, Some(found.into()), detail);
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
        Value::Number(number) => match number.as_f64() {
            Some(float) if float.fract() != 0.0 => "number",
            _ => "integer",
        },
    }
}

/// An error that stands nowhere: those about several schemas name the place in their words only.
pub(super) fn nowhere(detail: String) -> FieldError {
    FieldError::new("<nil>", ErrorType::Invalid, Some("".into()), detail)
}

fn check_branches(
    checks: &Checks,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    outcome: &mut ValidationOutcome,
) {
    let tried = |branches: &[Node]| -> Vec<ValidationOutcome> {
        let tried = branches.iter().map(|branch| validate(branch, value, old, path));
        tried.collect()
    };
    check_any_of(tried(&checks.any_of), path, outcome);
    check_one_of(tried(&checks.one_of), path, outcome);
    check_all_of(tried(&checks.all_of), path, outcome);
    if let Some(not) = &checks.not
        && validate(not, value, None, path).is_valid()
    {
        outcome.add(nowhere(format!("\"{path}\" must not validate the schema (not)")));
    }
}

/// The first of those that went furthest.
fn closest(tried: Vec<ValidationOutcome>) -> Option<ValidationOutcome> {
    tried.into_iter().rev().max_by_key(|outcome| outcome.checks)
}

fn check_any_of(mut tried: Vec<ValidationOutcome>, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    if let Some(valid) = tried.iter().position(ValidationOutcome::is_valid) {
        return outcome.merge(tried.swap_remove(valid));
    }
    if let Some(closest) = closest(tried) {
        let why = format!("\"{path}\" must validate at least one schema (anyOf)");
        outcome.add(nowhere(why));
        outcome.merge(closest);
    }
}

fn check_one_of(tried: Vec<ValidationOutcome>, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let valid = tried.iter().filter(|outcome| outcome.is_valid()).count();
    if tried.is_empty() || valid == 1 {
        return;
    }
    let found = match valid {
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    outcome.add(nowhere(format!(
        "\"{path}\" must validate one and only one schema (oneOf). {found}"
    )));
    if let (0, Some(closest)) = (valid, closest(tried)) {
        outcome.merge(closest);
    }
}

fn check_all_of(tried: Vec<ValidationOutcome>, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let (count, valid) = (
        tried.len(),
        tried.iter().filter(|outcome| outcome.is_valid()).count(),
    );
    tried.into_iter().for_each(|tried| outcome.merge(tried));
    if valid != count {
        let none = if valid == 0 { ". None validated" } else { "" };
        outcome.add(nowhere(format!(
            "\"{path}\" must validate all the schemas (allOf){none}"
        )));
    }
}

fn check_list(
    node: &Node,
    items: &[Value],
    old: Option<&Value>,
    path: &Path<'_>,
    outcome: &mut ValidationOutcome,
) {
    if let Some(schema) = &node.items {
        for (index, item) in items.iter().enumerate() {
            let former = correlate::item(node, old, item);
            outcome.merge(validate(schema, item, former, &Path::Item(path, index)));
        }
    }
    let checks = &node.checks;
    let count = items.len() as u64;
    if checks.min_items.is_some_and(|least| count < least) {
        let least = checks.min_items.unwrap_or_default();
        let detail = format!("{path} in body should have at least {least} items");
        outcome.tell(path, ErrorType::TooFew, Some(count.into()), detail);
    }
    check_most(count, checks.max_items, path, outcome);
    let repeated = || {
        items
            .iter()
            .enumerate()
            .any(|(index, item)| items[..index].contains(item))
    };
    if checks.unique_items && repeated() {
        let detail = format!("{path} in body shouldn't contain duplicates");
        outcome.tell(path, ErrorType::Duplicate, None, detail);
    }
}

fn check_most(count: u64, most: Option<u64>, path: &Path<'_>, outcome: &mut ValidationOutcome) {
    let Some(most) = most.filter(|most| count > *most) else {
        return;
    };
    let items = if most == 1 { "item" } else { "items" };
    let detail = format!("must have at most {most} {items}");
    outcome.tell(path, ErrorType::TooMany, Some(count.into()), detail);
}

fn check_object(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    outcome: &mut ValidationOutcome,
) {
    let Value::Object(fields) = value else { return };
    let checks = &node.checks;
    let count = fields.len() as u64;
    if let Some(least) = checks.min_properties.filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} properties");
        outcome.tell(path, ErrorType::TooFew, Some(count.into()), detail);
    }
    check_most(count, checks.max_properties, path, outcome);
    for (name, field) in fields {
        let field_path = Path::Field(path, name);
        let former = correlate::field(node, old, name);
        match (node.field(name), &node.additional) {
            (Some(schema), _) => outcome.merge(validate(schema, field, former, &field_path)),
            (None, Additional::Nothing) => {
                let detail = format!("{field_path} in body is a forbidden property");
                outcome.tell(path, ErrorType::Invalid, Some("".into()), detail);
            }
            (None, Additional::Unspecified | Additional::Any | Additional::Values(_)) => {}
        }
    }
    for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
        outcome.add(FieldError::required(Path::Field(path, name).to_string(), ""));
    }
}
