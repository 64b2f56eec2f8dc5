//! The invariants of a plan, computed apart from the decision. The hub refuses to act on a plan that breaks one.

use std::collections::BTreeSet;

use drydock_api::ClusterName;
use drydock_api::names::WorkKind;
use thiserror::Error;

use crate::{Action, Observed, Plan, Spec, Uid, Work};

/// A rule that a plan would break.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Violation {
    /// More clusters would be in flight than `maxConcurrency` allows.
    #[error("{in_flight} clusters would be in flight, {limit} are allowed")]
    TooMany {
        /// How many would be.
        in_flight: usize,
        /// How many may be.
        limit: usize,
    },
    /// A cluster that is no canary would start before all canaries are complete.
    #[error("{0} would start before the canaries are complete")]
    BeforeCanaries(ClusterName),
    /// A cluster would start although nothing may.
    #[error("{0} would start although {1}")]
    MustNotStart(ClusterName, &'static str),
    /// A work would be created where one is.
    #[error("the work {1:?} of {0} exists")]
    Exists(ClusterName, WorkKind),
    /// A cluster would start while another upgrade is at work on it.
    #[error("{0} is another upgrade's")]
    NotOurs(ClusterName),
    /// A work would be deleted or finished that is not the observed one, or is another upgrade's and not finished.
    #[error("the work {1:?} of {0} must not be touched")]
    MustNotTouch(ClusterName, WorkKind),
}

/// Says which rules the plan would break.
pub fn check(observed: &Observed, plan: &Plan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let starts: BTreeSet<&ClusterName> = plan
        .actions
        .iter()
        .filter_map(Action::starts)
        .filter(|cluster| !in_flight(observed, cluster))
        .collect();
    if !starts.is_empty() {
        check_starts(observed, &starts, &mut violations);
    }
    check_upgrades(observed, plan, &mut violations);
    for action in &plan.actions {
        check_action(observed, action, &mut violations);
    }
    violations
}

fn check_starts(observed: &Observed, starts: &BTreeSet<&ClusterName>, violations: &mut Vec<Violation>) {
    let selected = selected(observed);
    let canaries_wait = canaries_wait(observed, &selected);
    for name in starts {
        check_start(observed, &selected, canaries_wait, name, violations);
    }
    if let Ok(spec) = &observed.spec {
        let limit = spec.strategy.slots(selected.len());
        let running = observed
            .works
            .keys()
            .filter(|name| in_flight(observed, name))
            .count();
        if running + starts.len() > limit {
            violations.push(Violation::TooMany {
                in_flight: running + starts.len(),
                limit,
            });
        }
    }
}

/// Clusters that have started before go on to their upgrade only while fewer are being upgraded than may be in flight.
fn check_upgrades(observed: &Observed, plan: &Plan, violations: &mut Vec<Violation>) {
    let Ok(spec) = &observed.spec else {
        return;
    };
    let is_upgrading = |name: &ClusterName| {
        let own = |(_, work): &(WorkKind, &Work)| work.owner.uid == observed.upgrade.uid;
        let mut own = works(observed, name).filter(own);
        in_flight(observed, name) && own.any(|(kind, _)| is_main(kind))
    };
    let going_on = plan.actions.iter().filter(|action| match action {
        Action::CreateWork(order) => {
            let cluster = &order.cluster;
            is_main(order.kind) && in_flight(observed, cluster) && !is_upgrading(cluster)
        }
        _ => false,
    });
    let going_on = going_on.count();
    if going_on == 0 {
        return;
    }
    let upgrading = observed.works.keys().filter(|name| is_upgrading(name)).count();
    let limit = spec.strategy.slots(selected(observed).len());
    if upgrading + going_on > limit {
        violations.push(Violation::TooMany {
            in_flight: upgrading + going_on,
            limit,
        });
    }
}

fn is_main(kind: WorkKind) -> bool {
    matches!(kind, WorkKind::Cluster | WorkKind::Operators)
}

fn is_canary(observed: &Observed, spec: &Spec, name: &ClusterName) -> bool {
    let cluster = observed.clusters.get(name);
    let canaries = spec.strategy.canaries.as_ref();
    canaries
        .zip(cluster)
        .is_some_and(|(canaries, cluster)| canaries.matches(&cluster.labels))
}

/// Whether a canary is not complete.
fn canaries_wait(observed: &Observed, selected: &BTreeSet<&ClusterName>) -> bool {
    observed.spec.as_ref().is_ok_and(|spec| {
        selected
            .iter()
            .any(|name| is_canary(observed, spec, name) && !is_complete(observed, spec, name))
    })
}

fn check_start(
    observed: &Observed,
    selected: &BTreeSet<&ClusterName>,
    canaries_wait: bool,
    name: &ClusterName,
    violations: &mut Vec<Violation>,
) {
    let why = match &observed.spec {
        Err(_) => Some("the spec is invalid"),
        Ok(spec) if spec.paused => Some("it is paused"),
        Ok(_) if observed.upgrade.deleting => Some("the upgrade is being deleted"),
        Ok(_) if !observed.caught_up => Some("the view is behind our own writes"),
        Ok(_) if !selected.contains(name) => Some("it is not selected"),
        Ok(_) if !observed.upgrade.finalizer => Some("the upgrade has no finalizer yet"),
        Ok(_) => None,
    };
    if let Some(why) = why {
        violations.push(Violation::MustNotStart(name.clone(), why));
    }
    if works(observed, name).any(|(_, work)| work.owner.uid != observed.upgrade.uid) {
        violations.push(Violation::NotOurs(name.clone()));
    }
    if let Ok(spec) = &observed.spec
        && canaries_wait
        && !is_canary(observed, spec, name)
    {
        violations.push(Violation::BeforeCanaries(name.clone()));
    }
}

fn check_action(observed: &Observed, action: &Action, violations: &mut Vec<Violation>) {
    match action {
        Action::AddFinalizer | Action::RemoveFinalizer | Action::ApplyPlacement | Action::DeletePlacement => {
        }
        Action::CreateWork(order) => {
            if works(observed, &order.cluster).any(|(kind, _)| kind == order.kind) {
                violations.push(Violation::Exists(order.cluster.clone(), order.kind));
            }
        }
        Action::FinishWork {
            cluster, kind, uid, ..
        } => {
            if find(observed, cluster, *kind, uid).is_none_or(|work| work.owner.uid != observed.upgrade.uid) {
                violations.push(Violation::MustNotTouch(cluster.clone(), *kind));
            }
        }
        Action::ReopenWork { cluster, uid } => {
            let allowed = find(observed, cluster, WorkKind::Cluster, uid).is_some_and(|work| {
                let record = work.record.as_ref();
                work.owner.uid == observed.upgrade.uid
                    && record.is_some_and(|record| record.state == crate::ClusterState::Failed)
            });
            if !allowed {
                violations.push(Violation::MustNotTouch(cluster.clone(), WorkKind::Cluster));
            }
        }
        Action::DeleteWork { cluster, kind, uid } => {
            let allowed = find(observed, cluster, *kind, uid).is_some_and(|work| {
                work.owner.uid == observed.upgrade.uid || !owner_at_work(observed, cluster, &work.owner.uid)
            });
            if !allowed {
                violations.push(Violation::MustNotTouch(cluster.clone(), *kind));
            }
        }
    }
}

fn selected(observed: &Observed) -> BTreeSet<&ClusterName> {
    let sources = &observed.selection.sources;
    sources
        .iter()
        .flat_map(|source| source.outcome.iter().flat_map(|snapshot| snapshot.keys()))
        .collect()
}

fn works<'a>(observed: &'a Observed, name: &ClusterName) -> impl Iterator<Item = (WorkKind, &'a Work)> {
    observed
        .works
        .get(name)
        .into_iter()
        .flatten()
        .map(|(kind, work)| (*kind, &**work))
}

fn find<'a>(observed: &'a Observed, name: &ClusterName, kind: WorkKind, uid: &Uid) -> Option<&'a Work> {
    works(observed, name)
        .find(|(other, work)| *other == kind && work.uid == *uid)
        .map(|(_, work)| work)
}

/// Whether an upgrade has works on the cluster without having recorded an outcome there.
fn owner_at_work(observed: &Observed, name: &ClusterName, owner: &Uid) -> bool {
    let theirs = || works(observed, name).filter(|(_, work)| work.owner.uid == *owner && !work.deleting);
    let works_here = theirs().any(|(kind, _)| starts(kind));
    works_here && theirs().all(|(_, work)| work.record.is_none())
}

/// Whether a cluster has started when it has such a work.
fn starts(kind: WorkKind) -> bool {
    kind == WorkKind::Pre || is_main(kind)
}

fn in_flight(observed: &Observed, name: &ClusterName) -> bool {
    let own = || works(observed, name).filter(|(_, work)| work.owner.uid == observed.upgrade.uid);
    let started = own().any(|(kind, _)| starts(kind));
    started && own().all(|(_, work)| work.record.is_none())
}

fn is_complete(observed: &Observed, spec: &Spec, name: &ClusterName) -> bool {
    let claims = observed
        .clusters
        .get(name)
        .and_then(|cluster| cluster.version.as_ref());
    let is_enough = |version| spec.goal.operators.is_none() && spec.goal.platform_reached(version);
    let recorded = |work: &Work| {
        work.owner.uid == observed.upgrade.uid
            && work
                .record
                .as_ref()
                .is_some_and(|record| record.state == crate::ClusterState::Complete)
            && work.is_for(&spec.goal)
    };
    let reached = works(observed, name).any(|(kind, work)| {
        let version = match &work.feedback {
            crate::WorkFeedback::ClusterVersion(feedback) | crate::WorkFeedback::Agent(feedback) => {
                feedback.version.as_ref()
            }
            _ => None,
        };
        is_main(kind) && (recorded(work) || (version.is_some() && is_enough(version)))
    });
    reached || (claims.is_some() && is_enough(claims))
}
