//! The decision.

use drydock_api::mcu::ActionSummary;
use drydock_api::names::WorkKind;
use jiff::Timestamp;

use crate::batch::{self, choose, halt, hold};
use crate::cluster::{Member, Step};
use crate::members::{Context, persisted_start};
use crate::{
    Action, ClusterState, Deadline, FailureReason, Halt, Observed, OwnPlacement, Plan, Report, cleanup,
    deletion, estimate,
};

/// Decides what is to be done about an upgrade.
///
/// The same observation and moment always give the same plan, and a plan that has been carried out is not given again.
pub fn decide(observed: &Observed, now: Timestamp) -> Plan {
    if observed.upgrade.deleting {
        return deletion::decide(observed);
    }
    let context = Context::new(observed, now);
    let mut members = context.members();
    let halt = halt(&context, &members);
    hold(&context, &mut members);
    let batch = choose(&context, &mut members, halt.as_ref());
    let frozen = is_frozen(&context);
    let all_finished = members.values().all(|member| member.standing.state.finished());

    let mut actions = own_placement(observed);
    for member in members.values() {
        if let Step::GoOn(next) = &member.step {
            actions.extend(next.iter().cloned());
        }
    }
    actions.extend(batch.actions);
    let settled = context.spec.is_some() && context.selection_report().problem.is_none();
    if frozen || (settled && all_finished && !members.is_empty()) {
        actions.extend(cleanup::action_works(observed));
    }
    if frozen {
        actions.retain(|action| action.starts().is_none());
    }
    if !observed.caught_up {
        actions.clear();
    } else if !observed.upgrade.finalizer {
        actions = vec![Action::AddFinalizer];
    }

    let starting = if actions.iter().any(|action| action.starts().is_some()) {
        batch.starting
    } else {
        0
    };
    let wake = next_look(&context, &members, halt.as_ref());
    let mut report = Report {
        selection: context.selection_report(),
        invalid: observed.spec.as_ref().err().cloned(),
        halt,
        starting,
        limit: batch.limit,
        target: context.spec.map(|spec| spec.goal.to_string()).unwrap_or_default(),
        pre_actions: pre_actions(&context, &members),
        post_actions: post_actions(&context, &members),
        rollout_since: persisted_start(observed).or((starting > 0).then_some(now)),
        frozen,
        retry: observed.upgrade.retry.clone().transpose(),
        clusters: members
            .into_iter()
            .map(|(name, member)| (name, member.standing))
            .collect(),
        ..Report::default()
    };
    report.estimated_completion = estimate::completion(&report, now);
    Plan {
        actions,
        report,
        wake,
    }
}

/// A complete upgrade no longer follows the fleet, until its spec changes or a retry is asked for.
fn is_frozen(context: &Context<'_>) -> bool {
    let observed = context.observed;
    let completed = observed.previous.completion_time;
    // The completion is known to the second.
    let is_retried = context
        .retry
        .is_some_and(|asked| completed.is_none_or(|then| then.as_second() < asked.as_second()));
    observed.previous.complete
        && !is_retried
        && observed.spec.is_ok()
        && observed.previous.observed_generation == Some(observed.upgrade.generation)
}

/// The next moment at which something follows from the time alone.
fn next_look(context: &Context<'_>, members: &Members, halt: Option<&Halt>) -> Option<Timestamp> {
    let asked = context.observed.upgrade.retry.as_ref().ok().copied().flatten();
    members
        .values()
        .filter_map(deadline)
        .chain(batch::wake(context, halt))
        .chain(asked.filter(|asked| *asked > context.now))
        .min()
}

fn own_placement(observed: &Observed) -> Vec<Action> {
    let wanted = observed.spec.as_ref().ok().map(|spec| spec.has_selector);
    match (wanted, observed.own_placement) {
        (Some(true), OwnPlacement::Absent | OwnPlacement::Stale) => vec![Action::ApplyPlacement],
        (Some(false), OwnPlacement::Current | OwnPlacement::Stale) => vec![Action::DeletePlacement],
        _ => Vec::new(),
    }
}

fn deadline(member: &Member) -> Option<Timestamp> {
    match member.standing.deadline {
        Deadline::At(moment) => Some(moment),
        Deadline::Never(_) => None,
    }
}

type Members = std::collections::BTreeMap<drydock_api::ClusterName, Member>;

/// How a cluster failed, read from the record of its works.
fn failure(context: &Context<'_>, name: &drydock_api::ClusterName) -> Option<FailureReason> {
    let works = context.observed.works.get(name)?;
    [WorkKind::Cluster, WorkKind::Operators, WorkKind::Pre]
        .into_iter()
        .find_map(|kind| {
            let work = works
                .get(&kind)
                .filter(|work| work.owner.uid == context.observed.upgrade.uid)?;
            FailureReason::parse(&work.record.as_ref()?.reason)
        })
}

/// Pre-upgrade actions, counted over all clusters that have started: their works go when the upgrade is done, the counts
/// stay. A cluster that has an upgrade work has passed its action.
fn pre_actions(context: &Context<'_>, members: &Members) -> ActionSummary {
    let mut summary = ActionSummary::default();
    if context.spec.is_some_and(|spec| spec.pre_action.is_none()) {
        return summary;
    }
    for (name, member) in members {
        let standing = &member.standing;
        let acting = standing.state == ClusterState::PreAction;
        let failed = failure(context, name).is_some_and(FailureReason::before_upgrade);
        if standing.started.is_none() {
            continue;
        }
        summary.total += 1;
        summary.applied += i64::from(standing.initialized || standing.applied);
        summary.available += i64::from(standing.initialized);
        summary.degraded += i64::from(failed);
        summary.progressing += i64::from(acting && !standing.initialized && !failed);
    }
    summary
}

/// Post-upgrade actions, counted over the clusters that have reached the target.
fn post_actions(context: &Context<'_>, members: &Members) -> ActionSummary {
    let mut summary = ActionSummary::default();
    if context.spec.is_some_and(|spec| spec.post_action.is_none()) {
        return summary;
    }
    for (name, member) in members {
        let standing = &member.standing;
        let post = context
            .observed
            .works
            .get(name)
            .and_then(|works| works.get(&WorkKind::Post));
        let acting = standing.state == ClusterState::PostAction;
        let complete = standing.state == ClusterState::Complete && standing.initialized;
        let failed = failure(context, name).is_some_and(FailureReason::after_upgrade);
        if !(acting || complete || failed) {
            continue;
        }
        let applied = post.is_some_and(|work| work.applied == crate::ConditionStatus::True);
        summary.total += 1;
        summary.applied += i64::from(complete || failed || applied);
        summary.available += i64::from(complete);
        summary.degraded += i64::from(failed);
        summary.progressing += i64::from(acting);
    }
    summary
}
