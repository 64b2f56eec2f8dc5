//! Phases New and Pending: an upgrade waits for its time, for its user or for its provider.

use std::time::Duration;

use drydock_api::conditions::{FALSE, TRUE};
use drydock_api::upgradeconfig::{MadeResource, UpgradeHistory, UpgradePhase};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{AT_ONCE, EACH_MINUTE, FAR_AHEAD, INVALID, NOT_AN_UPGRADE, Next, RESYNC, upgrading};
use crate::command::Command;
use crate::condition::{self, ConditionType};
use crate::configuration::PolicySource;
use crate::facts::{Facts, Need, Origin, Target, Unread};
use crate::health;
use crate::notification::{self, UpgradeEvent};
use crate::validation::{self, ValidationOutcome};

/// Just seen: hours before its time the cluster's health is worth a word, and blocks nothing.
pub(super) fn look_ahead(facts: &Facts, entry: &mut UpgradeHistory) -> Next {
    let is_far = facts
        .upgrade_at()
        .is_some_and(|at| at.duration_since(facts.now) > FAR_AHEAD);
    if is_far && facts.configuration.feature_gate.pre_health_check() {
        let findings = match health::before(facts) {
            Ok(findings) => findings,
            Err(need) => return Next::read(need),
        };
        let conditions = entry.conditions.get_or_insert_default();
        let type_ = ConditionType::ClusterHealthyAhead;
        match (findings.first(), health::describe(&findings)) {
            (Some(first), Some(why)) => {
                condition::set(conditions, type_, FALSE, first.reason, why.clone(), facts.now);
                notification::raise(entry, UpgradeEvent::PreHealthCheck, &why, facts.now);
            }
            _ => condition::done(conditions, type_, facts.now),
        }
    }
    entry.phase = UpgradePhase::Pending;
    let wait = facts
        .upgrade_at()
        .map_or(EACH_MINUTE, |at| until(facts, at).min(EACH_MINUTE));
    Next::rest(Some(wait.max(AT_ONCE)))
}

/// How long it is until `at`.
fn until(facts: &Facts, at: Timestamp) -> Duration {
    at.duration_since(facts.now)
        .max(SignedDuration::ZERO)
        .unsigned_abs()
}

/// Waits for its time, or for the user.
pub(super) fn pending(facts: &Facts, made: &[MadeResource], entry: &mut UpgradeHistory) -> Next {
    let conditions = entry.conditions.get_or_insert_default();
    let type_ = ConditionType::UpgradeConfigValidated;
    let (reason, message, next) = match validation::validate(facts) {
        ValidationOutcome::Valid(target) => {
            if condition::find(conditions, type_).is_some() {
                let message = "the UpgradeConfig is valid".to_owned();
                condition::set(conditions, type_, TRUE, "Valid", message, facts.now);
            }
            return start(facts, &target, made, entry);
        }
        ValidationOutcome::Unread(need) => return Next::read(need),
        ValidationOutcome::Version { version, image } => {
            let command = Command::SetVersion { version, image };
            let Some(refusal) = facts.refusal(&command) else {
                return Next::write(command);
            };
            (INVALID, refusal.to_owned(), Next::write(command))
        }
        ValidationOutcome::NoUpgrade(message) => (NOT_AN_UPGRADE, message, Next::rest(Some(RESYNC))),
        ValidationOutcome::Invalid(message) => (INVALID, message, Next::rest(Some(RESYNC))),
    };
    condition::set(conditions, type_, FALSE, reason, message, facts.now);
    next
}

fn start(facts: &Facts, target: &Target, made: &[MadeResource], entry: &mut UpgradeHistory) -> Next {
    if let Some(at) = facts.upgrade_at().filter(|at| *at > facts.now) {
        return Next::rest(Some(until(facts, at).min(RESYNC)));
    }
    if is_unconfigured(facts) {
        return Next::rest(Some(EACH_MINUTE));
    }
    if let Some(next) = refresh(facts, entry) {
        return next;
    }
    entry.phase = UpgradePhase::Upgrading;
    entry.start_time = Some(Time(facts.now));
    upgrading::run(facts, target, made, entry)
}

/// Whether no good configuration is known: then nothing may commence.
pub(super) fn is_unconfigured(facts: &Facts) -> bool {
    facts
        .configuration_problem
        .as_ref()
        .is_some_and(|problem| problem.is_unknown)
}

/// Asks the provider whether what it wants is still this; none if it is.
fn refresh(facts: &Facts, entry: &mut UpgradeHistory) -> Option<Next> {
    let type_ = ConditionType::PolicyRefreshed;
    let has_provider = facts.configuration.config_manager.source == PolicySource::Ocm;
    let conditions = entry.conditions.get_or_insert_default();
    let (reason, message) = match &facts.seen.policy {
        // What a policy asked for is not started once nobody can say whether it still does.
        _ if !has_provider && facts.origin == Origin::Ocm => (
            "NoProvider",
            "the UpgradeConfig was created from an upgrade policy of OpenShift Cluster Manager, but configManager.source is not OCM"
                .to_owned(),
        ),
        _ if !has_provider => return None,
        Err(Unread::NotAsked) => return Some(Next::read(Need::Policy)),
        Ok(Some(spec)) if *spec == facts.spec => {
            if condition::find(conditions, type_).is_some() {
                let message = "the upgrade policy still matches this UpgradeConfig".to_owned();
                condition::set(conditions, type_, TRUE, "Unchanged", message, facts.now);
            }
            return None;
        }
        Ok(_) => {
            let message = "the upgrade policy has changed since this UpgradeConfig was created".to_owned();
            condition::set(conditions, type_, FALSE, "PolicyChanged", message, facts.now);
            entry.phase = UpgradePhase::New;
            return Some(Next {
                is_outdated: true,
                ..Next::rest(Some(EACH_MINUTE))
            });
        }
        Err(Unread::Failed(why)) => (
            "PolicyUnknown",
            format!("cannot check whether the upgrade policy still matches this UpgradeConfig: {why}"),
        ),
    };
    condition::set(conditions, type_, FALSE, reason, message, facts.now);
    Some(Next::rest(Some(EACH_MINUTE)))
}
