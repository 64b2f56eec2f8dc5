//! Records as objects: what stands on a page, and what is written on one.

use std::sync::Arc;

use drydock_api::ClusterName;
use drydock_api::mcu::{ManagedClustersUpgradeRecord, RecordEntry, RecordedForecast, RecordedStages};
use drydock_api::names::{UPGRADE_ANNOTATION, UPGRADE_UID_LABEL};
use drydock_rollout::{
    Entry, EntryPlace, Owner, RecordPage, RecordPageHeader, RecordPageWrite, RecordedEntry, RecordedOutcome,
    RetryToken, StageSeconds, Uid, UpgradeKey, bounded,
};
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};

/// A page, as far as decisions need it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordDigest {
    /// The page.
    pub page: RecordPage,
    /// Its entries.
    pub entries: Vec<Arc<RecordedEntry>>,
    /// By how many seconds later than its forecast said the rollout ended, if the page says so.
    pub forecast_error: Option<i64>,
}

impl RecordDigest {
    /// When the newest of its entries ended; when the rollout began, if it has none.
    pub fn newest(&self) -> Timestamp {
        let ends = self.entries.iter().map(|recorded| recorded.entry.completed);
        ends.max().unwrap_or(self.page.header.rollout_since)
    }
}

/// Reads a page; entries that cannot be read are left out, and a page that does not say which rollout it is about is none.
pub fn digest(record: &ManagedClustersUpgradeRecord) -> Option<RecordDigest> {
    let upgrade = &record.spec.upgrade;
    let label = record.labels().get(UPGRADE_UID_LABEL);
    let namespace = record.namespace()?;
    let key = || UpgradeKey::new(namespace, upgrade.name.as_str());
    let header = Arc::new(RecordPageHeader {
        owner: Owner {
            uid: Uid::new(label.unwrap_or(&upgrade.uid).as_str()),
            upgrade: (!upgrade.name.is_empty()).then(key),
        },
        rollout_since: upgrade.rollout_since.parse().ok()?,
        goal: upgrade.goal.as_str().into(),
        closed: upgrade.deleted.unwrap_or(false),
    });
    let name = record.name_any();
    let number = name.rsplit('-').next().and_then(|text| text.parse().ok());
    let name: Arc<str> = name.into();
    let entries = record.spec.entries.iter().enumerate();
    let entries = entries.filter_map(|(index, found)| {
        Some(Arc::new(RecordedEntry {
            page: Arc::clone(&header),
            place: EntryPlace {
                page: Arc::clone(&name),
                index,
            },
            entry: entry(found)?,
        }))
    });
    let entries = entries.collect();
    Some(RecordDigest {
        forecast_error: upgrade.forecast.as_ref().map(|forecast| forecast.error_seconds),
        page: RecordPage {
            number: number.unwrap_or(0),
            name,
            header,
            entries: record.spec.entries.len(),
            resource_version: record.resource_version().unwrap_or_default().into(),
        },
        entries,
    })
}

fn entry(entry: &RecordEntry) -> Option<Entry> {
    let moment = |text: &Option<String>| text.as_ref().and_then(|text| text.parse().ok());
    let stages = entry.stages.unwrap_or_default();
    Some(Entry {
        cluster: ClusterName::from(entry.cluster.as_str()),
        canary: entry.canary.unwrap_or(false),
        outcome: RecordedOutcome::parse(&entry.outcome)?,
        reason: entry.reason.as_str().into(),
        message: entry.message.as_str().into(),
        from: entry.from.as_deref().map(Into::into),
        to: entry.to.as_str().into(),
        started: moment(&entry.started),
        stages: StageSeconds {
            pre_action: stages.pre_action,
            upgrade: stages.upgrade,
            operators: stages.operators,
            post_action: stages.post_action,
        },
        completed: entry.completed.parse().ok()?,
        retry: RetryToken::parse(entry.retry.as_deref().unwrap_or_default()),
    })
}

fn wire(entry: &Entry) -> RecordEntry {
    let stages = RecordedStages {
        pre_action: entry.stages.pre_action,
        upgrade: entry.stages.upgrade,
        operators: entry.stages.operators,
        post_action: entry.stages.post_action,
    };
    let retry = entry.retry.to_text();
    RecordEntry {
        cluster: entry.cluster.to_string(),
        canary: entry.canary.then_some(true),
        outcome: entry.outcome.as_str().to_owned(),
        reason: bounded(&entry.reason, 64).to_owned(),
        message: entry.message.to_string(),
        from: entry.from.as_ref().map(|from| bounded(from, 256).to_owned()),
        to: bounded(&entry.to, 1024).to_owned(),
        started: entry.started.map(|started| started.to_string()),
        stages: Some(stages).filter(|stages| *stages != RecordedStages::default()),
        completed: entry.completed.to_string(),
        retry: Some(bounded(&retry, 256).to_owned()).filter(|retry| !retry.is_empty()),
    }
}

/// A new page with its first entries.
pub fn new_page(namespace: &str, write: &RecordPageWrite) -> Value {
    let owner = &write.header.owner;
    let upgrade = owner.upgrade.as_ref();
    json!({
        "apiVersion": ManagedClustersUpgradeRecord::api_version(&()),
        "kind": ManagedClustersUpgradeRecord::kind(&()),
        "metadata": {
            "name": write.name,
            "namespace": namespace,
            "labels": {UPGRADE_UID_LABEL: owner.uid.as_str()},
            "annotations": upgrade.map(|upgrade| json!({UPGRADE_ANNOTATION: upgrade.to_string()})),
        },
        "spec": {
            "upgrade": {
                // Empty where the works did not say it any more.
                "name": upgrade.map_or("", |upgrade| &*upgrade.name),
                "uid": owner.uid.as_str(),
                "target": bounded(&write.target, 1024),
                "goal": write.header.goal,
                "rolloutSince": write.header.rollout_since.to_string(),
                "startedBy": bounded(&write.started_by, 253),
            },
            "entries": write.entries.iter().map(wire).collect::<Vec<_>>(),
        },
    })
}

/// The merge patch that puts on the version of a page that was read how good the forecast of the rollout was.
pub fn forecast(resource_version: &str, forecast: &RecordedForecast) -> Value {
    json!({
        "metadata": {"resourceVersion": resource_version},
        "spec": {"upgrade": {"forecast": forecast}},
    })
}

/// The JSON patch that appends entries to the version of a page that was read, and replaces those that are replaced.
pub fn appended(resource_version: &str, write: &RecordPageWrite) -> Value {
    let test = json!({"op": "test", "path": "/metadata/resourceVersion", "value": resource_version});
    let entries = write.entries.iter();
    let appends = entries.map(|entry| json!({"op": "add", "path": "/spec/entries/-", "value": wire(entry)}));
    let replaced = write.replaced.iter();
    let replaces = replaced.map(
        |(index, entry)| json!({"op": "replace", "path": format!("/spec/entries/{index}"), "value": wire(entry)}),
    );
    Value::Array([test].into_iter().chain(replaces).chain(appends).collect())
}

/// The merge patch that marks a page as history, or as that of an upgrade that was restored under another uid.
pub fn marked(owner: &Uid, closed: bool) -> Value {
    if closed {
        json!({"spec": {"upgrade": {"deleted": true}}})
    } else {
        json!({
            "metadata": {"labels": {UPGRADE_UID_LABEL: owner.as_str()}},
            "spec": {"upgrade": {"uid": owner.as_str()}},
        })
    }
}
