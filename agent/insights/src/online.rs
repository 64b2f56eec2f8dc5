//! How an informer is doing: the condition Online (insights.md, section 1.2). It is the agent that says so, from what it gets for an answer;
//! what the informer says about itself comes with discovery.

use drydock_api::conditions::{FALSE, TRUE, UNKNOWN};
use drydock_api::insights::{Handler, InformerCondition, UpdateInformerStatus, condition};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::hooks::{Discovery, SelfReport};

/// After how long without an answer it is not known how an informer is doing, however seldom it is asked.
const HEARTBEAT_EXPIRES: SignedDuration = SignedDuration::from_secs(180);
/// How many answers may be missing.
const MISSED: i32 = 3;
/// The reasons of what informers say about themselves.
const UPDATING: &str = "InformerUpdating";
const DEGRADED: &str = "Degraded";
/// Times are written anew only if they differ by this much.
const PRECISION: SignedDuration = SignedDuration::from_secs(30);

/// What came of asking an informer what it can do, or of a later question.
#[derive(Clone, Debug, PartialEq)]
pub enum Contact {
    /// It said what it can do.
    Discovered(Discovery),
    /// It answered another question.
    Answered,
    /// It gave no good answer.
    Failed(ContactFailure),
    /// It is switched off.
    Disabled,
    /// It has not been asked since the program started.
    NotAsked,
}

impl Contact {
    /// Whether it could not be asked because it is not trusted: that may be corrected without a change of its object.
    pub fn is_of_trust(&self) -> bool {
        let kinds = [FailureKind::TLSVerificationFailed, FailureKind::CAUnavailable];
        matches!(self, Self::Failed(failure) if kinds.contains(&failure.kind))
    }
}

/// Why there is no good answer: a reason of the condition, and its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactFailure {
    /// What kind of failure it is.
    pub kind: FailureKind,
    /// Why, in words.
    pub message: String,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// It answers with another status than it should, or speaks another API level.
    DiscoveryFailed,
    /// It takes too long.
    Timeout,
    /// It cannot be reached.
    ConnectionFailed,
    /// Its certificate is not trusted, or is for another name.
    TLSVerificationFailed,
    /// Its answer cannot be understood, or is too large.
    InvalidResponse,
    /// Whom to trust is not known.
    CAUnavailable,
}

impl FailureKind {
    /// The reason of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiscoveryFailed => "DiscoveryFailed",
            Self::Timeout => "Timeout",
            Self::ConnectionFailed => "ConnectionFailed",
            Self::TLSVerificationFailed => "TLSVerificationFailed",
            Self::InvalidResponse => "InvalidResponse",
            Self::CAUnavailable => "CAUnavailable",
        }
    }
}

/// The status of an informer after it has been asked. `interval` is how often it is asked.
pub fn status(
    previous: Option<&UpdateInformerStatus>,
    contact: &Contact,
    generation: Option<i64>,
    interval: SignedDuration,
    now: Timestamp,
) -> UpdateInformerStatus {
    let mut status = previous.cloned().unwrap_or_default();
    let before = status
        .conditions
        .iter()
        .find(|known| known.type_ == condition::ONLINE)
        .cloned();
    let heartbeat = before
        .as_ref()
        .and_then(|before| before.last_heartbeat_time.clone());
    let word = word(contact, before.as_ref(), interval, now);
    if let Contact::Discovered(discovery) = contact {
        status.api_versions.clone_from(&discovery.api_levels);
        // What it can do says only one that is well and speaks our language: a hook that is missing otherwise is not gone.
        if discovery.is_supported() && discovery.report == SelfReport::Fine {
            status.handlers.clone_from(&discovery.handlers);
        }
        status.last_discovery_time = Some(recent(status.last_discovery_time.as_ref(), now));
    }
    status.observed_generation = generation;
    let Some(word) = word else {
        return status;
    };
    let has_answered = matches!(contact, Contact::Discovered(_) | Contact::Answered);
    let since = before
        .filter(|before| before.status == word.status)
        .map_or(Time(now), |before| before.last_transition_time);
    let online = InformerCondition {
        type_: condition::ONLINE.to_owned(),
        status: word.status.to_owned(),
        reason: word.reason.to_owned(),
        message: word.message,
        last_heartbeat_time: if has_answered {
            Some(recent(heartbeat.as_ref(), now))
        } else {
            heartbeat
        },
        last_transition_time: since,
    };
    status.conditions.retain(|known| known.type_ != condition::ONLINE);
    status.conditions.push(online);
    status
}

/// Now, unless what is written is about as good.
fn recent(written: Option<&Time>, now: Timestamp) -> Time {
    match written {
        Some(written) if now.duration_since(written.0).abs() < PRECISION => written.clone(),
        _ => Time(now),
    }
}

/// What the condition says.
struct Word {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Nothing if what is written still holds.
fn word(
    contact: &Contact,
    before: Option<&InformerCondition>,
    interval: SignedDuration,
    now: Timestamp,
) -> Option<Word> {
    let (status, reason, message) = match contact {
        Contact::Discovered(discovery) if !discovery.is_supported() => (
            FALSE,
            FailureKind::DiscoveryFailed.as_str(),
            unsupported(discovery),
        ),
        Contact::Discovered(discovery) => match discovery.report {
            SelfReport::Fine => (TRUE, "AsExpected", "it answers".to_owned()),
            SelfReport::Updating => (FALSE, UPDATING, said(discovery)),
            SelfReport::Degraded => (FALSE, DEGRADED, said(discovery)),
        },
        // How it says it is, only discovery tells.
        Contact::Answered if before.is_some_and(is_self_reported) => return None,
        Contact::Answered => (TRUE, "AsExpected", "it answers".to_owned()),
        Contact::Failed(failure) => (FALSE, failure.kind.as_str(), failure.message.clone()),
        Contact::Disabled => {
            let message = "it is switched off by spec.enabled: false".to_owned();
            (FALSE, "Disabled", message)
        }
        Contact::NotAsked => {
            let heartbeat = before?.last_heartbeat_time.as_ref()?.0;
            let expires = interval
                .checked_mul(MISSED)
                .unwrap_or(interval)
                .max(HEARTBEAT_EXPIRES);
            if before?.status != TRUE || now.duration_since(heartbeat) <= expires {
                return None;
            }
            let message = format!("it has not answered since {heartbeat}");
            (UNKNOWN, "HeartbeatExpired", message)
        }
    };
    Some(Word {
        status,
        reason,
        message,
    })
}

/// Whether an informer is to be asked a question (insights.md, sections 1.2, a to c, and 1.9, row 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It is.
    Ready,
    /// It is, and says that it is degraded, in these words.
    Degraded(String),
    /// It says that it is updating itself, and comes back.
    Updating(String),
    /// It does not have the hook.
    NotImplemented,
    /// It does not say what it can do, or speaks another language, and why.
    Unavailable(String),
}

impl Contact {
    /// Whether the hook of an informer is to be asked of which this is known.
    pub fn readiness(&self, hook: Handler) -> Readiness {
        match self {
            Self::Discovered(discovery) if !discovery.is_supported() => {
                Readiness::Unavailable(unsupported(discovery))
            }
            Self::Discovered(discovery) => match discovery.report {
                SelfReport::Fine if discovery.handlers.contains(&hook) => Readiness::Ready,
                SelfReport::Fine => Readiness::NotImplemented,
                SelfReport::Updating => Readiness::Updating(said(discovery)),
                // It may have said less than it can do.
                SelfReport::Degraded => Readiness::Degraded(said(discovery)),
            },
            Self::Failed(failure) => Readiness::Unavailable(failure.message.clone()),
            Self::Disabled | Self::NotAsked => {
                Readiness::Unavailable("it has not been asked what it can do".to_owned())
            }
            Self::Answered => Readiness::Ready,
        }
    }
}

fn unsupported(discovery: &Discovery) -> String {
    let levels = discovery.api_levels.join(", ");
    format!("it speaks the API levels {levels:?}, and not v1alpha: update it, or the agent")
}

fn is_self_reported(condition: &InformerCondition) -> bool {
    [UPDATING, DEGRADED].contains(&condition.reason.as_str())
}

fn said(discovery: &Discovery) -> String {
    if discovery.message.is_empty() {
        "it says so, and not why".to_owned()
    } else {
        discovery.message.clone()
    }
}

#[cfg(test)]
mod tests;
