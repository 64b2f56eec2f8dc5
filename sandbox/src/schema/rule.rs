//! One CEL rule of a schema, compiled.

use super::field_error::{ErrorType, FieldError, go_quote};
use kube_cel::cel::Program;
use serde_json::Value;
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
    pub(super) fn compile(rule: &Value, path: &str) -> Result<Self, FieldError> {
        let word = |key: &str| rule.get(key).and_then(Value::as_str).map(str::to_owned);
        let text = word("rule").unwrap_or_default();
        let program = compiled(&text, &format!("{path}.rule"), &text)?;
        let message_program = match word("messageExpression") {
            None => None,
            Some(expression) => {
                let field = format!("{path}.messageExpression");
                Some(compiled(&expression, &field, &expression)?)
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
}

fn compiled(expression: &str, field: &str, value: &str) -> Result<Program, FieldError> {
    Program::compile(expression).map_err(|error| {
        let detail = format!("compilation failed: {error}");
        FieldError::new(field, ErrorType::Invalid, Some(Value::from(value)), detail)
    })
}

/// The rule in an error about its evaluation.
pub(super) fn rule_in_error(rule: &Rule) -> String {
    match &rule.message {
        Some(message) if !message.is_empty() => message.trim().to_owned(),
        Some(_) | None => rule.text.trim().to_owned(),
    }
}

/// A word in Go's quotes, where a message of the CEL library quotes one.
pub(super) fn quoted(word: &str) -> String {
    go_quote(word)
}
