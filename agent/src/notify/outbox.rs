//! The outbox: sends what the status says is to be told, again and again until everybody has it, and never holds up the
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
use drydock_engine::notification::Event;

use super::webhook;
use crate::http::Network;
use crate::metrics::Metrics;
use crate::providers::Provider;
use crate::registry::hex;

/// The wait after the first failure, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_mins(30);

/// One state to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    /// The UpgradeConfig's uid and name.
    pub upgrade: String,
    pub name: String,
    pub cluster: String,
    pub version: String,
    /// When the upgrade was to start, by which its policy is known.
    pub upgrade_at: String,
    pub event: Event,
    pub description: String,
    pub raised: Timestamp,
    /// Who has got it already, by their digests.
    pub delivered: BTreeSet<String>,
}

/// What identifies a letter.
type Key = (String, String, Event);

impl Notification {
    fn key(&self) -> Key {
        (self.upgrade.clone(), self.version.clone(), self.event)
    }
}

/// What there is to send, and how.
#[derive(Clone, Default)]
struct NotificationQueue {
    letters: Vec<Notification>,
    configuration: Configuration,
}

/// What has been sent in the life of this process; the status has it soon after.
#[derive(Debug, Default)]
struct Sent {
    /// The letters that all have.
    letters: BTreeSet<Key>,
    /// To whom a letter has gone that not all have.
    receivers: BTreeSet<(Key, String)>,
}

/// The reconcile's side: puts letters in, and learns which have been sent. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Outbox {
    post: Arc<watch::Sender<NotificationQueue>>,
    sent: Arc<Mutex<Sent>>,
}

/// The side that sends.
pub(crate) struct Sender {
    post: watch::Receiver<NotificationQueue>,
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
    let (post, receiver) = watch::channel(NotificationQueue::default());
    let (wake, woken) = mpsc::channel(1);
    let sent = Arc::new(Mutex::new(Sent::default()));
    let outbox = Outbox {
        post: Arc::new(post),
        sent: Arc::clone(&sent),
    };
    let sender = Sender {
        post: receiver,
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
    /// These letters, and no others, are to be sent.
    pub fn put(&self, letters: Vec<Notification>, configuration: &Configuration) {
        self.post.send_if_modified(|post| {
            if post.letters == letters && post.configuration == *configuration {
                return false;
            }
            *post = NotificationQueue {
                letters,
                configuration: configuration.clone(),
            };
            true
        });
    }

    /// Whether everybody has this letter.
    pub fn has_sent(&self, letter: &Notification) -> bool {
        locked(&self.sent).letters.contains(&letter.key())
    }

    /// Who has this letter while others have not.
    pub fn delivered(&self, letter: &Notification) -> BTreeSet<String> {
        let sent = locked(&self.sent);
        let key = letter.key();
        let receivers = sent.receivers.iter().filter(|(of, _)| *of == key);
        let receivers = receivers.map(|(_, receiver)| receiver.clone());
        receivers.chain(letter.delivered.iter().cloned()).collect()
    }
}

/// A receiver, as the status names it: its address may be a secret.
fn digest(address: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, address.as_bytes());
    hex(&digest.as_ref()[..8])
}

/// Whether anybody but the log is told.
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
                changed = self.post.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
                () = retry => {}
            }
            let post = self.post.borrow_and_update().clone();
            wait = if self.send_all(&post).await {
                None
            } else {
                Some(wait.map_or(FIRST_WAIT, |wait| (2 * wait).min(LONGEST_WAIT)))
            };
        }
    }

    /// Sends what is left, in its order; says whether nothing is left.
    async fn send_all(&mut self, post: &NotificationQueue) -> bool {
        let mut is_done = true;
        for letter in &post.letters {
            if locked(&self.sent).letters.contains(&letter.key()) {
                continue;
            }
            let sent = self.send(letter, &post.configuration).await;
            self.metrics.notified(letter.event, sent);
            if sent {
                locked(&self.sent).letters.insert(letter.key());
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

    /// Sends one letter to all who have not got it.
    async fn send(&self, letter: &Notification, configuration: &Configuration) -> bool {
        let mut is_done = true;
        if configuration.config_manager.source == PolicySource::Ocm && !self.has(letter, "OCM") {
            let told = self.provider.tell(configuration, letter).await;
            is_done &= self.note(letter, "OCM", told.map_err(|error| error.to_string()));
        }
        for hook in &configuration.notify.webhooks {
            let receiver = digest(&hook.url);
            if hook.wants(letter.event.name()) && !self.has(letter, &receiver) {
                let told = self.call(hook, letter).await;
                is_done &= self.note(letter, &receiver, told);
            }
        }
        is_done
    }

    /// Whether a receiver has a letter.
    fn has(&self, letter: &Notification, receiver: &str) -> bool {
        let key = (letter.key(), receiver.to_owned());
        letter.delivered.contains(receiver) || locked(&self.sent).receivers.contains(&key)
    }

    fn note(&self, letter: &Notification, receiver: &str, told: Result<(), String>) -> bool {
        match told {
            Ok(()) => {
                let key = (letter.key(), receiver.to_owned());
                locked(&self.sent).receivers.insert(key);
                self.wake();
                true
            }
            Err(error) => {
                tracing::warn!(
                    version = letter.version,
                    event = letter.event.name(),
                    receiver,
                    error,
                    "a notification is sent again later"
                );
                false
            }
        }
    }

    async fn call(&self, hook: &Webhook, letter: &Notification) -> Result<(), String> {
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
        webhook::send(&exchange, &hook.url, key.as_deref(), letter)
            .await
            .map_err(|error| error.to_string())
    }
}
