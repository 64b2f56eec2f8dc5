//! From when on what has been found counts.

use drydock_api::fact::Fact;
use drydock_api::insights::UpdatePlan;
use jiff::{SignedDuration, Timestamp};

use crate::built_in::PlannedRelease;

use super::prune::{self, MAX_AGE, ReleaseFacts};

/// How long an informer may be waited for (insights.md, section 1.3).
pub(super) const MAX_WAIT: SignedDuration = SignedDuration::from_secs(120);

/// How old what has been found is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Age {
    /// When asking began: what was found before does not count.
    pub since: Timestamp,
    /// The version from which the update would start; nothing if it is not known.
    pub base: Option<String>,
    /// The other release that is requested and has not begun: what is found is about a request instead of that.
    pub request: Option<String>,
    /// When all of it has to be asked for anew.
    pub stale_at: Option<Timestamp>,
}

impl Age {
    /// Until when informers are waited for.
    pub fn cap(&self) -> Timestamp {
        self.since.saturating_add(MAX_WAIT).unwrap_or(Timestamp::MAX)
    }
}

/// Has the update begun, or has the cluster gone beyond it?
pub(super) fn is_over(plan: &UpdatePlan, cluster: &Fact<ReleaseFacts>) -> bool {
    let Ok(cluster) = cluster else { return false };
    let target = &plan.spec.target_release;
    let has_begun = cluster.has_begun && cluster.active_target.as_ref() == Some(target);
    has_begun || prune::is_reached(target, &cluster.version)
}

/// Another release than that of the plan, which is requested of the cluster and has not begun.
pub fn other_request(plan: &UpdatePlan, cluster: &ReleaseFacts) -> Option<String> {
    let target = PlannedRelease::of_plan(&plan.spec);
    let requested = cluster.requested.clone();
    requested.filter(|requested| !target.is_requested_as(requested))
}

/// Everything is asked anew when the plan, the version of the cluster or what else is requested of it has changed, and when it was a day ago.
pub(super) fn age(plan: &UpdatePlan, cluster: &Fact<ReleaseFacts>, now: Timestamp) -> Age {
    let status = plan.status.as_ref();
    let (base, request) = match cluster {
        Ok(cluster) => (Some(cluster.version.clone()), other_request(plan, cluster)),
        Err(_) => (
            status.and_then(|status| status.base_version.clone()),
            status.and_then(|status| status.base_request.clone()),
        ),
    };
    let since = status.and_then(|status| {
        let is_current = status.observed_generation == plan.metadata.generation
            && status.base_version == base
            && status.base_request == request;
        let since = status.collecting_since.as_ref()?.0;
        // A clock that has been set back since says nothing about what came when.
        let is_new = is_current && since <= now && now.duration_since(since) < MAX_AGE;
        is_new.then_some(since)
    });
    let since = since.unwrap_or(now);
    Age {
        since,
        base,
        request,
        stale_at: since.checked_add(MAX_AGE).ok(),
    }
}
