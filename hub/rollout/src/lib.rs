//! What a fleet upgrade does next, decided from what is observed. This crate cannot do I/O: it has neither a Kubernetes client, nor
//! Kubernetes' types, nor an async runtime.
//!
//! [`decide`] is the definition: a function of what is [`Observed`] and the present moment to a [`Plan`] of writes, a [`Report`] that
//! says why the rollout is where it is, and the next deadline. It assesses one [`ClusterRow`] a cluster, adds the assessments up, and fills
//! the free slots. [`Decider`] gives the same plans and looks only at the rows that have changed. [`check`] says which invariants a
//! plan would break; the hub refuses to act on such a plan. [`Observed::apply`] says what an action does.

mod assess;
mod check;
mod conditions;
mod decide;
mod decider;
mod deletion;
mod expected;
mod forecast_input;
mod goal;
mod labels;
mod observed;
mod pages;
mod plan;
mod reason;
mod report;
mod selector;
mod slots;
mod snapshot;
mod spec;
mod stage;
mod stage_set;
mod start_times;
mod startable;
mod state;
mod totals;
pub mod transition;
mod window;

use std::borrow::Cow;

pub use assess::{ClusterPreChecks, rollout_since};
pub use check::{Violation, check};
pub use conditions::{
    ConditionStatus, ConditionType, EARLIER, LEFT_TO, UpgradeCondition, left_to_later, upgrade_conditions,
};
pub use decide::decide;
pub use decider::Decider;
pub use drydock_names::names::{EndState, WorkKind};
pub use drydock_names::{ClusterName, IntOrPercent};
pub use expected::ExpectedDuration;
pub use forecast_input::{AfterEnd, ClusterProgress, ForecastInput, ForecastUnavailable, Position};
pub use goal::{Goal, OperatorKey, Operators, Target};
pub use labels::Labels;
pub use observed::{
    ABANDONED_BEFORE_UPGRADE, ALREADY_AT_TARGET, AcceptedBy, AcceptedFinding, ActionJob, ActionJobState,
    AgentFeedback, AgentPhase, AnswerSource, Applied, AttemptOutcome, ClusterFacts, ClusterRow,
    ENTRY_MESSAGE, EndedOn, Enforcement, Entry, EntryPlace, Finding, FindingAcceptance, FindingLevel,
    KnownAnswer, LiveUpgrades, Observed, OtherQuestion, OwnPlacement, Owner, PerKind, PlacementKey,
    PreCheckAnswer, PreCheckQuestion, PreCheckWork, PreCheckWrite, Previous, RecordPage, RecordPageHeader,
    RecordedEntry, RecordedOutcome, Refusal, RefusalCause, RefusedWrite, RejectedTarget, Requirements,
    Retries, RetryToken, Revision, RiskAcceptance, Rollout, Selected, Selection, SelectionProblem,
    SelectionSource, StageSeconds, Taint, Toleration, UPDATED_OTHERWISE, Uid, UpdateState, Upgrade,
    UpgradeKey, UpgradeMethod, VersionFeedback, Work, WorkAfter, WorkFeedback, Works, pre_checks_work_name,
};
pub use pages::{PAGE_ENTRIES, expired_pages};
pub use plan::{Action, Finish, NewWork, Plan, PreCheckAsk, RecordPageWrite, WorkContent};
pub use reason::{BELONGS_TO, Deadline, FailureReason, Reason};
pub use report::{
    ActionCounts, Afterwards, ClusterStatus, Counts, DeletionReport, Halt, NAMED_CLUSTERS, PreCheckCounts,
    Report, Urgency,
};
pub use selector::{InvalidSelector, Selector};
pub use slots::{FreeSlots, HaltKind, SlotDecision, SlotInputs, next_moment, upgrades_allowed};
pub use snapshot::{DecisionPage, Decisions, PlacementSummary, Snapshot, read_snapshot};
pub use spec::{
    ActionSpec, AgentOptions, InvalidSpec, PreChecksMode, PreChecksPolicy, RequestedMethod, Spec, Strategy,
};
pub use stage::Stage;
pub use stage_set::StageSet;
pub use start_times::{
    Freeze, FreezeCalendar, FreezeIndex, MOST_START_TIMES, StartTimes, StartWindow, Timetable,
};
pub use state::ClusterState;
pub use transition::Transition;
pub use window::{InvalidWindow, Opening, Window};

/// A text of at most this many bytes: what is longer ends before a word, with `…`.
pub fn shortened(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let begin = bounded(text, bytes.saturating_sub('…'.len_utf8()));
    let words = begin
        .rsplit_once(char::is_whitespace)
        .map_or(begin, |(words, _)| words);
    Cow::Owned(format!("{}…", words.trim_end_matches([' ', ',', ';', ':', '('])))
}

/// The beginning of a text that is at most this many bytes long, cut between characters.
pub fn bounded(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_too_long_ends_with_a_whole_word() {
        for (bytes, expected) in [
            (40, "c1: waits for the control plane (12 %)"),
            (37, "c1: waits for the control plane…"),
            (20, "c1: waits for…"),
            (6, "c1…"),
        ] {
            let short = shortened("c1: waits for the control plane (12 %)", bytes);
            assert_eq!(short, expected);
            assert!(short.len() <= bytes, "{short}");
        }
        assert_eq!(shortened("ééééé", 8), "éé…");
    }
}
