//! Why nothing new starts, in words.

use drydock_names::reasons as reason;

use super::{CLUSTER_MESSAGE, clusters, selected, some_names};
use crate::{Halt, Report, shortened};

/// The reason and the words for why nothing new starts.
pub(super) fn halt_words(halt: &Halt, report: &Report) -> (&'static str, String) {
    match halt {
        Halt::InvalidSpec => (reason::NOT_STARTED, "the spec is invalid: see the condition Failed".to_owned()),
        Halt::Selection => (reason::NOT_STARTED, selected(report).message),
        Halt::Paused => (reason::PAUSED, "spec.paused is true: running upgrades continue, no further cluster starts".to_owned()),
        Halt::NoCanaryMatched => (
            reason::NO_CANARY_MATCHED,
            "spec.upgradeStrategy.canaryClusters matches no cluster that is selected and not left to a later upgrade: correct \
             the selector, or remove it to go without canaries"
                .to_owned(),
        ),
        Halt::CanaryFailed(names) => {
            let names = some_names(names.iter().map(ToString::to_string), names.len());
            (reason::CANARY_FAILED, format!("a canary failed, no other cluster starts: {names}"))
        }
        Halt::CanarySoaking { until: Some(until), .. } => (
            reason::CANARY_SOAKING,
            format!("the canaries are complete and must stay healthy until {until:.0} before any other cluster starts"),
        ),
        Halt::CanarySoaking { until: None, unhealthy } => {
            let names = some_names(unhealthy.iter().map(ToString::to_string), unhealthy.len());
            (
                reason::CANARY_SOAKING,
                format!("the canaries must stay healthy before any other cluster starts, and are not: {names}"),
            )
        }
        Halt::FailureBudgetSpent { failed, allowed } => (
            reason::FAILURE_BUDGET_SPENT,
            format!(
                "{} failed and spec.upgradeStrategy.maxFailures is {allowed}: no further cluster starts until they are retried or \
                 more are allowed",
                clusters(*failed)
            ),
        ),
        Halt::AwaitingStartWindow { opens: Some(opens) } if report.only_if_they_fit => (
            reason::AWAITING_START_WINDOW,
            format!(
                "no waiting cluster may start now: its start window is closed, or would close, or a freeze would begin, before it ends; the next one may start at {opens}"
            ),
        ),
        Halt::AwaitingStartWindow { opens: Some(opens) } if report.awaits_canaries => (
            reason::AWAITING_START_WINDOW,
            format!("no start window of the canaries, for which all others wait, is open, the next one opens at {opens}"),
        ),
        Halt::AwaitingStartWindow { opens: Some(opens) } => (
            reason::AWAITING_START_WINDOW,
            format!("no start window is open, the next one opens at {opens}"),
        ),
        Halt::AwaitingStartWindow { opens: None } => (
            reason::AWAITING_START_WINDOW,
            "no start window is open, and none will open again: correct spec.upgradeStrategy.startWindows".to_owned(),
        ),
        Halt::Frozen { until, why } => {
            let why = shortened(why, CLUSTER_MESSAGE);
            let message = match until {
                Some(until) => format!("frozen: {why}; the next cluster may start at {until}"),
                None => format!("frozen: {why}; no cluster may start any more: correct spec.upgradeStrategy.startWindows"),
            };
            (reason::FROZEN, message)
        }
        Halt::FreezeCalendarUnreadable { why } => (
            reason::FREEZE_CALENDAR_UNREADABLE,
            format!(
                "no further cluster starts, as spec.upgradeStrategy.freezeCalendar cannot be read: {}",
                shortened(why, CLUSTER_MESSAGE)
            ),
        ),
    }
}
