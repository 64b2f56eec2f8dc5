//! Backups of the hub's objects, and their restoration as tools for that do it: under new uids, and without status.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_runtime::Clock;
use jiff::{SignedDuration, Timestamp};
use kube_sandbox::access::{Access, Key, Kind, Removal, Selection};
use ocm_sandbox::kinds::{MANIFEST_WORK, PLACEMENT};
use serde_json::{Value, json};

use super::acceptances::ACCEPTANCE;
use super::fleet::Fleet;
use crate::hub_fleet::{RECORD, UPGRADE};

const KINDS: [Kind; 5] = [UPGRADE, RECORD, ACCEPTANCE, PLACEMENT, MANIFEST_WORK];
/// How often a backup is made.
const EVERY: Duration = Duration::from_mins(20);
/// How many are kept.
const KEPT: usize = 8;

type Objects = Vec<(Kind, Value)>;

/// The backups so far. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Backups(Arc<Mutex<VecDeque<(Timestamp, Objects)>>>);

impl Backups {
    /// Makes backups forever.
    pub async fn keep(self, hub: Access, clock: Clock) {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Ok(objects) = read(&hub).await {
                let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                all.push_back((clock.now(), objects));
                while all.len() > KEPT {
                    all.pop_front();
                }
            }
        }
    }

    /// The newest that is at least this many minutes old.
    fn find(&self, now: Timestamp, minutes: u64) -> Option<Objects> {
        let age = SignedDuration::from_mins(i64::try_from(minutes).unwrap_or(i64::MAX));
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = all.iter().rev();
        old.find(|(made, _)| now.duration_since(*made) >= age)
            .map(|(_, objects)| objects.clone())
    }

    /// Everything is lost, and is restored some minutes later.
    pub async fn restore(&self, fleet: &Fleet, backup: u64, down: u64) -> anyhow::Result<()> {
        let user = &fleet.user;
        let Some(objects) = self.find(fleet.clock.now(), backup) else {
            return Ok(());
        };
        for kind in &KINDS {
            for object in user.list(kind, &Selection::everything()).await? {
                let key = object.key();
                let none = json!({"metadata": {"finalizers": null}});
                let _gone = user.merge_patch(kind, &key, none).await;
                let _gone = user.delete(kind, &key, &Removal::default()).await;
            }
        }
        tokio::time::sleep(Duration::from_mins(down)).await;
        for (kind, object) in objects {
            let namespace = object["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            // What is in a namespace that has gone since is not restored.
            let home = user
                .find(&ocm_sandbox::kinds::NAMESPACE, &Key::cluster(namespace))
                .await?;
            if home.is_some() {
                let _refused = user.create(&kind, object).await;
            }
        }
        Ok(())
    }
}

async fn read(hub: &Access) -> anyhow::Result<Objects> {
    let mut objects = Vec::new();
    for kind in &KINDS {
        for object in hub.list(kind, &Selection::everything()).await? {
            if !object["metadata"]["deletionTimestamp"].is_null() {
                continue;
            }
            let mut value = object.complete().into_owned();
            if let Some(metadata) = value["metadata"].as_object_mut() {
                for field in [
                    "uid",
                    "resourceVersion",
                    "generation",
                    "creationTimestamp",
                    "managedFields",
                ] {
                    metadata.remove(field);
                }
            }
            if let Some(object) = value.as_object_mut() {
                object.remove("status");
            }
            objects.push((kind.clone(), value));
        }
    }
    Ok(objects)
}
