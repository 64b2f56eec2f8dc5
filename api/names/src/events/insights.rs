//! Of update insights.

use super::{Documented, Severity, documented};

pub(super) const EVENTS: &[Documented] = &[
    documented(
        "PlanJudged",
        "UpdatePlan",
        Severity::Either,
        "the verdict is another; Warning if it is Stop",
        "read the findings of the plan: `kubectl drydock cluster pre-checks`",
    ),
    documented(
        "RiskNoLongerAccepted",
        "UpdatePlan",
        Severity::Warning,
        "an acceptance has ended, or the finding has become worse",
        "accept it again, or correct it",
    ),
    documented(
        "UpdatePlanPruned",
        "UpdatePlan",
        Severity::Normal,
        "the plan is deleted; the message says why",
        "nothing",
    ),
    documented(
        "InformerOnline",
        "UpdateInformer",
        Severity::Normal,
        "`Online` is True, or for another reason; the message begins with the reason",
        "nothing",
    ),
    documented(
        "InformerOffline",
        "UpdateInformer",
        Severity::Either,
        "`Online` is no longer True, or for another reason; Normal where it was switched off",
        "see [what it says](../conditions/UpdateInformer/Online.md)",
    ),
];
