//! What decisions need of a ManagedClustersUpgrade itself.

use std::collections::BTreeMap;
use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::conditions::{self, AnyCondition, Condition};
use drydock_api::mcu::{ManagedClustersUpgrade, condition};
use drydock_api::names::{
    RETRY_ANNOTATION, RETRY_CLUSTERS_ANNOTATION, STARTED_BY_ANNOTATION, UPGRADE_FINALIZER,
};
use drydock_rollout::{
    InvalidSpec, LiveUpgrades, Previous, Retries, Spec, Uid, Upgrade, UpgradeKey, bounded,
};
use jiff::Timestamp;
use kube::ResourceExt;

use crate::freeze_calendar::CalendarRef;
use crate::parse_spec;

/// The longest value of a retry that is kept whole, in bytes.
const LONGEST_RETRY: usize = 120;

/// What is read of an upgrade.
#[derive(Clone, Debug, PartialEq)]
pub struct UpgradeDigest {
    /// What the user asked for, or what is wrong with it.
    pub spec: Result<Arc<Spec>, InvalidSpec>,
    /// Where its calendar of freezes is, if it has one.
    pub calendar: Option<CalendarRef>,
    /// What its status says.
    pub previous: Previous,
    /// The object; the upgrades that exist are not known here.
    pub upgrade: Upgrade,
    /// When it was created.
    pub created: Timestamp,
}

/// Which upgrade an object is.
pub fn key(upgrade: &ManagedClustersUpgrade) -> UpgradeKey {
    UpgradeKey::new(upgrade.namespace().unwrap_or_default(), upgrade.name_any())
}

/// Reads an upgrade.
pub fn digest(upgrade: &ManagedClustersUpgrade) -> UpgradeDigest {
    UpgradeDigest {
        created: upgrade
            .creation_timestamp()
            .map_or(Timestamp::UNIX_EPOCH, |created| created.0),
        spec: parse_spec(upgrade).map(Arc::new),
        calendar: CalendarRef::of(upgrade),
        previous: previous(upgrade),
        upgrade: Upgrade {
            key: key(upgrade),
            uid: Uid::new(upgrade.uid().unwrap_or_default()),
            generation: upgrade.metadata.generation.unwrap_or_default(),
            deleting: upgrade.metadata.deletion_timestamp.is_some(),
            namespace_deleting: false,
            finalizer: upgrade.finalizers().iter().any(|name| name == UPGRADE_FINALIZER),
            retries: retries(upgrade),
            started_by: started_by(upgrade).into(),
            live: Arc::new(LiveUpgrades::default()),
        },
    }
}

fn previous(upgrade: &ManagedClustersUpgrade) -> Previous {
    let Some(status) = &upgrade.status else {
        return Previous::default();
    };
    let conditions = status.conditions.as_deref().unwrap_or_default();
    Previous {
        observed_generation: status.observed_generation,
        start_time: status.start_time.as_ref().map(|time| time.0),
        completion_time: status.completion_time.as_ref().map(|time| time.0),
        complete: conditions::is_true(conditions, condition::COMPLETE),
        incomplete_since: incomplete_since(conditions),
        pre_checks_passed_since: pre_checks_passed_since(conditions),
    }
}

fn pre_checks_passed_since(conditions: &[Condition]) -> Option<Timestamp> {
    let passed = conditions::find(conditions, condition::PRE_CHECKS_PASSED)?;
    passed.is_true().then_some(passed.last_transition_time.0)
}

/// Since when an upgrade is not complete, by its conditions.
pub(crate) fn incomplete_since(conditions: &[Condition]) -> Option<Timestamp> {
    let complete = conditions::find(conditions, condition::COMPLETE)?;
    (!complete.is_true()).then_some(complete.last_transition_time.0)
}

/// The retries that annotations ask for. Their values are compared and never read, so any will do.
fn retries(upgrade: &ManagedClustersUpgrade) -> Retries {
    let annotation = |name: &str| upgrade.annotations().get(name).map(String::as_str);
    Retries {
        all: annotation(RETRY_ANNOTATION).and_then(token),
        clusters: parse_retry_clusters(annotation(RETRY_CLUSTERS_ANNOTATION).unwrap_or_default()),
    }
}

/// Retries of single clusters, as `cluster=value` pairs joined by commas.
pub fn parse_retry_clusters(text: &str) -> BTreeMap<ClusterName, Arc<str>> {
    text.split(',')
        .filter_map(|pair| {
            let (cluster, value) = pair.trim().split_once('=')?;
            Some((ClusterName::from(cluster), token(value)?))
        })
        .collect()
}

/// A value as it is kept on works and records: without spaces, which part two of them there.
fn token(value: &str) -> Option<Arc<str>> {
    let value: String = bounded(value, LONGEST_RETRY)
        .chars()
        .map(|letter| if letter.is_whitespace() { '_' } else { letter })
        .collect();
    Some(value.into()).filter(|value: &Arc<str>| !value.is_empty())
}

/// Who wrote the spec: as an admission policy says it, else the field manager that last changed it.
fn started_by(upgrade: &ManagedClustersUpgrade) -> String {
    if let Some(name) = upgrade.annotations().get(STARTED_BY_ANNOTATION) {
        return name.clone();
    }
    let managed = upgrade.metadata.managed_fields.iter().flatten();
    let mut writers = managed.filter(|entry| {
        let fields = entry.fields_v1.as_ref();
        entry.subresource.as_deref().unwrap_or_default().is_empty()
            && fields.is_some_and(|fields| fields.0.get("f:spec").is_some())
    });
    let mut newest = writers.next();
    for entry in writers {
        if entry.time.as_ref().map(|time| time.0)
            > newest.and_then(|newest| newest.time.as_ref().map(|time| time.0))
        {
            newest = Some(entry);
        }
    }
    newest.and_then(|entry| entry.manager.clone()).unwrap_or_default()
}
