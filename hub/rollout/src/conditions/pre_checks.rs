//! The condition PreChecksPassed.

use std::fmt::Write as _;

use drydock_names::reasons as reason;

use super::{ConditionValue, FALSE, TRUE, UNKNOWN, clusters, value};
use crate::{PreCheckCounts, PreChecksMode, Report, shortened};

/// What clusters have answered, where it matters: always where it is required, else while there are findings.
pub(super) fn pre_checks(report: &Report) -> Option<ConditionValue> {
    let found = &report.pre_checks;
    let is_held = found.with_findings > 0 || found.held_by_agent > 0;
    match found.mode {
        PreChecksMode::Report | PreChecksMode::Require if is_held => Some(held(found)),
        PreChecksMode::Off | PreChecksMode::Report => None,
        PreChecksMode::Require => Some(unheld(found)),
    }
}

/// There are findings that nobody has accepted.
fn held(found: &PreCheckCounts) -> ConditionValue {
    let mut parts = Vec::new();
    if found.with_findings > 0 {
        let with_findings = with_findings(found);
        parts.push(match found.mode {
            PreChecksMode::Require => {
                format!("not started, for they have findings that nobody has accepted: {with_findings}")
            }
            _ => format!(
                "findings that nobody has accepted: {with_findings}; they start nevertheless (spec.preChecks.mode is Report)"
            ),
        });
    }
    if found.held_by_agent > 0 {
        parts.push(format!(
            "started, and held by their agents (checkUpdatePlan) for findings that nobody has accepted: {}",
            clusters(found.held_by_agent)
        ));
    }
    parts.extend(first(found));
    let reason = match found.blocked_again {
        0 => reason::RISKS_NOT_ACCEPTED,
        _ => reason::ACCEPTANCE_ENDED,
    };
    value(FALSE, reason, parts.join("; "))
}

/// How many have them, and of how many somebody had accepted one.
fn with_findings(found: &PreCheckCounts) -> String {
    let mut words = clusters(found.with_findings);
    if found.blocked_again > 0 {
        let _ = write!(
            words,
            " (on {} of them somebody had accepted one, for a time that is over, or as less bad than it is or was: {})",
            found.blocked_again, found.first_blocked_again
        );
    }
    words
}

/// The first cluster that is held, and why.
fn first(found: &PreCheckCounts) -> Option<String> {
    let (name, reason) = found.first.as_ref()?;
    Some(format!("{name}: {}", shortened(&reason.to_string(), 400)))
}

/// Answers are required, and none that is there holds a cluster.
fn unheld(found: &PreCheckCounts) -> ConditionValue {
    match found.unanswered {
        0 if found.awaited > 0 => value(
            UNKNOWN,
            reason::AWAITING_PRE_CHECKS,
            format!("asked, and not answered yet: {}", clusters(found.awaited)),
        ),
        0 if found.unasked > 0 => value(
            UNKNOWN,
            reason::AWAITING_PRE_CHECKS,
            format!(
                "not asked now, for something else keeps them from starting: {}",
                clusters(found.unasked)
            ),
        ),
        0 => value(
            TRUE,
            reason::PRE_CHECKS_PASSED,
            "no cluster is held by what it has found",
        ),
        unanswered => {
            let mut words = format!(
                "not started, for they have not answered: {}",
                clusters(unanswered)
            );
            if let Some(first) = first(found) {
                let _ = write!(words, "; {first}");
            }
            value(FALSE, reason::PRE_CHECKS_UNANSWERED, words)
        }
    }
}
