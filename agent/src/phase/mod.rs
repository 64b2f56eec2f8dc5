//! The state machine of an UpgradeConfig (agent 2): from what is observed to the status it should have, and what is next.

mod cleanup;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
mod transition;
mod upgrading;

use std::time::Duration;

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{UpgradeConfigStatus, UpgradeHistory, UpgradePhase};
use jiff::{SignedDuration, Timestamp};

use crate::configuration::Source;
use crate::engine::condition;
use crate::facts::{Facts, Target};
use crate::health;
use crate::notify;
use crate::steps::{Command, Need};
use crate::validation::{self, Outcome};

pub(crate) use transition::{Transition, of as transitions};

/// How often an upgrade under way, or just seen, is looked at.
const EACH_MINUTE: Duration = Duration::from_mins(1);
/// How soon one that was just seen, and whose time has come, is looked at again.
const AT_ONCE: Duration = Duration::from_secs(1);
/// How often one that waits for its time, or for its user, is looked at.
const RESYNC: Duration = Duration::from_mins(5);
/// An upgrade so far ahead is worth a health check now.
const FAR_AHEAD: SignedDuration = SignedDuration::from_hours(2);

/// Says whether what is asked for can be.
pub(crate) const VALIDATED: &str = "UpgradeConfigValidated";
/// The reason of a failure that is none: the spec asks for something else.
const SUPERSEDED: &str = "Superseded";
/// The reason of [`VALIDATED`] where what is asked for cannot be.
pub(crate) const INVALID: &str = "InvalidUpgradeConfig";
/// Says that a change of the spec came too late.
pub(crate) const ACCEPTED: &str = "UpgradeConfigAccepted";
/// Says whether the provider's policy is still what the upgrade was made for.
pub(crate) const REFRESHED: &str = "PolicyRefreshed";
/// Says how a check hours before the upgrade went.
pub(crate) const EARLY_HEALTH: &str = "ClusterHealthyAhead";

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Decision {
    /// The status as it should be.
    pub status: UpgradeConfigStatus,
    /// What comes next.
    pub next: Next,
}

/// What comes after the status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// A write; then decide again.
    Write(Command),
    /// Something must be read; then decide again.
    Read(Need),
    /// Look again after this time, or when something changes.
    Rest(Option<Duration>),
}

/// Decides.
pub(crate) fn decide(facts: &Facts, status: &UpgradeConfigStatus) -> Decision {
    let mut history = status.history.clone().unwrap_or_default();
    let next = if facts.is_going {
        end(facts, &mut history)
    } else if let Some(target) = running_elsewhere(facts, &history) {
        let entry = &mut history[0];
        refuse_change(facts, entry);
        let next = upgrading::run(facts, &target, entry);
        if is_over(entry) {
            // What the spec asks for by now is next.
            Next::Rest(Some(AT_ONCE))
        } else {
            next
        }
    } else {
        let entry = entry(facts, &mut history);
        advance(facts, entry)
    };
    Decision {
        status: UpgradeConfigStatus {
            history: Some(history),
        },
        next,
    }
}

fn is_over(entry: &UpgradeHistory) -> bool {
    matches!(entry.phase, UpgradePhase::Upgraded | UpgradePhase::Failed)
}

/// Whether something is under way, or left behind, that has to end before the UpgradeConfig goes.
pub(crate) fn is_held(status: &UpgradeConfigStatus) -> bool {
    let history = status.history.as_deref().unwrap_or_default();
    let Some(newest) = history.first().filter(|newest| !is_over(newest)) else {
        return false;
    };
    let is_left =
        |entry: &UpgradeHistory| (!is_over(entry) || is_superseded(entry)) && cleanup::has_begun(entry);
    newest.phase == UpgradePhase::Upgrading || history.iter().any(is_left)
}

/// The UpgradeConfig is being deleted: what has commenced goes on to its end, everything else is cancelled and cleaned up.
fn end(facts: &Facts, history: &mut [UpgradeHistory]) -> Next {
    let Some(newest) = history.first_mut() else {
        return Next::Rest(None);
    };
    let target = Target::Version {
        version: newest.version.clone().unwrap_or_default(),
        channel: facts.cluster.channel.clone(),
    };
    if newest.phase == UpgradePhase::Upgrading && facts.has_commenced(&target) {
        return upgrading::run(facts, &target, newest);
    }
    if is_over(newest) {
        return Next::Rest(None);
    }
    if let Some(next) = cleanup::next(facts, history) {
        return next;
    }
    let newest = &mut history[0];
    let message = "the UpgradeConfig was deleted before the upgrade commenced".to_owned();
    let conditions = newest.conditions.get_or_insert_default();
    condition::set(
        conditions,
        upgrading::FAILED,
        TRUE,
        "UpgradeCancelled",
        message,
        facts.now,
    );
    newest.phase = UpgradePhase::Failed;
    Next::Rest(None)
}

/// The target of an upgrade that has commenced and goes on although the spec asks for another by now.
fn running_elsewhere(facts: &Facts, history: &[UpgradeHistory]) -> Option<Target> {
    let entry = history.first()?;
    let version = entry.version.clone()?;
    let asked = facts.cluster.asked.as_ref()?;
    let is_running = entry.phase == UpgradePhase::Upgrading && asked.version == version;
    let wanted = key(facts);
    (is_running && !facts.refuses(&version) && wanted != version).then(|| Target::Version {
        version,
        channel: facts.cluster.channel.clone(),
    })
}

fn refuse_change(facts: &Facts, entry: &mut UpgradeHistory) {
    let version = entry.version.clone().unwrap_or_default();
    let message = format!(
        "the upgrade to {version} has commenced, and there is no way back: the change to {} waits until it has ended",
        key(facts)
    );
    let conditions = entry.conditions.get_or_insert_default();
    condition::set(conditions, ACCEPTED, FALSE, "InvalidChange", message, facts.now);
}

/// By what a desired release is known in the history.
fn key(facts: &Facts) -> String {
    let desired = &facts.spec.desired;
    let known = facts
        .target()
        .and_then(|target| target.version().map(str::to_owned));
    known
        .or_else(|| desired.version.clone())
        .or_else(|| desired.image.clone())
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
            supersede(before, &version, facts.now);
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
            start_time: commenced.then_some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(facts.now)),
            ..UpgradeHistory::default()
        };
        history.insert(0, entry);
    }
    &mut history[0]
}

/// Gives up what has not commenced for what the spec asks for by now. What it has made is taken over, or cleaned up, with that.
fn supersede(entry: &mut UpgradeHistory, version: &str, now: Timestamp) {
    let message = format!("the UpgradeConfig asks for {version} by now");
    let conditions = entry.conditions.get_or_insert_default();
    condition::set(conditions, upgrading::FAILED, TRUE, SUPERSEDED, message, now);
    entry.phase = UpgradePhase::Failed;
}

fn is_superseded(entry: &UpgradeHistory) -> bool {
    let conditions = entry.conditions.as_deref().unwrap_or_default();
    condition::find(conditions, upgrading::FAILED)
        .is_some_and(|failed| failed.reason.as_deref() == Some(SUPERSEDED))
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

fn advance(facts: &Facts, entry: &mut UpgradeHistory) -> Next {
    match entry.phase {
        UpgradePhase::New => look_ahead(facts, entry),
        UpgradePhase::Pending => pending(facts, entry),
        UpgradePhase::Upgrading => match may_go_on(facts) {
            Go::On(target) => upgrading::run(facts, &target, entry),
            Go::Read(need) => Next::Read(need),
            Go::Back => {
                entry.phase = UpgradePhase::Pending;
                entry.start_time = None;
                pending(facts, entry)
            }
        },
        UpgradePhase::Upgraded | UpgradePhase::Failed | UpgradePhase::Unknown => Next::Rest(None),
    }
}

/// Just seen: hours before its time the cluster's health is worth a word, and blocks nothing.
fn look_ahead(facts: &Facts, entry: &mut UpgradeHistory) -> Next {
    let is_far = facts
        .upgrade_at()
        .is_some_and(|at| at.duration_since(facts.now) > FAR_AHEAD);
    if is_far && facts.configuration.feature_gate.pre_health_check() {
        let findings = match health::before(facts) {
            Ok(findings) => findings,
            Err(need) => return Next::Read(need),
        };
        let conditions = entry.conditions.get_or_insert_default();
        match (findings.first(), health::told(&findings)) {
            (Some(first), Some(why)) => {
                condition::set(
                    conditions,
                    EARLY_HEALTH,
                    FALSE,
                    first.reason,
                    why.clone(),
                    facts.now,
                );
                notify::raise(entry, notify::Event::PreHealthCheck, &why, facts.now);
            }
            _ => condition::done(conditions, EARLY_HEALTH, facts.now),
        }
    }
    entry.phase = UpgradePhase::Pending;
    let wait = facts
        .upgrade_at()
        .map_or(EACH_MINUTE, |at| until(facts, at).min(EACH_MINUTE));
    Next::Rest(Some(wait.max(AT_ONCE)))
}

/// How long it is until `at`.
fn until(facts: &Facts, at: Timestamp) -> Duration {
    at.duration_since(facts.now)
        .max(SignedDuration::ZERO)
        .unsigned_abs()
}

/// Whether an upgrade under way goes on.
enum Go {
    On(Target),
    /// It has to wait, or to be mended.
    Back,
    Read(Need),
}

/// Before commencement an edit of the spec counts at once.
fn may_go_on(facts: &Facts) -> Go {
    if let Some(target) = facts.target().filter(|target| facts.has_commenced(target)) {
        return Go::On(target);
    }
    let is_time = facts.upgrade_at().is_some_and(|at| at <= facts.now);
    match validation::revalidate(facts) {
        Outcome::Valid(target) if is_time => Go::On(target),
        Outcome::Unread(need) if is_time => Go::Read(need),
        _ => Go::Back,
    }
}

/// Waits for its time, or for the user.
fn pending(facts: &Facts, entry: &mut UpgradeHistory) -> Next {
    let conditions = entry.conditions.get_or_insert_default();
    let (reason, message) = match validation::validate(facts) {
        Outcome::Valid(target) => {
            if condition::find(conditions, VALIDATED).is_some() {
                let message = "what is asked for can be".to_owned();
                condition::set(conditions, VALIDATED, TRUE, "Valid", message, facts.now);
            }
            return start(facts, &target, entry);
        }
        Outcome::Unread(need) => return Next::Read(need),
        Outcome::Version(version) => return Next::Write(Command::SetVersion(version)),
        Outcome::NoUpgrade(message) => ("NotAnUpgrade", message),
        Outcome::Invalid(message) => (INVALID, message),
    };
    condition::set(conditions, VALIDATED, FALSE, reason, message, facts.now);
    Next::Rest(Some(RESYNC))
}

fn start(facts: &Facts, target: &Target, entry: &mut UpgradeHistory) -> Next {
    if let Some(at) = facts.upgrade_at().filter(|at| *at > facts.now) {
        return Next::Rest(Some(until(facts, at).min(RESYNC)));
    }
    if facts.configuration.config_manager.source == Source::Ocm
        && let Some(next) = refresh(facts, entry)
    {
        return next;
    }
    entry.phase = UpgradePhase::Upgrading;
    entry.start_time = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(facts.now));
    upgrading::run(facts, target, entry)
}

/// Asks the provider whether what it wants is still this; none if it is.
fn refresh(facts: &Facts, entry: &mut UpgradeHistory) -> Option<Next> {
    let conditions = entry.conditions.get_or_insert_default();
    match facts.seen.policy.as_ref() {
        None => Some(Next::Read(Need::Policy)),
        Some(Ok(Some(spec))) if *spec == facts.spec => {
            if condition::find(conditions, REFRESHED).is_some() {
                let message = "the provider still asks for this".to_owned();
                condition::set(conditions, REFRESHED, TRUE, "Unchanged", message, facts.now);
            }
            None
        }
        Some(Ok(_)) => {
            let message = "the provider asks for something else by now".to_owned();
            condition::set(conditions, REFRESHED, FALSE, "PolicyChanged", message, facts.now);
            entry.phase = UpgradePhase::New;
            Some(Next::Rest(Some(EACH_MINUTE)))
        }
        Some(Err(why)) => {
            let message = format!("whether the provider still asks for this is not known: {why}");
            condition::set(conditions, REFRESHED, FALSE, "PolicyUnknown", message, facts.now);
            Some(Next::Rest(Some(EACH_MINUTE)))
        }
    }
}
