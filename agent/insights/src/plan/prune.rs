//! Which plans are no longer needed (insights.md, section 1.6, prune rules).

use std::collections::BTreeMap;

use drydock_api::insights::UpdatePlan;
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;
use semver::Version;

/// How many plans there may be.
pub const MAX_PLANS: usize = 20;
/// How old a plan may become that nobody has accepted anything of.
pub const MAX_AGE: SignedDuration = SignedDuration::from_hours(24);
/// For how long a plan is kept whose update has been made.
const AUDIT: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The kind that owns what OCM's work agent applies.
const APPLIED_WORK: &str = "AppliedManifestWork";

/// What is known of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReleaseFacts {
    /// Who it is, for informers that ask a remote system.
    pub id: String,
    /// The version that it runs, the last one whose update was completed.
    pub version: String,
    /// The version that it is being updated to.
    pub active_target: Option<String>,
    /// That update has begun: until then it is only requested, and the cluster may refuse it.
    pub has_begun: bool,
    /// What is requested and has not begun: a version, or the digest of an image that no offered release has.
    pub requested: Option<String>,
    /// The versions that the update service offers; nothing if it does not answer.
    pub offered: Option<Vec<String>>,
    /// The versions that it has run or tried to run, and when that began.
    pub history: BTreeMap<String, Option<Timestamp>>,
}

/// A plan, and whether anything of it is accepted.
#[derive(Clone, Copy, Debug)]
pub struct PlanToKeep<'a> {
    /// The plan.
    pub plan: &'a UpdatePlan,
    /// Whether somebody has accepted a finding of it.
    pub is_accepted: bool,
}

/// Why a plan is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PruneReason {
    /// The cluster runs a version that is as high.
    Reached,
    /// The update service no longer offers the target.
    NotOffered,
    /// It is more than a day old, and nobody has accepted anything.
    Old,
    /// There are too many.
    TooMany,
    /// The update was made a month ago.
    Audited,
}

impl PruneReason {
    /// Why, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reached => "the cluster runs a version that is as high",
            Self::NotOffered => "the update service no longer offers its target",
            Self::Old => "it is more than a day old, and nothing of it is accepted",
            Self::TooMany => "there are more than 20 plans, and it is the oldest",
            Self::Audited => "its update was made a month ago",
        }
    }
}

/// The plans to delete, by name.
pub fn prune(
    plans: &[PlanToKeep<'_>],
    cluster: &ReleaseFacts,
    now: Timestamp,
) -> BTreeMap<String, PruneReason> {
    let mut pruned: BTreeMap<_, _> = plans
        .iter()
        .filter_map(|plan| Some((plan.plan.name_any(), reason(plan, cluster, now)?)))
        .collect();
    let mut left: Vec<_> = plans
        .iter()
        .filter(|plan| !pruned.contains_key(&plan.plan.name_any()) && !is_kept(plan, cluster))
        .collect();
    left.sort_by_key(|plan| (plan.is_accepted, last_asked(plan.plan), plan.plan.name_any()));
    let more = (plans.len() - pruned.len()).saturating_sub(MAX_PLANS);
    pruned.extend(
        left.iter()
            .take(more)
            .map(|plan| (plan.plan.name_any(), PruneReason::TooMany)),
    );
    pruned
}

/// When a plan may have to be deleted; nothing if it could have been before, and was kept.
pub fn next_prune(plan: &UpdatePlan, now: Timestamp) -> Option<Timestamp> {
    let old = last_asked(plan)?.checked_add(MAX_AGE).ok();
    old.filter(|old| *old > now)
}

/// A plan whose update is under way, or has been made, is kept, and so is one that a work applies.
fn is_kept(plan: &PlanToKeep<'_>, cluster: &ReleaseFacts) -> bool {
    let target = &plan.plan.spec.target_release;
    is_applied(plan.plan)
        || cluster.active_target.as_ref() == Some(target)
        || cluster.history.contains_key(target)
}

/// Whether a ManifestWork of the hub applies the plan: it would come back, and goes with its work.
fn is_applied(plan: &UpdatePlan) -> bool {
    let owners = plan.owner_references().iter();
    owners
        .map(|owner| owner.kind.as_str())
        .any(|kind| kind == APPLIED_WORK)
}

fn reason(plan: &PlanToKeep<'_>, cluster: &ReleaseFacts, now: Timestamp) -> Option<PruneReason> {
    let target = &plan.plan.spec.target_release;
    if cluster.active_target.as_ref() == Some(target) || is_applied(plan.plan) {
        return None;
    }
    if let Some(began) = cluster.history.get(target) {
        // One that was made anew since, to try it again, is as new.
        let began = (*began).max(last_asked(plan.plan))?;
        return (now.duration_since(began) > AUDIT).then_some(PruneReason::Audited);
    }
    if is_reached(target, &cluster.version) {
        return Some(PruneReason::Reached);
    }
    let was_offered = plan.plan.status.as_ref().and_then(|status| status.offered) == Some(true);
    let is_offered = cluster
        .offered
        .as_ref()
        .is_none_or(|offered| offered.contains(target));
    if was_offered && !is_offered {
        return Some(PruneReason::NotOffered);
    }
    let is_old = last_asked(plan.plan).is_some_and(|asked| now.duration_since(asked) > MAX_AGE);
    (is_old && !plan.is_accepted).then_some(PruneReason::Old)
}

/// Is a version as high as a target?
pub fn is_reached(target: &str, version: &str) -> bool {
    match (Version::parse(target), Version::parse(version)) {
        (Ok(target), Ok(version)) => target.cmp_precedence(&version).is_le(),
        _ => false,
    }
}

/// When somebody was last interested in a plan.
fn last_asked(plan: &UpdatePlan) -> Option<Timestamp> {
    let created = plan.metadata.creation_timestamp.as_ref().map(|time| time.0);
    created.max(plan.spec.last_refresh())
}

#[cfg(test)]
mod tests;
