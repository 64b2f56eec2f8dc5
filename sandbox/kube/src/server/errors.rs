//! Errors as kube-apiserver gives them: a `Status` with code, reason, message and details.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::kinds::ServedKind;
use crate::apply::{ApplyError, display};
use crate::schema::FieldError;

/// A failed request's answer: the `Status` object of the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, for example `NotFound`; empty where the real server gives none.
    pub reason: String,
    /// What a person reads.
    pub message: String,
    /// About which object, and why.
    pub details: Option<Box<Details>>,
    /// For an expired page: the token that continues in the present.
    pub continue_token: Option<String>,
}

/// The `details` of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// The object's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The kind's API group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind, or the plural resource where the real server says that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's UID, where the answer is about a certain one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The single reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Seconds to wait before another attempt.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause inside a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The kind of cause, for example `FieldValueInvalid`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field, for example `spec.replicas`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Status {
    /// A status with any code, without details.
    pub fn new(code: u16, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    fn about(mut self, kind: &ServedKind, name: &str) -> Self {
        self.details = Some(Box::new(Details {
            name: name.to_owned(),
            group: kind.group.clone(),
            kind: kind.plural.clone(),
            ..Details::default()
        }));
        self
    }

    /// 404: there is no such object.
    pub fn not_found(kind: &ServedKind, name: &str) -> Self {
        Self::new(
            404,
            "NotFound",
            format!("{} \"{name}\" not found", kind.collection),
        )
        .about(kind, name)
    }

    /// 404: there is no such path on this server.
    pub fn no_such_path() -> Self {
        let mut status = Self::new(
            404,
            "NotFound",
            "the server could not find the requested resource",
        );
        status.details = Some(Box::default());
        status
    }

    /// 409: an object of that name is there already.
    pub fn already_exists(kind: &ServedKind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.collection);
        Self::new(409, "AlreadyExists", message).about(kind, name)
    }

    /// 409 because of an outdated version or a precondition, `why` as the real server words it.
    pub fn conflict(kind: &ServedKind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.collection
        );
        Self::new(409, "Conflict", message).about(kind, name)
    }

    /// 409: the object has changed since it was read.
    pub fn outdated(kind: &ServedKind, name: &str) -> Self {
        Self::conflict(
            kind,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        )
    }

    /// 422 with the fields that are wrong.
    pub fn invalid(kind: &ServedKind, name: &str, causes: Vec<Cause>) -> Self {
        let group = kind.group.as_str();
        Self::invalid_of(group, &kind.kind, name, causes)
    }

    /// 422 for a kind that is given by its names.
    pub fn invalid_of(group: &str, kind: &str, name: &str, causes: Vec<Cause>) -> Self {
        let subject = if group.is_empty() {
            kind.to_owned()
        } else {
            format!("{kind}.{group}")
        };
        let mut lines: Vec<String> = Vec::new();
        for cause in &causes {
            let line = format!("{}: {}", cause.field, cause.message);
            // What comes twice is said once.
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        let list = match lines.as_slice() {
            [] => String::new(),
            [single] => format!(": {single}"),
            several => format!(": [{}]", several.join(", ")),
        };
        Self {
            code: 422,
            reason: "Invalid".to_owned(),
            message: format!("{subject} \"{name}\" is invalid{list}"),
            details: Some(Box::new(Details {
                name: name.to_owned(),
                group: group.to_owned(),
                kind: kind.to_owned(),
                causes,
                ..Details::default()
            })),
            continue_token: None,
        }
    }

    /// 400: the request cannot be understood.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 422 without any reason: what the server says to a patch that it cannot apply.
    pub fn rejected() -> Self {
        let mut status = Self::new(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        );
        status.details = Some(Box::default());
        status
    }

    /// 403 for an object, `why` as the real server words it.
    pub fn forbidden(kind: &ServedKind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.collection);
        Self::new(403, "Forbidden", message).about(kind, name)
    }

    /// 405: the kind has no such verb.
    pub fn method_not_allowed() -> Self {
        let mut status = Self::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        );
        status.details = Some(Box::default());
        status
    }

    /// 410: what was asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413: the body is larger than this server reads.
    pub fn too_large(limit: usize) -> Self {
        Self::new(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    /// 415: the body's type cannot be used here.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        Self::new(
            415,
            "UnsupportedMediaType",
            format!(
                "the body of the request was in an unknown format - accepted media types include: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 406: no acceptable answer type.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        Self::new(
            406,
            "NotAcceptable",
            format!(
                "only the following media types are accepted: {}",
                accepted.join(", ")
            ),
        )
    }

    /// 504: the list asks for a revision that has not been yet.
    pub fn too_large_resource_version(asked: u64, current: u64) -> Self {
        let mut status = Self::new(
            504,
            "Timeout",
            format!("Timeout: Too large resource version: {asked}, current: {current}"),
        );
        status.details = Some(Box::new(Details {
            causes: vec![Cause {
                reason: "ResourceVersionTooLarge".to_owned(),
                message: "Too large resource version".to_owned(),
                field: String::new(),
            }],
            retry_after_seconds: 1,
            ..Details::default()
        }));
        status
    }

    /// 500: this server's own mistake.
    pub fn internal(message: impl Into<String>) -> Self {
        let message = message.into();
        let mut status = Self::new(
            500,
            "InternalError",
            format!("Internal error occurred: {message}"),
        );
        status.details = Some(Box::new(Details {
            causes: vec![Cause {
                message,
                ..Cause::default()
            }],
            ..Details::default()
        }));
        status
    }

    /// 429: try again later.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let mut status = Self::new(429, "TooManyRequests", message);
        status.details = Some(Box::new(Details {
            retry_after_seconds,
            ..Details::default()
        }));
        status
    }

    /// Reads the JSON object of the Kubernetes API; what is absent is empty.
    pub fn from_value(value: &Value) -> Self {
        let text = |field: &str| value[field].as_str().unwrap_or_default();
        let code = value["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let mut status = Self::new(code.unwrap_or(500), text("reason"), text("message"));
        status.details = Details::deserialize(&value["details"]).ok().map(Box::new);
        status
    }

    /// The single reasons, if there are any.
    pub fn causes(&self) -> &[Cause] {
        self.details.as_ref().map_or(&[], |details| &details.causes)
    }

    /// The JSON object of the Kubernetes API.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            value["reason"] = Value::from(self.reason.as_str());
        }
        if let Some(token) = &self.continue_token {
            value["metadata"]["continue"] = Value::from(token.as_str());
        }
        if let Some(details) = &self.details {
            value["details"] = serde_json::to_value(details).unwrap_or_default();
        }
        value
    }
}

impl From<ApplyError> for Status {
    fn from(refused: ApplyError) -> Self {
        let (code, reason) = match &refused {
            ApplyError::Conflicts(_) => (409, "Conflict"),
            ApplyError::BadRequest(_) => (400, "BadRequest"),
            ApplyError::Internal(_) => (500, ""),
        };
        let mut status = Self::new(code, reason, refused.to_string());
        if let ApplyError::Conflicts(conflicts) = refused {
            let causes = conflicts.iter().map(|conflict| {
                let message = format!("conflict with {}", conflict.manager);
                Cause::new("FieldManagerConflict", display(&conflict.path), message)
            });
            status.details = Some(Box::new(Details {
                causes: causes.collect(),
                ..Details::default()
            }));
        }
        status
    }
}

impl From<&FieldError> for Cause {
    fn from(error: &FieldError) -> Self {
        Self::new(error.error_type.reason(), error.field.as_str(), error.message())
    }
}

impl Cause {
    /// A field that has a value which is not allowed; `message` begins with the cause, for example `Invalid value: …`.
    pub fn new(reason: &str, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
            field: field.into(),
        }
    }

    /// `FieldValueRequired`.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        let message = if why.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {why}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// `FieldValueInvalid`; strings are quoted as Go does.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {value}: {why}"),
        )
    }
}
