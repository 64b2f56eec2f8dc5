//! What the hub has reported about an upgrade. All Events of an upgrade have to be listed to find the newest: they are read once for all who
//! look at about the same time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use drydock_rollout::UpgradeKey;
use drydock_runtime::pages::each_page;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use serde::Serialize;
use tokio::time::Instant;

use crate::error::ApiError;

/// How many objects are read at a time.
const AT_A_TIME: u32 = 500;
/// How many Events are shown, the newest.
const EVENTS: usize = 200;
/// How long what was read is shown to others. The page asks again after that time, if something has changed since it was read.
const LIFETIME: Duration = Duration::from_secs(10);
/// Of how many upgrades they are kept.
const UPGRADES: usize = 64;

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct EventView {
    pub at: i64,
    pub r#type: String,
    pub reason: String,
    pub message: String,
}

/// The Events of an upgrade as they were read.
#[derive(Default)]
pub(crate) struct EventsRead {
    /// The newest, the last of them the newest of all.
    pub newest: Arc<[EventView]>,
    /// How long ago they were read.
    pub age: Duration,
}

/// The upgrade, and its uid: one of the same name may have been deleted.
type Subject = (UpgradeKey, Option<String>);
type Slot = Arc<tokio::sync::Mutex<Option<(Instant, Arc<[EventView]>)>>>;

/// What was read of the upgrades that somebody looks at.
#[derive(Default)]
pub(crate) struct KnownEvents(Mutex<BTreeMap<Subject, Slot>>);

impl KnownEvents {
    /// What the hub has reported about an upgrade. Whoever asks may list its Events, as has been seen before.
    ///
    /// # Errors
    /// If they may not be listed after all, or cannot be.
    pub async fn of(
        &self,
        client: Client,
        key: &UpgradeKey,
        uid: Option<&str>,
    ) -> Result<EventsRead, ApiError> {
        let slot = self.slot((key.clone(), uid.map(str::to_owned)));
        // Who comes while somebody reads waits for that.
        let mut known = slot.lock().await;
        if let Some((at, newest)) = known.as_ref().filter(|(at, _)| at.elapsed() < LIFETIME) {
            let (newest, age) = (Arc::clone(newest), at.elapsed());
            return Ok(EventsRead { newest, age });
        }
        // What is reported while they are read may not be among them.
        let at = Instant::now();
        let newest: Arc<[EventView]> = read(client, key, uid).await?.into();
        *known = Some((at, Arc::clone(&newest)));
        let age = at.elapsed();
        Ok(EventsRead { newest, age })
    }

    fn slot(&self, subject: Subject) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slots.len() >= UPGRADES && !slots.contains_key(&subject) {
            // Those that somebody reads now are held by them, too.
            slots.retain(|_, slot| {
                let read = slot.try_lock().map(|known| known.as_ref().map(|(at, _)| *at));
                read.is_err() || read.is_ok_and(|at| at.is_some_and(|at| at.elapsed() < LIFETIME))
            });
        }
        if slots.len() >= UPGRADES && !slots.contains_key(&subject) {
            return Slot::default();
        }
        Arc::clone(slots.entry(subject).or_default())
    }
}

async fn read(client: Client, key: &UpgradeKey, uid: Option<&str>) -> Result<Vec<EventView>, ApiError> {
    let api: Api<Event> = Api::namespaced(client, &key.namespace);
    let about = format!(
        "involvedObject.kind=ManagedClustersUpgrade,involvedObject.name={}",
        key.name
    );
    let mut events: Vec<EventView> = Vec::new();
    let seen = |page: Vec<Event>| {
        // One of the same name may have been deleted.
        let is_about = |event: &Event| {
            event
                .involved_object
                .uid
                .as_deref()
                .is_none_or(|of| Some(of) == uid)
        };
        events.extend(page.into_iter().filter(is_about).map(event));
        events.sort_by_key(|event| event.at);
        events.drain(..events.len().saturating_sub(EVENTS));
    };
    let about = ListParams::default().fields(&about);
    let read = each_page(&api, about, AT_A_TIME, seen).await;
    read.map_err(|error| ApiError::of_server("listing the Events", &error))?;
    Ok(events)
}

fn event(event: Event) -> EventView {
    let times = [event.last_timestamp, event.first_timestamp];
    let times = times.into_iter().flatten().map(|time| time.0);
    let created = event.metadata.creation_timestamp.map(|time| time.0);
    let at = event.event_time.map(|time| time.0).or(times.max()).or(created);
    EventView {
        at: at.map_or(0, Timestamp::as_second),
        r#type: event.type_.unwrap_or_default(),
        reason: event.reason.unwrap_or_default(),
        message: event.message.unwrap_or_default(),
    }
}
