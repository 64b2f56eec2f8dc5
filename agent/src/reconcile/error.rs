//! Why something could not be done about an object.

use drydock_engine::facts::Unread;
use drydock_runtime::panics::Panicked;
use thiserror::Error;

use crate::refusal;

/// Why an object could not be brought further. It is tried again.
#[derive(Debug, Error)]
pub(crate) enum ReconcileError {
    /// What is asked for cannot be written.
    #[error("writing {what}: {why}")]
    Write {
        /// What was to be written, and where.
        what: String,
        /// Why not.
        why: String,
    },
    /// The object has changed since it was looked at, or is gone: it has to be decided anew.
    #[error("{what} has changed meanwhile")]
    Outdated {
        /// What was to be written.
        what: String,
    },
    /// What a decision depends on cannot be read.
    #[error("watching {kind}: {why}")]
    NotRead {
        /// The kind.
        kind: &'static str,
        /// Why not.
        why: Unread,
    },
    /// A receiver does not take a notification.
    #[error("notifying {receiver} of {what}: {why}")]
    Notification {
        /// The event, and of which object.
        what: String,
        /// The receiver, by the Secret that has its address.
        receiver: String,
        /// Why not.
        why: String,
    },
    /// A bug.
    #[error(transparent)]
    Panicked(#[from] Panicked),
}

impl ReconcileError {
    /// The server does not do a write.
    pub fn write(what: impl Into<String>, error: &kube::Error) -> Self {
        let what = what.into();
        match error {
            kube::Error::Api(refusal) if refusal.is_conflict() => Self::Outdated { what },
            error => Self::Write {
                what,
                why: refusal::words(error),
            },
        }
    }

    /// A watch fails.
    pub fn not_read(kind: &'static str) -> impl FnOnce(Unread) -> Self {
        move |why| Self::NotRead { kind, why }
    }
}
