//! The outbox: sends the notifications that the status lists, again and again until every receiver has them, and never blocks the
//! upgrade. What has been sent is written into the status by the reconcile that is woken then.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use drydock_engine::configuration::{Configuration, PolicySource, Webhook};
use drydock_engine::notification::UpgradeEvent;

use super::webhook;
use crate::http::Network;
use crate::metrics::Metrics;
use crate::providers::Provider;
use crate::registry::hex;

/// The wait after the first failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_mins(30);

/// One notification to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    /// The UpgradeConfig's uid and name.
    pub upgrade: String,
    pub name: String,
    pub cluster: String,
    pub version: String,
    /// When the upgrade was to start, by which its policy is known.
    pub upgrade_at: String,
    pub event: UpgradeEvent,
    pub description: String,
    pub raised: Timestamp,
    /// Who has got it already, by their digests.
    pub delivered: BTreeSet<String>,
}

/// What identifies a notification.
type Key = (String, String, UpgradeEvent);

impl Notification {
    fn key(&self) -> Key {
        (self.upgrade.clone(), self.version.clone(), self.event)
    }
}

/// What there is to send, and how.
#[derive(Clone, Default)]
struct NotificationQueue {
    notifications: Vec<Notification>,
    configuration: Configuration,
}

/// What has been sent in the life of this process; the status has it soon after.
#[derive(Debug, Default)]
struct Sent {
    /// The notifications that all have.
    notifications: BTreeSet<Key>,
    /// To whom a notification has gone that not all have.
    receivers: BTreeSet<(Key, String)>,
}

/// The reconcile's side: puts notifications in, and learns which have been sent. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbox {
    queue: Arc<watch::Sender<NotificationQueue>>,
    sent: Arc<Mutex<Sent>>,
}

/// The side that sends.
pub(crate) struct Sender {
    queue: watch::Receiver<NotificationQueue>,
    sent: Arc<Mutex<Sent>>,
    wake: mpsc::Sender<()>,
    client: Client,
    namespace: String,
    network: Network,
    provider: Arc<Provider>,
    metrics: Metrics,
}

/// An outbox, its sender, and what wakes the reconcile.
pub(crate) fn outbox(
    client: Client,
    namespace: String,
    network: Network,
    provider: Arc<Provider>,
    metrics: Metrics,
) -> (Outbox, Sender, mpsc::Receiver<()>) {
    let (queue, receiver) = watch::channel(NotificationQueue::default());
    let (wake, woken) = mpsc::channel(1);
    let sent = Arc::new(Mutex::new(Sent::default()));
    let outbox = Outbox {
        queue: Arc::new(queue),
        sent: Arc::clone(&sent),
    };
    let sender = Sender {
        queue: receiver,
        sent,
        wake,
        client,
        namespace,
        network,
        provider,
        metrics,
    };
    (outbox, sender, woken)
}

fn locked(sent: &Mutex<Sent>) -> MutexGuard<'_, Sent> {
    sent.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outbox {
    /// These notifications, and no others, are to be sent.
    pub fn put(&self, notifications: Vec<Notification>, configuration: &Configuration) {
        self.queue.send_if_modified(|queue| {
            if queue.notifications == notifications && queue.configuration == *configuration {
                return false;
            }
            *queue = NotificationQueue {
                notifications,
                configuration: configuration.clone(),
            };
            true
        });
    }

    /// Whether everybody has this notification.
    pub fn has_sent(&self, notification: &Notification) -> bool {
        locked(&self.sent).notifications.contains(&notification.key())
    }

    /// Who has this notification while others have not.
    pub fn delivered(&self, notification: &Notification) -> BTreeSet<String> {
        let sent = locked(&self.sent);
        let key = notification.key();
        let receivers = sent.receivers.iter().filter(|(of, _)| *of == key);
        let receivers = receivers.map(|(_, receiver)| receiver.clone());
        receivers.chain(notification.delivered.iter().cloned()).collect()
    }
}

/// A receiver, as the status names it: its address may be a secret.
fn digest(address: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, address.as_bytes());
    hex(&digest.as_ref()[..8])
}

/// Whether anybody is notified beside the log.
pub(crate) fn has_receivers(configuration: &Configuration) -> bool {
    configuration.config_manager.source == PolicySource::Ocm || !configuration.notify.webhooks.is_empty()
}

impl Sender {
    /// Sends until `shutdown`.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), Infallible> {
        let mut wait: Option<Duration> = None;
        loop {
            let retry = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                changed = self.queue.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
                () = retry => {}
            }
            let queue = self.queue.borrow_and_update().clone();
            wait = if self.send_all(&queue).await {
                None
            } else {
                Some(wait.map_or(FIRST_WAIT, |wait| (2 * wait).min(LONGEST_WAIT)))
            };
        }
    }

    /// Sends what is left, in its order; says whether nothing is left.
    async fn send_all(&mut self, queue: &NotificationQueue) -> bool {
        let mut is_done = true;
        for notification in &queue.notifications {
            if locked(&self.sent).notifications.contains(&notification.key()) {
                continue;
            }
            let sent = self.send(notification, &queue.configuration).await;
            self.metrics.notified(notification.event, sent);
            if sent {
                locked(&self.sent).notifications.insert(notification.key());
                self.wake();
            } else {
                is_done = false;
            }
        }
        is_done
    }

    /// Wakes the reconcile, which writes into the status what has been sent.
    fn wake(&self) {
        // One that is waiting to be taken wakes it as well.
        let _already_woken = self.wake.try_send(());
    }

    /// Sends one notification to all who have not got it.
    async fn send(&self, notification: &Notification, configuration: &Configuration) -> bool {
        let mut is_done = true;
        if configuration.config_manager.source == PolicySource::Ocm && !self.has(notification, "OCM") {
            let sent = self.provider.notify(configuration, notification).await;
            is_done &= self.note(notification, "OCM", sent.map_err(|error| error.to_string()));
        }
        for hook in &configuration.notify.webhooks {
            let receiver = digest(&hook.url);
            if hook.wants(notification.event.name()) && !self.has(notification, &receiver) {
                let sent = self.call(hook, notification).await;
                is_done &= self.note(notification, &receiver, sent);
            }
        }
        is_done
    }

    /// Whether a receiver has a notification.
    fn has(&self, notification: &Notification, receiver: &str) -> bool {
        let key = (notification.key(), receiver.to_owned());
        notification.delivered.contains(receiver) || locked(&self.sent).receivers.contains(&key)
    }

    fn note(&self, notification: &Notification, receiver: &str, sent: Result<(), String>) -> bool {
        match sent {
            Ok(()) => {
                let key = (notification.key(), receiver.to_owned());
                locked(&self.sent).receivers.insert(key);
                self.wake();
                true
            }
            Err(error) => {
                tracing::warn!(
                    version = notification.version,
                    event = notification.event.name(),
                    receiver,
                    error,
                    "a notification is sent again later"
                );
                false
            }
        }
    }

    async fn call(&self, hook: &Webhook, notification: &Notification) -> Result<(), String> {
        let key = match &hook.secret_ref {
            None => None,
            Some(reference) => {
                let api: Api<Secret> = Api::namespaced(self.client.clone(), &self.namespace);
                let name = &reference.name;
                let secret = api
                    .get(name)
                    .await
                    .map_err(|error| format!("reading Secret {name} to sign with: {error}"))?;
                let key = secret.data.and_then(|mut data| data.remove(&reference.key));
                let key = key.ok_or_else(|| format!("Secret {name} has no key {}", reference.key))?;
                Some(key.0)
            }
        };
        let exchange = self.network.exchange(None).map_err(|error| error.to_string())?;
        webhook::send(&exchange, &hook.url, key.as_deref(), notification)
            .await
            .map_err(|error| error.to_string())
    }
}
