//! One CEL rule of a schema, compiled.

use crate::schema::field_error::{ErrorType, FieldError};
use kube_cel::cel::Program;
use serde_json::{Value, json};
use std::fmt;

/// A rule of `x-kubernetes-validations`.
pub struct Rule {
    /// The rule as written.
    pub text: String,
    /// `message`.
    pub message: Option<String>,
    /// What kind of error a broken rule is.
    pub error_type: ErrorType,
    /// `fieldPath`, without the leading dot.
    pub field_path: Option<String>,
    /// Whether `oldSelf` is an optional value, and the rule runs on creation too.
    pub optional_old_self: bool,
    /// Whether it compares with the former value.
    pub uses_old_self: bool,
    pub(super) program: Program,
    pub(super) message_program: Option<Program>,
}

impl fmt::Debug for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Rule")
            .field("text", &self.text)
            .finish_non_exhaustive()
    }
}

impl Rule {
    /// Compiles the rule that stands at `path`.
    pub(in crate::schema) fn compile(rule: &Value, path: &str) -> Result<Self, FieldError> {
        let word = |key: &str| rule.get(key).and_then(Value::as_str).map(str::to_owned);
        let text = word("rule").unwrap_or_default();
        let program = compiled(&text, &format!("{path}.rule"), rule)?;
        let message_program = match word("messageExpression") {
            None => None,
            Some(expression) => {
                let field = format!("{path}.messageExpression");
                Some(compiled(&expression, &field, rule)?)
            }
        };
        let uses_old_self = program.references().has_variable("oldSelf");
        let error_type = match word("reason").as_deref() {
            Some("FieldValueForbidden") => ErrorType::Forbidden,
            Some("FieldValueRequired") => ErrorType::Required,
            Some("FieldValueDuplicate") => ErrorType::Duplicate,
            Some(_) | None => ErrorType::Invalid,
        };
        Ok(Self {
            message: word("message"),
            error_type,
            field_path: word("fieldPath").map(|path| path.trim_start_matches('.').to_owned()),
            optional_old_self: rule["optionalOldSelf"] == true,
            uses_old_self,
            program,
            message_program,
            text,
        })
    }

    /// What is said when the rule is broken and no message expression speaks.
    pub(super) fn message_or_default(&self) -> String {
        match &self.message {
            Some(message) if !message.is_empty() => message.trim().to_owned(),
            Some(_) | None => format!("failed rule: {}", self.text.trim()),
        }
    }

    /// What names the rule when it cannot be evaluated.
    pub(super) fn message_or_text(&self) -> &str {
        match &self.message {
            Some(message) if !message.is_empty() => message.trim(),
            Some(_) | None => self.text.trim(),
        }
    }
}

fn compiled(expression: &str, field: &str, rule: &Value) -> Result<Program, FieldError> {
    Program::compile(expression).map_err(|error| {
        let detail = format!("compilation failed: {error}");
        FieldError::invalid(field, as_go_shows_it(rule), detail)
    })
}

/// A rule as the API server's messages show it: its Go structure, written as JSON.
fn as_go_shows_it(rule: &Value) -> Value {
    let text = |key: &str| rule.get(key).cloned().unwrap_or_else(|| "".into());
    json!({
        "Rule": text("rule"),
        "Message": text("message"),
        "MessageExpression": text("messageExpression"),
        "Reason": rule.get("reason"),
        "FieldPath": text("fieldPath"),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    })
}
