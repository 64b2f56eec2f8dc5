//! What is wrong with a field, worded as the API server words it.

use serde_json::Value;
use std::fmt;

/// The kind of an error (`k8s.io/apimachinery/pkg/util/validation/field`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    /// The value is not found where it is referred to.
    NotFound,
    /// A required value is missing.
    Required,
    /// A value that must be unique is not.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is none of those allowed.
    NotSupported,
    /// The field must not be set like this.
    Forbidden,
    /// The text is too long.
    TooLong,
    /// The list has too many items.
    TooMany,
    /// The list has too few items, or the object too few properties.
    TooFew,
    /// The value has the wrong type.
    TypeInvalid,
    /// The server could not tell.
    InternalError,
}

impl ErrorType {
    /// The `reason` of the cause in a Status.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid | Self::TooFew => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::InternalError => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid | Self::TooFew => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::InternalError => "Internal error",
        }
    }
}

/// One thing that is wrong with an object.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The path of the field, as `spec.items[0].name`.
    pub field: String,
    /// What kind of error it is.
    pub error_type: ErrorType,
    /// The value that is wrong, if the message shows it.
    pub value: Option<Value>,
    /// The rest of the message.
    pub detail: String,
}

impl FieldError {
    /// An error at `field`.
    pub fn new(
        field: impl Into<String>,
        error_type: ErrorType,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            error_type,
            value,
            detail: detail.into(),
        }
    }

    /// `Required value` at `field`.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, ErrorType::Required, None, detail)
    }

    /// `Invalid value` at `field`.
    pub fn invalid(field: impl Into<String>, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(field, ErrorType::Invalid, Some(value.into()), detail)
    }

    /// `Forbidden` at `field`.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(field, ErrorType::Forbidden, None, detail)
    }

    /// `Unsupported value`, with the values that are supported.
    pub fn not_supported(field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|word| go_quote(word)).collect();
        let detail = format!("supported values: {}", quoted.join(", "));
        Self::new(field, ErrorType::NotSupported, Some(value.into()), detail)
    }

    /// The message without the field, as a cause carries it.
    pub fn message(&self) -> String {
        let mut message = self.error_type.words().to_owned();
        if let Some(value) = &self.value {
            message.push_str(": ");
            message.push_str(&shown(value));
        }
        if !self.detail.is_empty() {
            message.push_str(": ");
            message.push_str(&self.detail);
        }
        message
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message())
    }
}

/// A string in Go's quotes (`%q`).
pub fn go_quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            control if control.is_ascii_control() => {
                write_code(&mut quoted, 'x', 2, control);
            }
            control if control.is_control() => write_code(&mut quoted, 'u', 4, control),
            printable => quoted.push(printable),
        }
    }
    quoted.push('"');
    quoted
}

fn write_code(quoted: &mut String, letter: char, digits: usize, character: char) {
    quoted.extend(['\\', letter]);
    quoted.extend(format!("{:0digits$x}", u32::from(character)).chars());
}

/// A value as a message shows it: a string in Go's quotes, anything else as Go writes JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text),
        other => {
            let json = other.to_string();
            json.replace('<', "\\u003c")
                .replace('>', "\\u003e")
                .replace('&', "\\u0026")
        }
    }
}
