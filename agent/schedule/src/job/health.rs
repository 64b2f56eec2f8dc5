//! Health checks before and after an upgrade: those of the design document beside the original's (Maintenance schedules, sections 3.3
//! and 11). The cluster may be unhealthy for as long as the check's timeout.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use drydock_api::conditions::{self, AnyCondition, FALSE};
use drydock_api::fact::{Fact, Unread};
use drydock_api::insights::{PlannedUpdate, UpdatePlanState};
use drydock_api::openshift::{ClusterOperator, ClusterVersion};
use drydock_api::schedule::HealthChecks;
use jiff::SignedDuration;
use kube::ResourceExt;

use super::Need;
use super::condition::{Failure, JobCondition, JobReason};
use super::event::JobStep;
use super::lock;
use super::pass::{Flow, NEXT, Pass, STOP};
use super::settings::HealthSettings;
use super::write::JobWrite;
use crate::instants::{just_after, later};

/// The alerts that a check is about, as PromQL: all critical ones that fire.
pub const ALERTS: &str = r#"ALERTS{alertstate="firing",severity="critical"}"#;

/// The labels of an alert.
pub type Alert = BTreeMap<String, String>;

/// How soon is looked again what informers have answered about a planned update.
const WHILE_ASKED: SignedDuration = SignedDuration::from_secs(10);

/// Problems of each kind that a message names.
const SHOWN: usize = 5;

/// Which of the two checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before the upgrade.
    Before,
    /// After it.
    After,
}

impl Stage {
    fn condition(self) -> JobCondition {
        match self {
            Self::Before => JobCondition::PreHealthCheckDone,
            Self::After => JobCondition::PostHealthCheckDone,
        }
    }

    fn failure(self) -> Failure {
        match self {
            Self::Before => Failure::PreHealthCheckFailed,
            Self::After => Failure::PostHealthCheckFailed,
        }
    }

    fn completed(self) -> JobStep {
        match self {
            Self::Before => JobStep::PreHealthCheckCompleted,
            Self::After => JobStep::PostHealthCheckCompleted,
        }
    }
}

/// Goes on once the cluster has been healthy.
pub(super) fn check(pass: &mut Pass<'_>, stage: Stage, cluster: &ClusterVersion) -> Flow {
    if pass.is_true(stage.condition()) {
        return NEXT;
    }
    let settings = pass.settings;
    let settings = match stage {
        Stage::Before => &settings.before,
        Stage::After => &settings.after,
    };
    let needs = missing(pass, stage, &settings.checks, cluster);
    if !needs.is_empty() {
        needs.into_iter().for_each(|need| pass.need(need));
        return STOP;
    }
    let mut problems = problems(pass, settings, cluster);
    if let Some(update) = planned(pass, stage, &settings.checks, cluster) {
        problems.extend(of_update_plan(pass, update));
    }
    if problems.is_empty() {
        let message = "the cluster is healthy";
        pass.record(
            stage.condition(),
            true,
            JobReason::Completed,
            stage.completed(),
            message,
        );
        return NEXT;
    }
    unhealthy(pass, stage, settings, &problems.join("; "))
}

fn unhealthy(pass: &mut Pass<'_>, stage: Stage, settings: &HealthSettings, problems: &str) -> Flow {
    let since = pass.since(stage.condition(), FALSE).unwrap_or(pass.now());
    let deadline = later(since, settings.timeout);
    pass.record(
        stage.condition(),
        false,
        JobReason::InProgress,
        JobStep::ClusterUnhealthy,
        problems,
    );
    if pass.now() > deadline {
        let message = format!("the cluster has been unhealthy since {since}: {problems}");
        return pass.fail(stage.failure(), &message);
    }
    pass.wake_at(just_after(deadline));
    pass.poll();
    STOP
}

/// What must be read for the checks.
fn missing(pass: &Pass<'_>, stage: Stage, checks: &HealthChecks, cluster: &ClusterVersion) -> Vec<Need> {
    let mut needs = Vec::new();
    if let Some(update) = planned(pass, stage, checks, cluster)
        && matches!(pass.seen.update_plan, Err(Unread::NotAsked))
    {
        needs.push(Need::UpdatePlan(update));
    }
    if checks.checks_degraded_operators() && matches!(pass.seen.operators, Err(Unread::NotAsked)) {
        needs.push(Need::Operators);
    }
    if checks.check_critical_alerts == Some(true) && matches!(pass.seen.alerts, Err(Unread::NotAsked)) {
        needs.push(Need::Alerts);
    }
    needs
}

/// The update whose UpdatePlan is to be looked at: before an upgrade, where that is asked for, as long as it has not begun.
fn planned(
    pass: &Pass<'_>,
    stage: Stage,
    checks: &HealthChecks,
    cluster: &ClusterVersion,
) -> Option<PlannedUpdate> {
    let is_asked = stage == Stage::Before && checks.check_update_plan == Some(true);
    pass.settings
        .target
        .as_ref()
        .filter(|_| is_asked)?
        .planned(cluster)
}

/// Why the update cannot be planned, where the hub has the plan of its version asked about another release: until it does no more, nobody
/// says what this one waits for.
pub(super) fn planned_otherwise(
    pass: &mut Pass<'_>,
    cluster: &ClusterVersion,
) -> ControlFlow<(), Option<String>> {
    let stage = Stage::Before;
    let checks = &pass.settings.before.checks;
    let is_planned = !pass.is_true(stage.condition());
    let update = planned(pass, stage, checks, cluster).filter(|_| is_planned);
    let Some(update) = update.filter(|_| lock::may_have(pass, cluster)) else {
        return ControlFlow::Continue(None);
    };
    if matches!(pass.seen.update_plan, Err(Unread::NotAsked)) {
        pass.need(Need::UpdatePlan(update));
        return ControlFlow::Break(());
    }
    let state = pass.seen.update_plan.as_ref().ok();
    let state = state.filter(|state| matches!(state, UpdatePlanState::AskedOtherwise(_)));
    ControlFlow::Continue(state.and_then(|state| state.obstacle(&update.version)))
}

/// What keeps the update from being started, by its plan, which is created or refreshed where that is necessary.
fn of_update_plan(pass: &mut Pass<'_>, update: PlannedUpdate) -> Option<String> {
    let seen = pass.seen;
    let version = update.version.clone();
    match &seen.update_plan {
        Ok(state) => {
            // Most informers answer within seconds, and all of them within two minutes.
            if matches!(state, UpdatePlanState::Outdated(_) | UpdatePlanState::Collecting) {
                pass.wake_at(later(pass.now(), WHILE_ASKED));
            }
            if let UpdatePlanState::Outdated(asker) = *state {
                pass.write(JobWrite::RequestUpdatePlan {
                    update,
                    asker,
                    at: pass.now(),
                });
            }
            state.obstacle(&version)
        }
        Err(why) => Some(format!(
            "cannot check whether the update to {version} may start: {why}"
        )),
    }
}

fn problems(pass: &Pass<'_>, settings: &HealthSettings, cluster: &ClusterVersion) -> Vec<String> {
    let checks = &settings.checks;
    let mut problems = Vec::new();
    if checks.checks_degraded_operators() {
        problems.extend(of_operators(&pass.seen.operators, checks));
        problems.extend(of_cluster(cluster, checks));
    }
    if checks.check_critical_alerts == Some(true) {
        problems.extend(of_alerts(&pass.seen.alerts, checks));
    }
    problems
}

/// An operator that is degraded, or not available, which is worse.
fn of_operators(operators: &Fact<Vec<ClusterOperator>>, checks: &HealthChecks) -> Option<String> {
    let operators = match operators {
        Ok(operators) => operators,
        Err(why) => {
            return Some(format!(
                "cannot check whether cluster operators are healthy: {why}"
            ));
        }
    };
    let mut found: Vec<String> = operators
        .iter()
        .filter(|operator| !is_excluded(operator, checks))
        .filter_map(unhealthy_operator)
        .collect();
    found.sort();
    listed("cluster operators are not healthy", &found)
}

fn is_excluded(operator: &ClusterOperator, checks: &HealthChecks) -> bool {
    let name = operator.name_any();
    checks
        .exclude_operators
        .iter()
        .flatten()
        .any(|excluded| *excluded == name)
}

fn unhealthy_operator(operator: &ClusterOperator) -> Option<String> {
    let conditions = &operator.status.as_ref()?.conditions;
    let name = operator.name_any();
    if let Some(degraded) = conditions::find(conditions, "Degraded").filter(|known| known.is_true()) {
        return Some(format!("{name} is degraded: {}", degraded.message()));
    }
    let unavailable = conditions::find(conditions, "Available").filter(|known| known.is_false())?;
    Some(format!("{name} is not available: {}", unavailable.message()))
}

/// What ClusterVersion says of itself. `Degraded` is not set by any release that is known; the original looks for it.
fn of_cluster(cluster: &ClusterVersion, checks: &HealthChecks) -> Option<String> {
    let conditions = cluster.status.as_ref().map(|status| &status.conditions)?;
    let mut found = ["Failing", "Degraded"]
        .into_iter()
        .filter_map(|type_| conditions::find(conditions, type_).filter(|condition| condition.is_true()));
    // That operators fail has been seen with the operators, and some of them may not matter.
    let excludes = checks.exclude_operators.iter().flatten().next().is_some();
    let found = found.find(|condition| !(excludes && condition.reason().starts_with("ClusterOperator")))?;
    Some(format!(
        "ClusterVersion is {}: {}",
        found.type_().to_lowercase(),
        found.message()
    ))
}

fn of_alerts(alerts: &Fact<Vec<Alert>>, checks: &HealthChecks) -> Option<String> {
    let alerts = match alerts {
        Ok(alerts) => alerts,
        // That nothing fires has to be known.
        Err(why) => return Some(format!("cannot check whether critical alerts fire: {why}")),
    };
    let mut found: Vec<String> = alerts
        .iter()
        .filter(|alert| !is_passed_over(alert, checks))
        .map(|alert| {
            let label = |name: &str| alert.get(name).map(String::as_str);
            let name = label("alertname").unwrap_or("an alert without a name");
            match label("namespace") {
                Some(namespace) => format!("{name} in {namespace}"),
                None => name.to_owned(),
            }
        })
        .collect();
    found.sort();
    found.dedup();
    listed("critical alerts fire", &found)
}

/// An entry without labels passes over nothing: it would pass over everything.
fn is_passed_over(alert: &Alert, checks: &HealthChecks) -> bool {
    let matches = |labels: &BTreeMap<String, String>| {
        !labels.is_empty() && labels.iter().all(|(name, value)| alert.get(name) == Some(value))
    };
    let namespace = alert.get("namespace");
    checks.exclude_alerts.iter().flatten().any(matches)
        || checks
            .exclude_namespaces
            .iter()
            .flatten()
            .any(|excluded| Some(excluded) == namespace)
}

fn listed(what: &str, found: &[String]) -> Option<String> {
    if found.is_empty() {
        return None;
    }
    let shown: Vec<&str> = found.iter().take(SHOWN).map(String::as_str).collect();
    let more = match found.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{what}: {}{more}", shown.join(", ")))
}
