//! Go, caution or stop, and why (insights.md, section 1.6).

use drydock_api::insights::{
    AcceptanceState, InformerState, Insight, InsightCounts, Level, LevelCounts, NOT_ACCEPTED, PlanInsight,
    Verdict, VerdictReason,
};

use crate::informer_name::InformerName;

/// The most reasons that are listed.
const MAX_REASONS: usize = 10;
/// The most characters of what to do.
const LONGEST_ACTION: usize = 256;

/// How many of those that hold it a sentence names.
const NAMED: usize = 3;
/// The most characters of each.
const LONGEST_NAME: usize = 80;

/// What one informer says about a plan.
#[derive(Clone, Debug)]
pub struct InformerPart<'a> {
    /// The informer.
    pub name: &'a InformerName,
    /// How it answered.
    pub state: InformerState,
    /// Its findings, with what their acceptance comes to.
    pub insights: &'a [PlanInsight],
}

/// Whether an update should start, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is not Go, the worst first.
    pub reasons: Vec<VerdictReason>,
    /// How many findings there are.
    pub counts: InsightCounts,
}

impl Judgement {
    /// How many findings nobody has accepted, and the worst of them.
    pub fn unaccepted(&self) -> String {
        let open = |reason: &&VerdictReason| reason.uuid.is_some() && !is_accepted(reason);
        let named = self.reasons.iter().filter(open).take(NAMED);
        let named = named.map(|reason| {
            let summary: String = reason.summary.chars().take(LONGEST_NAME).collect();
            format!("{}: {summary}", reason.level.as_str())
        });
        let named: Vec<String> = named.collect();
        format!("{NOT_ACCEPTED}: {}: {}", self.counts.unaccepted, named.join("; "))
    }
}

/// Judges a plan. An informer that has not answered yet holds the update: nobody can accept what is not known.
pub fn judge(parts: &[InformerPart<'_>]) -> Judgement {
    let mut counts = InsightCounts::default();
    let mut reasons: Vec<_> = parts.iter().filter_map(not_answered).collect();
    let mut is_ignored = false;
    for part in parts.iter().filter(|part| part.state != InformerState::Disabled) {
        for found in part.insights {
            counts.total += 1;
            let level = found.insight.impact.level;
            let is_accepted = found.acceptance == Some(AcceptanceState::Accepted);
            is_ignored |= crate::merge::is_own(&found.insight);
            counts.accepted += i64::from(is_accepted);
            if !level.gates() {
                continue;
            }
            if !is_accepted {
                counts.unaccepted += 1;
                count(&mut counts.unaccepted_by_level, level);
            }
            reasons.push(VerdictReason {
                informer: part.name.to_string(),
                uuid: Some(found.insight.uuid.clone()),
                uid: Some(found.insight.uid.clone()),
                level,
                summary: found.insight.impact.summary.clone(),
                impact_type: Some(found.insight.impact.impact_type),
                action: action(&found.insight),
                acceptance: found.acceptance,
            });
        }
    }
    reasons.sort_by(|one, other| {
        is_accepted(one)
            .cmp(&is_accepted(other))
            .then_with(|| other.level.cmp(&one.level))
            .then_with(|| (&one.informer, &one.uuid).cmp(&(&other.informer, &other.uuid)))
    });
    let is_held = !reasons.iter().all(is_accepted);
    let verdict = match (is_held, reasons.is_empty() && !is_ignored) {
        (true, _) => Verdict::Stop,
        (false, true) => Verdict::Go,
        (false, false) => Verdict::Caution,
    };
    reasons.truncate(MAX_REASONS);
    Judgement {
        verdict,
        reasons,
        counts,
    }
}

fn is_accepted(reason: &VerdictReason) -> bool {
    reason.acceptance == Some(AcceptanceState::Accepted)
}

fn not_answered(part: &InformerPart<'_>) -> Option<VerdictReason> {
    let summary = match part.state {
        InformerState::Pending => format!("Informer {} has not been asked yet", part.name),
        InformerState::Waiting => format!("Informer {} is still looking", part.name),
        InformerState::Success
        | InformerState::Failure
        | InformerState::Unavailable
        | InformerState::Disabled
        | InformerState::NotImplemented => return None,
    };
    Some(VerdictReason {
        informer: part.name.to_string(),
        uuid: None,
        uid: None,
        level: Level::Unknown,
        summary,
        impact_type: None,
        action: None,
        acceptance: None,
    })
}

/// What to do, as much of it as a reason holds.
fn action(insight: &Insight) -> Option<String> {
    let action = insight.remediation.as_ref()?.action.as_deref()?;
    Some(action.chars().take(LONGEST_ACTION).collect())
}

fn count(counts: &mut LevelCounts, level: Level) {
    match level {
        Level::Critical => counts.critical += 1,
        Level::Error => counts.error += 1,
        Level::Unknown => counts.unknown += 1,
        Level::Warning => counts.warning += 1,
        Level::Status | Level::Info => {}
    }
}
