//! The state machine of an UpgradeConfig: from what is observed to the status that it should have, and what is to be
//! written once that status is.

mod edits;
#[cfg(test)]
pub(crate) mod fixture;
mod pending;
#[cfg(test)]
mod tests;
mod transition;
mod unknown_cluster;
mod upgrading;

use std::collections::BTreeSet;
use std::time::Duration;

use drydock_api::conditions::{FALSE, TRUE};
pub use drydock_api::upgradeconfig::NOT_AN_UPGRADE;
use drydock_api::upgradeconfig::{MadeResource, UpgradeConfigStatus, UpgradeHistory, UpgradePhase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::command::Command;
use crate::condition::{self, ConditionType};
use crate::facts::{Facts, Need, Observation, Target, Unread, UpgradeLock};
use crate::validation::{self, ValidationOutcome};
use crate::wanted;

pub use transition::{Transition, of as transitions};

/// How often an upgrade under way, or just seen, is looked at.
const EACH_MINUTE: Duration = Duration::from_mins(1);
/// How soon one is looked at again that was just seen and whose time has come, or for which something was written.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How often one that waits for its time, or for its user, is looked at.
const RESYNC: Duration = Duration::from_mins(5);
/// An upgrade so far ahead is worth a health check now.
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(2);

/// The reason of a failure that is none: the spec asks for something else.
const SUPERSEDED: &str = "Superseded";
/// The reason of `UpgradeConfigValidated` where what is asked for cannot be.
pub const INVALID: &str = "InvalidUpgradeConfig";

/// What is to be done. The status is written before anything else is.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The status as it should be.
    pub status: UpgradeConfigStatus,
    /// What must be read before the decision counts.
    pub needs: BTreeSet<Need>,
    /// The writes.
    pub commands: Vec<Command>,
    /// Whether the UpgradeConfig may not go yet.
    pub needs_finalizer: bool,
    /// Whether the provider asks for something else, and should be followed at once.
    pub is_outdated: bool,
    /// When to look again, if nothing changes before.
    pub wait: Option<Duration>,
}

/// What follows from the phase.
#[derive(Clone, Debug, Default, PartialEq)]
struct Next {
    needs: BTreeSet<Need>,
    commands: Vec<Command>,
    is_outdated: bool,
    wait: Option<Duration>,
    /// What the upgrade under way leads to.
    running: Option<Target>,
}

impl Next {
    fn rest(wait: Option<Duration>) -> Self {
        Self {
            wait,
            ..Self::default()
        }
    }

    fn read(need: Need) -> Self {
        Self {
            needs: BTreeSet::from([need]),
            wait: Some(EACH_MINUTE),
            ..Self::default()
        }
    }

    fn write(command: Command) -> Self {
        Self {
            commands: vec![command],
            wait: Some(EACH_MINUTE),
            ..Self::default()
        }
    }
}

/// Decides.
pub fn decide(seen: &Observation, before: &UpgradeConfigStatus) -> Decision {
    let mut status = before.clone();
    let is_new = before.history.iter().flatten().next().is_none();
    let mut facts = match seen.facts() {
        Ok(facts) => facts,
        Err(why) => return unknown_cluster::decide(seen, status, &why),
    };
    let mut history = status.history.take().unwrap_or_default();
    facts.upgrade_began = edits::began(&facts, history.first());
    facts.request = edits::request(&facts, history.first());
    facts.drains = wanted::known_drains(before);
    facts.unready.clone_from(&before.unready);
    edits::evaluate(&mut facts, &mut history);
    let made = status.made.clone().unwrap_or_default();
    let mut next = if facts.deleting_since.is_some() {
        end(&facts, &made, &mut history)
    } else {
        let entry = entry(&facts, &mut history);
        advance(&facts, &made, entry)
    };
    if let Some(newest) = history.first_mut() {
        report_configuration(&facts, newest);
    }
    status.history = Some(history);
    let reconciled = wanted::reconcile(&facts, next.running.as_ref(), is_new, &mut status);
    next.needs.extend(reconciled.needs);
    next.commands.extend(reconciled.commands);
    Decision {
        needs_finalizer: needs_finalizer(&status) || facts.lock() == UpgradeLock::Ours,
        status,
        wait: soon(&facts, &next),
        needs: next.needs,
        commands: next.commands,
        is_outdated: next.is_outdated,
    }
}

/// What was written is looked at again soon; what was refused when it was last tried, later.
fn soon(facts: &Facts, next: &Next) -> Option<Duration> {
    let is_tried = |command: &Command| facts.refusal(command).is_some();
    let acts = next
        .commands
        .iter()
        .any(|command| !matches!(command, Command::ActOnPods(_)));
    if acts && !next.commands.iter().any(is_tried) {
        return Some(AT_ONCE);
    }
    // Whether the configuration was put right is not always seen by a watch.
    let is_unsettled = facts.configuration_problem.is_some();
    if next.commands.is_empty() && !is_unsettled {
        next.wait
    } else {
        Some(next.wait.unwrap_or(EACH_MINUTE).min(EACH_MINUTE))
    }
}

fn is_over(entry: &UpgradeHistory) -> bool {
    matches!(entry.phase, UpgradePhase::Upgraded | UpgradePhase::Failed)
}

/// Whether something is under way, or left behind, that has to end before the UpgradeConfig goes.
pub fn needs_finalizer(status: &UpgradeConfigStatus) -> bool {
    let newest = status.history.iter().flatten().next();
    newest.is_some_and(|newest| newest.phase == UpgradePhase::Upgrading)
        || status.made.as_ref().is_some_and(|made| !made.is_empty())
}

/// The UpgradeConfig is being deleted: what has commenced continues to its end, everything else is cancelled.
fn end(facts: &Facts, made: &[MadeResource], history: &mut [UpgradeHistory]) -> Next {
    let Some(newest) = history.first_mut() else {
        return Next::rest(None);
    };
    let version = newest.version.clone().unwrap_or_default();
    if newest.phase == UpgradePhase::Upgrading
        && !facts.refuses(&version)
        && let Some(target) = edits::commenced(facts, newest)
    {
        return upgrading::run(facts, &target, made, newest);
    }
    if !is_over(newest) {
        let refusal = facts.cluster.refusal.as_ref().filter(|_| facts.refuses(&version));
        let message = match refusal {
            None => "the UpgradeConfig was deleted before the upgrade commenced".to_owned(),
            Some(why) => format!("the UpgradeConfig was deleted while the cluster refused {version}: {why}"),
        };
        fail(newest, "UpgradeCancelled", message, facts.now);
    }
    Next::rest(Some(EACH_MINUTE))
}

/// Gives an upgrade up.
fn fail(entry: &mut UpgradeHistory, reason: &str, message: String, now: Timestamp) {
    let conditions = entry.conditions.get_or_insert_default();
    condition::set(
        conditions,
        ConditionType::FailedUpgrade,
        TRUE,
        reason,
        message,
        now,
    );
    entry.phase = UpgradePhase::Failed;
}

/// By what a desired release is known in the history.
fn key(facts: &Facts) -> String {
    let desired = &facts.spec.desired;
    let known = facts
        .target()
        .and_then(|target| target.version().map(str::to_owned));
    known
        .or_else(|| desired.image.clone())
        .or_else(|| desired.version.clone())
        .filter(|key| !key.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The entry of the desired release, at the front of the history.
fn entry<'a>(facts: &Facts, history: &'a mut Vec<UpgradeHistory>) -> &'a mut UpgradeHistory {
    let version = key(facts);
    // Until its version was known, an image stood for it.
    if let Some(first) = history.first_mut()
        && first.version.is_some()
        && first.version == facts.spec.desired.image
    {
        first.version = Some(version.clone());
    }
    if history
        .first()
        .is_none_or(|entry| entry.version.as_deref() != Some(&version))
    {
        history.retain(|entry| entry.version.as_deref() != Some(&version));
        if let Some(before) = history.first_mut().filter(|before| !is_over(before)) {
            let message = format!("the UpgradeConfig asks for {version} by now");
            fail(before, SUPERSEDED, message, facts.now);
        }
        let commenced = facts.target().is_some_and(|target| facts.has_commenced(&target));
        let entry = UpgradeHistory {
            preceding_version: preceding(facts, &version),
            version: Some(version),
            phase: if commenced {
                UpgradePhase::Upgrading
            } else {
                UpgradePhase::New
            },
            start_time: commenced.then_some(Time(facts.now)),
            ..UpgradeHistory::default()
        };
        history.insert(0, entry);
    }
    &mut history[0]
}

/// The version before the desired one: what the cluster is about, or, if that is the desired one, what it ran before.
fn preceding(facts: &Facts, version: &str) -> Option<String> {
    let desired = facts.cluster.desired.as_deref();
    if desired.is_some_and(|desired| desired != version) {
        return desired.map(str::to_owned);
    }
    let mut past = facts.cluster.history.iter();
    let before = past.find(|past| past.completed && !past.version.is_empty() && past.version != version);
    before
        .map(|past| past.version.clone())
        .or_else(|| desired.map(str::to_owned))
}

fn advance(facts: &Facts, made: &[MadeResource], entry: &mut UpgradeHistory) -> Next {
    match entry.phase {
        UpgradePhase::New => pending::look_ahead(facts, entry),
        UpgradePhase::Pending => pending::pending(facts, made, entry),
        UpgradePhase::Upgrading => match continuation(facts, entry) {
            Continuation::On(target) => upgrading::run(facts, &target, made, entry),
            Continuation::Read(need) => Next::read(need),
            Continuation::Back => {
                back(entry);
                pending::pending(facts, made, entry)
            }
        },
        UpgradePhase::Upgraded => match &facts.seen.fired {
            Err(Unread::NotAsked) => Next::read(Need::Result),
            Err(Unread::Failed(_)) => Next::rest(Some(RESYNC)),
            Ok(_) => Next::rest(None),
        },
        UpgradePhase::Failed | UpgradePhase::Unknown => Next::rest(None),
    }
}

/// It has to wait, or to be corrected: it begins again then.
fn back(entry: &mut UpgradeHistory) {
    entry.phase = UpgradePhase::Pending;
    entry.start_time = None;
    entry.accepted_spec = None;
    let conditions = entry.conditions.get_or_insert_default();
    for step in &crate::steps::STEPS {
        condition::remove(conditions, step.condition);
    }
    condition::remove(conditions, ConditionType::UpgradeConfigAccepted);
}

/// Whether an upgrade under way continues.
enum Continuation {
    On(Target),
    /// It has to wait, or to be corrected.
    Back,
    Read(Need),
}

/// Before commencement an edit of the spec counts at once.
fn continuation(facts: &Facts, entry: &UpgradeHistory) -> Continuation {
    if let Some(target) = edits::commenced(facts, entry) {
        return Continuation::On(target);
    }
    let is_time = facts.upgrade_at().is_some_and(|at| at <= facts.now);
    match validation::revalidate(facts) {
        ValidationOutcome::Valid(target) if is_time => Continuation::On(target),
        ValidationOutcome::Unread(need) if is_time => Continuation::Read(need),
        _ => Continuation::Back,
    }
}

/// Says why the ConfigMap is not followed, and that it is again.
fn report_configuration(facts: &Facts, entry: &mut UpgradeHistory) {
    if is_over(entry) {
        return;
    }
    let type_ = ConditionType::ConfigurationAccepted;
    let conditions = entry.conditions.get_or_insert_default();
    if let Some(problem) = &facts.configuration_problem {
        let message = problem.message.clone();
        condition::set(conditions, type_, FALSE, problem.reason, message, facts.now);
    } else if condition::find(conditions, type_).is_some() {
        let (reason, message) = if facts.is_configuration_absent {
            ("Defaults", "there is no ConfigMap, and the defaults are in force")
        } else {
            ("Accepted", "the ConfigMap's configuration is in force")
        };
        condition::set(conditions, type_, TRUE, reason, message.to_owned(), facts.now);
    }
}
