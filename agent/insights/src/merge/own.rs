//! What the agent itself says about an informer, in that informer's name, under uids that informers may not use.

use drydock_api::insights::{FailurePolicy, Impact, ImpactType, Insight, Level, Remediation, Scope};
use jiff::Timestamp;

use crate::built_in::BuiltIn;
use crate::finding::Finding;
use crate::hooks::{DEGRADED, FAILURE, RESERVED_UIDS, TRUNCATED, UNAVAILABLE};
use crate::informer_name::InformerName;

/// Is it something that the agent says?
pub(crate) fn is_own(insight: &Insight) -> bool {
    RESERVED_UIDS.iter().any(|uid| insight.uid.starts_with(uid))
}

/// Does it say that findings do not fit in?
pub(crate) fn is_truncation(insight: &Insight) -> bool {
    insight.uid.starts_with(TRUNCATED)
}

/// The informer answers Failure, and does not say why by a finding.
pub(super) fn failure(
    informer: &InformerName,
    message: &str,
    policy: FailurePolicy,
    now: Timestamp,
) -> Finding {
    let summary = format!("Informer {informer} cannot tell what it would report");
    own(FAILURE, level(policy), summary, message, informer, now)
}

/// The informer does not answer.
pub(super) fn unavailable(
    informer: &InformerName,
    why: &str,
    policy: FailurePolicy,
    now: Timestamp,
) -> Finding {
    let summary = format!("Informer {informer} does not answer");
    own(UNAVAILABLE, level(policy), summary, why, informer, now)
}

/// The informer says of itself that it is degraded: what it reports may not be all (insights.md, section 1.2, c).
pub(super) fn degraded(informer: &InformerName, why: &str, policy: FailurePolicy, now: Timestamp) -> Finding {
    let summary = format!("Informer {informer} says that it is degraded");
    own(DEGRADED, level(policy), summary, why, informer, now)
}

/// Some findings do not fit in. `which` makes it another finding when it is about others, so that nobody accepts what was never shown.
pub(crate) fn truncated(
    informer: &InformerName,
    dropped: usize,
    level: Level,
    which: Option<&str>,
    now: Timestamp,
) -> Finding {
    let uid = which.map_or_else(|| TRUNCATED.to_owned(), |which| format!("{TRUNCATED}-{which}"));
    let summary = format!("{dropped} insights of informer {informer} do not fit in here");
    let why = "The worst of each informer are kept. Ask the informer itself for the others.";
    own(&uid, level, summary, why, informer, now)
}

/// What the informer would have reported is not known, and may be anything.
fn level(policy: FailurePolicy) -> Level {
    match policy {
        FailurePolicy::Fail => Level::Unknown,
        FailurePolicy::Ignore => Level::Info,
    }
}

fn own(
    uid: &str,
    level: Level,
    summary: String,
    description: &str,
    informer: &InformerName,
    now: Timestamp,
) -> Finding {
    // The agent's own informers have no object.
    let (action, verify) = if BuiltIn::of(informer).is_some() {
        (
            "Let the agent read what is named: see its log, and its role".to_owned(),
            "kubectl get updatestatus cluster -o yaml".to_owned(),
        )
    } else {
        (
            format!(
                "Get the informer to work, or switch it off with spec.enabled: false in UpdateInformer {informer}"
            ),
            format!("kubectl get updateinformer {informer}"),
        )
    };
    Finding {
        uid: uid.to_owned(),
        acquired: now,
        scope: Scope::default(),
        impact: Impact {
            level,
            impact_type: ImpactType::Unknown,
            summary,
            description: Some(description.chars().take(4096).collect())
                .filter(|text: &String| !text.is_empty()),
        },
        remediation: Some(Remediation {
            action: Some(action),
            verify: Some(verify),
            ..Remediation::default()
        }),
    }
}
