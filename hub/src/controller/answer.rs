//! What an answer of the API server, or none, means for a write.

use drydock_rollout::{RefusalCause, Uid};
use serde::Deserialize;

/// An answer to a write, as far as it is read: who manages which field is the greater part of an object's metadata.
#[derive(Debug, Deserialize)]
pub(super) struct WrittenObject {
    metadata: WrittenMetadata,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WrittenMetadata {
    uid: Option<String>,
    resource_version: Option<String>,
}

impl WrittenObject {
    /// The object's uid and version, as an outcome.
    pub fn outcome(&self) -> WriteOutcome {
        WriteOutcome::Written {
            uid: self.metadata.uid.as_deref().map(Uid::new),
            version: self
                .metadata
                .resource_version
                .as_ref()
                .and_then(|text| text.parse().ok()),
        }
    }
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum WriteOutcome {
    /// It was made: the object is of this uid and version now.
    Written {
        /// The uid.
        uid: Option<Uid>,
        /// The version.
        version: Option<u64>,
    },
    /// The object is gone.
    Gone,
    /// Somebody else wrote first, or the object is not the one that was read.
    Conflict(kube::Error),
    /// It was refused.
    Refused {
        /// Why.
        cause: RefusalCause,
        /// Why, in the server's words.
        words: String,
    },
    /// Whether it was made is not known.
    Unknown(kube::Error),
    /// The work exists, and the cache has been updated with it.
    AlreadyCached,
    /// It was held back: this replica leads no longer.
    HeldBack(kube::Error),
}

/// What an error that is not about the object being gone means.
pub(super) fn of_error(error: kube::Error) -> WriteOutcome {
    match &error {
        kube::Error::Api(status) => {
            let namespace = status.message.contains("namespaces \"") && status.code == 404
                || status.message.contains("it is being terminated");
            if status.code == 409 && !namespace {
                return WriteOutcome::Conflict(error);
            }
            let by_webhook = status.message.contains("webhook");
            WriteOutcome::Refused {
                cause: match status.code {
                    _ if namespace => RefusalCause::NamespaceMissing,
                    429 | 500..=599 if !by_webhook => RefusalCause::Unavailable,
                    _ => RefusalCause::Other,
                },
                words: status.message.clone(),
            }
        }
        kube::Error::Service(source) if is_held_back(&**source) => WriteOutcome::HeldBack(error),
        _ => WriteOutcome::Unknown(error),
    }
}

fn is_held_back(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut source = Some(error);
    while let Some(error) = source {
        if error.is::<drydock_runtime::leader::NotLeading>() {
            return true;
        }
        source = error.source();
    }
    false
}
