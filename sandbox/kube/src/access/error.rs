//! Why an access failed.

use crate::server::Status;

/// Why an access failed: the server could not be reached, or it refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// No connection, or it broke before the answer: the request may or may not have been served.
    #[error("{what}: the API server cannot be reached ({why})")]
    Unreachable {
        /// What was being done to which object.
        what: String,
        /// The transport's own words.
        why: String,
    },
    /// The server's answer is an error.
    #[error("{what}: {status}")]
    Refused {
        /// What was being done to which object.
        what: String,
        /// The answer.
        status: Box<Status>,
    },
}

impl AccessError {
    /// The server's answer, if it was reached.
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Unreachable { .. } => None,
            Self::Refused { status, .. } => Some(status),
        }
    }

    /// The HTTP status code, 0 if the server was not reached.
    pub fn code(&self) -> u16 {
        self.status().map_or(0, |status| status.code)
    }

    /// The reason, for example `NotFound`; empty if the server was not reached.
    pub fn reason(&self) -> &str {
        self.status().map_or("", |status| &status.reason)
    }

    /// The server's message, without what was being done.
    pub fn message(&self) -> &str {
        match self {
            Self::Unreachable { why, .. } => why,
            Self::Refused { status, .. } => &status.message,
        }
    }

    /// There is no such object, kind or namespace.
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }

    /// The version, a precondition or an applied field is at odds with the object.
    pub fn is_conflict(&self) -> bool {
        self.code() == 409 && self.reason() == "Conflict"
    }

    /// The name is taken.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == "AlreadyExists"
    }

    /// No connection.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable { .. })
    }
}
