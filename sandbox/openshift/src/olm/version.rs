//! The life of a ClusterServiceVersion: its phases follow each other in time, until it runs, has failed, or is replaced.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::catalog::FAILS_ANNOTATION;
use kube_sandbox::condition::format_time;
use kube_sandbox::object;

/// What becomes of a version.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// Its status becomes this now.
    Becomes(Value),
    /// It changes at this moment.
    At(Timestamp),
    /// It goes.
    Goes,
    /// It stays.
    Stays,
}

/// Phase, how long it lasts, and what it says of the phase that follows.
struct PhaseChange {
    lasts: SignedDuration,
    phase: &'static str,
    reason: &'static str,
    message: &'static str,
}

const fn phase_change(
    lasts: i64,
    phase: &'static str,
    reason: &'static str,
    message: &'static str,
) -> PhaseChange {
    PhaseChange {
        lasts: SignedDuration::from_secs(lasts),
        phase,
        reason,
        message,
    }
}

fn after(phase: &str, fails: bool) -> Option<PhaseChange> {
    Some(match phase {
        "" => phase_change(
            0,
            "Pending",
            "RequirementsUnknown",
            "requirements not yet checked",
        ),
        "Pending" => phase_change(
            1,
            "InstallReady",
            "AllRequirementsMet",
            "all requirements found, attempting install",
        ),
        "InstallReady" => phase_change(
            1,
            "Installing",
            "InstallSucceeded",
            "waiting for install components to report healthy",
        ),
        "Installing" if fails => phase_change(300, "Failed", "InstallCheckFailed", "install timeout"),
        "Installing" => phase_change(
            35,
            "Succeeded",
            "InstallSucceeded",
            "install strategy completed with no errors",
        ),
        _ => return None,
    })
}

/// What becomes of a version now; `replaced` if another one that replaces it runs.
pub(super) fn next(version: &Value, replaced: bool, now: Timestamp) -> Next {
    let status = &version["status"];
    let phase = status["phase"].as_str().unwrap_or_default();
    let since = status["lastTransitionTime"]
        .as_str()
        .and_then(|text| text.parse::<Timestamp>().ok());
    if phase == "Deleting" {
        return Next::Goes;
    }
    if replaced {
        let (phase, reason) = if phase == "Replacing" {
            ("Deleting", "Replaced")
        } else {
            ("Replacing", "BeingReplaced")
        };
        return Next::Becomes(status_of(
            phase,
            reason,
            "has been replaced by a newer version",
            now,
        ));
    }
    let fails = object::annotation(version, FAILS_ANNOTATION) == Some("install");
    let Some(change) = after(phase, fails) else {
        return Next::Stays;
    };
    let due = since.map_or(now, |since| since + change.lasts);
    if due > now {
        return Next::At(due);
    }
    Next::Becomes(status_of(change.phase, change.reason, change.message, now))
}

fn status_of(phase: &str, reason: &str, message: &str, now: Timestamp) -> Value {
    let now = format_time(now);
    json!({
        "phase": phase, "reason": reason, "message": message, "lastTransitionTime": now, "lastUpdateTime": now,
    })
}
