//! The condition PreChecksPassed.

use std::fmt::Write as _;

use drydock_names::reasons as reason;

use super::{ConditionValue, FALSE, TRUE, UNKNOWN, clusters, value};
use crate::{PreChecksMode, Report, shortened};

/// What clusters have answered, where it matters: always where it is required, else while there are findings.
pub(super) fn pre_checks(report: &Report) -> Option<ConditionValue> {
    let found = &report.pre_checks;
    let first = || {
        let first = found.first.as_ref();
        first.map(|(name, reason)| format!("; {name}: {}", shortened(&reason.to_string(), 400)))
    };
    let mut with_findings = clusters(found.with_findings);
    let mut not_accepted = reason::RISKS_NOT_ACCEPTED;
    if found.blocked_again > 0 {
        not_accepted = reason::ACCEPTANCE_ENDED;
        let _ = write!(
            with_findings,
            " (on {} of them somebody had accepted one, for a time that is over, or as less bad than it is or was: {})",
            found.blocked_again, found.first_blocked_again
        );
    }
    Some(match (found.mode, found.with_findings, found.unanswered) {
        (PreChecksMode::Off, ..) | (PreChecksMode::Report, 0, _) => return None,
        (PreChecksMode::Report, ..) => value(
            FALSE,
            not_accepted,
            format!(
                "findings that nobody has accepted: {with_findings}; they start nevertheless (spec.preChecks.mode is Report)"
            ),
        ),
        (PreChecksMode::Require, 0, 0) if found.awaited > 0 => value(
            UNKNOWN,
            reason::AWAITING_PRE_CHECKS,
            format!("asked, and not answered yet: {}", clusters(found.awaited)),
        ),
        (PreChecksMode::Require, 0, 0) if found.unasked > 0 => value(
            UNKNOWN,
            reason::AWAITING_PRE_CHECKS,
            format!(
                "not asked now, for something else keeps them from starting: {}",
                clusters(found.unasked)
            ),
        ),
        (PreChecksMode::Require, 0, 0) => value(
            TRUE,
            reason::PRE_CHECKS_PASSED,
            "no cluster is kept from its start by what it has found",
        ),
        (PreChecksMode::Require, 0, unanswered) => value(
            FALSE,
            reason::PRE_CHECKS_UNANSWERED,
            format!(
                "not started, for they have not answered: {}{}",
                clusters(unanswered),
                first().unwrap_or_default()
            ),
        ),
        (PreChecksMode::Require, ..) => value(
            FALSE,
            not_accepted,
            format!(
                "not started, for they have findings that nobody has accepted: {with_findings}{}",
                first().unwrap_or_default()
            ),
        ),
    })
}
