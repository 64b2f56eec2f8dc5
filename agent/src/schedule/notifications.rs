//! The controllers that send notifications of UpgradeJobs and UpgradeConfigs (the design document: "every step of the upgrade process
//! should be notified"). They are apart from those that upgrade: a receiver that does not answer holds up nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use drydock_api::names::AGENT_MANAGER;
use drydock_api::openshift::ClusterVersion;
use drydock_api::schedule::{
    JobNotification, SecretKey, UpgradeConfig, UpgradeJob, UpgradeNotificationStatus,
};
use drydock_engine::configuration::may_carry_secrets;
use drydock_runtime::events::{NewEvent, Severity};
use drydock_schedule::config::notification as of_config;
use drydock_schedule::job::notification as of_job;
use drydock_schedule::notification::{
    NotificationPayload, close, is_pending, missing, note, receiver_name, words_digest,
};
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Context;
use super::watches::Seen;
use super::written::Written;
use crate::notify::webhook;
use crate::reconcile::control::Reconcile;
use crate::reconcile::error::ReconcileError;
use crate::reconcile::written::Changed;
use crate::refusal;
use crate::watched::Watched;

/// The longest address of a receiver.
const LONGEST_URL: usize = 4096;

/// A kind whose objects raise notifications.
pub(super) trait Notifies:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// The objects.
    fn watched(seen: &Seen) -> &Watched<Self>;
    /// Those that were written last.
    fn written(written: &Written) -> &Changed<Self>;
    /// Who is notified.
    fn receivers(&self) -> &[JobNotification];
    /// What was raised, as the status has it.
    fn in_status(&self) -> Option<&Vec<UpgradeNotificationStatus>>;
    /// What a receiver gets.
    fn payload(
        &self,
        raised: &UpgradeNotificationStatus,
        receiver: &JobNotification,
        version: Option<String>,
    ) -> NotificationPayload;
}

impl Notifies for UpgradeJob {
    fn watched(seen: &Seen) -> &Watched<Self> {
        &seen.jobs
    }

    fn written(written: &Written) -> &Changed<Self> {
        &written.jobs
    }

    fn receivers(&self) -> &[JobNotification] {
        self.spec.config.notifications.as_deref().unwrap_or_default()
    }

    fn in_status(&self) -> Option<&Vec<UpgradeNotificationStatus>> {
        self.status.as_ref()?.notifications.as_ref()
    }

    fn payload(
        &self,
        raised: &UpgradeNotificationStatus,
        receiver: &JobNotification,
        version: Option<String>,
    ) -> NotificationPayload {
        of_job::payload(self, raised, receiver, version)
    }
}

impl Notifies for UpgradeConfig {
    fn watched(seen: &Seen) -> &Watched<Self> {
        &seen.configs
    }

    fn written(written: &Written) -> &Changed<Self> {
        &written.configs
    }

    fn receivers(&self) -> &[JobNotification] {
        of_config::receivers(self)
    }

    fn in_status(&self) -> Option<&Vec<UpgradeNotificationStatus>> {
        self.status.as_ref()?.notifications.as_ref()
    }

    fn payload(
        &self,
        raised: &UpgradeNotificationStatus,
        receiver: &JobNotification,
        version: Option<String>,
    ) -> NotificationPayload {
        of_config::payload(raised, receiver, version)
    }
}

/// How long a receiver that has not taken a notification is left alone: a try lasts long where nobody answers, and other objects wait meanwhile.
const LEFT_ALONE: SignedDuration = SignedDuration::from_mins(1);

/// What an object has raised.
fn raised_by<K: Notifies>(object: &K) -> &[UpgradeNotificationStatus] {
    object.in_status().map(Vec::as_slice).unwrap_or_default()
}

/// What a controller has.
pub(super) struct Notifications<K> {
    pub context: Context,
    pub seen: Seen,
    pub written: Arc<Written>,
    pub sent: Mutex<BTreeSet<Sent>>,
    pub failing: Mutex<BTreeMap<Failing, String>>,
    pub left_alone: Mutex<BTreeMap<Webhook, (Timestamp, String)>>,
    pub kind: std::marker::PhantomData<fn() -> K>,
}

/// A notification that a receiver has got while no status says so yet: UID of the object, id of the event, name of the receiver.
type Sent = (String, String, String);

/// A receiver, whichever object it is of: the namespace, and its webhook as the spec has it.
type Webhook = (String, String);

/// A receiver that does not take what an object raises: UID of the object, name of the receiver.
type Failing = (String, String);

impl<K: Notifies> Reconcile for Notifications<K> {
    type Object = K;

    fn objects(&self) -> Vec<Arc<K>> {
        let mut objects = K::watched(&self.seen).objects();
        objects.retain(|object| {
            raised_by(object.as_ref())
                .iter()
                .any(|raised| raised.sent_time.is_none())
        });
        let is_pending = |uid: &str| {
            objects
                .iter()
                .any(|object| object.meta().uid.as_deref() == Some(uid))
        };
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        failing.retain(|(uid, _), _| is_pending(uid));
        drop(failing);
        objects
    }

    async fn reconcile(&self, seen: &Arc<K>, now: Timestamp) -> Result<Option<Timestamp>, ReconcileError> {
        let object = K::written(&self.written).newest(seen);
        let mut raised = raised_by(object.as_ref()).to_vec();
        let mut failed = None;
        // One that does not take the first takes none of the others, and each try may last.
        let mut failing = BTreeSet::new();
        for notification in raised.iter_mut().filter(|raised| is_pending(raised, now)) {
            let mut receivers = missing(notification, object.receivers());
            receivers.retain(|receiver| !failing.contains(&receiver_name(receiver)));
            // All at once: none waits for another that does not answer.
            let sending = receivers
                .iter()
                .map(|receiver| self.deliver(object.as_ref(), notification, receiver, now));
            let results = join_all(sending).await;
            for (receiver, result) in receivers.into_iter().zip(results) {
                match result {
                    Ok(()) => note(notification, receiver, object.receivers(), now),
                    Err(error) => {
                        failing.insert(receiver_name(receiver));
                        failed = Some(error);
                    }
                }
            }
            close(notification, object.receivers(), now);
        }
        if raised != raised_by(object.as_ref()) {
            self.record(object.as_ref(), &raised).await?;
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(None),
        }
    }
}

impl<K: Notifies> Notifications<K> {
    /// Sends a notification, unless it was sent and only the status does not say so.
    async fn deliver(
        &self,
        object: &K,
        raised: &UpgradeNotificationStatus,
        receiver: &JobNotification,
        now: Timestamp,
    ) -> Result<(), ReconcileError> {
        let uid = object.uid().unwrap_or_default();
        let sent = (uid, event_id(object, raised), receiver_name(receiver));
        if self.sent().contains(&sent) {
            return Ok(());
        }
        let what = format!("{} of {} {}", raised.event, K::kind(&()), object.name_any());
        let result = if let Some(why) = self.last_failure(object, receiver, now) {
            Err(why)
        } else {
            let result = self.send(object, raised, receiver).await;
            if let Err(why) = &result {
                self.remember(object, receiver, why, now);
            }
            result
        };
        self.report(object, receiver, result.as_ref().err());
        result.map_err(|why| ReconcileError::Notification {
            what,
            receiver: receiver_name(receiver),
            why,
        })?;
        self.sent().insert(sent);
        Ok(())
    }

    /// Why a receiver took nothing when it was tried a moment ago, for whichever object.
    fn last_failure(&self, object: &K, receiver: &JobNotification, now: Timestamp) -> Option<String> {
        let mut left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        left_alone.retain(|_, (since, _)| now.duration_since(*since) < LEFT_ALONE);
        let (_, why) = left_alone.get(&webhook_of(object, receiver))?;
        Some(why.clone())
    }

    fn remember(&self, object: &K, receiver: &JobNotification, why: &str, now: Timestamp) {
        let mut left_alone = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        left_alone.insert(webhook_of(object, receiver), (now, why.to_owned()));
    }

    /// Says that a receiver does not take what is sent, once for each reason.
    fn report(&self, object: &K, receiver: &JobNotification, why: Option<&String>) {
        let receiver = receiver_name(receiver);
        let about = (object.uid().unwrap_or_default(), receiver.clone());
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match why {
            Some(why) => failing.insert(about, why.clone()),
            None => failing.remove(&about),
        };
        let Some(why) = why.filter(|why| before.as_ref() != Some(why)) else {
            return;
        };
        self.context.publisher.publish(&NewEvent {
            object: object.object_ref(&()),
            related: None,
            severity: Severity::Warning,
            reason: "NotificationNotSent",
            action: "Notifying",
            message: format!("receiver {receiver} gets nothing, it is tried again for a day: {why}"),
        });
    }

    async fn send(
        &self,
        object: &K,
        raised: &UpgradeNotificationStatus,
        receiver: &JobNotification,
    ) -> Result<(), String> {
        let namespace = object.namespace().unwrap_or_default();
        let url = self.secret(&namespace, &receiver.webhook.url_secret_ref).await?;
        let url = String::from_utf8(url).unwrap_or_default();
        let url = address(&url)?;
        let key = match &receiver.webhook.signing_key_secret_ref {
            Some(reference) => Some(self.secret(&namespace, reference).await?),
            None => None,
        };
        let cluster = self.seen.upstream.object();
        let version = cluster.as_deref().and_then(current_version);
        let id = cluster.and_then(|cluster| cluster.spec.cluster_id.clone());
        let payload = object.payload(raised, receiver, version);
        let event = cloud_event(object, raised, id.as_deref(), &payload);
        let exchange = self.context.network.exchange(None);
        let exchange = exchange.map_err(|error| error.to_string())?;
        let sent = webhook::post(&exchange, url, key.as_deref(), &event).await;
        sent.map_err(|error| error.to_string())
    }

    async fn secret(&self, namespace: &str, reference: &SecretKey) -> Result<Vec<u8>, String> {
        let SecretKey { name, key } = reference;
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), namespace);
        let secret = api.get(name).await;
        let secret = secret.map_err(|error| format!("reading Secret {name}: {}", refusal::words(&error)))?;
        let value = secret.data.and_then(|mut data| data.remove(key));
        value
            .map(|value| value.0)
            .ok_or_else(|| format!("Secret {name} has no key {key}"))
    }

    /// Writes what has been sent.
    async fn record(&self, object: &K, raised: &[UpgradeNotificationStatus]) -> Result<(), ReconcileError> {
        let (name, uid) = (object.name_any(), object.uid().unwrap_or_default());
        let api: Api<K> = Api::namespaced(
            self.context.client.clone(),
            &object.namespace().unwrap_or_default(),
        );
        let patch = json!({
            "metadata": {"uid": uid, "resourceVersion": object.resource_version()},
            "status": {"notifications": raised},
        });
        let parameters = PatchParams {
            field_manager: Some(AGENT_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let written = api.patch_status(&name, &parameters, &Patch::Merge(patch)).await;
        let written = written.map_err(|error| {
            ReconcileError::write(format!("the status of {} {name}", K::kind(&())), &error)
        })?;
        K::written(&self.written).note(written);
        self.sent().retain(|(of, ..)| *of != uid);
        Ok(())
    }

    fn sent(&self) -> MutexGuard<'_, BTreeSet<Sent>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn webhook_of(object: &impl ResourceExt, receiver: &JobNotification) -> Webhook {
    let namespace = object.namespace().unwrap_or_default();
    (namespace, json!(receiver.webhook).to_string())
}

/// The address of a receiver, which nobody may overhear.
fn address(text: &str) -> Result<&str, String> {
    let text = text.trim();
    let url: http::Uri = match text.parse() {
        Ok(url) if text.len() <= LONGEST_URL => url,
        _ => return Err("the address is not a URL".to_owned()),
    };
    if may_carry_secrets(&url) {
        Ok(text)
    } else {
        Err("the address must begin with https://".to_owned())
    }
}

/// The release that the cluster runs.
fn current_version(cluster: &ClusterVersion) -> Option<String> {
    let history = &cluster.status.as_ref()?.history;
    history.iter().find(|entry| entry.is_completed())?.version.clone()
}

/// The same however often a notification is sent, so that a receiver can recognize it.
fn event_id<K: Notifies>(object: &K, raised: &UpgradeNotificationStatus) -> String {
    let uid = object.uid().unwrap_or_default();
    let time = raised
        .raised_time
        .as_ref()
        .map(|time| time.0.as_second())
        .unwrap_or_default();
    let words = words_digest(raised);
    URL_SAFE_NO_PAD.encode(format!("{uid}/{}/{time}/{words}", raised.event))
}

fn cloud_event<K: Notifies>(
    object: &K,
    raised: &UpgradeNotificationStatus,
    cluster: Option<&str>,
    payload: &NotificationPayload,
) -> Value {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let cluster = cluster.unwrap_or("unknown");
    json!({
        "specversion": "1.0",
        "id": event_id(object, raised),
        "source": format!("/clusters/{cluster}/namespaces/{namespace}/{}/{name}", K::plural(&())),
        "type": format!("dev.drydock.maintenance.{}", raised.event),
        "subject": name,
        "time": raised.raised_time.as_ref().map(|time| time.0.to_string()),
        "datacontenttype": "application/json",
        "data": payload,
    })
}
